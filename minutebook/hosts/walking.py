"""What all readers share: the walk over a file from a cursor on, and the little it must remember between reads."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Protocol, TypeVar

from minutebook.errors import BadTranscript
from minutebook.hosts.lines import Lines, Row
from minutebook.hosts.reading import HostCompaction, ImportedMemory, Reading, SessionHead
from minutebook.private_spans import without_private
from minutebook.records import RawPointer, SourceEntry, content_id

CURSOR_VERSION = 1
REMEMBERED = 256
"""How many rows without weight, and how many calls, a cursor remembers."""
_REMEMBERED_CHARACTERS = 500
"""An id or a name longer than that is not remembered: a cursor stays small whatever a file holds."""
_KIND_CHARACTERS = 80
_ID_CHARACTERS = 256
"""A longer id is shortened to its beginning and its hash, wherever it stands."""
_FINGERPRINT_BYTES = 1024
_BUFFER_BYTES = 1 << 16
_ID_AT_THE_END = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
V = TypeVar("V")
Event = SourceEntry | HostCompaction | ImportedMemory


class Rows(Protocol):
    """The records of a file, one after the other; these move on meanwhile (see Lines)."""

    offset: int
    line: int
    broken: list[int]

    def __iter__(self) -> Iterator[Row]: ...


class Walk:
    """One host's reading of one file: subclasses turn a row into events (`take`) and keep their own state (`memory`).

    links: id of a row that is no source → id of its nearest source ancestor (None at a root). followers: such an id →
    the source that came next in the file. calls: call id → tool. repeats: derived id → how often it was given.
    last: id of the source entry emitted last. All of it, bounded, is in the cursor.
    """

    host: ClassVar[str]

    def __init__(self, path: str, head: SessionHead | None, memory: Mapping[str, Any]) -> None:
        self.path, self.head = path, head
        self.events: list[Event] = []
        self.skipped: dict[str, int] = {}
        self.unknown: dict[str, int] = {}
        self.ended = False
        self.links: dict[str, str | None] = dict(memory.get("links", {}))
        self.followers: dict[str, str] = dict(memory.get("followers", {}))
        self.calls: dict[str, str] = dict(memory.get("calls", {}))
        self.repeats: dict[str, int] = dict(memory.get("repeats", {}))
        self.last: str = memory.get("last", "")

    def rows(self, file: BinaryIO, offset: int, line: int, stop: int) -> Rows:
        """The records of the file from there up to `stop`: those of its lines, unless the host writes otherwise."""
        return Lines(file, offset, line, stop)

    @classmethod
    def inherited(cls, cursor: Mapping[str, Any]) -> dict[str, Any]:
        """What a read from the start must know of the reads of the file that was replaced."""
        return {}

    def continues(self, size: int) -> bool:
        """Whether a file of so many bytes, the same up to the cursor, can be read on from there."""
        return True

    def take(self, row: Row) -> None:
        """Turn one row into events, or count it."""
        raise NotImplementedError

    def takes(self, row: Row) -> bool:
        """Take it; False for one that is nested deeper than Python goes: decoded, but not readable."""
        try:
            self.take(row)
        except RecursionError:
            return False
        return True

    def settle(self, file: BinaryIO) -> None:
        """After the last row of a read: what can only be said with a look elsewhere in the file."""

    def memory(self) -> dict[str, Any]:
        """What the next read must know, JSON-able."""
        return {
            "links": self.links,
            "followers": self.followers,
            "calls": self.calls,
            "repeats": self.repeats,
            "last": self.last,
        }

    def emit(self, entry: SourceEntry) -> None:
        self.head = self.head or SessionHead(host=self.host, session=_session_named(self.path))
        if len(entry.id) > _ID_CHARACTERS or len(entry.parent or "") > _ID_CHARACTERS:
            entry = replace(entry, id=_short_id(entry.id), parent=_short_id(entry.parent or "") or None)
        self.events.append(entry)
        self.last = entry.id
        for row_id in reversed(self.followers):
            if self.followers[row_id]:
                break
            self.followers[row_id] = entry.id

    def skip(self, kind: str) -> None:
        kind = kind[:_KIND_CHARACTERS]
        self.skipped[kind] = self.skipped.get(kind, 0) + 1

    def count_unknown(self, kind: str) -> None:
        kind = kind[:_KIND_CHARACTERS]
        self.unknown[kind] = self.unknown.get(kind, 0) + 1

    def link(self, row_id: str, ancestor: str | None) -> None:
        """Remember of a row that is no source: its children belong to that source entry."""
        if row_id:
            remember(self.links, row_id, ancestor)
            remember(self.followers, row_id, "")

    def alias(self, row_id: str, entry_id: str) -> None:
        """Remember of a source row with several entries: its children follow the last of them."""
        remember(self.links, row_id, entry_id)

    def source_of(self, row_id: str) -> str | None:
        """The id itself, or its nearest source ancestor where the row is known to be no source; None for no parent."""
        return self.links.get(row_id, row_id) if row_id else None

    def first_source(self, row_id: str) -> str:
        """The id itself, or the first source after the row where it is known to be none ("" if there is none yet)."""
        return self.followers.get(row_id, row_id)

    def derived_id(self, *parts: str) -> str:
        """An id for a row that has none, from what it says. A word-for-word repeat gets a number, so a rewritten file
        with the same content has the same ids, wherever in it they stand. Private spans have no part in it."""
        base = content_id(*map(without_private, parts))
        seen = self.repeats.get(base, 0)
        remember(self.repeats, base, seen + 1)
        return numbered(base, seen)

    def pointer(self, row: Row) -> RawPointer | None:
        return RawPointer(self.path, row.offset, row.length)


def _short_id(own: str) -> str:
    return own if len(own) <= _ID_CHARACTERS else f"{own[:40]}…{content_id(own)}"


def _with_short_ids(event: HostCompaction | ImportedMemory) -> Event:
    """The same event, with no id longer than an id may be (a source entry's are as it was emitted)."""
    if isinstance(event, HostCompaction):
        return replace(event, id=_short_id(event.id), first_kept=_short_id(event.first_kept))
    entry, covers_id = event.entry, _short_id(event.covers_id)
    return replace(event, entry=replace(entry, id=_short_id(entry.id), covers_id=covers_id), covers_id=covers_id)


def _session_named(path: str) -> str:
    """For a file whose beginning is lost: the id at the end of its name, or its name."""
    stem = Path(path).stem
    match = _ID_AT_THE_END.search(stem)
    return match[0] if match else stem


def remember(kept: dict[str, V], key: str, value: V) -> None:
    """Put a pair last, and forget the oldest beyond the bound."""
    if len(key) > _REMEMBERED_CHARACTERS or (isinstance(value, str) and len(value) > _REMEMBERED_CHARACTERS):
        return
    kept.pop(key, None)
    kept[key] = value
    if len(kept) > REMEMBERED:
        del kept[next(iter(kept))]


def numbered(first_id: str, index: int) -> str:
    """Id of the entry at `index` among those of one record: the host's own, then with #1, #2 …"""
    return f"{first_id}#{index}" if index else first_id


def walk_file(
    walk: type[Walk], path: Path, cursor: Mapping[str, Any] | None = None, *, stop: int | None = None
) -> Reading:
    """Read a file's rows from the cursor on (or from the start, if it is no continuation of what the cursor saw).

    stop: byte offset to read up to. Raises BadTranscript when the file cannot be opened.
    """
    with open_transcript(path) as file:
        size = os.fstat(file.fileno()).st_size
        resumed = _resume(walk, path, file, size, cursor) if cursor else None
        session, offset, line = resumed or (walk(str(path.absolute()), None, walk.inherited(cursor or {})), 0, 0)
        rows = session.rows(file, offset, line, size if stop is None else min(stop, size))
        for row in rows:
            try:
                session.take(row)
            except RecursionError:  # as in `takes`, without one more call for every row
                rows.broken.append(row.line)
        session.settle(file)
        return _reading(session, rows, file, replaced=bool(cursor) and resumed is None)


def open_transcript(path: Path) -> BinaryIO:
    """The file, opened for reading; BadTranscript says what is wrong with it."""
    try:
        if path.is_dir():
            raise BadTranscript(f"{path}: is a directory; name one session file in it")
        if path.exists() and not path.is_file():  # opening a pipe would wait for a writer
            raise BadTranscript(f"{path}: is no regular file; save what it holds to a file and name that")
        return path.open("rb", buffering=_BUFFER_BYTES)
    except FileNotFoundError:
        raise BadTranscript(f"{path}: there is no such file") from None
    except (OSError, ValueError) as error:
        raise BadTranscript(f"{path}: cannot be read ({error})") from None


def _reading(session: Walk, rows: Rows, file: BinaryIO, *, replaced: bool) -> Reading:
    head = session.head
    if head:
        head = replace(head, session=_short_id(head.session), agent=_short_id(head.agent))
    cursor = {
        "version": CURSOR_VERSION,
        "host": session.host,
        "offset": rows.offset,
        "line": rows.line,
        "fingerprint": _fingerprint(file, rows.offset),
        "head": asdict(head) if head else None,
        "memory": session.memory(),
    }
    return Reading(
        head=head,
        events=[event if isinstance(event, SourceEntry) else _with_short_ids(event) for event in session.events],
        cursor=cursor,
        replaced=replaced,
        unknown=session.unknown,
        skipped=session.skipped,
        broken=rows.broken,
        ended=session.ended,
    )


def _resume(
    walk: type[Walk], path: Path, file: BinaryIO, size: int, cursor: Mapping[str, Any]
) -> tuple[Walk, int, int] | None:
    """The walk as the cursor left it, with its offset and line; None if the file is another than it saw."""
    try:
        offset, line, head = int(cursor["offset"]), int(cursor["line"]), cursor["head"]
        if cursor["version"] != CURSOR_VERSION or cursor["host"] != walk.host or not 0 <= offset <= size:
            return None
        if _fingerprint(file, offset) != cursor["fingerprint"]:
            return None
        session = walk(str(path.absolute()), SessionHead(**head) if head else None, dict(cursor["memory"]))
        return (session, offset, line) if session.continues(size) else None
    except (KeyError, TypeError, ValueError):
        return None


def _fingerprint(file: BinaryIO, offset: int) -> str:
    """Of the first bytes and of those just before the offset: both change when a file is rewritten."""
    file.seek(0)
    first = file.read(min(offset, _FINGERPRINT_BYTES))
    file.seek(max(0, offset - _FINGERPRINT_BYTES))
    return sha256(first + file.read(min(offset, _FINGERPRINT_BYTES))).hexdigest()[:16]
