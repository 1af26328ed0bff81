"""Queues and the ear of a store on a real Redis server, in one process."""

import logging
import pickle
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from builders import ScriptedMind, memory_of
from jobs import (
    SMALL,
    WAIT,
    Gate,
    contents,
    engine,
    observing_mind,
    session_of_entries,
    spoil_queue,
    until,
    waiting,
)
from redis_server import RedisPair, RedisServer
from test_queues import Trap

from minutebook.errors import StoreUnreachable
from minutebook.pipeline.branches import memory_stream
from minutebook.records import Branch
from minutebook.store.kernel import Job, Store
from minutebook.store.opening import open_store
from minutebook.workers import foreground, outages, queues, waking
from minutebook.workers.queues import Lane, queues_of
from minutebook.workers.waking import waker_of


@pytest.fixture
def backend() -> str:
    return "redis"


@pytest.fixture
def server(new_redis_server: Callable[..., RedisServer]) -> RedisServer:
    """One that may be killed."""
    return new_redis_server()


@pytest.fixture
def fragile(server: RedisServer) -> Iterator[Store]:
    with closing(open_store(server.url, busy_seconds=0.2)) as store:
        yield store


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outages, "FIRST_SECONDS", 0.02)
    monkeypatch.setattr(outages, "LARGEST_SECONDS", 0.05)


# -- the queue -----------------------------------------------------------------------------------------------------


def lane(store: Store, done: Callable[[Job], None] = lambda job: None, threads: int = 3) -> Lane:
    return Lane("observer", queues_of(store), threads=threads, run=done, done=lambda: None)


def test_a_job_waits_once_whoever_sends_it(store: Store) -> None:
    """As many messages as there are branches, at most, with any number of processes."""
    jobs = [Job("observer", "l", f"b{number} \ud800") for number in range(2)]
    lanes = [lane(store) for _ in range(3)]
    barrier = threading.Barrier(3)

    def send(each: Lane) -> None:
        barrier.wait()
        each.send(jobs)

    senders = [threading.Thread(target=send, args=(each,)) for each in lanes]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    assert len(waiting(store)) == 2
    done: list[Job] = []
    taker = lane(store, done.append)
    taker.start()
    taker.send([])
    until(lambda: len(done) == 2)
    assert sorted(job.branch for job in done) == sorted(job.branch for job in jobs)
    for each in [*lanes, taker]:
        each.stop()
        assert each.join(WAIT)


def test_the_keys_of_the_queues_are_the_stores_own(store: Store, redis_url: str) -> None:
    one = lane(store)
    one.send([Job("observer", "l", "b")])
    redis = pytest.importorskip("redis")
    with closing(redis.Redis.from_url(redis_url)) as client:
        assert client.llen("mb:queue:observer") == 1
        assert all(key.startswith(b"mb:") for key in client.scan_iter())
        assert b"pickle" not in client.lindex("mb:queue:observer", 0)
    one.stop()
    assert one.join(WAIT)


def test_what_others_left_in_the_queue_does_no_harm(store: Store, tmp_path: Path) -> None:
    queue = queues_of(store).open("observer")
    for message in (pickle.dumps(Trap(tmp_path / "sprung")), b"\xff", b"[]", b"{}", b'{"message":3}'):
        queue.storage.conn.lpush(queue.storage.queue_key, message)
    queue.storage.close()
    branch = session_of_entries(store, 3)
    with engine(store, observing_mind(), concurrency=1) as working:
        assert working.run_until_idle(WAIT)
    assert len(contents(memory_of(store, branch))) == 3
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("lost", ["flushed", "spoiled"])
def test_a_queue_that_is_lost_under_a_running_engine_costs_only_time(store: Store, lost: str) -> None:
    with engine(store, observing_mind()) as working:
        assert working.run_until_idle(WAIT)
        if lost == "spoiled":
            spoil_queue(store)
        else:
            queues_of(store).open("observer").storage.flush_queue()
        branch = session_of_entries(store, 3)
        assert working.run_until_idle(WAIT)
    assert len(contents(memory_of(store, branch))) == 3


def test_engines_of_several_machines_record_once(open_one: Callable[..., Store]) -> None:
    store = open_one(None)
    branches = [session_of_entries(store, 6, f"s{number}") for number in range(12)]
    minds = [observing_mind() for _ in range(3)]
    working = [engine(open_one(None), mind) for mind in minds]
    for each in working:
        each.start()
    assert all(each.run_until_idle(WAIT) for each in working)
    for each in working:
        assert each.stop()
    assert [store.tip(memory_stream(branch.key)).length for branch in branches] == [1] * 12
    assert sum(len(mind.batches) for mind in minds) == 12


