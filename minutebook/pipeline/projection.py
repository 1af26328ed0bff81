"""Memory and a boundary -> what is visible before it. Pure.

Whether an entry belongs is decided by its coverage against the boundary, never by when it was written (003-071).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from minutebook.pipeline.folding import (
    NOTHING_BEYOND,
    Beyond,
    BeyondCheckpoint,
    Fold,
    HeldDigest,
    HeldObservation,
    HeldReflection,
    Memory,
    fold,
)
from minutebook.records import MemoryEntry, Tier, tier_of_citations


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestBudget:
    """How reflection_context_max_tokens splits (003-029): digest share, high-water mark, target after an update."""

    digest: int
    high_water: int
    target: int


def digest_budget(total: int) -> DigestBudget:
    """40 % for the digest, the rest for uncovered reflections, back to 40 % after an update (003-029)."""
    share = max(1, total * 4 // 10)
    return DigestBudget(digest=share, high_water=total - share, target=share)


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """What is visible before a boundary, in the order recorded.

    recent: the reflections that a rendering shows word for word, all of them when there is no usable digest.
    observed: how far observation got, where the unobserved extract begins (batches leave no holes between them).
    reference: boundary of the full fold in force. pool_tokens: of the observations, rendered.
    beyond: visible records that a checkpoint left out; beyond_recent: those of its reflections that belong to recent.
    """

    boundary: int
    observations: tuple[HeldObservation, ...] = ()
    reflections: tuple[HeldReflection, ...] = ()
    recent: tuple[HeldReflection, ...] = ()
    digest: HeldDigest | None = None
    observed: int = 0
    full_fold: bool = False
    reference: int | None = None
    pool_tokens: int = 0
    beyond: Beyond = NOTHING_BEYOND
    beyond_recent: int = 0

    def empty(self) -> bool:
        """Nothing to show: the host's own summarizer runs (003-066)."""
        return not (self.observations or self.reflections or self.digest)

    def tiers(self) -> Callable[[str], Tier]:
        """A function from an observation's id to its coverage tier: by the reflections that are visible here."""
        citations = Counter(key for held in self.reflections for key in set(held.record.support_ids))
        return lambda key: tier_of_citations(citations[key] + self.beyond.cited.get(key, 0))


def compaction_projection(memory: Memory, boundary: int, *, pool_max_tokens: int, digest_tokens: int) -> Projection:
    """What the next compaction at this boundary shows; a full fold when the normal pool is at its maximum (003-070)."""
    reference = memory.folds[-1].reference if memory.folds else None
    normal = project(memory, boundary, reference=reference, digest_tokens=digest_tokens)
    if normal.pool_tokens < pool_max_tokens:
        return normal
    return project(memory, boundary, reference=boundary, digest_tokens=digest_tokens, full_fold=True)


def project(
    memory: Memory, boundary: int, *, reference: int | None, digest_tokens: int, full_fold: bool = False
) -> Projection:
    """Batches that cover an entry before the boundary, reflections covered before it, drops covered before `reference`.

    What covers no entry of its own (a note) stands at its position: visible when that lies at or before the boundary.
    """
    observations = tuple(
        held
        for key, held in memory.observations.items()
        if (held.since < boundary or held.covers <= boundary) and not _dropped(memory, key, boundary, reference)
    )
    reflections = tuple(
        held
        for key, held in memory.reflections.items()
        if held.covers <= boundary and not (key in memory.retirements and memory.retirements[key].at_once(boundary))
    )
    digest = usable_digest(memory, reflections, digest_tokens)
    return Projection(
        boundary=boundary,
        observations=observations,
        reflections=reflections,
        recent=after_digest(reflections, digest),
        digest=digest,
        observed=memory.observed,
        full_fold=full_fold,
        reference=reference,
        pool_tokens=sum(held.record.tokens for held in observations) + memory.beyond.tokens,
        beyond=memory.beyond,
        beyond_recent=memory.beyond.after.get(digest.order, 0) if digest else memory.beyond.reflections,
    )


