"""Connections that break in the middle of a call: each call is done once, and its answer is told."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from behind_redis import BehindRedis
from contract_values import JOB, claimed, items, take
from cutting_proxy import CuttingProxy
from redis_server import RedisServer
from store_calls import CALLS

from minutebook.errors import StoreUnreachable
from minutebook.store.kernel import Appended, Claim, Document, Job, Put, Stale, Store, Tip

redis = pytest.importorskip("redis")

from minutebook.store.redis import RedisStore  # noqa: E402
from minutebook.store.redis_address import address_of  # noqa: E402


@pytest.fixture
def proxy(redis_server: RedisServer) -> Iterator[CuttingProxy]:
    proxy = CuttingProxy(redis_server.port)
    yield proxy
    proxy.close()


@pytest.fixture
def direct(redis_url: str) -> Iterator[RedisStore]:
    store = RedisStore(address_of(redis_url))
    yield store
    store.close()


@pytest.fixture
def store(proxy: CuttingProxy, redis_url: str, direct: RedisStore) -> Iterator[RedisStore]:
    store = RedisStore(address_of(f"redis://127.0.0.1:{proxy.port}/{redis_url.rpartition('/')[2]}"), busy_seconds=20)
    yield store
    store.close()


def prepared(store: Store) -> Claim:
    """What makes each call have something to do; the claim that is held."""
    store.append("s", items("first"), advance={"m": 1}, dirty="d")
    store.put(Put("c", "k", "1"))
    store.queue(replace(JOB, role="running"))
    return claimed(take(store, replace(JOB, role="running")))


ONCE: dict[str, Callable[[Store, Claim], object]] = {
    "append": lambda store, _: store.append(
        "s",
        items("first", "a", "b"),
        expect={"m": 1},
        expect_length=1,
        advance={"m": 2},
        dirty="e",
        puts=[Put("c", "k", "2", if_version=1)],
    ),
    "put": lambda store, _: store.put(Put("c", "k", "2", if_version=1)),
    "put any version": lambda store, _: store.put(Put("c", "k", "2")),
    "delete": lambda store, _: store.delete("c", "k", if_version=1),
    "settle": lambda store, _: store.settle_dirty(*store.take_dirty(9), jobs=[JOB]),
    "queue": lambda store, _: store.queue(JOB),
    "finish": lambda store, claim: store.finish(claim),
    "fail": lambda store, claim: store.fail(claim, retry_seconds=60, error="why"),
    "release": lambda store, claim: store.release(claim.job, claim.owner),
    "beat": lambda store, claim: store.beat(claim, lease_seconds=60),
}
WANTED: dict[str, object] = {
    "append": Appended({"first": 0, "a": 1, "b": 2}, ("first",), Tip(3, 3, {"m": 2})),
    "put": Document("k", 2, "2"),
    "put any version": Document("k", 2, "2"),
    "settle": 1,
}


@pytest.mark.parametrize("where", ["request", "reply"])
@pytest.mark.parametrize("name", ONCE)
def test_a_call_whose_connection_breaks_is_done_once(
    store: RedisStore, direct: RedisStore, proxy: CuttingProxy, name: str, where: str
) -> None:
    claim = prepared(direct)
    if name == "settle":  # its reading part is not what is cut
        (taken,) = direct.take_dirty(9)
        proxy.cut = where
        outcome: object = store.settle_dirty(taken, jobs=[JOB])
    else:
        proxy.cut = where
        outcome = ONCE[name](store, claim)
    assert proxy.cuts == 1
    assert outcome == WANTED.get(name, True)


@pytest.mark.parametrize("where", ["request", "reply"])
def test_a_claim_whose_answer_was_lost_is_told_again(
    store: RedisStore, direct: RedisStore, proxy: CuttingProxy, where: str
) -> None:
    direct.queue(JOB)
    proxy.cut = where
    claim = claimed(take(store))
    assert (proxy.cuts, claim.tries) == (1, 1)
    assert direct.finish(claim)


def test_the_same_append_again_is_another_call(store: RedisStore, proxy: CuttingProxy) -> None:
    """What is kept of a call answers nothing but that call."""
    store.append("s", items("a"), expect={"m": 0}, advance={"m": 1})
    proxy.cut = "reply"
    assert store.append("s", items("b"), expect={"m": 0}, advance={"m": 2}) == Stale("m", 0, 1)
    proxy.cut = "reply"
    assert isinstance(store.append("s", items("b"), expect={"m": 1}, advance={"m": 2}), Appended)
    assert store.append("s", items("b"), expect={"m": 1}, advance={"m": 2}) == Stale("m", 1, 2)
    assert proxy.cuts == 2


@pytest.mark.parametrize("where", ["request", "reply"])
@pytest.mark.parametrize("name", sorted(CALLS))
def test_every_method_goes_on_after_a_break(
    store: RedisStore, direct: RedisStore, proxy: CuttingProxy, name: str, where: str
) -> None:
    prepared(direct)
    proxy.cut = where
    CALLS[name](store)
    assert proxy.cuts == 1


def test_threads_do_not_take_each_others_answers(store: RedisStore, direct: RedisStore, proxy: CuttingProxy) -> None:
    stop = threading.Event()
    wrong: list[object] = []
    written = [0] * 4

    def write(number: int) -> None:
        while written[number] < 60 or (proxy.cuts < 15 and cutter.is_alive()):
            step = written[number]
            found = store.append(f"s{number}", items(str(step)), expect={"m": step}, advance={"m": step + 1})
            if not isinstance(found, Appended) or found.positions != {str(step): step}:
                wrong.append(found)
            written[number] += 1

    def cut() -> None:
        while proxy.cuts < 15 and not stop.wait(0.003):
            proxy.cut = "reply"

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    cutter = threading.Thread(target=cut)
    for thread in (cutter, *threads):
        thread.start()
    for thread in threads:
        thread.join(60)
    stop.set()
    cutter.join(60)
    assert wrong == []
    assert proxy.cuts >= 15
    assert [direct.tip(f"s{number}").length for number in range(4)] == written


def test_a_call_that_arrives_after_the_caller_went_on_is_not_done(store: RedisStore, redis_url: str) -> None:
    """A request that lay in a hung server's socket while its sender gave up."""
    store.mark_dirty("a")
    store.mark_dirty("b")
    store._local.number -= 2
    with pytest.raises(StoreUnreachable, match="too late"):
        store.mark_dirty("late")
    assert BehindRedis(lambda: redis.Redis.from_url(redis_url)).dirty_keys() == {"a", "b"}


