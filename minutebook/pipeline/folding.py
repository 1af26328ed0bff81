"""Memory entries -> memory. Pure: the same entries in the same order give the same memory, anywhere.

The order is the ledger's merge order (ledger.py): each ancestor's inherited entries, root first, then the branch's own.
For each id the first valid record wins (003-151); a tombstone holds for ever, also for an id not known yet (003-152).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from minutebook.pipeline.shapes import ids_of, observations_of, reflections_of
from minutebook.records import (
    DIGEST,
    DROPS,
    FOLD,
    GAP,
    OBSERVATIONS,
    REFLECTIONS,
    RETIREMENTS,
    MemoryEntry,
    Observation,
    Reflection,
    Tier,
    tier_of_citations,
)

IMPORTED = "imported"
"""The mind of records that name none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldObservation:
    """An observation with the span of its batch, its place among all memory entries (order), and who recorded it."""

    record: Observation
    since: int
    covers: int
    order: int
    mind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldReflection:
    """A reflection with the coverage that its run read."""

    record: Reflection
    covers: int
    order: int
    mind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldDigest:
    """A digest. through: id of the last reflection folded in. order: where among all memory entries it was recorded.

    imported: it sat inside a host's old fold; it loses to an equal one of the ledger.
    """

    content: str
    through: str
    tokens: int
    order: int
    imported: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """When an id counts as dropped or retired.

    waits_from: coverage of a drop that waits for a full fold, None when there is none.
    immediate_from, immediate_covers: span of one that does not wait (a person's, or a correction's).
    by: whose the first one was: dropper, superseded, user. replaced_by: id of the record that says it now, or "".
    """

    waits_from: int | None = None
    immediate_from: int | None = None
    immediate_covers: int | None = None
    order: int = 0
    by: str = ""
    replaced_by: str = ""

    def at_once(self, boundary: int) -> bool:
        """Whether it holds before this boundary without waiting."""
        return holds_at_once(self.immediate_from, self.immediate_covers, boundary)

    def after_fold(self, reference: int | None) -> bool:
        """Whether it holds once everything before `reference` was fully folded."""
        return holds_after_fold(self.waits_from, reference)


def holds_at_once(since: int | None, covers: int | None, boundary: int) -> bool:
    """Whether a tombstone of this span, which does not wait, holds before this boundary."""
    return since is not None and covers is not None and (since < boundary or covers <= boundary)


