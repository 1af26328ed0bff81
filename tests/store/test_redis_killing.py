"""kill -9 of writers, of the server, and of a server that a replica replaces."""

import subprocess
import time
from collections.abc import Callable
from typing import Any

import pytest
from behind_redis import BehindRedis
from contract_races import assert_without_holes, start_writer
from contract_values import JOB, claimed, items, take
from redis_server import RedisPair, RedisServer

from minutebook.errors import StoreUnreachable
from minutebook.store.kernel import Appended, Put

redis = pytest.importorskip("redis")

from minutebook.store.redis import RedisStore  # noqa: E402
from minutebook.store.redis_address import address_of  # noqa: E402

NewServer = Callable[..., RedisServer]
PATIENCE_SECONDS = 60.0


def client_of(url: str) -> Any:
    return redis.Redis.from_url(url)


def eventually(holds: Callable[[], object]) -> None:
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < give_up_at, "it never came to hold"
        time.sleep(0.02)


def said_by(writer: "subprocess.Popen[str]", lines: int) -> int:
    """How much a writer says to have written, after so many more lines."""
    assert writer.stdout
    said = [writer.stdout.readline() for _ in range(lines)]
    return int(said[-1])


def killed(writer: "subprocess.Popen[str]", said: int) -> int:
    """kill -9; how much it says to have written in the end."""
    writer.kill()
    assert writer.stdout
    rest = writer.stdout.read().split()
    writer.stdout.close()
    writer.wait(30)
    return int(rest[-1]) if rest else said


def assert_written(url: str, name: str, least: int, most: int) -> int:
    """Items, mark, document and dirty key of a writer agree, and are what was acknowledged and perhaps one append."""
    behind = BehindRedis(lambda: client_of(url))
    rows = behind.items("s")
    numbers = [row[3] for row in rows if row[2] == name]
    assert numbers == list(range(len(numbers)))
    assert behind.marks("s")[name] == len(numbers)
    document = behind.document("written", name)
    assert document and document[1] == str(len(numbers))
    assert name in behind.dirty_keys()
    assert least <= len(numbers) <= most
    return len(numbers)


def test_a_killed_writer_leaves_whole_appends(redis_url: str) -> None:
    done = 0
    for lines in (2, 4, 9, 13):
        writer = start_writer(redis_url, "s", "w", first=done, appends=10_000, batch=7)
        acknowledged = said_by(writer, lines)
        acknowledged = killed(writer, acknowledged)
        done = assert_written(redis_url, "w", acknowledged, acknowledged + 7)
    store = RedisStore(address_of(redis_url), create=False)
    assert_without_holes(store.read("s"))
    assert isinstance(store.append("s", items("after")), Appended)
    store.close()


def test_a_killed_server_has_what_it_acknowledged(new_redis_server: NewServer) -> None:
    """It writes its append-only file before it answers."""
    server = new_redis_server()
    store = RedisStore(address_of(server.url), busy_seconds=1.0)
    done = 0
    for rounds in (1, 20, 60):
        for _ in range(rounds):
            store.append("s", items(str(done)), advance={"m": done + 1}, dirty="s")
            done += 1
        server.kill()
        with pytest.raises(StoreUnreachable):
            store.append("s", items(str(done)), expect={"m": done}, advance={"m": done + 1})
        server.start()
        assert [stored.id for stored in store.read("s")] == [str(number) for number in range(done)]
        assert store.tip("s").marks == {"m": done}
    assert [dirty.key for dirty in store.take_dirty(9)] == ["s"]
    store.close()


def test_what_a_server_that_syncs_each_second_loses_is_the_last_it_acknowledged(new_redis_server: NewServer) -> None:
    """Whole writes, from the end: what is there is what there was at one moment."""
    server = new_redis_server(["--appendfsync", "everysec"])
    store = RedisStore(address_of(server.url))
    for number in range(300):
        store.append(
            "s", items(f"{number}", f"{number}+"), advance={"m": number + 1}, puts=[Put("c", "k", str(number))]
        )
    server.kill()
    server.start()
    left = store.tip("s").marks.get("m", 0)
    assert left <= 300
    assert [stored.id for stored in store.read("s")][::2] == [str(number) for number in range(left)]
    assert store.tip("s").length == 2 * left
    document = store.get("c", "k")
    assert (document.body if document else "-1") == str(left - 1)
    store.close()


