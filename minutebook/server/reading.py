"""The routes that read. Each notes in the audit log who was given what."""

from typing import Annotated

from fastapi import APIRouter, Query

from minutebook.pipeline import answers
from minutebook.pipeline.branches import Path
from minutebook.pipeline.compaction import look_at_memory
from minutebook.pipeline.copies import lengths, memory_after, sources_after
from minutebook.pipeline.notices import read_notices
from minutebook.pipeline.recall import recall
from minutebook.pipeline.rows import lengths_row
from minutebook.pipeline.search import search
from minutebook.pipeline.sourcetext import entry_text
from minutebook.pipeline.status import read_status
from minutebook.pipeline.viewing import boundary_keeping, view_lines, viewed
from minutebook.server import shapes
from minutebook.server.keyed import own_branch, own_memory, own_session, own_source
from minutebook.server.listing import sessions_after
from minutebook.server.refusals import Hidden, invalid
from minutebook.server.routing import After, Answer, BranchKey, Limit, Signed, StrictRoute, refusals

router = APIRouter(prefix="/v1", route_class=StrictRoute, responses=refusals())
Tokens = Annotated[int, Query(ge=0, le=shapes.POSITION_MAX)]


@router.get("/me", response_model=shapes.MeAnswer)
def me(caller: Signed) -> Answer:
    """Whose token this is."""
    return Answer({"user": caller.user, "projects": list(caller.token.projects)})


@router.post("/lengths", response_model=shapes.ManyLengthsAnswer)
def many_lengths(caller: Signed, body: shapes.LengthsBody) -> Answer:
    """What the box has of each of these branches: where a laptop goes on."""
    readable = caller.readable_among(body.branches)
    found = lengths(caller.house.store, [branch.key for branch in readable.values()])
    rows = {key: found[branch.key] for key, branch in readable.items()}
    given = {key: lengths_row(row) if (row := rows.get(key)) else None for key in body.branches}
    return Answer({"branches": given})


@router.get("/memory", response_model=shapes.EntriesAnswer)
def memory(caller: Signed, branch: BranchKey, after: After = 0, limit: Limit = shapes.PAGE_MAX) -> Answer:
    """Memory entries of a branch's own stream, oldest first."""
    found = caller.readable(branch)
    entries, length = memory_after(caller.house.store, found.key, after, limit)
    caller.house.metrics.pulled.inc(len(entries))
    caller.noted(branch, len(entries))
    return Answer({"entries": [own_memory(caller, entry) for entry in entries], "lengths": lengths_row(length)})


@router.get("/sources", response_model=shapes.EntriesAnswer)
def sources(caller: Signed, branch: BranchKey, after: After = 0, limit: Limit = shapes.PAGE_MAX) -> Answer:
    """Source entries of a branch's own stream, oldest first, with secrets replaced."""
    found = caller.readable(branch)
    entries, length = sources_after(caller.house.store, found.key, after, limit)
    caller.noted(branch, len(entries))
    rows = [own_source(caller, found.key, after + at, entry) for at, entry in enumerate(entries)]
    return Answer({"entries": rows, "lengths": lengths_row(length)})


@router.get("/sessions", response_model=shapes.SessionsAnswer)
def sessions(
    caller: Signed,
    after: Annotated[str, Query(max_length=shapes.KEY_CHARACTERS)] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 100,
) -> Answer:
    """The user's own sessions, and those of projects that the team shares, which were touched after a cursor."""
    page = sessions_after(caller, after, limit)
    caller.noted("", len(page.sessions))
    given = [
        {
            "session": own_session(caller, each.session),
            "branches": [own_branch(caller, branch) for branch in each.branches],
            "lengths": {caller.own(key): lengths_row(row) for key, row in each.lengths.items()},
            "owner": each.owner,
            "readable": "team" if each.shared else "private",
        }
        for each in page.sessions
    ]
    return Answer({"sessions": given, "next": page.next})