def holds_after_fold(waits_from: int | None, reference: int | None) -> bool:
    """Whether one that waits for a full fold from there on holds once everything before `reference` was folded so."""
    return waits_from is not None and reference is not None and waits_from <= reference


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """A confirmed compaction. reference: boundary of the full fold in force, None before the first.

    branch, length: how far memory was read (an imported one: up to itself). ids: of an imported fold, the records that
    it showed; else None.
    """

    boundary: int
    full_fold: bool
    reference: int | None
    branch: str
    length: int
    ids: frozenset[str] | None = None
    time: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A span that could not be observed."""

    id: str
    since: int
    covers: int
    reason: str
    time: str


class BeyondCheckpoint(Exception):
    """A checkpoint holds too little to answer: fold the whole memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beyond:
    """What a checkpoint left out of a memory, nothing in a whole one: visible before every boundary from `floor` on.

    observations, tokens: how many, and of how many rendered tokens. best: keep key that none of them exceeds.
    reflections, reflection_tokens: likewise; newest: order of the newest of them. after: order of a digest → how many
    of these lie after its watermark, and their tokens. digests: how many, all losing to those that are there;
    digests_at_tip: of these, how many the tip might use. cited: observation → citations by left-out reflections.
    """

    floor: int = 0
    observations: int = 0
    tokens: int = 0
    best: int = -1
    reflections: int = 0
    reflection_tokens: int = 0
    newest: int = -1
    after: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    digests: int = 0
    digests_at_tip: int = 0
    cited: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What the last confirmed compaction showed: how much, and which of it the memory at hand still holds.

    observations, tokens, reflections: all of them. removed, reflections_removed: of those no longer at hand, how many
    were dropped or retired since.
    """

    observations: int = 0
    tokens: int = 0
    reflections: int = 0
    removed: int = 0
    reflections_removed: int = 0
    observation_ids: frozenset[str] = frozenset()
    reflection_ids: frozenset[str] = frozenset()


NOTHING_BEYOND = Beyond()
NOTHING_SHOWN = Shown()


@dataclass(slots=True)
class Memory:
    """Everything that a branch's memory entries say, or what of it a checkpoint kept (less what is gone for good).

    The counts are of all that was ever recorded; retired: ids with a tombstone, recorded or not. minds: who recorded.
    recorded_at: seconds of the latest entry's time. shown: to be set by who knows what a compaction showed.
    """

    observations: dict[str, HeldObservation] = field(default_factory=dict)
    reflections: dict[str, HeldReflection] = field(default_factory=dict)
    drops: dict[str, Tombstone] = field(default_factory=dict)
    retirements: dict[str, Tombstone] = field(default_factory=dict)
    digests: list[HeldDigest] = field(default_factory=list)
    folds: list[Fold] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    filled: set[str] = field(default_factory=set)
    observed: int = 0
    reflected: int = 0
    dropped_through: int = 0
    last_reflections_covers: int = 0
    malformed: int = 0
    order: int = 0
    observations_recorded: int = 0
    reflections_recorded: int = 0
    reflection_tokens: int = 0
    digests_recorded: int = 0
    retired: int = 0
    minds: dict[str, int] = field(default_factory=dict)
    recorded_at: float = 0.0
    beyond: Beyond = NOTHING_BEYOND
    shown: Shown = NOTHING_SHOWN

    def active(self) -> list[HeldObservation]:
        """Observations that no tombstone names: the pool, at the tip."""
        return [held for key, held in self.observations.items() if key not in self.drops]

    def current(self) -> list[HeldReflection]:
        """Reflections that are not retired, in the order recorded."""
        return [held for key, held in self.reflections.items() if key not in self.retirements]

    def tiers(self) -> Callable[[str], Tier]:
        """A function from an observation's id to its coverage tier (003-021)."""
        citations = Counter(key for held in self.current() for key in set(held.record.support_ids))
        return lambda key: tier_of_citations(citations[key])

    def open_gaps(self) -> list[Gap]:
        """Gaps that were not filled later."""
        return [gap for gap in self.gaps if gap.id not in self.filled]


def fold(entries: Iterable[MemoryEntry]) -> Memory:
    """The memory of these entries."""
    memory = Memory()
    for entry in entries:
        apply(memory, entry)
    return memory


def apply(memory: Memory, entry: MemoryEntry) -> None:
    """Add one entry; one that is malformed or of an unknown kind is counted (003-155)."""
    memory.order += 1
    memory.recorded_at = max(memory.recorded_at, _seconds(entry.time))
    handler = _HANDLERS.get(entry.kind)
    if handler is None:
        memory.malformed += 1
        return
    memory.malformed += handler(memory, entry)


def _observations(memory: Memory, entry: MemoryEntry) -> int:
    found, malformed = observations_of(entry.data)
    for record in found:
        if record.id in memory.observations:
            continue
        memory.observations[record.id] = HeldObservation(
            record=record, since=entry.since, covers=entry.covers, order=memory.order, mind=_mind(entry)
        )
        memory.observations_recorded += 1
        _count_mind(memory, entry)
    memory.observed = max(memory.observed, entry.covers)
    if isinstance(filled := entry.data.get("fills"), str):
        memory.filled.add(filled)
    return malformed


def _reflections(memory: Memory, entry: MemoryEntry) -> int:
    found, malformed = reflections_of(entry.data)
    for record in found:
        if record.id in memory.reflections:
            continue
        memory.reflections[record.id] = HeldReflection(
            record=record, covers=entry.covers, order=memory.order, mind=_mind(entry)
        )
        memory.reflections_recorded += 1
        memory.reflection_tokens += record.tokens
        _count_mind(memory, entry)
    memory.reflected = max(memory.reflected, entry.covers)
    if found:
        memory.last_reflections_covers = max(memory.last_reflections_covers, entry.covers)
    return malformed


