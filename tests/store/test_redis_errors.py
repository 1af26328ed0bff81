"""What goes wrong with a Redis server becomes an error of ours that names it and what to do; no write is half done."""

import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from behind_redis import BehindRedis
from contract_values import items
from redis_server import RedisServer
from store_calls import CALLS, READS, WRITES

from minutebook.errors import (
    MinutebookError,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreGone,
    StoreReadOnly,
    StoreTooNew,
    StoreUnreachable,
)
from minutebook.store.kernel import Put, Stale, Tip

redis = pytest.importorskip("redis")

from minutebook.store.redis import RedisStore  # noqa: E402
from minutebook.store.redis_address import address_of  # noqa: E402
from minutebook.store.redis_errors import translated  # noqa: E402

NewServer = Callable[..., RedisServer]
FREEING = {"delete", "erase", "settle_dirty", "beat", "finish", "fail", "release", "rewind_times", "wipe_board"}
"""Writes that a full server still does: they end or remove something."""


def opening(url: str, *, busy_seconds: float = 10.0, create: bool = True) -> RedisStore:
    return RedisStore(address_of(url), busy_seconds=busy_seconds, create=create)


def client_of(url: str) -> Any:
    return redis.Redis.from_url(url)


@pytest.fixture
def store(redis_url: str) -> Iterator[RedisStore]:
    opened = opening(redis_url)
    yield opened
    opened.close()


def everything(url: str) -> dict[bytes, bytes]:
    """All keys, but those that only remember calls."""
    with client_of(url) as client:
        return {key: client.dump(key) for key in client.keys("*") if b"done:" not in key}


# Databases that are no store


def test_a_missing_store_is_not_made_when_create_is_off(redis_url: str) -> None:
    with pytest.raises(StoreError, match=r"^redis://127.*: no store there: check the address"):
        opening(redis_url, create=False)
    assert everything(redis_url) == {}


def test_another_programs_keys_are_left_alone(redis_url: str) -> None:
    with client_of(redis_url) as client:
        client.mset({"mb": "1", "mbs:": "2", "other:format": "3", "done:1": "4", "dirty": "5"})
        client.hset("jobs", "a", "1")
        client.zadd("ready:observer", {"a": 1})
    before = everything(redis_url)
    store = opening(redis_url)
    for call in (*CALLS.values(), CALLS["erase"], CALLS["wipe_board"]):
        call(store)
    store.close()
    after = everything(redis_url)
    assert {key: value for key, value in after.items() if not key.startswith(b"mb:")} == before


def test_another_programs_key_under_the_prefix(redis_url: str) -> None:
    for made in ("minutebook", "7", "minutebook x"):
        with client_of(redis_url) as client:
            client.set("mb:format", made)
        with pytest.raises(StoreCorrupt, match=r"'mb:format' is another program's key: choose another \?prefix="):
            opening(redis_url)
    with client_of(redis_url) as client:
        client.delete("mb:format")
        client.lpush("mb:format", "x")
    with pytest.raises(StoreCorrupt, match=r"WRONGTYPE.*another program's keys"):
        opening(redis_url)
    opening(f"{redis_url}?prefix=mine").close()


def test_a_key_of_another_type_is_told(store: RedisStore, redis_url: str) -> None:
    with client_of(redis_url) as client:
        client.set("mb:s:s", "text")
    with pytest.raises(StoreCorrupt, match="WRONGTYPE"):
        store.append("s", items("a"), dirty="d")
    with pytest.raises(StoreCorrupt, match="WRONGTYPE"):
        store.read("s")
    assert store.take_dirty(9) == []


def test_a_newer_format_is_refused(redis_url: str, store: RedisStore) -> None:
    store.append("s", items("a"))
    with client_of(redis_url) as client:
        client.set("mb:format", "minutebook 2")
    before = everything(redis_url)
    with pytest.raises(StoreTooNew, match="format 2, this program knows 1: upgrade minutebook"):
        opening(redis_url)
    for name in WRITES:  # the store that was open before, too
        with pytest.raises(StoreTooNew, match="upgrade minutebook"):
            CALLS[name](store)
    assert everything(redis_url) == before


@pytest.mark.parametrize("name", WRITES)
def test_a_store_that_was_removed_while_it_was_open(redis_url: str, store: RedisStore, name: str) -> None:
    store.append("s", items("a"))
    with client_of(redis_url) as client:
        client.flushdb()
    with pytest.raises(StoreGone, match="removed while it was open: start again"):
        CALLS[name](store)
    assert everything(redis_url) == {}


def test_stores_with_two_prefixes_in_one_database(redis_url: str) -> None:
    one, other = opening(f"{redis_url}?prefix=one"), opening(f"{redis_url}?prefix=other")
    for store in (one, other):
        store.append("s", items("a"), dirty=store.url)
    assert [dirty.key for dirty in one.take_dirty(9)] == [one.url]
    assert BehindRedis(lambda: client_of(redis_url), b"other:").dirty_keys() == {other.url}
    one.erase(["s"])
    assert (one.tip("s").length, other.tip("s").length) == (0, 1)
    one.close()
    other.close()


