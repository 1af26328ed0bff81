"""A page and a boundary -> what is visible before it. Pure.

Whether an entry belongs is decided by its coverage against the boundary, never by when it was written (003-071).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from minutebook.pipeline.folding import (
    BeyondCheckpoint,
    Fold,
    HeldDigest,
    Memory,
    fold,
    holds_after_fold,
    holds_at_once,
)
from minutebook.pipeline.pages import Page, PageDigest, Span, key_with, page_of
from minutebook.records import MemoryEntry, Observation, Reflection

TIP = 2**62
"""The boundary after everything."""
UNLIMITED = 10**9
T = TypeVar("T")


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
    """What is visible before a boundary: rows of a page, in the order recorded.

    recent: the reflections that a rendering shows word for word, all of them when there is no usable digest.
    reference: boundary of the full fold in force. pool_tokens: of the observations, rendered.
    left_out_recent, left_out_recent_tokens: of the reflections that a checkpoint left out, those that belong to recent.
    """

    boundary: int
    page: Page = field(default_factory=Page)
    observations: Sequence[int] = ()
    reflections: Sequence[int] = ()
    recent: Sequence[int] = ()
    digest: HeldDigest | None = None
    full_fold: bool = False
    reference: int | None = None
    pool_tokens: int = 0
    left_out_recent: int = 0
    left_out_recent_tokens: int = 0

    @property
    def observed(self) -> int:
        """How far observation got, where the unobserved extract begins (batches leave no holes between them)."""
        return self.page.observed

    def empty(self) -> bool:
        """Nothing to show: the host's own summarizer runs (003-066)."""
        return not (self.observations or self.reflections or self.digest)

    def observation_lines(self) -> list[str]:
        """One a visible observation."""
        return _picked(self.page.observations, self.observations)

    def recent_lines(self) -> list[str]:
        """One a reflection that is shown word for word."""
        return _picked(self.page.reflections, self.recent)

    def observation_records(self) -> list[Observation]:
        """The visible observations, without their sources."""
        return [self.page.observation(row) for row in self.observations]

    def reflection_records(self) -> list[Reflection]:
        """The visible reflections, those under a digest too, without their supports."""
        return [self.page.reflection(row) for row in self.reflections]

    def recent_tokens(self) -> int:
        """Of the reflections that are shown word for word."""
        return sum(_picked(self.page.reflection_tokens, self.recent)) + self.left_out_recent_tokens

    def keep_keys(self) -> list[int]:
        """The keep key of each visible observation, with the citations by reflections that are visible here."""
        page, shown = self.page, set(self.reflections)
        keys = [*page.keys]
        more = Counter(row for place, rows in page.citing.items() if place in shown for row in rows)
        for row, count in more.items():
            keys[row] = key_with(keys[row], count)
        return _picked(keys, self.observations)

    def recent_orders(self) -> list[int]:
        """Where the entry of each recent reflection stands."""
        return _picked(self.page.orders, self.recent)


def compaction_projection(page: Page, boundary: int, *, pool_max_tokens: int, digest_tokens: int) -> Projection:
    """What the next compaction at this boundary shows; a full fold when the normal pool is at its maximum (003-070)."""
    normal = project(page, boundary, reference=page.reference, digest_tokens=digest_tokens)
    if normal.pool_tokens < pool_max_tokens:
        return normal
    dropped = _dropped(page, boundary, boundary)
    observations = [row for row in normal.observations if row not in dropped]
    return replace(
        normal,
        observations=observations,
        full_fold=True,
        reference=boundary,
        pool_tokens=_pool_tokens(page, observations),
    )


def project(page: Page, boundary: int, *, reference: int | None, digest_tokens: int) -> Projection:
    """Batches that cover an entry before the boundary, reflections covered before it, drops covered before `reference`.

    What covers no entry of its own (a note) stands at its position: visible when that lies at or before the boundary.
    Raises BeyondCheckpoint where the page does not say.
    """
    if boundary < page.floor:
        raise BeyondCheckpoint
    observations = _visible(page.spans, boundary, _dropped(page, boundary, reference))
    retired = {row for row, _, since, covers, _ in page.retirements if holds_at_once(since, covers, boundary)}
    reflections = _visible(page.reflection_spans, boundary, retired)
    digest = usable_digest(page, reflections, digest_tokens)
    return Projection(
        boundary=boundary,
        page=page,
        observations=observations,
        reflections=reflections,
        recent=reflections if digest is None else [row for row in reflections if row > digest.through],
        digest=digest.held if digest else None,
        reference=reference,
        pool_tokens=_pool_tokens(page, observations),
        left_out_recent=digest.beyond if digest else page.left_out_reflections,
        left_out_recent_tokens=digest.beyond_tokens if digest else page.left_out_reflection_tokens,
    )


