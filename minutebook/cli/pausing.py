"""`om pause` and `om resume`: when nothing is recorded."""

import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from minutebook.cli.options import JSON, PROJECT, STORE
from minutebook.cli.place import Place
from minutebook.cli.showing import remark, write, write_json
from minutebook.errors import BadInput, NotFound, StoreReadOnly
from minutebook.hosts.paused_file import write_paused
from minutebook.pipeline.pauses import Pause, begin_pause, end_pauses, is_within, open_pauses
from minutebook.pipeline.sessions import Session, find_session
from minutebook.store.kernel import Store

SESSION = click.option("--session", metavar="KEY", help="A session alone, such as claude_code:ID.")
ALL = click.option("--all", "everything", is_flag=True, help="Whatever the project.")


@click.command(short_help="record nothing of a project, or of anything, for now")
@STORE
@PROJECT
@SESSION
@ALL
@click.option("--status", "asked", is_flag=True, help="Say what is paused, and change nothing.")
@JSON
def pause(
    store: str | None, project: Path | None, session: str | None, everything: bool, asked: bool, as_json: bool
) -> None:
    """Record nothing of this project from now on, until `om resume`.

    What is said meanwhile never enters the ledger, also when the session's file is read later. The agent still gets
    back what was recorded before.

    \b
    om pause
    om pause --project ~/clients/acme
    om pause --all
    om pause --status
    """
    place = _place(store, project)
    try:
        if not asked:
            made = _meant(place, project, session, everything)
            new = begin_pause(place.store, made)
            _tell_hooks(place)
            if not as_json:
                remark(f"{'Paused' if new else 'Paused already'}: {said(made)}. `om resume` ends it.")
                return
        _show(_lasting(place), as_json)
    finally:
        place.close()


@click.command(short_help="record again")
@STORE
@PROJECT
@SESSION
@ALL
@JSON
def resume(store: str | None, project: Path | None, session: str | None, everything: bool, as_json: bool) -> None:
    """Record again what `om pause` paused: of this project, of a session, or everything.

    \b
    om resume
    om resume --all
    """
    place = _place(store, project)
    try:
        lasting = _lasting(place)
        over = lasting if everything else _matching(lasting, _meant(place, project, session, False))
        if over:
            end_pauses(place.store, over, _now())
        if place.may_have_store():
            _tell_hooks(place)
        left = [each for each in lasting if each not in over]
        if as_json:
            _show(left, as_json)
            return
        remark("\n".join([f"Recording again: {said(each)}" for each in over] or ["There was nothing to resume."]))
        for each in left:
            remark(f"Still paused: {said(each)}")
    finally:
        place.close()


def said(pause: Pause) -> str:
    """A pause in words."""
    what = {"all": "everything", "project": f"project {pause.name}", "session": f"session {pause.name}"}[pause.scope]
    return f"{what}, since {pause.since[:16].replace('T', ' ')} UTC"


def paused_lines(store: Store, session: Session | None = None) -> list[str]:
    """A line for each pause that lasts; of those that are about a session, where one is given."""
    lasting = open_pauses(store)
    if session is not None:
        folders = {session.project, os.path.realpath(session.project)} if session.project else set()
        lasting = [pause for pause in lasting if pause.concerns(session.key, folders)]
    return [f"Paused: {said(pause)}; `om resume` ends it." for pause in lasting]


def _place(store: str | None, project: Path | None) -> Place:
    return Place(project=(project or Path.cwd()).absolute(), named_store=store, flags={}, creating=True)


def _meant(place: Place, project: Path | None, session: str | None, everything: bool) -> Pause:
    if (project is not None) + (session is not None) + everything > 1:
        raise BadInput("give one of --project, --session and --all")
    if everything:
        return Pause(scope="all", since=_now())
    if session is not None:
        return Pause(scope="session", name=_session(place, session), since=_now())
    return Pause(scope="project", name=os.path.realpath(place.project), since=_now())


def _session(place: Place, name: str) -> str:
    """Its key; one that was not taken in yet has to be given whole."""
    if place.may_have_store() and find_session(place.store, name) is not None:
        return name
    place.session_name = name
    try:
        found = place.session
    except NotFound:
        found = None
    if found is not None:
        return found.key
    host, colon, own = name.partition(":")
    if not (host and colon and own):
        raise BadInput(f"--session {name!r}: no such session yet; give its whole key, such as claude_code:{name}")
    return name


def _matching(pauses: Sequence[Pause], meant: Pause) -> list[Pause]:
    """Those meant; of a project's folder also the pause of a folder above it, which holds for it."""
    if meant.scope == "project":
        return [each for each in pauses if each.scope == "project" and is_within(meant.name, each.name)]
    return [each for each in pauses if (each.scope, each.name) == (meant.scope, meant.name)]


def _lasting(place: Place) -> list[Pause]:
    return open_pauses(place.store) if place.may_have_store() else []


def _tell_hooks(place: Place) -> None:
    """Written anew each time, so that it is right again after whatever befell it."""
    if place.store_file is None:
        return
    try:
        write_paused(place.store_file, open_pauses(place.store))
    except OSError as error:
        raise StoreReadOnly(f"{place.store_file.parent}: {error.strerror or error}: make it writable") from error


def _show(pauses: Sequence[Pause], as_json: bool) -> None:
    if as_json:
        write_json({"paused": [{"scope": p.scope, "name": p.name, "since": p.since} for p in pauses]})
        return
    for each in pauses:
        write(f"Paused: {said(each)}")
    if not pauses:
        write("Nothing is paused.")


def _now() -> str:
    return datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
