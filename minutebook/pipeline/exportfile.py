"""The lines of an export, read back as blocks of rows that belong together. Bad input names file and line."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NoReturn

from minutebook.errors import BadInput
from minutebook.pipeline.branches import READ_CHUNK
from minutebook.pipeline.exporting import EXPORT_VERSION, EXPORTED_MARKS
from minutebook.pipeline.rowfields import Fields, plain_data
from minutebook.pipeline.rows import branch_of_row, memory_of_row, session_of_row, source_of_row, source_place
from minutebook.pipeline.sessions import Session
from minutebook.records import Branch, MemoryEntry, SourceEntry

ORDER = ("export", "redaction_key", "session", "branch", "source", "memory", "waiting", "marks", "purged", "end")
OF_BRANCH = ("source", "memory", "waiting", "marks")
MARKS_MAX = 2**53


@dataclass(frozen=True, slots=True)
class Key:
    """The redaction key of the store that was exported, in hex."""

    hex: str


@dataclass(frozen=True, slots=True)
class Begun:
    """A branch begins; what follows is its own. origin: it is found by its first entry."""

    branch: Branch
    origin: bool
    line: int


@dataclass(frozen=True, slots=True)
class Sources:
    """Source entries at `at` of the branch's own stream."""

    at: int
    entries: list[SourceEntry]
    line: int


@dataclass(frozen=True, slots=True)
class Memories:
    """Memory entries at `at` of the branch's own stream."""

    at: int
    entries: list[MemoryEntry]
    line: int


@dataclass(frozen=True, slots=True)
class Ended:
    """The branch is whole: its marks, and what waited for a box."""

    marks: dict[str, int]
    waiting: list[MemoryEntry]


@dataclass(frozen=True, slots=True)
class Buried:
    """A tombstone: its key, and its body."""

    key: str
    body: dict[str, Any]


Block = Key | Session | Begun | Sources | Memories | Ended | Buried


def read_blocks(lines: Iterable[bytes], name: str) -> Iterator[Block]:
    """The blocks of an export file; raises BadInput at the first line that is not as it should be, or if it was cut."""
    reader = _Reader(name)
    for number, row in _rows(lines, name):
        try:
            yield from reader.take(row, number)
        except BadInput as error:
            raise BadInput(f"{name}, line {number}: {error}") from error


def _rows(lines: Iterable[bytes], name: str) -> Iterator[tuple[int, Any]]:
    """Rows with the numbers of their lines, up to the last one, which must be there and fit."""
    digest, count, ended = sha256(), 0, False
    for count, line in enumerate(lines, start=1):
        if ended:
            raise BadInput(f"{name}, line {count}: something stands behind the last row of the export")
        row = _row(line, f"{name}, line {count}")
        ended = row.get("row") == "end"
        if ended and (row.get("rows"), row.get("sha256")) != (count - 1, digest.hexdigest()):
            raise BadInput(f"{name}, line {count}: the file is not as it was written: a row is missing or changed")
        digest.update(line)
        yield count, row
    if not ended:
        raise BadInput(f"{name}, line {count + 1}: the file was cut: its last row is missing")


