"""The box's store, a real Redis server on this machine, beside the file of a laptop: workers, compactions, waking."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager

from benchmarks import growing
from benchmarks.bench import Bench
from benchmarks.engine import THREADS, rate_rows, worked
from benchmarks.growing import MIXED
from benchmarks.minds import turn
from benchmarks.reading import composing, shown
from benchmarks.table import Row, medians, ratio_row
from benchmarks.worker import idle_rows_of, latencies, latency_row, process, until
from minutebook.pipeline.branches import memory_stream
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store
from minutebook.workers.engine import MEMORY_ROLES
from minutebook.workers.queues import queues_of

COMPOSE_BAR = 2.5
COMPOSED_SHARE = 10
"""A session of a tenth of the entries of the middle store: it goes through the server one append at a time."""


def rows(bench: Bench) -> Iterator[Row]:
    """All of them."""
    yield from compose_rows(bench)
    yield from observer_rows(bench)
    yield from latency_rows(bench)
    listening: Callable[[Store], int] = lambda store: store.listeners()  # type: ignore[attr-defined]  # noqa: E731
    yield from idle_rows_of("idle `om worker` on Redis", bench.redis_url(), bench.scale.idle_seconds, listening)


def compose_rows(bench: Bench) -> Iterator[Row]:
    """The same session in both stores."""
    count = max(bench.scale.small, bench.scale.middle // COMPOSED_SHARE)
    where = (bench.redis_url(), bench.folder / "beside.sqlite")
    on_redis, on_file = (growing.grow(url, MIXED, count, min(count, bench.scale.tail)) for url in where)
    with closing(on_redis.store), closing(on_file.store):
        assert shown(on_redis) == shown(on_file), "the memory must be the same"
        done = medians(bench.scale.runs, {"redis": composing(on_redis), "file": composing(on_file)})
    name = f"compose_memory on Redis against a file, {count:,} entries"
    yield ratio_row(name, done["redis"], done["file"], COMPOSE_BAR)


def observer_rows(bench: Bench) -> Iterator[Row]:
    """Observers in one process, and as many processes; and how long the queues were meanwhile."""
    scale = bench.scale
    alone, _ = worked(bench.redis_url(), sessions=scale.sessions, threads=1, seconds=0.0)
    cpu = alone / scale.sessions
    lengths: list[int] = []
    for who, work in (
        (f"{THREADS} threads, Redis", _threads),
        (f"{THREADS} workers, Redis", _processes),
    ):
        url = bench.redis_url()
        with watched(url, lengths):
            elapsed = work(bench, url)
        yield from rate_rows(who, scale, elapsed, cpu)
    most, bar = max(lengths, default=0), scale.sessions * len(MEMORY_ROLES)
    name = f"  longest queues, all roles, of {scale.sessions} branches ({len(lengths):,} looks)"
    yield Row(name=name, measured=f"{most:5}", bar=f"≤ {bar}", ok=most <= bar)


def _threads(bench: Bench, url: str) -> float:
    return worked(url, bench.scale.sessions, THREADS, bench.scale.think_seconds)[1]


def _processes(bench: Bench, url: str) -> float:
    """Seconds from the first thought to the last record, with workers that wait for work."""
    scale, begun = bench.scale, bench.folder / "begun-box"
    with ExitStack() as stack:
        store = stack.enter_context(closing(open_store(url)))
        for _ in range(THREADS):
            words = (url, str(begun), str(scale.think_seconds), "1")
            stack.enter_context(process("-m", "benchmarks.minds", *words))
        until(lambda: store.listeners() == THREADS)  # type: ignore[attr-defined]
        streams = [memory_stream(turn(store, f"s{at}").key) for at in range(scale.sessions)]
        for stream in streams:  # one after the other: to look at all of them all the time would cost the workers theirs
            until(lambda stream=stream: store.tip(stream).length)  # type: ignore[misc]
        return time.monotonic() - min(float(line.split()[1]) for line in begun.read_text().splitlines())


@contextmanager
def watched(url: str, lengths: list[int]) -> Iterator[None]:
    """Look all the time how many messages wait."""
    over = threading.Event()

    def look() -> None:
        with closing(open_store(url)) as store:
            queues = [queues_of(store).open(role) for role in MEMORY_ROLES]
            while not over.wait(0.02):
                lengths.append(sum(queue.storage.queue_size() for queue in queues))
            for queue in queues:
                queue.storage.close()

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def latency_rows(bench: Bench) -> Iterator[Row]:
    """From an append in this process to the start of thinking in another one, which the server wakes."""
    url, begun = bench.redis_url(), bench.folder / "begun-redis"
    with closing(open_store(url)) as store, process("-m", "benchmarks.minds", url, str(begun)):
        until(store.listeners)  # type: ignore[attr-defined]
        yield latency_row("on Redis", latencies(store, begun, bench.scale.marks, rings=False))
