"""Memory that a host's file brings along: records, drops, digests, and what the last fold of an extension showed.

Foreign ids are kept. A coverage marker whose entry is unknown means the last source entry before the marker's own
entry; one that names a memory entry, the last source before that one (003-154). What is held is written once, at the
end of a delivery, so that importing a long session folds its memory once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from minutebook.pipeline import ledger
from minutebook.pipeline.branches import find_branch, memory_stream
from minutebook.pipeline.deliveries import HostCompaction, ImportedMemory
from minutebook.pipeline.folding import Memory, apply, fold
from minutebook.pipeline.folds import PRODUCER
from minutebook.pipeline.outcomes import Entry, append_memory, memory_entry
from minutebook.records import DIGEST, FOLD, OBSERVATIONS, REFLECTIONS, Branch, MemoryEntry, content_id
from minutebook.redaction import Redactor
from minutebook.store import codec
from minutebook.store.kernel import Store
from minutebook.tokens import estimate_tokens

UNREADABLE = {"malformed": True}
"""In place of foreign data that is nested deeper than it can be walked; counted as malformed."""


@dataclass(frozen=True, slots=True)
class Held:
    """One event that waits. at: entries of the path before it. covers: resolved, None when its marker is no source.

    marks: of a fold, what it restarts.
    """

    event: ImportedMemory | HostCompaction
    at: int = 0
    covers: int | None = None
    marks: Mapping[str, int] = field(default_factory=dict)


def is_foreign_fold(event: HostCompaction) -> bool:
    """Whether another extension made this compaction's text, and said what it shows."""
    return bool(event.fold) and event.fold.get("producer") != PRODUCER


