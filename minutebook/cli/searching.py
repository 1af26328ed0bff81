"""`om search`."""

from typing import TYPE_CHECKING, Any

import click

from minutebook.cli.choosing import is_same_project
from minutebook.cli.options import JSON, placed
from minutebook.cli.place import NOTHING_YET, Place
from minutebook.cli.showing import counted, harmless, minute, one_line, remark, write, write_json
from minutebook.errors import BadInput
from minutebook.pipeline.answers import hit_data
from minutebook.pipeline.questions import RECORDS_MOST
from minutebook.pipeline.search import Hit, search
from minutebook.records import Branch

if TYPE_CHECKING:
    from minutebook.cli.judging import Judged


@click.command("search", short_help="records and turns by words", context_settings={"ignore_unknown_options": True})
@placed(looking=True)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--project-wide", is_flag=True, help="In all sessions of the session's project.")
@click.option("--limit", type=click.IntRange(1, 1000), default=10, show_default=True, metavar="N")
@click.option("--judge", "judging", is_flag=True, help="Let the judge put what helps first; it may ask a model.")
@JSON
def search_command(
    place: Place, words: tuple[str, ...], project_wide: bool, limit: int, judging: bool, as_json: bool
) -> None:
    """Records and turns by words. Any text is a query; words that occur nowhere find nothing.

    With --judge, the best 40 hits are read by the judge; where it does not answer within judge_deadline_seconds, they
    stay in the order of the search.

    \b
    om search retry budget
    om search --project-wide "connection refused"
    om search --judge "which port does the gateway use"
    """
    query = " ".join(words)
    if not query.strip():
        raise BadInput("give some words to search for: om search retry budget")
    branches = _branches(place, project_wide)
    hits = search(place.store, branches, query, limit=max(limit, RECORDS_MOST) if judging else limit)
    zones = {branch.key: branch.zone for branch in branches}
    verdict = None
    if judging:
        from minutebook.cli.judging import judged

        verdict = judged(place, query, hits, limit, zones)
        hits = list(verdict.hits)
    if as_json:
        write_json(judged_data(verdict) if verdict else [hit_data(hit) for hit in hits])
        return
    for hit in hits:
        write(text_of(hit, zones.get(hit.branch, "UTC"), elsewhere=hit.branch != place.branch.key))
    if not place.sessions:
        remark(f"om: {NOTHING_YET}")
    remark(summary(len(hits), len(branches), place.branch.key, project_wide=project_wide))
    if verdict and hits:
        remark(one_line(verdict.summary))


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
        other
        for other in place.sessions
        if other.key != session.key and is_same_project(other.project, session.project)
    ]
    found = {branch.key: branch for each in others for branch in place.branches_of(each)}
    return list({**{branch.key: branch for branch in own}, **found}.values())


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


def judged_data(found: "Judged") -> dict[str, Any]:
    """For programs: the hits, of each whether the judge named it, and who judged, or why nobody did."""
    hits = [{**hit_data(hit), "helps": at < found.helpful} for at, hit in enumerate(found.hits)]
    return {
        "judged": not found.why_not,
        "mind": found.mind,
        "seconds": found.seconds,
        "why_not": found.why_not,
        "hits": hits,
    }
