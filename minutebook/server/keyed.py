"""Rows with the keys that the caller sees: their own without the user's prefix."""

from dataclasses import replace

from minutebook.pipeline.boxkeys import branch_as_seen, session_as_seen
from minutebook.pipeline.rows import Row, branch_row, memory_row, session_row, source_row
from minutebook.pipeline.sessions import Session
from minutebook.records import Branch, MemoryEntry, SourceEntry
from minutebook.server.callers import Caller


def own_session(caller: Caller, session: Session) -> Row:
    """A session."""
    return session_row(session_as_seen(caller.user, session))


def own_branch(caller: Caller, branch: Branch) -> Row:
    """A branch."""
    return branch_row(branch_as_seen(caller.user, branch))


def own_memory(caller: Caller, entry: MemoryEntry) -> Row:
    """A memory entry."""
    return memory_row(replace(entry, branch=caller.own(entry.branch)))


def own_source(caller: Caller, branch: str, position: int, entry: SourceEntry) -> Row:
    """A source entry of a branch's own stream."""
    return source_row(caller.own(branch), position, entry)