class Importer:
    """Collects the imported memory of one delivery; taking the same in again changes nothing."""

    def __init__(self, store: Store, redactor: Redactor) -> None:
        self.store = store
        self.redactor = redactor
        self.held: dict[str, dict[str, Held]] = {}
        self.moved: list[str] = []

    def add(self, branch_key: str, event: ImportedMemory, *, at: int, covers: int | None) -> None:
        """Hold one entry, unless it is ours, read back."""
        if event.entry.data.get("producer") != PRODUCER:
            self.held.setdefault(branch_key, {})[event.entry.id] = Held(event, at, covers)

    def add_fold(self, branch_key: str, event: HostCompaction, marks: Mapping[str, int]) -> None:
        """Hold a foreign fold."""
        self.held.setdefault(branch_key, {})[fold_id(event)] = Held(event, marks=marks)

    def has(self, branch: Branch, event: ImportedMemory | HostCompaction) -> bool:
        """Whether the branch, or one that it descends from, has this entry or fold already."""
        id_ = event.entry.id if isinstance(event, ImportedMemory) else fold_id(event)
        return any(self.store.find(memory_stream(each.key), [id_]) for each in ledger.chain_of(self.store, branch))

    def flush(self) -> None:
        """Write what is held, in its order, behind the source entries that it is about."""
        for key, held in self.held.items():
            branch = find_branch(self.store, key)
            if branch is not None:
                self._write(branch, list(held.values()))
        self.held = {}

    def _write(self, branch: Branch, held: list[Held]) -> None:
        there = self._there(branch, held)
        memory = fold(ledger.read_memory(self.store, branch))
        new: list[MemoryEntry] = []
        marks: dict[str, int] = {}
        for each in held:
            for entry in self._entries(each, memory, there):
                apply(memory, entry)
                new.append(entry)
                marks.update(each.marks)
        if new:
            append_memory(self.store, branch, new, advance=marks)
            self.moved.append(branch.key)

    def _there(self, branch: Branch, held: list[Held]) -> dict[str, int]:
        """Memory entries that these are or name, of the store: id → entries of the path before it.

        Those that are held are added when their turn comes, so a marker never points forward.
        """
        events = [each.event for each in held]
        ids = [e.entry.id if isinstance(e, ImportedMemory) else fold_id(e) for e in events]
        ids += [e.covers_id for e in events if isinstance(e, ImportedMemory) and e.covers_id]
        found = self.store.find(memory_stream(branch.key), ids)
        return {key: _at(codec.memory_entry(branch.key, item)) for key, item in found.items()}

    def _entries(self, held: Held, memory: Memory, there: dict[str, int]) -> Iterator[MemoryEntry]:
        event = held.event
        id_ = event.entry.id if isinstance(event, ImportedMemory) else fold_id(event)
        if id_ in there:
            return
        if isinstance(event, ImportedMemory):
            there[id_] = held.at
            yield self._imported(event, held, memory, there)
        else:
            there[id_] = held.marks[ledger.COMPACTED_FROM]
            yield from self._fold(event, held.marks[ledger.COMPACTED_FROM], memory)

    def _imported(self, event: ImportedMemory, held: Held, memory: Memory, there: Mapping[str, int]) -> MemoryEntry:
        entry = event.entry
        covers = held.covers
        if covers is None:
            covers = there.get(event.covers_id, held.at) if event.covers_id != entry.id else held.at
        since = min(memory.observed, covers) if entry.kind == OBSERVATIONS else covers
        data = {**self._cleaned(entry.data), "at": held.at}
        if entry.kind == DIGEST:
            data = _counted(data)
        return replace(entry, covers=covers, since=since, covers_id=event.covers_id, data=data)

    def _fold(self, event: HostCompaction, kept: int, memory: Memory) -> Iterator[MemoryEntry]:
        """What the fold shows and the ledger lacks, its digest, and the fold itself, which ends at its own place."""
        shown = self._cleaned(event.fold)
        full = bool(shown.get("fullFold"))
        reference = kept if full else (memory.folds[-1].reference if memory.folds else None)
        for entry in _missing_records(shown, memory, kept):
            yield memory_entry(replace(entry, time=event.time))
        data = {"fullFold": full, "reference": reference, "ids": _shown_ids(shown), "imported": event.id, "at": kept}
        made = memory_entry(Entry(kind=FOLD, covers=kept, since=kept, data=data, time=event.time))
        yield replace(made, id=fold_id(event))

    def _cleaned(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Foreign data without secrets: it never passed our intake."""
        try:
            return {key: self._redacted(value) for key, value in data.items()}
        except RecursionError:
            return dict(UNREADABLE)

    def _redacted(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.redactor.redact(value)
        if isinstance(value, Mapping):
            return {key: self._redacted(each) for key, each in value.items()}
        return [self._redacted(each) for each in value] if isinstance(value, list) else value


def fold_id(event: HostCompaction) -> str:
    """The id of an imported fold: of its host's record, so that it is imported once."""
    return content_id(FOLD, event.id)


def _at(entry: MemoryEntry) -> int:
    at = entry.data.get("at")
    return at if isinstance(at, int) else entry.covers


def _counted(data: Mapping[str, Any]) -> dict[str, Any]:
    """A digest with its tokens counted by us (003-035)."""
    content = data.get("content")
    return {**data, "tokenCount": estimate_tokens(content)} if isinstance(content, str) else dict(data)


def _shown_ids(fold_data: Mapping[str, Any]) -> list[str]:
    rows = [*_rows(fold_data, "observations"), *_rows(fold_data, "reflections")]
    return [row["id"] for row in rows if isinstance(row.get("id"), str)]


def _missing_records(fold_data: Mapping[str, Any], memory: Memory, kept: int) -> Iterator[Entry]:
    """Records that the fold shows and the ledger lacks (they cover nothing), and its digest."""
    lost = [row for row in _rows(fold_data, "observations") if row.get("id") not in memory.observations]
    if lost:
        yield Entry(kind=OBSERVATIONS, covers=0, since=0, data={"observations": lost})
    lost = [row for row in _rows(fold_data, "reflections") if row.get("id") not in memory.reflections]
    if lost:
        yield Entry(kind=REFLECTIONS, covers=0, since=0, data={"reflections": lost})
    digest = fold_data.get("reflectionDigest")
    if isinstance(digest, Mapping):
        yield Entry(kind=DIGEST, covers=kept, since=kept, data={**_counted(digest), "fromFold": True})


def _rows(data: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    rows = data.get(name)
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
