"""The routes that take in. They append and mark work; a worker does it."""

from fastapi import APIRouter

from minutebook.pipeline.receiving import receive_memory, receive_sources
from minutebook.pipeline.rows import branch_of_row, lengths_row, memory_of_row, session_of_row, source_of_row
from minutebook.server import shapes
from minutebook.server.routing import Answer, Signed, StrictRoute, refusals

router = APIRouter(prefix="/v1", route_class=StrictRoute, responses=refusals(403, 409, 410))


@router.post("/sources", response_model=shapes.LengthsAnswer)
def push_sources(caller: Signed, body: shapes.SourcesBody) -> Answer:
    """Source entries of one of the user's own branches, from a position on that the box has reached.

    What the box has already is compared by id; sent again, nothing changes. The session and the branch are made when
    they are new.
    """
    session, branch = session_of_row(body.session), branch_of_row(body.branch)
    entries = [source_of_row(row) for row in body.entries]
    session = caller.writable_session(session, branch)
    reached = receive_sources(caller.house.store, caller.user, session, branch, body.at, body.before, entries)
    caller.house.metrics.taken.inc(len(entries))
    return Answer(lengths_row(reached))


@router.post("/memory", response_model=shapes.LengthsAnswer)
def push_memory(caller: Signed, body: shapes.MemoryBody) -> Answer:
    """Memory that a laptop adds to one of the user's own branches: what the branch brings along, or an outbox."""
    branch = caller.writable(body.branch)
    entries = [memory_of_row(row) for row in body.entries]
    reached = receive_memory(caller.house.store, branch.key, body.at, body.before, entries, marks=body.marks)
    caller.house.metrics.offered.inc(len(entries))
    return Answer(lengths_row(reached))
