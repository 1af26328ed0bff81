"""Reads that take several calls, large appends, compressed texts; and being woken by the server."""

import random
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from behind_redis import BehindRedis
from contract_values import JOB, claimed, item, items, take
from redis_server import RedisServer

from minutebook.errors import StoreGone, StoreUnreachable
from minutebook.store.kernel import Item, Put

redis = pytest.importorskip("redis")

from minutebook.store.redis import RedisStore  # noqa: E402
from minutebook.store.redis_address import address_of  # noqa: E402
from minutebook.store.redis_listening import Listener  # noqa: E402

PATIENCE_SECONDS = 30.0


@pytest.fixture
def store(redis_url: str) -> Iterator[RedisStore]:
    opened = RedisStore(address_of(redis_url))
    yield opened
    opened.close()


# Reading


def test_a_store_that_was_removed_reads_as_empty_and_can_be_asked_for(redis_url: str, store: RedisStore) -> None:
    store.append("s", items("a"))
    store.check_there()
    with redis.Redis.from_url(redis_url) as client:
        client.flushdb()
    assert store.tip("s").length == 0
    with pytest.raises(StoreGone, match="removed while it was open"):
        store.check_there()


@pytest.mark.parametrize(("scanned", "scanned_bytes"), [(1, 10**6), (7, 10**6), (250, 10**6), (250, 1), (250, 400)])
def test_any_part_in_any_number_of_calls(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch, scanned: int, scanned_bytes: int
) -> None:
    monkeypatch.setattr("minutebook.store.redis.SCANNED_ITEMS", scanned)
    monkeypatch.setattr("minutebook.store.redis.SCANNED_BYTES", scanned_bytes)
    monkeypatch.setattr("minutebook.store.redis.SMALL_READ", 3)
    kinds = ["a", "b", "c"]
    chance = random.Random(7)
    held = [item(str(at), kind=chance.choice(kinds), body="x" * chance.randrange(90)) for at in range(230)]
    store.append("s", held)
    for _ in range(60):
        start, stop = chance.choice([0, 3, 100, 229, 400]), chance.choice([None, 0, 5, 101, 230, 999])
        wanted, limit = chance.choice([None, ["a"], ["b", "c"], ["d"]]), chance.choice([None, 1, 2, 50, 500])
        for newest_first in (False, True):
            found = store.read("s", start, stop, kinds=wanted, limit=limit, reverse=newest_first)
            part = [(at, each.id) for at, each in enumerate(held)][start:stop]
            part = [(at, id) for at, id in part if wanted is None or held[at].kind in wanted]
            part = part[::-1] if newest_first else part
            assert [(stored.position, stored.id) for stored in found] == part[:limit]