def test_what_is_kept_of_calls_is_one_small_key_a_caller_for_two_minutes(store: RedisStore, redis_url: str) -> None:
    for number in range(50):
        store.append("s", items(str(number)))
    with redis.Redis.from_url(redis_url) as client:
        (key,) = client.keys("mb:done:*")
        assert 0 < client.ttl(key) <= 120
        assert client.strlen(key) < 100


def test_a_server_that_hangs_is_unreachable(new_redis_server: Callable[..., RedisServer]) -> None:
    server = new_redis_server()
    store = RedisStore(address_of(server.url), busy_seconds=2.0)
    server.pause()
    with pytest.raises(StoreUnreachable, match=rf"^redis://127\.0\.0\.1:{server.port}/0: Timeout"):
        store.append("s", items("a"))
    server.resume()
    store.busy_seconds = 20.0
    assert store.append("s", items("a", "b"))
    assert [stored.id for stored in store.read("s")] == ["a", "b"]
    store.close()


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_server_that_went_away_is_unreachable(new_redis_server: Callable[..., RedisServer], name: str) -> None:
    server = new_redis_server()
    store = RedisStore(address_of(server.url), busy_seconds=1.0)
    server.kill()
    store.busy_seconds = 0.05
    with pytest.raises(StoreUnreachable, match=r"is it running"):
        CALLS[name](store)
    server.start()
    store.busy_seconds = 20.0
    CALLS[name](store)
    store.close()


def test_no_server_is_told_at_once(new_redis_server: Callable[..., RedisServer]) -> None:
    server = new_redis_server()
    server.kill()
    asked: list[Any] = []
    address = address_of(server.url)

    class Counting:
        connection_kwargs: ClassVar[dict[str, Any]] = {}

        def connection_class(self) -> Any:
            asked.append(1)
            connection = address.pool(1.0)
            return connection.connection_class(**connection.connection_kwargs)

    with pytest.raises(StoreUnreachable, match="is it running"):
        RedisStore(address, busy_seconds=600, pool=Counting())  # type: ignore[arg-type]
    assert asked == [1]


def test_a_connection_that_the_server_closed_long_ago_is_noticed(
    direct: RedisStore, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minutebook.store.redis_server.IDLE_SECONDS", 0.0)
    job = Job("observer", "l", "b")
    assert direct.queue(job)
    with redis.Redis.from_url(redis_url) as client:
        client.client_kill_filter(_type="normal")
    sent = []
    monkeypatch.setattr("time.sleep", sent.append)
    assert direct.tip("s").length == 0
    assert sent == []
