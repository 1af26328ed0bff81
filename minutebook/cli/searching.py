"""`om search`."""

from typing import Any

import click

from minutebook.cli.choosing import is_folder
from minutebook.cli.options import JSON, placed
from minutebook.cli.place import Place
from minutebook.cli.showing import counted, harmless, minute, remark, write, write_json
from minutebook.errors import BadInput
from minutebook.pipeline.search import Hit, search
from minutebook.records import Branch


@click.command("search", short_help="records and turns by words", context_settings={"ignore_unknown_options": True})
@placed()
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--project-wide", is_flag=True, help="In all sessions of the session's project.")
@click.option("--limit", type=click.IntRange(1, 1000), default=10, show_default=True, metavar="N")
@JSON
def search_command(place: Place, words: tuple[str, ...], project_wide: bool, limit: int, as_json: bool) -> None:
    """Records and turns by words. Any text is a query; words that occur nowhere find nothing.

    \b
    om search retry budget
    om search --project-wide "connection refused"
    """
    query = " ".join(words)
    if not query.strip():
        raise BadInput("give some words to search for: om search retry budget")
    branches = _branches(place, project_wide)
    hits = search(place.store, branches, query, limit=limit)
    if as_json:
        write_json([as_data(hit) for hit in hits])
        return
    zones = {branch.key: branch.zone for branch in branches}
    for hit in hits:
        write(text_of(hit, zones.get(hit.branch, "UTC"), elsewhere=hit.branch != place.branch.key))
    remark(summary(len(hits), len(branches), place.branch.key, project_wide=project_wide))


def summary(hits: int, branches: int, key: str, *, project_wide: bool) -> str:
    """How much was found where; when nothing was, where else to look."""
    where = f"{counted(branches, 'branch', 'branches')}{f', from {key}' if key else ''}"
    elsewhere = "; --session or --project-wide look elsewhere" if key and not hits and not project_wide else ""
    return f"{counted(hits, 'hit')} in {where}{elsewhere}"


def _branches(place: Place, project_wide: bool) -> list[Branch]:
    session = place.session
    if session is None:
        return []
    own = place.branches_of(session)
    if not project_wide:
        return own
    others = [
        other for other in place.sessions if other.key != session.key and _same_project(other.project, session.project)
    ]
    found = {branch.key: branch for each in others for branch in place.branches_of(each)}
    return list({**{branch.key: branch for branch in own}, **found}.values())


def _same_project(a: str, b: str) -> bool:
    from pathlib import Path

    return a == b or (bool(b) and is_folder(a, Path(b)))


def text_of(hit: Hit, zone: str, *, elsewhere: bool) -> str:
    """Two lines: what it is and how to recall it, and where the words stand."""
    record = hit.kind in ("observation", "reflection")
    when = hit.time if record else minute(hit.time, zone)
    said = [f"[{hit.id}]" if record else "", hit.kind.replace("_", " "), hit.state, when]
    if record and len(hit.recall) > 1:
        said.append(f"superseded by [{hit.recall[1]}]")
    if not record:
        said.append("recall " + " ".join(f"[{id_}]" for id_ in hit.recall) if hit.recall else "no record cites it")
    if elsewhere:
        said.append(f"on branch {hit.branch}")
    head = ", ".join(part for part in said[1:] if part)
    return harmless(f"{said[0]} {head}".strip() + f"\n    {hit.text}")


def as_data(hit: Hit) -> dict[str, Any]:
    """For programs."""
    return {
        "kind": hit.kind,
        "state": hit.state,
        "id": hit.id,
        "score": hit.score,
        "time": hit.time,
        "text": hit.text,
        "branch": hit.branch,
        "recall": list(hit.recall),
    }