def test_no_call_looks_at_more_than_its_share(store: RedisStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server does nothing else while a script runs."""
    store.append("s", items(*map(str, range(5_000))))
    looked: list[int] = []
    look = store.look

    def counting(*arguments: Any) -> Any:
        found = look(*arguments)
        looked.append(len(found))
        return found

    monkeypatch.setattr(store, "look", counting)
    assert len(store.read("s")) == 5_000
    assert looked == [2_001, 2_001, 1_001]
    looked.clear()
    assert store.read("s", kinds=["none"]) == []
    assert looked == [1, 1, 1]


def test_a_stream_that_is_erased_between_two_calls_ends_there(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minutebook.store.redis.SCANNED_ITEMS", 10)
    store.append("s", items(*map(str, range(50))))
    look = store.look

    def erasing(*arguments: Any) -> Any:
        found = look(*arguments)
        store.erase(["s"])
        return found

    monkeypatch.setattr(store, "look", erasing)
    assert len(store.read("s")) == 10
    assert store.read("s", reverse=True) == []


def test_a_large_append_is_one_write(redis_url: str, store: RedisStore) -> None:
    """More arguments than Lua's stack holds."""
    many = items(*(f"id-{number}" for number in range(12_000)))
    seen: set[int] = set()
    done = threading.Event()

    def watch() -> None:
        other = RedisStore(address_of(redis_url))
        while not done.is_set():
            seen.add(other.tip("s").length)
        other.close()

    watcher = threading.Thread(target=watch)
    watcher.start()
    puts = [Put("c", str(number), "1") for number in range(3_000)]
    store.append("s", many, advance={"m": 1}, puts=puts)
    done.set()
    watcher.join(30)
    assert seen <= {0, 12_000}
    assert len(store.find("s", [each.id for each in many])) == 12_000
    assert len(store.documents("c")) == 3_000
    assert store.changes("c") == 3_000


@pytest.mark.parametrize("text", ["word " * 4_000, "é\0\ud800 " * 2_000, "x" * 299, "x" * 300])
def test_long_texts_are_small_and_come_back_exactly(store: RedisStore, redis_url: str, text: str) -> None:
    store.append("s", [Item("a", "k", 1, text)], puts=[Put("c", "k", text)])
    assert store.read("s")[0].body == store.find("s", ["a"])["a"].body == text
    document = store.get("c", "k")
    assert document and document.body == text
    assert BehindRedis(lambda: redis.Redis.from_url(redis_url)).items("s")[0][5] == text
    with redis.Redis.from_url(redis_url) as client:
        sizes = [client.hstrlen("mb:i:s", "0"), client.hstrlen("mb:d:c", "k")]
    assert max(sizes) < 400
    assert (min(sizes) > 299) == (text == "x" * 299)


def test_large_weights_are_summed_exactly(store: RedisStore) -> None:
    store.append("s", [item("a", 2**52), item("b", 1), item("c", -1), item("d", 2**52 - 1)])
    assert [stored.total for stored in store.read("s")] == [2**52, 2**52 + 1, 2**52, 2**53 - 1]
    assert store.tip("s").total == 2**53 - 1
    assert store.total_before("s", 2) == 2**52 + 1


def test_the_scripts_are_loaded_again_where_the_server_forgot_them(store: RedisStore, redis_url: str) -> None:
    store.append("s", items("a"))
    with redis.Redis.from_url(redis_url) as client:
        client.script_flush()
    assert store.append("s", items("b"), expect_length=1)
    assert [stored.id for stored in store.read("s")] == ["a", "b"]


def test_parent_and_child_do_not_take_each_others_answers(store: RedisStore, redis_url: str) -> None:
    command = [sys.executable, str(Path(__file__).with_name("forking_process.py")), redis_url]
    assert subprocess.run(command, check=False, timeout=60).returncode == 0
    assert [store.tip(name).length for name in ("s", "parent", "child")] == [1, 40, 40]


def test_the_time_is_the_servers(store: RedisStore, redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        seconds, microseconds = client.time()
    assert store.now() == pytest.approx(seconds + microseconds / 1e6, abs=5)
    store.queue(JOB, delay_seconds=100)
    assert store.next_ready_at([JOB.role]) == pytest.approx(store.now() + 100, abs=5)


# Being woken


@pytest.fixture
def woken(redis_url: str) -> Iterator[tuple[RedisStore, RedisStore, Listener]]:
    """Two stores on the same data, and a listener of the first."""
    stores = [RedisStore(address_of(redis_url)) for _ in range(2)]
    listener = stores[0].listen()
    yield stores[0], stores[1], listener
    listener.close()
    for store in stores:
        store.close()


def rings(listener: Listener, count: int) -> None:
    """It rings so many times, and not once more."""
    heard = 0
    while heard < count:
        assert select.select([listener], [], [], PATIENCE_SECONDS)[0], "it never rang"
        heard += listener.drain()
    assert (heard, listener.drain()) == (count, 0)


def test_the_bell_rings_for_what_may_be_work(woken: tuple[RedisStore, RedisStore, Listener]) -> None:
    store, other, listener = woken
    other.append("s", items("a"), advance={"m": 1}, puts=[Put("c", "k", "1")])
    rings(listener, 0)
    other.append("s", items("b"), dirty="d")
    rings(listener, 1)
    other.mark_dirty("e")
    store.queue(JOB)
    rings(listener, 2)
    other.queue(JOB)  # it is there already
    claim = claimed(take(other))
    other.beat(claim, lease_seconds=9)
    rings(listener, 0)
    other.fail(claim, retry_seconds=0, error="e")
    rings(listener, 1)
    claimed(take(other))
    other.release(JOB, "worker")
    rings(listener, 1)
    other.settle_dirty(*other.take_dirty(9))
    rings(listener, 0)


def test_data_version_changes_as_often_as_the_bell_rings(woken: tuple[RedisStore, RedisStore, Listener]) -> None:
    store, other, _ = woken
    before = store.data_version()
    other.append("s", items("a"))
    assert store.data_version() == before
    other.append("s", items("a"), dirty="d")
    assert store.data_version() != before
    before = store.data_version()
    other.queue(JOB)
    assert store.data_version() != before


def test_the_bell_of_another_database_is_not_heard(redis_server: RedisServer, redis_url: str) -> None:
    """Channels belong to the whole server."""
    store = RedisStore(address_of(redis_url))
    other = RedisStore(address_of(redis_server.database_url(9_998)))
    elsewhere = RedisStore(address_of(f"{redis_url}?prefix=else"))
    listener = store.listen()
    other.mark_dirty("d")
    elsewhere.mark_dirty("d")
    store.mark_dirty("d")
    rings(listener, 1)
    other.wipe_board()
    listener.close()
    for each in (store, other, elsewhere):
        each.close()


def test_a_lost_listener_says_so(new_redis_server: Callable[..., RedisServer]) -> None:
    server = new_redis_server()
    store = RedisStore(address_of(server.url))
    listener = store.listen()
    assert listener.fileno() >= 0
    server.kill()
    assert select.select([listener], [], [], PATIENCE_SECONDS)[0]
    with pytest.raises(StoreUnreachable, match=r"^redis://127"):
        listener.drain()
    assert listener.fileno() == -1
    with pytest.raises(StoreUnreachable):
        listener.drain()
    with pytest.raises(StoreUnreachable, match=r"is it running"):
        store.listen()
    server.start()
    again = store.listen()
    store.mark_dirty("d")
    rings(again, 1)
    again.close()
    store.close()
