"""`om worker`."""

import logging
from pathlib import Path

import click

from minutebook.cli.options import placed
from minutebook.cli.place import Place
from minutebook.settings_loading import load

ROLES = ("observer", "reflector", "digester", "dropper", "judge")


@click.command(short_help="do the background work")
@placed(choosing=False)
@click.option("--role", "roles", type=click.Choice(ROLES), multiple=True, help="Only this role; may be repeated.")
@click.option("--concurrency", type=click.IntRange(1, 64), metavar="N", help="Jobs of one role at once.")
@click.option("--until-idle", is_flag=True, help="Leave when nothing is left to do.")
@click.option("--idle-exit", type=click.FloatRange(min=0), metavar="SECONDS", help="Leave after so long without work.")
@click.option(
    "--health", type=click.Path(path_type=Path), metavar="FILE", help="Touch this file while the store answers."
)
@click.option(
    "--check", type=click.Path(path_type=Path), metavar="FILE", help="Only say whether the worker of --health is well."
)
@click.pass_context
def worker(
    ctx: click.Context,
    place: Place,
    roles: tuple[str, ...],
    concurrency: int | None,
    until_idle: bool,
    idle_exit: float | None,
    health: Path | None,
    check: Path | None,
) -> None:
    """Do the background work of a store until Ctrl-C or SIGTERM; the jobs in hand are finished first.

    Any number of workers may serve one store; those of a store on a server may run on several machines. While the
    server is away they wait for it.

    Exit code 1 with --until-idle: what is left waits after a failure; `om jobs` shows it. With --check, for the health
    check of a container: the store has not answered that worker for a minute and a half, or no worker is there.

    \b
    om worker
    om worker --role observer --concurrency 4 --until-idle
    om worker --store redis://box:6379/0 --role observer --concurrency 8 --health /tmp/worker
    om worker --check /tmp/worker
    """
    if check is not None:
        ctx.exit(_checked(check))
    from minutebook.workers.choosing import ProjectSettings
    from minutebook.workers.foreground import run_worker

    logging.basicConfig(format="om worker: %(message)s", level=logging.WARNING)
    load(None, place.flags)  # a wrong value is said now; one of a project's file only holds up that project
    place.check_store()
    settings_for = ProjectSettings(place.flags)
    code = run_worker(
        place.url, roles or ROLES, concurrency, until_idle, idle_exit, settings_for=settings_for, health=health
    )
    ctx.exit(code)


def _checked(file: Path) -> int:
    from minutebook.workers.health import look_at

    well, said = look_at(file)
    click.echo(said)
    return 0 if well else 1
