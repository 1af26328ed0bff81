"""A gap that is tried again because a person asked: the span is observed late, and the gap counts as filled."""

from dataclasses import replace

from minutebook.errors import BadInput, NotFound
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import Path
from minutebook.pipeline.folding import Gap, Memory, fold
from minutebook.pipeline.outcomes import Entry, append_memory, memory_entry
from minutebook.pipeline.readings import read_state
from minutebook.records import GAP, OBSERVATIONS, Branch, MemoryEntry
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.workers import observer
from minutebook.workers.chunking import Chunk, chunk_cap, take_chunk
from minutebook.workers.contract import Mind, ObserveBatch
from minutebook.workers.showing import local_minute, zone_of


def own_gaps(store: Store, branch: Branch) -> list[Gap]:
    """Open gaps that were recorded on this branch itself, not before a fork."""
    own = {entry.id for entry in ledger.read_own(store, branch) if entry.kind == GAP}
    return [gap for gap in open_gaps(store, branch) if gap.id in own] if own else []


def open_gaps(store: Store, branch: Branch) -> list[Gap]:
    """Every gap that this branch sees and that nobody filled."""
    return fold(ledger.read_memory(store, branch)).open_gaps()


def fill_gap(store: Store, branch: Branch, gap_id: str, mind: Mind, settings: Settings, *, now: str) -> int:
    """Observe a gap's span; how many observations came of it. now: ISO UTC.

    Coverage does not move: it passed the gap long ago. Raises NotFound, BadInput where the branch's memory is a box's,
    and SpanFailed when the mind fails again.
    """
    if read_state(store, branch).elsewhere:
        raise BadInput(f"the memory of {branch.key} is made on the box; a gap of it is tried again there")
    memory = fold(ledger.read_memory(store, branch))
    gap = next((gap for gap in memory.open_gaps() if gap.id == gap_id), None)
    if gap is None:
        raise NotFound(f"no open gap {gap_id} on branch {branch.key}; `om jobs` lists them")
    chunk = _chunk(store, branch, gap, mind, settings)
    entries = _observed(branch, gap, chunk, memory, mind, settings, now) if chunk.shown else []
    rows = [row for entry in entries for row in entry.data.get("observations", ())]
    filled = Entry(
        kind=OBSERVATIONS,
        covers=gap.covers,
        since=gap.since,
        time=now,
        data={**(entries[0].data if entries else {"observations": []}), "fills": gap.id},
    )
    append_memory(store, branch, [memory_entry(filled), *entries[1:]])
    return len(rows)


def _chunk(store: Store, branch: Branch, gap: Gap, mind: Mind, settings: Settings) -> Chunk:
    cap = chunk_cap(settings.observer_chunk_max_tokens, getattr(mind, "window", None))
    path = Path(store, branch)
    chunk = take_chunk(path, gap.since, cap_tokens=cap, zone=zone_of(branch.zone), max_entries=gap.covers - gap.since)
    inside = tuple(shown for shown in chunk.shown if shown.placed.position < gap.covers)
    return replace(chunk, shown=inside, covers=gap.covers)


def _observed(
    branch: Branch, gap: Gap, chunk: Chunk, memory: Memory, mind: Mind, settings: Settings, now: str
) -> list[MemoryEntry]:
    active = tuple(held.record for held in memory.active())
    current = tuple(held.record for held in memory.current())
    share = observer.old_memory_cap(settings.old_memory_max_tokens, getattr(mind, "window", None))
    reflections, observations = observer.old_memory(current, active, share)
    batch = ObserveBatch(
        sources=chunk.shown,
        observations=observations,
        reflections=reflections,
        left_out=len(active) + len(current) - len(observations) - len(reflections),
        now=local_minute(now, zone_of(branch.zone)),
        zone=branch.zone,
    )
    prepared = observer.ObservePrepared(
        branch=branch,
        read=gap.since,
        chunk=chunk,
        batch=batch,
        known=frozenset(memory.observations),
        current=current,
        now=now,
    )
    return list(observer.think(prepared, mind).entries)
