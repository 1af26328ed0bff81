"""Sessions of different lengths with the same memory: what a compaction shows of them is equal to the byte."""

from pathlib import Path

from benchmarks.growing import message
from benchmarks.writing import Writer, words
from minutebook.pipeline.branches import source_stream
from minutebook.pipeline.outcomes import Entry, append_memory, memory_entry
from minutebook.pipeline.shapes import counted_observation, counted_reflection, observation_data, reflection_data
from minutebook.records import (
    FOLD,
    OBSERVATIONS,
    REFLECTIONS,
    Branch,
    Observation,
    Reflection,
    observation_id,
    reflection_id,
)
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store

OBSERVED, PER_BATCH, REFLECTED = 400, 10, 60


def build(path: Path, count: int) -> tuple[Store, Branch]:
    """A session of `count` source entries, all of them covered; memory is about the first ones."""
    store = open_store(str(path))
    writer = Writer(store, "flat")
    for number in range(count):
        writer.source(message(number))
    writer.flush()
    append_memory(store, writer.branch, [memory_entry(entry) for entry in memory(count)])
    return store, writer.branch


def grow(store: Store, branch: Branch, numbers: range) -> None:
    """One more turn, by intake."""
    writer = Writer(store, "flat", branch)
    for number in numbers:
        writer.arriving(message(number))
    writer.arrive()


def length(store: Store, branch: Branch) -> int:
    return store.tip(source_stream(branch.key)).length


def memory(count: int) -> list[Entry]:
    """Observations and reflections about the first of so many source entries, and a fold that shows them."""
    observations = [_observation(at) for at in range(OBSERVED)]
    early = min(count, OBSERVED) // PER_BATCH
    entries = [
        Entry(
            kind=OBSERVATIONS,
            since=min(at // PER_BATCH, early),
            covers=min(at // PER_BATCH + 1, early),
            data={"observations": [*map(observation_data, observations[at : at + PER_BATCH])]},
        )
        for at in range(0, OBSERVED, PER_BATCH)
    ]
    reflections = [*map(reflection_data, map(_reflection, observations[:REFLECTED]))]
    entries.append(Entry(kind=REFLECTIONS, since=early, covers=early, data={"reflections": reflections}))
    entries.append(Entry(kind=OBSERVATIONS, since=early, covers=count, data={"observations": []}))
    fold = {"fullFold": False, "reference": None, "length": len(entries)}
    return [*entries, Entry(kind=FOLD, since=early, covers=early, data=fold)]


def _observation(at: int) -> Observation:
    content, stamp, sources = f"{words(at, 16)} {at}", "2026-01-01 00:00", (f"{at // PER_BATCH:08x}",)
    return counted_observation(
        Observation(
            id=observation_id(content, stamp, sources),
            content=content,
            timestamp=stamp,
            relevance="high",
            source_ids=sources,
        )
    )


def _reflection(support: Observation) -> Reflection:
    content = f"concluded: {support.content}"
    return counted_reflection(Reflection(id=reflection_id(content), content=content, support_ids=(support.id,)))
