"""Opening a store whose server is away: what is waited for, for how long, and what ends it."""

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from redis_server import RedisPair, RedisServer
from test_worker_process import until

from minutebook.errors import (
    MinutebookError,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreReadOnly,
    StoreTooNew,
    StoreUnreachable,
)
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store
from minutebook.workers import foreground, opening, outages

pytest.importorskip("redis")
NewServer = Callable[..., RedisServer]
URL = "redis://box/0"


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outages, "FIRST_SECONDS", 0.01)
    monkeypatch.setattr(outages, "LARGEST_SECONDS", 0.05)
    monkeypatch.setattr(opening, "open_store", lambda url, busy_seconds: open_store(url, busy_seconds=0.05))


def waiting_for(url: str, found: list[Store | None]) -> threading.Thread:
    thread = threading.Thread(target=lambda: found.append(opening.open_patiently(url)))
    thread.start()
    return thread


def assert_opened(found: list[Store | None]) -> None:
    (store,) = found
    assert store is not None
    store.close()


def test_a_server_that_is_not_there_yet(new_redis_server: NewServer, caplog: pytest.LogCaptureFixture) -> None:
    server, found = new_redis_server(), list[Store | None]()
    server.stop()
    thread = waiting_for(server.url, found)
    until(lambda: caplog.messages)
    server.start()
    thread.join(30)
    assert_opened(found)
    said, over = caplog.messages
    assert said.endswith("is it running, and is the address right?; work goes on by itself when it can be used again")
    assert over.startswith("the store can be used again, after ")


def test_a_failover(redis_pair: RedisPair, caplog: pytest.LogCaptureFixture) -> None:
    first, _, sentinel = redis_pair
    open_store(first.url).close()
    found = list[Store | None]()
    first.kill()
    thread = waiting_for(sentinel.url, found)
    thread.join(60)
    assert_opened(found)


def test_a_replica_takes_no_new_store_until_it_is_the_main_server(
    new_redis_server: NewServer, caplog: pytest.LogCaptureFixture
) -> None:
    """As Sentinel names it to who asks a moment too early."""
    import redis

    main, found = new_redis_server(), list[Store | None]()
    copy = new_redis_server(["--replicaof", "127.0.0.1", str(main.port)])
    thread = waiting_for(copy.url, found)
    until(lambda: "a replica" in caplog.text)
    with redis.Redis.from_url(copy.url) as client:
        client.replicaof("NO", "ONE")
    thread.join(30)
    assert_opened(found)


class Clock:
    """In place of the module time."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def saying(*errors: StoreError) -> tuple[Callable[..., Any], list[str]]:
    """An open_store that raises these, one after the other and the last one again and again; what it was asked."""
    left, asked = list(errors), list[str]()

    def opened(url: str, busy_seconds: float) -> Store:
        asked.append(url)
        raise left.pop(0) if len(left) > 1 else left[0]

    return opened, asked


def test_one_that_loads_and_is_busy_is_said_once_for_each_kind(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    kinds = (StoreUnreachable, StoreUnreachable, StoreBusy, StoreBusy, StoreReadOnly)
    opened, asked = saying(*(kind(f"{kind.__name__}: soon") for kind in kinds), StoreCorrupt("another program's"))
    monkeypatch.setattr(opening, "open_store", opened)
    with pytest.raises(StoreCorrupt):
        opening.open_patiently(URL)
    assert len(asked) == 6
    assert [said.partition(":")[0] for said in caplog.messages] == ["StoreUnreachable", "StoreBusy", "StoreReadOnly"]


def test_a_bounded_wait_ends_with_the_error(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    opened, asked = saying(StoreUnreachable("refused"))
    monkeypatch.setattr(opening, "open_store", opened)
    monkeypatch.setattr(opening, "time", clock := Clock())
    with pytest.raises(StoreUnreachable, match="refused"):
        opening.open_patiently(URL, wait_seconds=120)
    assert len(asked) > 100 and clock.now == pytest.approx(120)
    assert caplog.messages == ["refused; it is tried again for 120 s"]


@pytest.mark.parametrize("kind", [StoreCorrupt, StoreTooNew, StoreError])
def test_what_does_not_pass_is_raised_at_once(kind: type[StoreError], monkeypatch: pytest.MonkeyPatch) -> None:
    opened, asked = saying(kind("no"))
    monkeypatch.setattr(opening, "open_store", opened)
    with pytest.raises(kind):
        opening.open_patiently(URL)
    assert len(asked) == 1


def test_a_wrong_password_is_raised_at_once(new_redis_server: NewServer, caplog: pytest.LogCaptureFixture) -> None:
    server = new_redis_server(password="right")
    with pytest.raises(StoreError, match="set MINUTEBOOK_REDIS_PASSWORD"):
        opening.open_patiently(server.url.replace("right", "wrong"))
    assert caplog.messages == []


def test_a_file_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has been waited for by its own busy timeout."""
    opened, asked = saying(StoreBusy("locked"))
    monkeypatch.setattr(opening, "open_store", opened)
    with pytest.raises(MinutebookError, match="locked"):
        opening.open_patiently("/some/store.sqlite")
    assert len(asked) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("run", [opening.open_patiently, foreground.run_worker])
def test_a_signal_breaks_off_what_is_waited_for(
    number: signal.Signals, run: Callable[[str], object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Even a server that hangs, in the middle of a call."""
    monkeypatch.setenv("MINUTEBOOK_HOME", str(tmp_path))

    def hangs(url: str, busy_seconds: float) -> Store:
        os.kill(os.getpid(), number)
        threading.Event().wait(60)
        raise AssertionError("the signal was not heard")

    monkeypatch.setattr(opening, "open_store", hangs)
    before = [signal.getsignal(each) for each in opening.SIGNALS]
    assert not run(URL)
    assert [signal.getsignal(each) for each in opening.SIGNALS] == before
