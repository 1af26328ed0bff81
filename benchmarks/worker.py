"""A worker process of its own: how soon it begins, and what it costs while there is nothing to do."""

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median, quantiles

from benchmarks.bench import Bench
from benchmarks.minds import turn
from benchmarks.table import Row, at_most
from minutebook.hosts.bell import wake
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store

LATENCY_MILLISECONDS, IDLE_PERCENT, RSS_MEGABYTES = 100.0, 0.5, 64.0
PATIENCE_SECONDS = 60.0
EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "orders-service.jsonl"


def latency_rows(bench: Bench) -> Iterator[Row]:
    """From an append in this process to the start of thinking in another one; with a hook's bell, and without."""
    path, begun = bench.folder / "latency.sqlite", bench.folder / "begun"
    with closing(open_store(str(path))) as store, process("-m", "benchmarks.minds", str(path), str(begun)):
        until(lambda: wake(str(path)))
        for name, rings in (("rung by a hook", True), ("without a bell", False)):
            yield latency_row(name, latencies(store, begun, bench.scale.marks, rings))


def latency_row(name: str, times: Sequence[float]) -> Row:
    """The bar is for nine of ten."""
    p90 = quantiles(times, n=10)[-1] * 1e3
    more = f"median {median(times) * 1e3:.1f}, most {max(times) * 1e3:.1f}"
    return at_most(f"mark → start of think in another process, p90, {name}", p90, LATENCY_MILLISECONDS, "ms", more)


def latencies(store: Store, begun: Path, marks: int, rings: bool) -> list[float]:
    dice, times = random.Random(1), []
    for at in range(marks):
        time.sleep(dice.uniform(0.05, 0.25))  # no rhythm that could agree with a poll
        session = f"{'rung' if rings else 'unrung'}{at}-"
        marked = time.monotonic()
        turn(store, session)
        if rings:
            wake(store.url.partition("://")[2])
        times.append(_started(begun, session) - marked)
    return times


def _started(begun: Path, session: str) -> float:
    """When the worker began to think about this session, by the clock that all processes share."""
    found: list[float] = []

    def look() -> bool:
        lines = begun.read_text().split("\n")[:-1] if begun.exists() else []
        found.extend(float(line.partition(" ")[2]) for line in lines if line.startswith(session))
        return bool(found)

    until(look)
    return found[0]


def idle_rows(bench: Bench) -> Iterator[Row]:
    """`om worker` after it has worked off the example session with the extractive mind."""
    path = bench.folder / "idle.sqlite"
    yield from idle_rows_of("idle `om worker`", str(path), bench.scale.idle_seconds, lambda store: wake(str(path)))


def idle_rows_of(name: str, url: str, seconds: float, listens: Callable[[Store], object]) -> Iterator[Row]:
    """CPU and memory of a worker. listens: whether it is there by now."""
    if not Path("/proc/self/stat").exists():
        yield Row(name=f"{name}: CPU, memory", measured="(read from /proc, which is not here)")
        return
    om = ("-m", "minutebook")
    subprocess.run([sys.executable, *om, "ingest", "--store", url, str(EXAMPLE)], check=True, capture_output=True)
    with closing(open_store(url)) as store, process(*om, "worker", "--store", url) as worker:
        until(lambda: listens(store))
        until(lambda: not store.jobs() and not store.take_dirty(1))
        time.sleep(min(1.0, seconds))
        begin, cpu = time.monotonic(), _cpu_seconds(worker.pid)
        time.sleep(seconds)
        percent = 100 * (_cpu_seconds(worker.pid) - cpu) / (time.monotonic() - begin)
        megabytes = _rss_bytes(worker.pid) / 1024**2
    yield at_most(f"{name}: CPU over {seconds:g} s", percent, IDLE_PERCENT, "%")
    yield at_most("  its resident memory, extractive mind, no model loaded", megabytes, RSS_MEGABYTES, "MB")


@contextmanager
def process(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A Python process for the time of the block."""
    root = Path(__file__).resolve().parents[1]
    environment = {**os.environ, "HOME": "/nonexistent"}
    running = subprocess.Popen([sys.executable, *arguments], cwd=root, env=environment)
    try:
        yield running
    finally:
        running.terminate()
        running.wait()


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _rss_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def until(condition: Callable[[], object]) -> None:
    """Wait for something that another process does."""
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > give_up_at:
            raise TimeoutError("the worker did not come to it")
        time.sleep(0.005)