# Servers that cannot be used


def test_a_cluster_is_refused(new_redis_server: NewServer) -> None:
    server = new_redis_server(["--cluster-enabled", "yes"])
    with pytest.raises(StoreError, match=r"a Redis Cluster: .*use one server, with replicas or Sentinel"):
        opening(server.url)


class Answering:
    """A server that has one answer to everything."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self.listener.getsockname()[1]}/0"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                try:
                    while said := connection.recv(65536):
                        connection.sendall(self.answer * said.count(b"\r\n*" if not said.startswith(b"*") else b"*"))
                except OSError:
                    pass


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (
            b"$45\r\nredis_version:6.2.14\r\nredis_mode:standalone\r\n\r\n",
            StoreError,
            "Redis 6.2.14 is too old: version 7",
        ),
        (b"-LOADING Redis is loading the dataset in memory\r\n", StoreBusy, "reads its data from the disk"),
        (b"-MASTERDOWN Link with MASTER is down\r\n", StoreUnreachable, "a replica that has lost its server"),
        (b"-ERR max number of clients reached\r\n", StoreBusy, "maxclients"),
        (b"-MISCONF Redis is configured to save RDB snapshots\r\n", StoreReadOnly, "cannot save to its disk"),
        (b"-MISCONF Errors writing to the AOF file: No space left on device\r\n", StoreFull, "free some space"),
        (b"-NOREPLICAS Not enough good replicas to write.\r\n", StoreReadOnly, "min-replicas-to-write"),
        (b"-CLUSTERDOWN Hash slot not served\r\n", StoreError, "a Redis Cluster"),
        (b"-MOVED 3999 127.0.0.1:6381\r\n", StoreError, "a Redis Cluster"),
        (b"-WHATEVER is new\r\n", StoreError, "WHATEVER is new"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", StoreError, "no Redis server answers there"),
    ],
)
def test_what_a_server_may_say(answer: bytes, kind: type[StoreError], said: str) -> None:
    server = Answering(answer)
    with pytest.raises(kind, match=said) as caught:
        opening(server.url, busy_seconds=1.0)
    server.listener.close()
    assert type(caught.value) is kind
    assert str(caught.value).startswith(server.url)


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1/0", "unix:///nowhere/redis.sock", "redis://no-such-host.invalid"])
def test_no_server_there(url: str) -> None:
    with pytest.raises(StoreUnreachable, match=rf"^{url}: .*is it running, and is the address right\?$"):
        opening(url)


def test_a_database_number_that_the_server_lacks(redis_server: RedisServer) -> None:
    with pytest.raises(StoreError, match="use a smaller database number"):
        opening(redis_server.database_url(999_999))


# Passwords and rights


def test_passwords(new_redis_server: NewServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server = new_redis_server(password="s3cret/word")
    bare, wrong = f"redis://127.0.0.1:{server.port}/0", f"redis://:wr0ng@127.0.0.1:{server.port}/0"
    for url in (bare, wrong):
        with pytest.raises(StoreError, match=r"set MINUTEBOOK_REDIS_PASSWORD") as caught:
            opening(url)
        assert type(caught.value) is StoreError
        assert "wr0ng" not in str(caught.value)
    good = opening(f"redis://:s3cret%2Fword@127.0.0.1:{server.port}/0")
    good.append("s", items("a"))
    assert good.url == bare
    assert "s3cret" not in repr(good.address)
    monkeypatch.setenv("MINUTEBOOK_REDIS_PASSWORD", "s3cret/word")
    assert opening(bare, create=False).tip("s").length == 1
    server.kill()
    good.busy_seconds = 0.05
    with pytest.raises(StoreUnreachable) as lost:
        good.tip("s")
    assert "s3cret" not in str(lost.value)


def test_a_password_where_none_is_asked(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINUTEBOOK_REDIS_PASSWORD", "s3cret")
    with pytest.raises(StoreError, match="leave the password out") as caught:
        opening(redis_url)
    assert "s3cret" not in str(caught.value)


def test_a_user_without_rights(new_redis_server: NewServer) -> None:
    server = new_redis_server()
    with client_of(server.url) as client:
        client.execute_command("ACL", "SETUSER", "reader", "on", ">word", "~*", "&*", "+@read", "+info", "+select")
        client.execute_command("ACL", "SETUSER", "reader", "+time", "+evalsha", "+eval")
    opening(server.url).close()
    reader = opening(f"redis://reader:word@127.0.0.1:{server.port}/0")
    assert reader.tip("s").length == 0
    with pytest.raises(StoreError, match="this user may not do that: see the ACL"):
        reader.mark_dirty("d")
    assert reader.url == f"redis://reader@127.0.0.1:{server.port}/0"


# Servers that take no writes


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_full_server_keeps_what_it_had_and_can_be_emptied(redis_url: str, store: RedisStore, name: str) -> None:
    """All of a write or nothing: a limit reached in the middle of a script is the danger."""
    for key in ("append", "put", "mark_dirty", "queue", "claim"):
        CALLS[key](store)
    before = everything(redis_url)
    with client_of(redis_url) as client:
        client.config_set("maxmemory", "1mb")
    try:
        if name in READS | FREEING:
            CALLS[name](store)
        else:
            with pytest.raises(StoreFull, match="raise its maxmemory, or free some by om retention"):
                CALLS[name](store)
            assert everything(redis_url) == before
    finally:
        with client_of(redis_url) as client:
            client.config_set("maxmemory", "0")
    CALLS[name](store)


def test_a_server_fills_up_and_goes_on_after_an_erase(new_redis_server: NewServer) -> None:
    server = new_redis_server(["--maxmemory-policy", "noeviction"])
    store = opening(server.url)
    with client_of(server.url) as client:
        client.config_set("maxmemory", client.info("memory")["used_memory"] + 2_000_000)
    count = 0
    for number in range(500):
        text = "".join(chr(0x4E00 + (number * 7 + at * at) % 20_000) for at in range(10_000))
        try:
            store.append("s", items(str(number)), puts=[Put("c", str(number), text)], advance={"m": number + 1})
        except StoreFull:
            break
        count += 1
    assert 0 < count < 500
    assert store.tip("s") == Tip(count, count, {"m": count})
    assert BehindRedis(lambda: client_of(server.url)).marks("s") == {"m": count}
    assert len(store.documents("c")) == count
    store.erase([], [("c", str(number)) for number in range(count)])
    assert store.append("s", items("after"))
    assert len(store.read("s")) == count + 1


def test_a_full_server_lets_a_stream_be_written_anew_that_grows_no_longer(redis_url: str, store: RedisStore) -> None:
    store.append("s", items("a", "b"))
    with client_of(redis_url) as client:
        client.config_set("maxmemory", "1mb")
        try:
            for more in ({"anew": True}, {"anew": True, "expect_length": 1}, {"expect_length": 2}):
                with pytest.raises(StoreFull):
                    store.append("s", items("b", "c"), **more)  # type: ignore[arg-type]
            assert isinstance(store.append("s", [], anew=True, expect_length=1), Stale)
            assert store.append("s", items("b", "c"), anew=True, expect_length=2)
        finally:
            client.config_set("maxmemory", "0")
    assert [item.id for item in store.read("s")] == ["b", "c"]


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_replica_is_read_only(new_redis_server: NewServer, redis_server: RedisServer, name: str) -> None:
    server = new_redis_server()
    store = opening(server.url)
    store.append("s", items("a"))
    with client_of(server.url) as client:
        client.execute_command("REPLICAOF", "127.0.0.1", "1")
        client.config_set("replica-serve-stale-data", "yes")
    if name in READS:
        CALLS[name](store)
    else:
        with pytest.raises(StoreReadOnly, match="a replica: give the address of the server that it copies"):
            CALLS[name](store)
    assert store.tip("s").length == 1
    store.close()


def test_a_script_of_somebody_that_does_not_end(new_redis_server: NewServer) -> None:
    server = new_redis_server(["--busy-reply-threshold", "1"])
    store = opening(server.url, busy_seconds=1.0)

    def block() -> None:
        with client_of(server.url) as client, pytest.raises(redis.ResponseError):
            client.eval("while true do end", 0)

    thread = threading.Thread(target=block)
    thread.start()
    with client_of(server.url) as client:
        while True:  # until the script runs and the server says so
            try:
                client.get("x")
            except redis.ResponseError:
                break
        with pytest.raises(StoreBusy, match="a script of somebody runs on it"):
            store.append("s", items("a"))
        with pytest.raises(StoreBusy, match="a script of somebody runs on it"):
            store.tip("s")
        client.script_kill()
    thread.join(30)
    assert store.append("s", items("a"))
    store.close()


# Nothing leaks


@pytest.mark.parametrize("name", CALLS)
def test_a_closed_store_says_so(store: RedisStore, name: str) -> None:
    store.close()
    with pytest.raises(StoreError, match=r"^redis://.*: the store is closed"):
        CALLS[name](store)


def all_kinds(kind: type[BaseException]) -> list[type[BaseException]]:
    return [kind, *(below for child in kind.__subclasses__() for below in all_kinds(child))]


@pytest.mark.parametrize("kind", [*all_kinds(redis.RedisError), OSError, ConnectionResetError, TimeoutError])
def test_every_kind_of_redis_error_is_translated(kind: type[BaseException]) -> None:
    wanted = (f"{at} 127.0.0.1:1" if issubclass(kind, redis.exceptions.AskError) else "why" for at in range(2))
    try:
        error = kind(next(wanted))
    except TypeError:  # one that wants more than a message
        error = kind("why", "why")
    with pytest.raises(MinutebookError, match=r"^redis://host/0: .*: .*"), translated("redis://host/0"):
        raise error


def test_without_the_package_the_extra_is_named() -> None:
    program = "import sys; sys.modules['redis'] = None; from minutebook.store import opening; opening.open_store('{}')"
    command = [sys.executable, "-c", program.format("redis://127.0.0.1/0")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = "a store on a Redis server needs an extra: pip install 'minutebook[redis]'"
    assert done.stderr.splitlines()[-1] == f"minutebook.errors.MissingExtra: {said}"
