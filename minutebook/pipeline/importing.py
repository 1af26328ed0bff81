"""Memory that a host's file brings along, and the host's own word that it compacted.

Foreign ids are kept. A coverage marker whose entry is unknown means the last source entry before the marker's own
entry; one that names a memory entry, the last source before that one (003-154).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from minutebook.pipeline import ledger
from minutebook.pipeline.branches import memory_stream
from minutebook.pipeline.deliveries import HostCompaction, ImportedMemory
from minutebook.pipeline.folding import fold
from minutebook.pipeline.folds import PRODUCER, confirm_fold
from minutebook.pipeline.outcomes import Entry, append_memory, memory_entry
from minutebook.records import DIGEST, FOLD, OBSERVATIONS, REFLECTIONS, Branch, MemoryEntry
from minutebook.store import codec
from minutebook.store.kernel import Store


@dataclass(slots=True)
class Importer:
    """Collects imported memory, and writes it behind the source entries that it is about."""

    store: Store
    held: list[MemoryEntry] = field(default_factory=list)
    standing: dict[str, int] = field(default_factory=dict)

    def add(self, event: ImportedMemory, after: int | None, covers: int | None) -> None:
        """Hold one entry. after, covers: positions of the entries that it names, None where they are unknown."""
        if event.entry.data.get("producer") == PRODUCER:
            return
        at = 0 if after is None else after + 1
        self.standing[event.entry.id] = at
        covered = covers + 1 if covers is not None else self.standing.get(event.covers_id)
        data = {**event.entry.data, "at": at}
        self.held.append(
            replace(
                event.entry, covers=-1 if covered is None else covered, since=-1, covers_id=event.covers_id, data=data
            )
        )

    def flush(self, branch: Branch) -> None:
        """Write what is held, in its order; entries that are there already are no-ops."""
        if not self.held:
            return
        tip = self.store.tip(memory_stream(branch.key))
        observed = tip.marks.get(ledger.OBSERVER, 0)
        placed = []
        for entry in self.held:
            covers = self._resolve(branch, entry)
            since = min(observed, covers) if entry.kind == OBSERVATIONS else covers
            if entry.kind == OBSERVATIONS:
                observed = max(observed, covers)
            placed.append(replace(entry, covers=covers, since=since))
        new = self._new(branch, placed)
        self.held = []
        if new:
            append_memory(self.store, branch, new)

    def compacted(self, branch: Branch, event: HostCompaction, *, kept: int, at: int) -> None:
        """Record the host's compaction: confirm our fold, import a foreign one, and restart the compaction clock."""
        advance = {ledger.COMPACTED_FROM: kept, ledger.COMPACTED_AT: at}
        if event.fold and event.fold.get("producer") != PRODUCER:
            self._import_fold(branch, event, kept, advance)
        else:
            confirm_fold(self.store, branch, time=event.time, advance=advance)

    def _resolve(self, branch: Branch, entry: MemoryEntry) -> int:
        if entry.covers >= 0:
            return entry.covers
        stored = self.store.find(memory_stream(branch.key), [entry.covers_id]) if entry.covers_id else {}
        for item in stored.values():
            at = codec.memory_entry(branch.key, item).data.get("at")
            if isinstance(at, int):
                return at
        return int(entry.data["at"])

    def _new(self, branch: Branch, entries: list[MemoryEntry]) -> list[MemoryEntry]:
        there = self.store.find(memory_stream(branch.key), [entry.id for entry in entries])
        return [entry for entry in entries if entry.id not in there]

    def _import_fold(self, branch: Branch, event: HostCompaction, kept: int, advance: Mapping[str, int]) -> None:
        memory = fold(ledger.read_memory(self.store, branch))
        entries = [*_missing_records(event.fold, memory.observations, memory.reflections, kept)]
        full = bool(event.fold.get("fullFold"))
        reference = kept if full else (memory.folds[-1].reference if memory.folds else None)
        length = self.store.tip(memory_stream(branch.key)).length + len(entries)
        shown = _shown_ids(event.fold)
        data = {"fullFold": full, "reference": reference, "length": length, "ids": shown, "imported": event.id}
        entries.append(Entry(kind=FOLD, covers=kept, since=kept, data=data, time=event.time))
        new = self._new(branch, [memory_entry(entry) for entry in entries])
        append_memory(self.store, branch, new, advance=advance)


def _shown_ids(fold_data: Mapping[str, Any]) -> list[str]:
    rows = [*_rows(fold_data, "observations"), *_rows(fold_data, "reflections")]
    return [row["id"] for row in rows if isinstance(row.get("id"), str)]


def _missing_records(
    fold_data: Mapping[str, Any], observations: Mapping[str, object], reflections: Mapping[str, object], kept: int
) -> list[Entry]:
    """Records that the fold shows and the ledger lacks, and its digest."""
    entries = []
    lost = [row for row in _rows(fold_data, "observations") if row.get("id") not in observations]
    if lost:
        entries.append(Entry(kind=OBSERVATIONS, covers=0, since=0, data={"observations": lost}))
    lost = [row for row in _rows(fold_data, "reflections") if row.get("id") not in reflections]
    if lost:
        entries.append(Entry(kind=REFLECTIONS, covers=0, since=0, data={"reflections": lost}))
    digest = fold_data.get("reflectionDigest")
    if isinstance(digest, Mapping):
        entries.append(Entry(kind=DIGEST, covers=kept, since=kept, data={**digest, "fromFold": True}))
    return entries


def _rows(data: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    rows = data.get(name)
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