# -- the ear -------------------------------------------------------------------------------------------------------


@pytest.fixture
def only_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store is never asked."""
    monkeypatch.setattr(waking, "POLL_SECONDS", 3_600.0)
    monkeypatch.setattr(waking, "POLL_BESIDE_SERVER_SECONDS", 3_600.0)


@pytest.mark.usefixtures("only_told")
def test_what_another_process_writes_wakes_a_worker(open_one: Callable[..., Store]) -> None:
    store = open_one(None)
    with engine(open_one(None), observing_mind()) as working:
        assert working.run_until_idle(WAIT)
        branch = session_of_entries(store, 3)
        until(lambda: contents(memory_of(store, branch)))


@pytest.mark.usefixtures("only_told", "hasty")
def test_an_ear_that_is_lost_is_opened_again(fragile: Store, server: RedisServer) -> None:
    redis = pytest.importorskip("redis")
    with engine(fragile, observing_mind()) as working, closing(redis.Redis.from_url(server.url)) as client:
        assert working.run_until_idle(WAIT)
        until(lambda: fragile.listeners() == 1)  # type: ignore[attr-defined]
        waking_ear = working._waker
        waking_ear._opened_at -= 10
        assert client.client_kill_filter(_type="pubsub") == 1
        until(lambda: fragile.listeners() == 1)  # type: ignore[attr-defined]
        branch = session_of_entries(fragile, 3)
        until(lambda: contents(memory_of(fragile, branch)))


def test_an_ear_that_the_server_closes_at_once_is_not_opened_all_the_time() -> None:
    opened: list[object] = []

    class Closed:
        """A connection that the other side has closed."""

        def __init__(self) -> None:
            opened.append(self)
            self.mine, other = socket.socketpair()
            other.close()

        def fileno(self) -> int:
            return self.mine.fileno()

        def drain(self) -> None:
            raise StoreUnreachable("closed")

        def close(self) -> None:
            self.mine.close()

    waker = waking.Waker(Closed, 3_600.0)
    for _ in range(50):
        waker.listen()
        waker.wait(0)
    assert len(opened) == 1 and waker.poll_seconds == waking.POLL_SECONDS
    waker.close()


def test_something_of_which_nothing_was_heard_makes_the_ear_doubtful(store: Store) -> None:
    waker = waker_of(store)
    waker.listen()
    assert waker.poll_seconds == waking.POLL_BESIDE_SERVER_SECONDS
    waker.missed()
    assert waker.poll_seconds == waking.POLL_SECONDS
    waker.listen()
    store.mark_dirty("b")
    assert [waker.wait(WAIT), waker.wait(0)] == [True, False]
    waker.close()
    assert store.listeners() == 0  # type: ignore[attr-defined]


def test_a_worker_that_leaves_is_no_listener_any_more(store: Store) -> None:
    with engine(store, observing_mind()) as working:
        assert working.run_until_idle(WAIT)
        assert store.listeners() == 1  # type: ignore[attr-defined]
        assert foreground.leaves(working)
        assert store.listeners() == 0  # type: ignore[attr-defined]


# -- the server goes away ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("hasty")
def test_a_server_that_is_away_is_told_of_once_and_waited_for(
    fragile: Store, server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING), engine(fragile, observing_mind()) as working:
        assert working.run_until_idle(WAIT)
        server.kill()
        until(lambda: caplog.messages)
        failed_at = working.answered_at
        until(lambda: working._outage._pause == outages.LARGEST_SECONDS)
        assert len(caplog.messages) == 1 and "work goes on by itself" in caplog.messages[0]
        assert working.answered_at == failed_at
        server.start()
        branch = session_of_entries(fragile, 3)
        assert working.run_until_idle(WAIT)
        assert len(contents(memory_of(fragile, branch))) == 3
        until(lambda: len(caplog.messages) == 2)
        assert "can be used again" in caplog.messages[1]


@pytest.mark.usefixtures("hasty")
def test_a_job_whose_commit_cannot_be_written_is_done_again(
    fragile: Store, server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    branch = session_of_entries(fragile, 3)
    settings = replace(SMALL, retry_first_seconds=1, lease_seconds=1)
    with engine(fragile, ScriptedMind(gate := Gate()), settings):
        assert gate.entered.wait(WAIT)
        server.kill()
        gate.open.set()
        until(lambda: "goes on by itself" in caplog.text)
        server.start()
        until(lambda: contents(memory_of(fragile, branch)))
    assert len(contents(memory_of(fragile, branch))) == 3
    assert fragile.tip(memory_stream(branch.key)).length == 1


@pytest.mark.usefixtures("hasty")
def test_a_server_that_hangs_is_waited_for(
    fragile: Store, server: RedisServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its connections stay, and no answer comes: as when a network is cut."""
    monkeypatch.setattr(waking, "POLL_BESIDE_SERVER_SECONDS", 0.1)
    monkeypatch.setattr(queues, "TIMEOUT_SECONDS", 0.2)
    with engine(fragile, observing_mind()) as working:
        assert working.run_until_idle(WAIT)
        server.pause()
        until(lambda: "goes on by itself" in caplog.text)
        server.resume()
        branch = session_of_entries(fragile, 3)
        until(lambda: contents(memory_of(fragile, branch)))
    assert fragile.tip(memory_stream(branch.key)).length == 1


