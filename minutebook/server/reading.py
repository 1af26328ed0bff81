"""The routes that read. Each notes in the audit log who was given what."""

from typing import Annotated

from fastapi import Query

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
from minutebook.server.routing import Answer, Signed
from minutebook.version import __version__


def me(caller: Signed) -> Answer:
    """Whose token this is, and for which projects; the box's version and clock."""
    told = {"user": caller.user, "projects": list(caller.token.projects)}
    return Answer({**told, "version": __version__, "time": caller.house.clock()})


def many_lengths(caller: Signed, asked: shapes.LengthsBody) -> Answer:
    """What the box has of each of these branches: where a laptop goes on."""
    readable = caller.readable_among(asked.branches)
    found = lengths(caller.house.store, [branch.key for branch in readable.values()])
    rows = {key: found[branch.key] for key, branch in readable.items()}
    given = {key: lengths_row(row) if (row := rows.get(key)) else None for key in asked.branches}
    return Answer({"branches": given})


def memory(caller: Signed, asked: Annotated[shapes.EntriesQuestion, Query()]) -> Answer:
    """Memory entries of a branch's own stream, oldest first."""
    found = caller.readable(asked.branch)
    entries, length = memory_after(caller.house.store, found.key, asked.after, asked.limit)
    caller.house.metrics.pulled.inc(len(entries))
    caller.noted(asked.branch, len(entries))
    return Answer({"entries": [own_memory(caller, entry) for entry in entries], "lengths": lengths_row(length)})


def sources(caller: Signed, asked: Annotated[shapes.EntriesQuestion, Query()]) -> Answer:
    """Source entries of a branch's own stream, oldest first, with secrets replaced."""
    found = caller.readable(asked.branch)
    entries, length = sources_after(caller.house.store, found.key, asked.after, asked.limit)
    caller.noted(asked.branch, len(entries))
    rows = [own_source(caller, found.key, position, entry) for position, entry in enumerate(entries, asked.after)]
    return Answer({"entries": rows, "lengths": lengths_row(length)})


def sessions(caller: Signed, asked: Annotated[shapes.SessionsQuestion, Query()]) -> Answer:
    """The user's own sessions, and those of projects that the team shares, which were touched after a cursor."""
    page = sessions_after(caller, asked.after, asked.limit)
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


def status(caller: Signed, asked: Annotated[shapes.BranchQuestion, Query()]) -> Answer:
    """What is recorded, visible, due or failing on a branch, as the box sees it."""
    found = caller.readable(asked.branch)
    data = answers.status_data(read_status(caller.house.store, found, caller.house.settings))
    caller.noted(asked.branch, 1)
    return Answer({**data, **{name: caller.own(data[name]) for name in ("session", "branch", "host")}})


def view(caller: Signed, asked: Annotated[shapes.ViewQuestion, Query()]) -> Answer:
    """The memory as text: what the last confirmed compaction showed, or (full) all that is active."""
    found = caller.readable(asked.branch)
    projection = viewed(caller.house.store, found, caller.house.settings, full=asked.full)
    text = "\n".join(view_lines(projection, "recorded" if asked.full else "visible"))
    caller.noted(asked.branch, len(projection.recent) + len(projection.observations))
    return Answer({"branch": caller.own(found.key), "full": asked.full, "text": text})


def recall_record(caller: Signed, asked: Annotated[shapes.RecallQuestion, Query()]) -> Answer:
    """A record and the exact source behind it."""
    found = recall(caller.house.store, caller.readable(asked.branch), asked.id)
    caller.noted(asked.branch, len(found.sources), status=200 if found.found else 404)
    if not found.found:
        raise Hidden
    texts = [{**answers.source_data(placed), "text": entry_text(placed.entry)} for placed in found.sources]
    return Answer(answers.recalled_data(found, texts))


def search_branch(caller: Signed, asked: Annotated[shapes.SearchQuestion, Query()]) -> Answer:
    """Records and turns of a branch by words, best first."""
    hits = search(caller.house.store, [caller.readable(asked.branch)], asked.q, limit=asked.limit)
    caller.noted(asked.branch, len(hits))
    return Answer({"hits": [{**answers.hit_data(hit), "branch": caller.own(hit.branch)} for hit in hits]})


def notices(caller: Signed, asked: Annotated[shapes.NoticesQuestion, Query()]) -> Answer:
    """What a person is to be told: of the box itself, and of sessions that this token may read."""
    told = read_notices(caller.house.store, asked.after)
    abouts = caller.readable_among({caller.own(notice.about) for notice in told if notice.about})
    given = [each for each in told if not each.about or caller.own(each.about) in abouts]
    caller.noted("", len(given))
    rows = [{"position": each.position, "time": each.time, "text": each.text} for each in given]
    return Answer({"notices": rows, "next": told[-1].position + 1 if told else asked.after})


def compaction(caller: Signed, asked: Annotated[shapes.CompactionQuestion, Query()]) -> Answer:
    """What an agent would get back if its context were compacted now. A look: nothing is recorded."""
    found = caller.readable(asked.branch)
    path = Path(caller.house.store, found)
    length = path.length()
    if asked.boundary is not None and (asked.keep is not None or asked.boundary > length):
        raise invalid(f"give boundary or keep; the branch has {length} entries")
    cut = boundary_keeping(path, asked.keep or 0) if asked.boundary is None else asked.boundary
    composed = look_at_memory(caller.house.store, found, cut, caller.house.settings)
    caller.noted(asked.branch, 0 if composed is None else composed.observations + composed.reflections)
    return Answer({"boundary": cut, "entries": length, "composition": answers.composition_data(composed)})
