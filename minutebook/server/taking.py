"""The routes that take in. They append and mark work; a worker does it."""

from minutebook.pipeline.receiving import receive_memory, receive_sources
from minutebook.pipeline.rows import branch_of_row, lengths_row, memory_of_row, session_of_row, source_of_row
from minutebook.server import shapes
from minutebook.server.routing import Answer, Signed


def push_sources(caller: Signed, asked: shapes.SourcesBody) -> Answer:
    """Source entries of one of the user's own branches, from a position on that the box has reached.

    What the box has already is compared by id; sent again, nothing changes. The session and the branch are made when
    they are new.
    """
    session, branch = session_of_row(asked.session), branch_of_row(asked.branch)
    entries = [source_of_row(row) for row in asked.entries]
    session = caller.writable_session(session, branch)
    reached = receive_sources(caller.house.store, caller.user, session, branch, asked.at, asked.before, entries)
    caller.house.metrics.taken.inc(len(entries))
    return Answer(lengths_row(reached))


def push_memory(caller: Signed, asked: shapes.MemoryBody) -> Answer:
    """Memory that a laptop adds to one of the user's own branches: what the branch brings along, or an outbox."""
    branch = caller.writable(asked.branch)
    entries = [memory_of_row(row) for row in asked.entries]
    reached = receive_memory(caller.house.store, branch.key, asked.at, asked.before, entries, marks=asked.marks)
    caller.house.metrics.offered.inc(len(entries))
    return Answer(lengths_row(reached))