@pytest.mark.usefixtures("hasty")
def test_a_server_without_memory_is_told_of_once_and_waited_for(
    new_redis_server: Callable[..., RedisServer], caplog: pytest.LogCaptureFixture
) -> None:
    redis = pytest.importorskip("redis")
    server = new_redis_server()
    with closing(open_store(server.url, busy_seconds=0.2)) as store, closing(redis.Redis.from_url(server.url)) as other:
        branch = session_of_entries(store, 3)
        other.config_set("maxmemory", "1mb")
        with engine(store, observing_mind()) as working:
            until(lambda: working._outage._pause == outages.LARGEST_SECONDS)
            assert len(caplog.messages) == 1 and "maxmemory" in caplog.messages[0]
            other.config_set("maxmemory", "0")
            assert working.run_until_idle(WAIT)
        assert len(contents(memory_of(store, branch))) == 3


@pytest.mark.usefixtures("hasty")
def test_workers_follow_to_the_replica_that_takes_over(redis_pair: RedisPair) -> None:
    first, second, sentinel = redis_pair
    with closing(open_store(sentinel.url)) as store, engine(store, observing_mind()) as working:
        session_of_entries(store, 3)
        assert working.run_until_idle(WAIT)
        store.ask("WAIT", 1, 10_000)  # type: ignore[attr-defined]
        first.kill()
        branch = session_of_entries(store, 6)
        until(lambda: len(contents(memory_of(store, branch))) == 6)
        until(lambda: store.listeners() == 1)  # type: ignore[attr-defined]
        with closing(open_store(second.url)) as there:
            assert there.tip(memory_stream(branch.key)).length == 2


@pytest.mark.usefixtures("hasty")
def test_a_server_that_restarts_under_load_loses_nothing(fragile: Store, server: RedisServer) -> None:
    settings = replace(SMALL, retry_first_seconds=1, lease_seconds=1)
    with engine(fragile, observing_mind(), settings, concurrency=4):
        for size in range(6, 31, 6):
            branches = [session_of_entries(fragile, size, f"s{number}", start=size - 6) for number in range(6)]
            server.stop()
            server.start()
        until(lambda: [len(contents(memory_of(fragile, branch))) for branch in branches] == [30] * 6)


def test_what_all_workers_are_told_is_left_to_those_that_are_free(open_one: Callable[..., Store]) -> None:
    """One with no thread free goes on sleeping, and looks when a thread is free again."""
    store = open_one(None)
    busy = engine(open_one(None), ScriptedMind(gate := Gate()), roles=["observer"], concurrency=1)
    with busy:
        first = session_of_entries(store, 3, "first")
        assert gate.entered.wait(WAIT)
        assert busy.look() == "busy"
        others: list[Branch] = []

        def is_left_to_others() -> bool:
            """One more session: what woke the busy one before that may still keep it awake for a look."""
            looks = busy._answered
            others.append(session_of_entries(store, 3, f"other{len(others)}"))
            left = others[-1].key not in [state.job.branch for state in store.jobs()] and store.take_dirty(9)
            return bool(left) and busy._answered == looks

        until(is_left_to_others)
        with engine(open_one(None), observing_mind(), roles=["observer"]):
            until(lambda: contents(memory_of(store, others[-1])))
        gate.open.set()
        third = session_of_entries(store, 3, "third")
        assert busy.run_until_idle(WAIT)
    assert all(len(contents(memory_of(store, branch))) == 3 for branch in (first, *others, third))
