"""Invariant 4: a fold is a function of the ledger and the boundary, and nothing before the cut falls between."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

from builders import sums
from fuzz.seen import SeenBranch

from minutebook.pipeline import ledger
from minutebook.pipeline.checkpoints import LINKS, PAGES, TOTALS
from minutebook.pipeline.compaction import EXTRACT_ENTRIES, Composition, look_at_memory
from minutebook.pipeline.excerpts import is_unobserved
from minutebook.pipeline.folding import Memory, fold
from minutebook.pipeline.pages import page_of
from minutebook.pipeline.projection import compaction_projection, digest_budget
from minutebook.pipeline.rendering import EXTRACT_HEADING
from minutebook.pipeline.sourcetext import entry_text
from minutebook.pipeline.status import read_status
from minutebook.records import GAP, OBSERVATIONS, Placed
from minutebook.settings import Settings
from minutebook.store.kernel import Store

CACHES = (PAGES, TOTALS, LINKS)
"""Collections whose loss must change nothing but time."""
NOT_SHOWN = re.compile(r"^\(([\d,]+) more entr(?:y is|ies are) not shown\.\)$", re.MULTILINE)
MOST_BOUNDARIES = 12


class WithoutCaches:
    """A store whose checkpoints were never written: what is folded from it is folded whole."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, collection: str, key: str) -> Any:
        """Like Documents.get."""
        return None if collection in CACHES else self._store.get(collection, key)

    def documents(self, collection: str, prefix: str = "") -> Any:
        """Like Documents.documents."""
        return [] if collection in CACHES else self._store.documents(collection, prefix)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def folds_that_differ(store: Store, seen: SeenBranch, settings: Settings) -> Iterator[str]:
    """Marks, status and compositions that are not what the whole ledger says."""
    memory = fold(seen.memory)
    yield from wrong_sums(seen, memory)
    yield from _different_status(store, seen, settings)
    for boundary in boundaries(seen, memory):
        composed = look_at_memory(store, seen.branch, boundary, settings)
        whole = look_at_memory(WithoutCaches(store), seen.branch, boundary, settings)  # type: ignore[arg-type]
        yield from different(f"4: {seen.branch.key} at {boundary}", composed, whole)
        if whole is not None:
            yield from _fallen_between(seen, memory, whole, settings)


def wrong_sums(seen: SeenBranch, memory: Memory) -> Iterator[str]:
    """The marks that the clocks compare against what the entries say. Coverages may be further: a fork keeps them."""
    for name, value in sums(memory).items():
        found = seen.marks.get(name, 0)
        if name in (ledger.OBSERVER, ledger.REFLECTOR):
            if not value <= found <= len(seen.path):
                yield f"4: {seen.branch.key}: mark {name} is {found}, its entries reach {value} of {len(seen.path)}"
        elif found != value:
            yield f"4: {seen.branch.key}: mark {name} is {found}, and the fold says {value}"


def boundaries(seen: SeenBranch, memory: Memory) -> list[int]:
    """Where an answer can change: the last confirmed cut, the edges of all spans after it, the tip."""
    floor = memory.folds[-1].boundary if memory.folds else 0
    tip = len(seen.path)
    edges = {edge + more for entry in seen.memory for edge in (entry.since, entry.covers) for more in (0, 1)}
    inner = sorted(edge for edge in edges if floor < edge < tip)
    step = max(1, -(-len(inner) // MOST_BOUNDARIES))
    return sorted({floor, max(floor, tip), max(floor, tip) + 1, *inner[::step]})


def different(what: str, composed: Composition | None, whole: Composition | None) -> Iterator[str]:
    """Two compositions of the same ledger, boundary and settings, where their texts or counts differ."""
    if composed is None or whole is None:
        if composed is not whole:
            yield f"{what}: one of checkpoint and whole fold finds nothing to show"
        return
    for name in ("id", "text", "full_fold", "left_out", "extracted"):
        if getattr(composed, name) != getattr(whole, name):
            yield f"{what}: {name} by the checkpoint is not that of the whole fold"


def _different_status(store: Store, seen: SeenBranch, settings: Settings) -> Iterator[str]:
    """Status by the checkpoint against status without one, and its counts against the records themselves."""
    kept = read_status(store, seen.branch, settings)
    whole = read_status(WithoutCaches(store), seen.branch, settings)  # type: ignore[arg-type]
    for field in fields(kept):
        if getattr(kept, field.name) != getattr(whole, field.name):
            found = f"{getattr(kept, field.name)!r}, not {getattr(whole, field.name)!r}"
            yield f"4: {seen.branch.key}: status says {field.name} = {found}"
    memory = fold(seen.memory)
    counts = {
        "active": len(memory.active()),
        "dropped": len(memory.observations.keys() & memory.drops.keys()),
        "reflections": len(memory.reflections),
        "retired": len(memory.reflections.keys() & memory.retirements.keys()),
    }
    for name, value in counts.items():
        if getattr(kept, name) != value:
            yield f"4: {seen.branch.key}: status counts {getattr(kept, name)} as {name} of {value}"


def _fallen_between(seen: SeenBranch, memory: Memory, shown: Composition, settings: Settings) -> Iterator[str]:
    """Each entry before the cut is in a visible batch, in the extract, in a gap, or counted; so is each record."""
    what = f"4: {seen.branch.key} at {shown.boundary}"
    before = seen.path[: shown.boundary]
    observed = memory.observed
    spans = [e for e in seen.memory if e.kind in (OBSERVATIONS, GAP) and e.since < shown.boundary]
    told = {position for entry in spans for position in range(entry.since, entry.covers)}
    for placed in before[:observed]:
        if placed.position not in told and says_something(placed):
            yield f"{what}: {placed.entry.id} is in no visible batch, no gap and not in the extract"
    yield from _lost_of_extract(what, before, observed, shown)
    shares = digest_budget(settings.reflection_context_max_tokens)
    visible = compaction_projection(
        page_of(memory, floor=shown.boundary),
        shown.boundary,
        pool_max_tokens=settings.observations_pool_max_tokens,
        digest_tokens=shares.digest,
    )
    hidden = [line for line in (*visible.observation_lines(), *visible.recent_lines()) if line not in shown.text]
    if len(hidden) > shown.left_out:
        yield f"{what}: {hidden} are not shown, and {shown.left_out} records are counted as left out"
    if shown.tokens > settings.compaction_max_tokens:
        yield f"{what}: {shown.tokens} tokens are over the budget of {settings.compaction_max_tokens}"


def _lost_of_extract(what: str, before: Sequence[Placed], observed: int, shown: Composition) -> Iterator[str]:
    start = max(observed, len(before) - EXTRACT_ENTRIES)
    expected = max(0, start - observed) + sum(map(says_something, before[start:]))
    part = shown.text.partition(EXTRACT_HEADING)[2]
    lines = sum(f"({placed.entry.id}): " in part for placed in before[start:] if says_something(placed))
    counted = NOT_SHOWN.search(part)
    told = lines + (int(counted[1].replace(",", "")) if counted else 0)
    if told != expected:
        yield f"{what}: the extract shows or counts {told} entries of {expected}"


def says_something(placed: Placed) -> bool:
    """Not ours, and not empty."""
    return not is_unobserved(placed) and (placed.entry.role == "tool_result" or bool(entry_text(placed.entry).strip()))