def full_projection(memory: Memory, tip: int, *, digest_tokens: int) -> Projection:
    """The truth at the tip: all memory, without anything dropped or retired."""
    reflections = tuple(memory.current())
    digest = usable_digest(memory, reflections, digest_tokens)
    observations = tuple(memory.active())
    return Projection(
        boundary=tip,
        observations=observations,
        reflections=reflections,
        recent=after_digest(reflections, digest),
        digest=digest,
        observed=memory.observed,
        pool_tokens=sum(held.record.tokens for held in observations),
    )


def visible_projection(entries: Sequence[MemoryEntry], chain: Sequence[str], *, digest_tokens: int) -> Projection:
    """What the last confirmed compaction showed; empty before the first (003-078).

    chain: branch keys from the root to this branch, the merge order of the entries.
    """
    memory = fold(entries)
    if not memory.folds:
        return Projection(boundary=0)
    last = memory.folds[-1]
    then = fold(_read_then(entries, chain, last))
    if last.ids is not None:
        return _imported(then, last)
    return project(then, last.boundary, reference=last.reference, digest_tokens=digest_tokens, full_fold=last.full_fold)


def usable_digest(memory: Memory, reflections: Sequence[HeldReflection], digest_tokens: int) -> HeldDigest | None:
    """The valid digest with the furthest watermark, then the newest (003-072, 003-073).

    Valid: within its share; its watermark is shown here and was recorded before it; and it can have folded in nothing
    that is not shown here: what a correction took back since, or what is covered only after the boundary.
    Raises BeyondCheckpoint.
    """
    shown = {held.record.id for held in reflections}
    rank = {key: at for at, key in enumerate(memory.reflections)}
    hidden = [held for key, held in memory.reflections.items() if key not in shown]
    valid = [
        digest
        for digest in memory.digests
        if digest.tokens <= digest_tokens
        and digest.through in shown
        and memory.reflections[digest.through].order < digest.order
        and not any(may_tell(memory, digest, held, rank) for held in hidden)
    ]
    if not valid and memory.beyond.digests:
        raise BeyondCheckpoint
    return max(valid, key=lambda digest: (rank[digest.through], not digest.imported, digest.order), default=None)


def after_digest(reflections: Sequence[HeldReflection], digest: HeldDigest | None) -> tuple[HeldReflection, ...]:
    """The reflections after the digest's watermark, all of them without a digest."""
    if digest is None:
        return tuple(reflections)
    ids = [held.record.id for held in reflections]
    return tuple(reflections[ids.index(digest.through) + 1 :])


def drift(visible: Projection, full: Projection) -> tuple[set[str], set[str], set[str]]:
    """Ids: observations only in full, visible observations that full no longer has, reflections only in full."""
    shown, true = _ids(visible.observations), _ids(full.observations)
    return true - shown, shown - true, _ids(full.reflections) - _ids(visible.reflections)


def _ids(held: Iterable[HeldObservation | HeldReflection]) -> set[str]:
    return {each.record.id for each in held}


def _dropped(memory: Memory, key: str, boundary: int, reference: int | None) -> bool:
    tomb = memory.drops.get(key)
    if tomb is None:
        return False
    return tomb.at_once(boundary) or tomb.after_fold(None if reference is None else min(reference, boundary))


def may_tell(memory: Memory, digest: HeldDigest, held: HeldReflection, rank: Mapping[str, int]) -> bool:
    """Whether the digest may hold this reflection: recorded up to its watermark, and not retired before it was made."""
    tomb = memory.retirements.get(held.record.id)
    return rank[held.record.id] <= rank[digest.through] and (tomb is None or tomb.order > digest.order)


def _read_then(entries: Sequence[MemoryEntry], chain: Sequence[str], last: Fold) -> list[MemoryEntry]:
    place = {key: index for index, key in enumerate(chain)}
    limit = (place.get(last.branch, len(chain)), last.length)
    return [entry for entry in entries if (place.get(entry.branch, 0), entry.index) < limit]


def _imported(memory: Memory, last: Fold) -> Projection:
    shown = last.ids or frozenset()
    observations = tuple(held for key, held in memory.observations.items() if key in shown)
    reflections = tuple(held for key, held in memory.reflections.items() if key in shown)
    return Projection(
        boundary=last.boundary,
        observations=observations,
        reflections=reflections,
        recent=reflections,
        observed=memory.observed,
        full_fold=last.full_fold,
        reference=last.reference,
        pool_tokens=sum(held.record.tokens for held in observations),
    )