def full_projection(page: Page, *, digest_tokens: int) -> Projection:
    """The truth at the tip: all memory, without anything dropped or retired."""
    return project(page, TIP, reference=TIP, digest_tokens=digest_tokens)


def visible_projection(entries: Sequence[MemoryEntry], branches: Sequence[str], *, digest_tokens: int) -> Projection:
    """What the last confirmed compaction showed; empty before the first (003-078).

    branches: keys from the root to this branch, the merge order of the entries.
    """
    memory = fold(entries)
    if not memory.folds:
        return Projection(boundary=0)
    last = memory.folds[-1]
    then = fold(_read_then(entries, branches, last))
    page = page_of(then, floor=last.boundary)
    if last.ids is not None:
        return _imported(then, page, last)
    return project(page, last.boundary, reference=last.reference, digest_tokens=digest_tokens)


def usable_digest(page: Page, reflections: Sequence[int], digest_tokens: int) -> PageDigest | None:
    """The first valid digest within its share; reflections: the rows that are visible. Raises BeyondCheckpoint."""
    found = next((each for each in valid_digests(page, reflections) if each.held.tokens <= digest_tokens), None)
    if found is None and page.left_out_digests:
        raise BeyondCheckpoint
    return found


def valid_digests(page: Page, reflections: Sequence[int]) -> list[PageDigest]:
    """The digests that may stand for their reflections, the furthest watermark first, then the newest (003-073).

    reflections: the rows that are visible. Valid (003-072): the watermark is shown here and was recorded before it; and
    it can have folded in nothing that is not shown here: what a correction took back since, or what is covered only
    after the boundary.
    """
    if not page.digests:
        return []
    shown = set(reflections)
    hidden = [row for row in range(len(page.reflections)) if row not in shown]
    retired_at = {row: order for row, *_, order in page.retirements}

    def may_tell(digest: PageDigest, row: int) -> bool:
        """Recorded up to its watermark, and not retired before it was made."""
        return row <= digest.through and retired_at.get(row, TIP) > digest.held.order

    valid = [
        digest
        for digest in page.digests
        if digest.through in shown
        and page.orders[digest.through] < digest.held.order
        and not any(may_tell(digest, row) for row in hidden)
    ]
    return sorted(valid, key=_digest_rank, reverse=True)


def _digest_rank(digest: PageDigest) -> tuple[int, bool, int]:
    return digest.through, not digest.held.imported, digest.held.order


def _visible(spans: Sequence[Span], boundary: int, gone: set[int]) -> list[int]:
    """Rows of the spans that cover an entry before the boundary, less those that are gone."""
    shown: list[int] = []
    at = 0
    for since, covers, rows in spans:
        if since < boundary or covers <= boundary:
            shown.extend(range(at, at + rows))
        at += rows
    return [row for row in shown if row not in gone] if gone else shown


def _dropped(page: Page, boundary: int, reference: int | None) -> set[int]:
    limit = None if reference is None else min(reference, boundary)
    return {
        row
        for row, waits_from, since, covers, _ in page.drops
        if holds_at_once(since, covers, boundary) or holds_after_fold(waits_from, limit)
    }


def _pool_tokens(page: Page, observations: Sequence[int]) -> int:
    return sum(_picked(page.tokens, observations)) + page.left_out_tokens


def _picked(column: Sequence[T], rows: Sequence[int]) -> list[T]:
    return [column[row] for row in rows]


def _read_then(entries: Sequence[MemoryEntry], branches: Sequence[str], last: Fold) -> list[MemoryEntry]:
    place = {key: index for index, key in enumerate(branches)}
    limit = (place.get(last.branch, len(branches)), last.length)
    return [entry for entry in entries if (place.get(entry.branch, 0), entry.index) < limit]


def _imported(memory: Memory, page: Page, last: Fold) -> Projection:
    """What a host's own fold showed, as it lists it; nothing is left out of a whole page."""
    shown = last.ids or frozenset()
    observations = [row for row, key in enumerate(memory.observations) if key in shown]
    reflections = [row for row, key in enumerate(memory.reflections) if key in shown]
    return Projection(
        boundary=last.boundary,
        page=page,
        observations=observations,
        reflections=reflections,
        recent=reflections,
        full_fold=last.full_fold,
        reference=last.reference,
        pool_tokens=sum(_picked(page.tokens, observations)),
    )
