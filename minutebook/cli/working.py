"""`om worker`."""

import logging
import os
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from minutebook.cli.options import placed
from minutebook.cli.place import Place
from minutebook.settings_loading import load

if TYPE_CHECKING:
    from minutebook.workers.choosing import ProjectSettings
    from minutebook.workers.holding import Hold
    from minutebook.workers.session_notices import SessionNotices

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
@click.option("--hold", type=click.IntRange(min=0), hidden=True, help="For hooks: the descriptor of the locked file.")
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
    hold: int | None,
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
    from minutebook.workers.foreground import START_AGAIN, run_worker

    held = _held(place, hold)
    logging.basicConfig(format="om worker: %(message)s", level=logging.WARNING)
    with held or nullcontext():
        # A wrong value is said now; one of a project's file only holds up that project.
        settings = load(None, place.flags).settings
        place.check_store()
        if held is not None and idle_exit is None:
            idle_exit = settings.worker_idle_exit_seconds
        settings_for = ProjectSettings(place.flags)
        code = run_worker(
            place.url,
            roles or ROLES,
            concurrency,
            until_idle,
            idle_exit,
            settings_for=settings_for,
            intake=_intake(place, settings_for),
            health=health,
            hold=held,
            outdated=settings_for.outdated if held else None,
        )
        if held and code == START_AGAIN:
            held.start_again()
    ctx.exit(code)


def _checked(file: Path) -> int:
    from minutebook.workers.health import look_at

    well, said = look_at(file)
    click.echo(said)
    return 0 if well else 1


def _held(place: Place, hold: int | None) -> "Hold | None":
    """What a hook handed over. Its worker makes the store, and stays in no project's folder."""
    if hold is None or place.store_file is None:
        return None
    from minutebook.workers.holding import Hold

    held = Hold(hold, os.fspath(place.store_file))
    place.creating = True
    os.chdir("/")
    return held


def _intake(place: Place, settings_for: "ProjectSettings") -> "SessionNotices | None":
    """Takes in what hooks rang for, and tells those sessions what is wrong; hooks ring beside a file only."""
    if place.store_file is None:
        return None
    from minutebook.hosts.bells import Bells
    from minutebook.workers.session_notices import SessionNotices

    path = os.fspath(place.store_file)
    return SessionNotices(path, Bells(path, settings_for.now), settings_for)
