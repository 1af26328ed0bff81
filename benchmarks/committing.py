"""What recording costs: a commit beside a long memory, and the fold of a whole one. No bars."""

from collections.abc import Iterator
from statistics import median
from time import perf_counter

from benchmarks.bench import Bench
from benchmarks.growing import MIXED, Grown
from benchmarks.table import Row, milliseconds, ratio_row
from minutebook.pipeline.folding import fold
from minutebook.pipeline.ledger import read_memory

STEP = 40
"""Entries that one session grows by before it is the next one's turn."""


def rows(bench: Bench) -> Iterator[Row]:
    """At 1,000 entries memory is not as large yet as a checkpoint keeps it; at 10,000 it is."""
    counts = [bench.scale.middle, bench.scale.middle // 10, bench.scale.small]
    times = _commits([bench.grown(MIXED, count) for count in counts], bench.scale.growth)
    for count, time in zip(counts[1:], times[1:], strict=True):
        yield ratio_row(f"a commit, {counts[0]:,} against {count:,} entries, mixed", times[0], time, None)
    whole = median(_fold(bench.grown(MIXED, counts[0])) for _ in range(bench.scale.whole_folds))
    yield Row(name=f"reading and folding the whole memory, {counts[0]:,} entries, mixed", measured=milliseconds(whole))


def _commits(sessions: list[Grown], entries: int) -> list[float]:
    """Median seconds of a commit of each session, while all of them grow."""
    times: list[list[float]] = [[] for _ in sessions]
    for _ in range(0, entries, STEP):
        for session, seconds in zip(sessions, times, strict=True):
            seconds += session.grow(STEP)
    return [median(seconds) for seconds in times]


def _fold(grown: Grown) -> float:
    start = perf_counter()
    fold(read_memory(grown.store, grown.branch))
    return perf_counter() - start