@router.get("/status", response_model=shapes.StatusAnswer)
def status(caller: Signed, branch: BranchKey) -> Answer:
    """What is recorded, visible, due or failing on a branch, as the box sees it."""
    found = caller.readable(branch)
    data = answers.status_data(read_status(caller.house.store, found, caller.house.settings))
    caller.noted(branch, 1)
    return Answer(
        {
            **data,
            "session": caller.own(data["session"]),
            "branch": caller.own(found.key),
            "host": caller.own(found.host),
        }
    )


@router.get("/view", response_model=shapes.ViewAnswer)
def view(caller: Signed, branch: BranchKey, full: bool = False) -> Answer:
    """The memory as text: what the last confirmed compaction showed, or (full) all that is active."""
    found = caller.readable(branch)
    projection = viewed(caller.house.store, found, caller.house.settings, full=full)
    text = "\n".join(view_lines(projection, "recorded" if full else "visible"))
    caller.noted(branch, len(projection.recent) + len(projection.observations))
    return Answer({"branch": caller.own(found.key), "full": full, "text": text})


@router.get("/recall", response_model=shapes.RecallAnswer)
def recall_record(caller: Signed, branch: BranchKey, id: Annotated[str, Query(pattern="^[0-9a-f]{12}$")]) -> Answer:
    """A record and the exact source behind it."""
    found = recall(caller.house.store, caller.readable(branch), id)
    caller.noted(branch, len(found.sources), status=200 if found.found else 404)
    if not found.found:
        raise Hidden
    texts = [{**answers.source_data(placed), "text": entry_text(placed.entry)} for placed in found.sources]
    return Answer(answers.recalled_data(found, texts))


@router.get("/search", response_model=shapes.SearchAnswer)
def search_branch(
    caller: Signed,
    branch: BranchKey,
    q: Annotated[str, Query(min_length=1, max_length=shapes.QUERY_CHARACTERS)],
    limit: Annotated[int, Query(ge=1, le=shapes.HITS_MAX)] = 10,
) -> Answer:
    """Records and turns of a branch by words, best first."""
    hits = search(caller.house.store, [caller.readable(branch)], q, limit=limit)
    caller.noted(branch, len(hits))
    return Answer({"hits": [{**answers.hit_data(hit), "branch": caller.own(hit.branch)} for hit in hits]})


@router.get("/notices", response_model=shapes.NoticesAnswer)
def notices(caller: Signed, after: After = 0) -> Answer:
    """What a person is to be told: of the box itself, and of sessions that this token may read."""
    told = read_notices(caller.house.store, after)
    abouts = caller.readable_among({caller.own(notice.about) for notice in told if notice.about})
    given = [each for each in told if not each.about or caller.own(each.about) in abouts]
    caller.noted("", len(given))
    rows = [{"position": each.position, "time": each.time, "text": each.text} for each in given]
    return Answer({"notices": rows, "next": told[-1].position + 1 if told else after})


@router.get("/compaction", response_model=shapes.CompactionAnswer)
def compaction(caller: Signed, branch: BranchKey, boundary: Tokens | None = None, keep: Tokens | None = None) -> Answer:
    """What an agent would get back if its context were compacted now. A look: nothing is recorded.

    boundary: the position of the first entry that stays. keep: instead, about so many tokens of newest entries stay.
    """
    found = caller.readable(branch)
    path = Path(caller.house.store, found)
    length = path.length()
    if boundary is not None and (keep is not None or boundary > length):
        raise invalid(f"give boundary or keep; the branch has {length} entries")
    cut = boundary_keeping(path, keep or 0) if boundary is None else boundary
    composed = look_at_memory(caller.house.store, found, cut, caller.house.settings)
    caller.noted(branch, 0 if composed is None else composed.observations + composed.reflections)
    return Answer({"boundary": cut, "entries": length, "composition": answers.composition_data(composed)})
