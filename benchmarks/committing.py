"""What recording costs: a commit beside a long memory, and the fold of a whole one. No bars."""

from collections.abc import Iterator
from statistics import median
from time import perf_counter

from benchmarks.bench import Bench
from benchmarks.growing import MIXED, Grown
from benchmarks.table import Row, milliseconds, ratio_row
from minutebook.pipeline.folding import fold
from minutebook.pipeline.ledger import read_memory


def rows(bench: Bench) -> Iterator[Row]:
    small, middle = bench.scale.small, bench.scale.middle
    stores = [bench.grown(MIXED, middle), bench.grown(MIXED, small)]
    times = [median(grown.grow(bench.scale.growth)) for grown in stores]
    yield ratio_row(f"a commit, {middle:,} against {small:,} entries, mixed", times[0], times[1], None)
    whole = median(_fold(stores[0]) for _ in range(bench.scale.whole_folds))
    yield Row(name=f"reading and folding the whole memory, {middle:,} entries, mixed", measured=milliseconds(whole))


def _fold(grown: Grown) -> float:
    start = perf_counter()
    fold(read_memory(grown.store, grown.branch))
    return perf_counter() - start
