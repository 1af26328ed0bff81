"""What a host delivers to intake: source entries and signals, in the order in which they came."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from minutebook.records import MemoryEntry, SourceEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionHead:
    """What a file says about itself. session: the host's session id. agent: a sub-agent's id, else "".

    forked_from: the parent session's id (or its file) where the host names one. rests_on: the file whose beginning
    this one goes on from without repeating it; to be taken in before this one.
    """

    host: str
    session: str
    agent: str = ""
    project: str = ""
    zone: str = ""
    forked_from: str = ""
    started: str = ""
    host_version: str = ""
    rests_on: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCompaction:
    """The host's own record that it compacted.

    id: the record's id. first_kept: id of the first kept source entry, "" where the host names none.
    fold: `details` of a fold that an extension put in (Pi), else empty. after: id of the source entry before it.
    """

    id: str
    first_kept: str = ""
    after: str = ""
    time: str = ""
    fold: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedMemory:
    """A memory entry found in a host's file (Pi). covers_id may point to anything; intake resolves it.

    entry.covers and entry.since are not known yet (0). after: id of the last source entry before it.
    """

    entry: MemoryEntry
    covers_id: str
    after: str = ""


@dataclass(slots=True, kw_only=True)
class Reading:
    """The result of one read.

    events: SourceEntry, HostCompaction or ImportedMemory in file order. cursor: JSON-able, where the next read goes on.
    replaced: the file is not a continuation of what the cursor saw; this reading starts from the beginning.
    unknown: row kind → count of rows that are no source and not known. broken: numbers of lines that cannot be decoded.
    ended: the file says that the session is over.
    """

    head: SessionHead | None
    events: list[SourceEntry | HostCompaction | ImportedMemory] = field(default_factory=list)
    cursor: dict[str, Any] = field(default_factory=dict)
    replaced: bool = False
    unknown: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    broken: list[int] = field(default_factory=list)
    ended: bool = False
