"""What the door says when its store fails, and how long it waits for clients that dawdle."""

import logging
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import pytest
from asking import Route, ask_about, routes_of
from doors import RunningDoor, laptop_session, push, received, some_entries, status_of
from redis_server import RedisServer

from minutebook.errors import StoreBusy, StoreCorrupt, StoreError, StoreFull, StoreGone, StoreReadOnly, StoreUnreachable
from minutebook.server import running, visits
from minutebook.settings import Settings
from minutebook.store.opening import open_store
from minutebook.store.sqlite import SqliteStore

FAILURES = {
    StoreUnreachable: "store_unreachable",
    StoreBusy: "store_busy",
    StoreFull: "store_full",
    StoreReadOnly: "store_failed",
    StoreGone: "store_gone",
    StoreCorrupt: "store_failed",
    StoreError: "store_failed",
}


class Failing:
    """A store whose calls all raise, once it is told what."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.error: Exception | None = None

    def __getattr__(self, name: str) -> Any:
        if self.error is not None:
            raise self.error
        return getattr(self._store, name)


def running_door(store: Any, folder: Path) -> RunningDoor:
    return RunningDoor(store, folder / "audit", Settings(audit_file=str(folder / "audit")))


@pytest.fixture
def failing(tmp_path: Path) -> Iterator[tuple[RunningDoor, Failing]]:
    store = Failing(SqliteStore(tmp_path / "box.sqlite"))
    with running_door(store, tmp_path) as door:
        yield door, store
    store.error = None
    store.close()


def test_a_store_that_fails_is_told_by_each_route_without_its_insides(
    failing: tuple[RunningDoor, Failing], caplog: pytest.LogCaptureFixture
) -> None:
    door, store = failing
    token = door.token()
    routes = [*routes_of(door.get("/openapi.json").data), Route("GET", "/readyz", ())]
    caplog.set_level(logging.ERROR)
    for kind, word in FAILURES.items():
        store.error = kind("/secret/place/box.sqlite: redis://:password@10.0.0.5 said no")
        for route in routes:
            got = ask_about(door, route, token, "claude_code:s1")
            assert (got.status, got.error, got.headers["retry-after"]) == (503, word, "5"), (route, got.content)
            assert b"secret" not in got.content and b"password" not in got.content
        assert door.get("/healthz").status == 200
        assert door.get("/metrics").status == 200
        store.error = None
    assert "/secret/place" in caplog.text  # who runs the box reads it in the log
    assert "Traceback" not in caplog.text


def test_a_fault_of_our_own_is_one_and_shows_nothing(
    failing: tuple[RunningDoor, Failing], caplog: pytest.LogCaptureFixture
) -> None:
    door, store = failing
    token = door.token()
    store.error = ZeroDivisionError("inside/of/us.py")
    got = door.get("/v1/me", token)
    assert (got.status, got.error) == (500, "internal") and b"inside" not in got.content
    assert got.data["request_id"] in caplog.text and "ZeroDivisionError" in caplog.text
    store.error = None
    assert door.get("/v1/me", token).status == 200


def test_a_redis_that_is_killed_and_comes_back(new_redis_server: Callable[..., RedisServer], tmp_path: Path) -> None:
    server = new_redis_server()
    with closing(open_store(server.url, busy_seconds=0.5)) as store, running_door(store, tmp_path) as door:
        token = door.token()
        key = push(door, token, laptop_session(), some_entries(3))
        server.kill()
        away = [door.get(path, token, branch=key) for path in ("/v1/status", "/v1/sources")]
        assert {(got.status, got.error) for got in away} == {(503, "store_unreachable")}
        assert (door.get("/readyz").status, door.get("/healthz").status) == (503, 200)
        server.start()
        assert door.get("/readyz").status == 200
        assert door.get("/v1/status", token, branch=key).data["entries"] == 3


def test_a_store_that_was_removed_is_no_wrong_token(
    new_redis_server: Callable[..., RedisServer], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """FLUSHALL takes the tokens away, too: laptops keep their entries and come again, and who runs the box is told."""
    redis = pytest.importorskip("redis")
    server = new_redis_server()
    with closing(open_store(server.url)) as store, running_door(store, tmp_path) as door:
        token = door.token()
        assert (door.get("/v1/me", token).status, door.get("/readyz").status) == (200, 200)
        with redis.Redis.from_url(server.url) as client:
            client.flushall()
        for path in ("/v1/me", "/v1/sessions", "/readyz"):
            got = door.get(path, token)
            assert (got.status, got.error) == (503, "store_gone"), path
        assert "the store was removed while it was open" in caplog.text
        assert door.get("/v1/me").status == 401  # no token at all is one's own fault
        assert door.get("/healthz").status == 200
        open_store(server.url).close()  # somebody begins anew: then tokens are wrong
        assert (door.get("/v1/me", token).status, door.get("/readyz").status) == (401, 200)


def test_a_file_that_was_taken_away_is_no_wrong_token(tmp_path: Path) -> None:
    path = tmp_path / "box.sqlite"
    with closing(SqliteStore(path)) as store, running_door(store, tmp_path) as door:
        token = door.token()
        path.rename(tmp_path / "elsewhere.sqlite")
        assert door.get("/readyz").error == "store_gone"
        assert door.get("/v1/me", f"{token[:-1]}{'a' if token[-1] != 'a' else 'b'}").error == "store_gone"


# -- clients that dawdle -------------------------------------------------------------------------------------------

HASTE_SECONDS = 0.3


@pytest.fixture
def hurried(door: RunningDoor, monkeypatch: pytest.MonkeyPatch) -> RunningDoor:
    """A door with little patience: whoever is not cut off there must not need an answer of it."""
    monkeypatch.setattr(running, "HEADERS_SECONDS", HASTE_SECONDS)
    return door


@pytest.fixture
def door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningDoor]:
    """A door with little patience for a body whose headers have come."""
    monkeypatch.setattr(visits, "BODY_SECONDS", HASTE_SECONDS)
    monkeypatch.setattr(visits, "LINGER_SECONDS", 0.3)
    with closing(SqliteStore(tmp_path / "box.sqlite")) as store, running_door(store, tmp_path) as door:
        yield door


@pytest.mark.parametrize("begun", [b"", b"GET", b"GET /v1/me HTTP/1.1\r\nHost: localhost\r\nX: "])
def test_a_request_that_never_ends_is_hung_up_on(hurried: RunningDoor, begun: bytes) -> None:
    with closing(socket.create_connection(("127.0.0.1", hurried.port), timeout=30)) as connection:
        with suppress(ConnectionError):  # hung up on before it could say anything
            connection.sendall(begun)
        assert received(connection) == b""


def test_headers_that_trickle_do_not_put_it_off(hurried: RunningDoor) -> None:
    with (
        closing(socket.create_connection(("127.0.0.1", hurried.port), timeout=30)) as connection,
        pytest.raises(ConnectionError),
    ):
        trickle(connection, b"GET /v1/me HTTP/1.1\r\n", b"X: y\r\n")


def trickle(connection: socket.socket, first: bytes, line: bytes) -> None:
    connection.sendall(first)
    for _ in range(600):
        connection.sendall(line)
        time.sleep(0.05)


def test_the_next_request_on_a_connection_is_not_waited_for_longer(
    door: RunningDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(socket.create_connection(("127.0.0.1", door.port), timeout=30)) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert status_of(received(connection)) == 200
        monkeypatch.setattr(running, "HEADERS_SECONDS", HASTE_SECONDS)
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: loc")
        assert received(connection) == b""


def test_a_body_that_trickles_is_given_up(door: RunningDoor) -> None:
    token = door.token()
    head = (
        f"POST /v1/lengths HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Length: 100\r\n\r\n"
    )
    with closing(socket.create_connection(("127.0.0.1", door.port), timeout=30)) as connection:
        connection.sendall(head.encode() + b"{")
        assert status_of(received(connection)) == 408


def test_many_dawdlers_do_not_keep_others_out(door: RunningDoor) -> None:
    token = door.token()
    with ExitStack() as dawdling:
        for _ in range(200):
            each = dawdling.enter_context(socket.create_connection(("127.0.0.1", door.port), timeout=30))
            each.sendall(b"GET /v1/me HTTP/1.1\r\nHost: ")
        assert door.get("/v1/me", token).status == 200