def _digest(memory: Memory, entry: MemoryEntry) -> int:
    content, through = entry.data.get("content"), entry.data.get("coversThroughReflectionId")
    tokens = entry.data.get("tokenCount")
    if not (isinstance(content, str) and content.strip() and isinstance(through, str) and isinstance(tokens, int)):
        return 1
    imported = bool(entry.data.get("fromFold"))
    memory.digests_recorded += 1
    memory.digests.append(
        HeldDigest(content=content, through=through, tokens=tokens, order=memory.order, imported=imported)
    )
    return 0


def _drops(memory: Memory, entry: MemoryEntry) -> int:
    waits = entry.data.get("by", "dropper") == "dropper"
    malformed = _bury(memory.drops, entry, "observationIds", waits=waits, order=memory.order)
    if waits:
        memory.dropped_through = max(memory.dropped_through, entry.covers)
    return malformed


def _retirements(memory: Memory, entry: MemoryEntry) -> int:
    before = len(memory.retirements)
    malformed = _bury(memory.retirements, entry, "reflectionIds", waits=False, order=memory.order)
    memory.retired += len(memory.retirements) - before
    return malformed


def _bury(tombs: dict[str, Tombstone], entry: MemoryEntry, name: str, *, waits: bool, order: int) -> int:
    ids, malformed = ids_of(entry.data, name)
    by = str(entry.data.get("by", "dropper"))
    replaced = entry.data.get("replacedBy")
    for key in ids:
        old = tombs.get(key, Tombstone(order=order, by=by))
        tombs[key] = Tombstone(
            waits_from=_least(old.waits_from, entry.covers) if waits else old.waits_from,
            immediate_from=old.immediate_from if waits else _least(old.immediate_from, entry.since),
            immediate_covers=old.immediate_covers if waits else _least(old.immediate_covers, entry.covers),
            order=old.order,
            by=old.by,
            replaced_by=old.replaced_by or (str(replaced.get(key, "")) if isinstance(replaced, dict) else ""),
        )
    return malformed


def _gap(memory: Memory, entry: MemoryEntry) -> int:
    reason = str(entry.data.get("reason", ""))
    memory.gaps.append(Gap(id=entry.id, since=entry.since, covers=entry.covers, reason=reason, time=entry.time))
    memory.observed = max(memory.observed, entry.covers)
    return 0


def _fold(memory: Memory, entry: MemoryEntry) -> int:
    data = entry.data
    full, reference, length = bool(data.get("fullFold")), data.get("reference"), data.get("length", entry.index)
    if not isinstance(length, int) or not (reference is None or isinstance(reference, int)):
        return 1
    shown: Any = data.get("ids")
    memory.folds.append(
        Fold(
            boundary=entry.covers,
            full_fold=full,
            reference=reference,
            branch=entry.branch,
            length=length,
            ids=frozenset(shown) if isinstance(shown, list) else None,
            time=entry.time,
        )
    )
    return 0


def _count_mind(memory: Memory, entry: MemoryEntry) -> None:
    mind = _mind(entry) or IMPORTED
    memory.minds[mind] = memory.minds.get(mind, 0) + 1


def _mind(entry: MemoryEntry) -> str:
    return str(entry.data.get("mind", ""))


def _seconds(time: str) -> float:
    try:
        return datetime.fromisoformat(time).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def _least(a: int | None, b: int) -> int:
    return b if a is None else min(a, b)


_HANDLERS: dict[str, Callable[[Memory, MemoryEntry], int]] = {
    OBSERVATIONS: _observations,
    REFLECTIONS: _reflections,
    DIGEST: _digest,
    DROPS: _drops,
    RETIREMENTS: _retirements,
    GAP: _gap,
    FOLD: _fold,
}
