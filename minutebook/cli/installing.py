"""`om install` and `om uninstall`: Minutebook into an agent's own files, and out again."""

import os
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from minutebook.cli import showing_install as showing
from minutebook.cli.options import JSON
from minutebook.cli.showing import remark, write, write_json
from minutebook.errors import BadInput, MinutebookError
from minutebook.hosts import installing
from minutebook.hosts.edits import Edit, Target, Wiring
from minutebook.hosts.installing_programs import run_programs, take_back_programs
from minutebook.hosts.installing_record import key_of, read_records
from minutebook.hosts.installing_targets import HOSTS, target_of, wiring_of
from minutebook.places import data_dir
from minutebook.version import __version__

Function = Callable[..., Any]


def _options(function: Function) -> Function:
    options = (
        click.argument("host", metavar="HOST", type=click.Choice(list(HOSTS))),
        click.option("--user", "for_user", is_flag=True, help="For every project of yours; the default."),
        click.option("--project", "for_project", is_flag=True, help="For the project in the current folder alone."),
        click.option("--dry-run", is_flag=True, help="Show what would be changed; write nothing."),
        JSON,
    )
    for option in reversed(options):
        function = option(function)
    return function


@click.command(short_help="put Minutebook into Claude Code, Codex or Pi")
@_options
@click.option("--plugin", is_flag=True, help="As a plugin of the agent, not in its settings files.")
@click.option("--no-trust", is_flag=True, help="Codex: leave it to you to trust the hooks.")
def install(
    host: str, for_user: bool, for_project: bool, dry_run: bool, as_json: bool, plugin: bool, no_trust: bool
) -> None:
    """Put Minutebook into an agent: claude-code, codex or pi.

    What is in the agent's files stays as it is; each is kept as it was before the first change. Installing again
    replaces what an older version put there. `om uninstall` takes it out.

    \b
    om install claude-code
    om install codex --dry-run
    """
    target = _target(host, for_user, for_project, plugin)
    wiring, data = wiring_of(target), data_dir()
    if dry_run:
        _show_dry(installing.would_install(data, target, wiring.edits), wiring, as_json, asks=not no_trust)
        return
    before = read_records(data).get(key_of(host, str(target.project or "")))
    notes = [] if plugin or before is None else take_back_programs(before.undo)
    done = installing.install(data, target, wiring.edits, version=__version__, time=_now())
    undone = _run_programs(data, done, wiring)
    installed = not undone
    notes += undone
    if wiring.afterwards is not None and not no_trust:
        done, more = _ask_host(data, target, wiring, done)
        notes += more
    notes += [*wiring.notes, *showing.what_is_missing(host, Path.cwd())]
    if as_json:
        write_json(showing.as_data(done, notes))
        return
    showing.show_installed(done, target)
    for program in wiring.programs if installed else ():
        write(f"  + {shlex.join(program.argv)}")
    sys.stdout.flush()
    for note in notes:
        remark(note)


@click.command(short_help="take it out again")
@_options
def uninstall(host: str, for_user: bool, for_project: bool, dry_run: bool, as_json: bool) -> None:
    """Take Minutebook out of an agent's files: each is again what it was, byte for byte, unless it was changed since.

    What was recorded stays in the store.

    \b
    om uninstall claude-code
    """
    data = data_dir()
    target = _target(host, for_user, for_project, plugin=False, must_run=False)
    noted = read_records(data).get(key_of(host, str(target.project or "")))
    wiring = wiring_of(target)
    if dry_run:
        _show_dry(installing.uninstall(data, target, wiring.edits, dry_run=True), Wiring(edits=()), as_json)
        return
    notes = take_back_programs(noted.undo) if noted else []
    done = installing.uninstall(data, target, wiring.edits)
    if as_json:
        write_json(showing.as_data(done, notes))
        return
    showing.show_uninstalled(done, target)
    for note in notes:
        remark(note)


def _target(host: str, for_user: bool, for_project: bool, plugin: bool, *, must_run: bool = True) -> Target:
    if for_user and for_project:
        raise BadInput("give one of --user and --project")
    folders = installing.program_folders()
    names = []
    for name in ("om", "om-hook"):
        try:
            names.append(installing.program_of_ours(name, folders))
        except MinutebookError:
            if must_run:
                raise
            names.append(name)
    project = Path.cwd() if for_project else None
    return target_of(host, os.environ, om=names[0], om_hook=names[1], project=project, plugin=plugin)


def _run_programs(data: Path, done: installing.Done, wiring: Wiring) -> list[str]:
    assert done.record is not None
    ran, notes = run_programs(wiring.programs)
    if ran != done.record.undo:
        installing.note_undo(data, done.record.key, ran)
    return notes


def _ask_host(
    data: Path, target: Target, wiring: Wiring, done: installing.Done
) -> tuple[installing.Done, Sequence[str]]:
    """What only the host can say, once the files are in place (Codex: the hashes by which it trusts hooks)."""
    assert wiring.afterwards is not None
    try:
        later: Sequence[Edit] = wiring.afterwards()
        again = installing.install(data, target, wiring.edits, version=__version__, time=_now(), later=later)
    except MinutebookError as error:
        return done, [f"Not all is done: {str(error).removesuffix(', nothing was changed')}"]
    return showing.joined(done, again), []


def _show_dry(done: installing.Done, wiring: Wiring, as_json: bool, *, asks: bool = False) -> None:
    """asks: whether the host is asked afterwards, whose answer is not known before."""
    if as_json:
        write_json(showing.as_data(done, []))
        return
    write("".join(showing.diff_of(plan) for plan in done.changed), end="")
    for program in wiring.programs:
        write(f"then: {' '.join(program.argv)}")
    if asks and wiring.afterwards is not None and done.changed:
        write("then: trust of these hooks in config.toml, with the hashes that codex gives them")
    sys.stdout.flush()
    remark("Nothing was written." if done.changed or wiring.programs else "Nothing would be changed.")


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