def test_writers_go_on_when_a_killed_server_is_back(new_redis_server: NewServer) -> None:
    """Each append once and in order, though each of the kills leaves some whose answer was lost."""
    server = new_redis_server()
    RedisStore(address_of(server.url)).close()
    writers = {
        name: start_writer(server.url, "s", name, first=0, appends=250, batch=batch)
        for name, batch in (("one", 1), ("ten", 10))
    }
    for _ in range(3):
        for writer in writers.values():
            said_by(writer, 15)
        server.kill()
        server.start()
    for writer in writers.values():
        writer.communicate(timeout=PATIENCE_SECONDS)
    assert [writer.returncode for writer in writers.values()] == [0, 0]
    assert assert_written(server.url, "one", 250, 250)
    assert assert_written(server.url, "ten", 2500, 2500)


def test_a_token_is_not_used_again_where_the_last_ones_are_lost(redis_url: str) -> None:
    """What a replica lacks that takes over: the count of tokens and revisions goes on above it all the same."""
    store = RedisStore(address_of(redis_url))
    store.mark_dirty("a")
    with client_of(redis_url) as client:
        before = client.get("mb:fence")
        store.queue(JOB)
        lost = claimed(take(store))
        store.mark_dirty("a")
        (taken,) = store.take_dirty(9)
        client.set("mb:fence", before)
        client.delete("mb:jobs", "mb:ready:observer", "mb:dirty")
    store.queue(JOB)
    new = claimed(take(store))
    store.mark_dirty("a")
    assert new.token > lost.token
    assert not store.finish(lost)
    assert not store.settle_dirty(taken)
    assert store.finish(new)
    store.close()


def test_a_replica_takes_over_while_writers_write(redis_pair: RedisPair) -> None:
    first, second, sentinel = redis_pair
    store = RedisStore(address_of(sentinel.url))
    writer = start_writer(sentinel.url, "s", "w", first=0, appends=10_000, batch=1)
    before = said_by(writer, 30)
    store.append("mine", items("a", "b"), expect_length=0)
    with client_of(first.url) as client:
        client.set("written", "after them")  # WAIT is for what its own connection wrote last
        assert client.execute_command("WAIT", "1", "60000") == 1
    first.kill()
    assert isinstance(store.append("mine", items("c"), expect_length=2), Appended)
    after = said_by(writer, 200)
    last = killed(writer, after)
    with client_of(second.url) as client:
        assert client.info("replication")["role"] == "master"
    assert [row[1] for row in BehindRedis(lambda: client_of(second.url)).items("mine")] == ["a", "b", "c"]
    found = store.read("s")
    assert_without_holes(found)
    # What was acknowledged but not yet copied may be lost, and nothing else; the writer does not know, and goes on.
    written = [stored.weight for stored in found]
    assert written == sorted(set(written))
    lost = sorted(set(range(last)) - set(written))
    assert lost == list(range(lost[0], lost[-1] + 1) if lost else [])
    assert min(lost, default=last) >= before
    assert store.url == sentinel.url
    store.close()


def test_without_a_replica_that_can_take_over_the_store_is_unreachable(redis_pair: RedisPair) -> None:
    first, second, sentinel = redis_pair
    store = RedisStore(address_of(sentinel.url), busy_seconds=2.0)
    second.kill()
    first.kill()
    with pytest.raises(StoreUnreachable, match=r"^redis\+sentinel://127\.0\.0\.1:\d+/main/0: "):
        store.append("s", items("a"))
    first.start()

    def goes_on() -> bool:
        try:
            return isinstance(store.append("s", items("a")), Appended)
        except StoreUnreachable:
            return False

    eventually(goes_on)
    assert [stored.id for stored in store.read("s")] == ["a"]
    store.close()
    sentinel.kill()
    with pytest.raises(StoreUnreachable, match="main"):
        RedisStore(address_of(sentinel.url))
