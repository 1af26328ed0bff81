"""Does a compaction, or a clock, get slower as the session grows? 100,000 entries against 1,000, same memory."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.clocks import due_roles
from minutebook.pipeline.compaction import look_at_memory
from minutebook.pipeline.deliveries import Reading, SessionHead
from minutebook.pipeline.intake import accept_turns
from minutebook.pipeline.outcomes import Entry, append_memory, memory_entry
from minutebook.pipeline.readings import read_state
from minutebook.pipeline.sessions import load_session
from minutebook.pipeline.shapes import counted_observation, counted_reflection, observation_data, reflection_data
from minutebook.records import (
    FOLD,
    OBSERVATIONS,
    REFLECTIONS,
    Branch,
    Observation,
    Part,
    Reflection,
    SourceEntry,
    observation_id,
    reflection_id,
)
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store

SMALL, LARGE = 1_000, 100_000
OBSERVED, PER_BATCH, REFLECTED = 400, 10, 60
OBSERVED_LARGE = 20_000
RUNS = 200
BAR = 1.5


def main() -> None:
    """Print the ratios and whether they are within the bar."""
    with tempfile.TemporaryDirectory() as folder:
        stores = {count: build(Path(folder) / f"{count}.sqlite", count) for count in (SMALL, LARGE)}
        texts = {count: compose(*stores[count]) for count in stores}
        assert texts[SMALL] == texts[LARGE], "the two compositions must show the same memory"
        print(
            f"flatness: {LARGE:,} entries against {SMALL:,}, {len(texts[SMALL]):,} characters of equal rendered memory"
        )
        report("compaction", {count: lambda pair=stores[count]: compose(*pair) for count in stores})
        report("due_roles", {count: lambda pair=stores[count]: clock(*pair) for count in stores})
        grown = build(Path(folder) / "grown.sqlite", SMALL, observed=OBSERVED_LARGE)
        pair = {SMALL: lambda: compose(*stores[SMALL]), LARGE: lambda: compose(*grown)}
        print(f"the same with {OBSERVED_LARGE:,} observations against {OBSERVED:,} (the texts differ in length)")
        report("compaction", pair, bar=None)


def report(name: str, runs: dict[int, Callable[[], object]], *, bar: float | None = BAR) -> None:
    """Median of interleaved runs, and their ratio."""
    times: dict[int, list[float]] = {count: [] for count in runs}
    for _ in range(RUNS):
        for count, run in runs.items():
            start = perf_counter()
            run()
            times[count].append(perf_counter() - start)
    small, large = median(times[SMALL]), median(times[LARGE])
    ratio = large / small
    verdict = "" if bar is None else f" (bar {bar}) {'ok' if ratio <= bar else 'OVER'}"
    shown = f"{small * 1e3:7.3f} ms → {large * 1e3:7.3f} ms"
    print(f"  {name:<11} {shown}   ratio {ratio:4.2f}{verdict}")


def compose(store: Store, branch: Branch, length: int) -> str:
    """What a compaction at the tip would return."""
    composed = look_at_memory(store, branch, length, Settings())
    assert composed is not None
    return composed.text


def clock(store: Store, branch: Branch, _length: int) -> dict[str, str]:
    """What a worker asks after every append."""
    session = load_session(store, branch.key)
    return due_roles(read_state(store, branch, session=session), Settings())


def build(path: Path, count: int, *, observed: int = OBSERVED) -> tuple[Store, Branch, int]:
    """A store with `count` entries and the same memory whatever the count."""
    store = open_store(str(path))
    head = SessionHead(host="neutral", session="bench")
    for start in range(0, count, 10_000):
        events = [entry(at) for at in range(start, min(count, start + 10_000))]
        accept_turns(store, Reading(head=head, events=[*events]))
    branch = load_branch(store, "neutral:bench")
    remember(store, branch, count, observed)
    return store, branch, count


def entry(at: int) -> SourceEntry:
    """One of four kinds of short entry."""
    role = ("user", "assistant", "assistant", "tool_result")[at % 4]
    text = f"entry {at}: " + "parser index cache retry token ledger fold worker " * 3
    return SourceEntry(
        id=f"e{at:06}", role=role, parts=(Part(kind="text", text=text),), time="2026-05-02T10:30:00.000Z"
    )


def remember(store: Store, branch: Branch, count: int, observed: int) -> None:
    """The same observations and reflections of the first entries; coverage reaches the tip."""
    observations = [observation(at) for at in range(observed)]
    batches = [observations[at : at + PER_BATCH] for at in range(0, observed, PER_BATCH)]
    entries = [
        Entry(
            kind=OBSERVATIONS,
            since=min(at * 10, OBSERVED),
            covers=min(at * 10 + 10, OBSERVED),
            data={"observations": [*map(observation_data, batch)]},
        )
        for at, batch in enumerate(batches)
    ]
    reflections = [reflection(observations[at]) for at in range(REFLECTED)]
    data = {"reflections": [*map(reflection_data, reflections)]}
    entries.append(Entry(kind=REFLECTIONS, since=OBSERVED, covers=OBSERVED, data=data))
    entries.append(Entry(kind=OBSERVATIONS, since=OBSERVED, covers=count, data={"observations": []}))
    fold = {"fullFold": False, "reference": None, "length": len(entries)}
    entries.append(Entry(kind=FOLD, since=OBSERVED, covers=OBSERVED, data=fold))
    append_memory(store, branch, [memory_entry(each) for each in entries])


def observation(at: int) -> Observation:
    """A plain observation of an early entry."""
    content, sources = f'User: "decision number {at} about the cache, the ledger and the fold"', (f"e{at:06}",)
    stamp = "2026-05-02 10:30"
    return counted_observation(
        Observation(
            id=observation_id(content, stamp, sources),
            content=content,
            timestamp=stamp,
            relevance="high",
            source_ids=sources,
        )
    )


def reflection(support: Observation) -> Reflection:
    """A plain reflection on one observation."""
    content = f"Decision: {support.content}"
    return counted_reflection(Reflection(id=reflection_id(content), content=content, support_ids=(support.id,)))
