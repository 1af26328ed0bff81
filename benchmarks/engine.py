"""What the engine adds to thinking, in one process: a job's life, jobs that wait, threads beside each other."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from huey import SqliteHuey

from benchmarks.bench import Bench
from benchmarks.minds import SleepingMind, settings_for, turn
from benchmarks.scale import Scale
from benchmarks.table import Row, Work, medians, milliseconds, ratio_row
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store
from minutebook.workers.dispatching import Dispatcher
from minutebook.workers.engine import MEMORY_ROLES, Engine
from minutebook.workers.queues import queues_of

JOB_BAR, PENDING_BAR, THREADS, THREADS_SHARE = 2.5, 1, 8, 0.9
CLAIMED_AT_ONCE = 16


def job_rows(bench: Bench) -> Iterator[Row]:
    """A job's life on the board beside the same number of bare huey tasks that do nothing."""
    count = bench.scale.jobs
    with closing(open_store(str(bench.folder / "jobs.sqlite"))) as store:
        keys = [turn(store, f"s{at}").key for at in range(count)]
        dispatcher = Dispatcher(store, settings_for)
        works = {
            "ours": lambda: _lives(store, dispatcher, keys),
            "huey": _bare_huey(bench.folder / "bare.queue", count),
        }
        done = medians(bench.scale.job_rounds, works)
    name = "a job's life on the board (dirty → claim → finish) against huey's"
    yield ratio_row(name, done["ours"] / count, done["huey"] / count, JOB_BAR)


def _lives(store: Store, dispatcher: Dispatcher, keys: list[str]) -> None:
    """Marked, found due, claimed and finished; without the thinking between."""
    for key in keys:
        store.mark_dirty(key)
    while dispatcher.take_dirty():
        pass
    left = len(keys)
    while ready := store.ready(["observer"], CLAIMED_AT_ONCE):
        for state in ready:
            claim = store.claim(state.job, "bench", lease_seconds=60, deadline_seconds=600)
            assert claim is not None and store.finish(claim)
            left -= 1
    assert left == 0


def _bare_huey(path: Path, count: int) -> Work:
    huey = SqliteHuey("bare", filename=str(path), fsync=False, results=False)
    task = huey.task()(lambda: None)

    def run() -> None:
        for _ in range(count):
            task()
        for _ in range(count):
            huey.execute(huey.dequeue())

    return run


def pending_rows(bench: Bench) -> Iterator[Row]:
    """A session that goes on and on, beside a worker."""
    most: Counter[str] = Counter()
    with closing(open_store(str(bench.folder / "turns.sqlite"))) as store:
        queues = {role: queues_of(store).open(role) for role in MEMORY_ROLES}
        with Engine(store, mind=SleepingMind(), settings_for=settings_for, roles=MEMORY_ROLES):
            for at in range(bench.scale.turns):
                turn(store, "long", 4 * at)
                pending = Counter(state.job.role for state in store.jobs() if state.state == "pending")
                waiting = {role: huey.storage.queue_size() for role, huey in queues.items()}
                most |= pending | Counter(waiting)
        for huey in queues.values():
            huey.storage.close()
    highest = max(most.values(), default=0)
    name = f"{bench.scale.turns:,} turns of one session: jobs of one role that wait at a time"
    yield Row(name=name, measured=f"{highest:5}", bar=f"≤ {PENDING_BAR}", ok=highest <= PENDING_BAR)


def threads_rows(bench: Bench) -> Iterator[Row]:
    """Many sessions at once, with a model that takes its time."""
    scale = bench.scale
    alone, _ = worked(str(bench.folder / "alone.sqlite"), sessions=scale.sessions, threads=1, seconds=0.0)
    cpu = alone / scale.sessions
    _, elapsed = worked(str(bench.folder / "eight.sqlite"), scale.sessions, THREADS, scale.think_seconds)
    yield from rate_rows(f"{THREADS} threads", scale, elapsed, cpu)


def rate_rows(who: str, scale: Scale, elapsed: float, cpu: float) -> Iterator[Row]:
    """How fast all sessions were observed by THREADS at once. cpu: seconds of one job alone."""
    rate, ideal = scale.sessions / elapsed, THREADS / (scale.think_seconds + cpu)
    yield Row(
        name=f"{scale.sessions} sessions, a model of {scale.think_seconds:g} s, {who}: jobs a second",
        measured=f"{rate:5.2f}/s   ({milliseconds(cpu)} CPU a job)",
        bar=f"≥ {THREADS_SHARE * ideal:.2f}/s",
        ok=rate >= THREADS_SHARE * ideal,
    )
    yield Row(
        name=f"  of {THREADS} / ({scale.think_seconds:g} s + CPU of one job alone)", measured=f"{rate / ideal:5.0%}"
    )


def worked(url: str, sessions: int, threads: int, seconds: float) -> tuple[float, float]:
    """CPU and wall seconds of an engine that observes each session once, from its start until it is idle."""
    with closing(open_store(url)) as store:
        branches = [turn(store, f"s{at}") for at in range(sessions)]
        engine = Engine(
            store, mind=SleepingMind(seconds), settings_for=settings_for, roles=["observer"], concurrency=threads
        )
        cpu, begin = time.process_time(), time.perf_counter()
        with engine:
            assert engine.run_until_idle(600)
            cpu, elapsed = time.process_time() - cpu, time.perf_counter() - begin
        assert all(store.tip(f"m:{branch.key}").length == 1 for branch in branches)
    return cpu, elapsed