def _row(line: bytes, where: str) -> Any:
    try:
        row = json.loads(line.decode(), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        cut = "" if line.endswith(b"\n") else " (the file was cut)"
        raise BadInput(f"{where}: no row of an export{cut}: {str(error)[:80]}") from error
    if not isinstance(row, dict):
        raise BadInput(f"{where}: no row of an export, but {type(row).__name__}")
    return row


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


class _Reader:
    """Collects rows into blocks, and sees that each stands where it may."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.stage = -1
        self.branch = ""
        self.sources: list[SourceEntry] = []
        self.memories: list[MemoryEntry] = []
        self.counts = [0, 0]
        self.lines = [0, 0]
        self.marks: dict[str, int] = {}
        self.waiting: list[MemoryEntry] = []

    def take(self, row: dict[str, Any], line: int) -> Iterator[Block]:
        kind = row.get("row")
        if kind not in ORDER:
            raise BadInput(f"unknown row {str(kind)[:40]!r}; a newer Minutebook may have written it")
        self._check_order(kind, row)
        read: Callable[[dict[str, Any], int], Iterator[Block]] = getattr(self, f"_{kind}")
        yield from read(row, line)

    def _check_order(self, kind: str, row: dict[str, Any]) -> None:
        stage = ORDER.index(kind)
        if (self.stage < 0) != (kind == "export"):
            raise BadInput("an export begins with one row of its version")
        if kind in OF_BRANCH and row.get("branch") != self.branch:
            raise BadInput(f"{kind}: it belongs to branch {str(row.get('branch'))[:80]!r}, which is not the one here")
        if stage < self.stage and not (kind == "branch" and self.stage < ORDER.index("purged")):
            raise BadInput(f"a {kind} row may not stand here")
        self.stage = stage

    def _export(self, row: dict[str, Any], line: int) -> Iterator[Block]:
        if row.get("version") != EXPORT_VERSION:
            raise BadInput(f"an export of version {row.get('version')!r}; this Minutebook reads {EXPORT_VERSION}")
        yield from ()

    def _redaction_key(self, row: dict[str, Any], line: int) -> Iterator[Block]:
        key = Fields(row, "redaction_key").name("key")
        try:
            bytes.fromhex(key)
        except ValueError as error:
            raise BadInput("a redaction_key row: key: no hex") from error
        yield Key(key)

    def _session(self, row: dict[str, Any], line: int) -> Iterator[Block]:
        yield session_of_row(row)

    def _branch(self, row: dict[str, Any], line: int) -> Iterator[Block]:
        yield from self._finish()
        branch = branch_of_row(row)
        self.branch, self.counts = branch.key, [0, 0]
        yield Begun(branch, Fields(row, "branch").flag("origin"), line)

    def _source(self, row: dict[str, Any], line: int) -> Iterator[Block]:
        self._next(0, source_place(row)[1], line)
        self.sources.append(source_of_row(row))
        if len(self.sources) == READ_CHUNK:
            yield from self._flush()

    def _memory(self, row: dict[str, Any], line: int) -> Iterator[Block]:
        if self.sources:
            yield from self._flush()
        entry = memory_of_row(row)
        self._next(1, entry.index, line)
        self.memories.append(entry)
        if len(self.memories) == READ_CHUNK:
            yield from self._flush()

    def _waiting(self, row: dict[str, Any], line: int) -> Iterator[Block]:
        self.waiting.append(memory_of_row({**row, "row": "memory"}))
        yield from ()

    def _marks(self, row: dict[str, Any], line: int) -> Iterator[Block]:
        found = Fields(row, "marks")
        given = plain_data(found, "marks")
        self.marks = {name: found.whole("marks", given[name]) for name in EXPORTED_MARKS if name in given}
        yield from ()

    def _purged(self, row: dict[str, Any], line: int) -> Iterator[Block]:
        yield from self._finish()
        found = Fields(row, "purged")
        yield Buried(found.name("key"), plain_data(found, "body"))

    def _end(self, row: dict[str, Any], line: int) -> Iterator[Block]:
        yield from self._finish()

    def _next(self, stream: int, position: int, line: int) -> None:
        if position != self.counts[stream]:
            raise BadInput(f"it stands at {position}, and the next one of its branch is {self.counts[stream]}")
        if not (self.memories if stream else self.sources):
            self.lines[stream] = line
        self.counts[stream] += 1

    def _flush(self) -> Iterator[Block]:
        if self.sources:
            yield Sources(self.counts[0] - len(self.sources), self.sources, self.lines[0])
            self.sources = []
        if self.memories:
            yield Memories(self.counts[1] - len(self.memories), self.memories, self.lines[1])
            self.memories = []

    def _finish(self) -> Iterator[Block]:
        """What is left of the branch before."""
        yield from self._flush()
        if self.branch:
            yield Ended(self.marks, self.waiting)
        self.branch, self.marks, self.waiting = "", {}, []
