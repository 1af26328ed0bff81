"""Before a file, source entries are taken in one request after the other; nothing else waits for that."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from doors import RunningDoor, laptop_session, some_entries, sources_body

from minutebook.server import routing
from minutebook.settings import Settings
from minutebook.store.sqlite import SqliteStore


class Waiting:
    """A store whose appends wait until they may go on."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self.begun, self.go = threading.Event(), threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def append(self, *items: Any, **more: Any) -> Any:
        self.begun.set()
        assert self.go.wait(60)
        return self._store.append(*items, **more)


@pytest.fixture
def waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[RunningDoor, Waiting]]:
    monkeypatch.setattr(routing, "LINE_SECONDS", 600.0)
    sqlite = SqliteStore(tmp_path / "box.sqlite")
    store: Any = Waiting(sqlite)
    settings = Settings(audit_file=str(tmp_path / "audit.jsonl"))
    with RunningDoor(store, tmp_path / "audit.jsonl", settings) as door:
        yield door, store
        store.go.set()
    sqlite.close()


def test_what_is_read_does_not_wait_for_what_is_taken_in(waiting: tuple[RunningDoor, Waiting]) -> None:
    door, store = waiting
    token, bodies = door.token(), [sources_body(laptop_session(f"s{at}"), some_entries(2)) for at in range(20)]
    with ThreadPoolExecutor(len(bodies)) as pool:
        pushed = [pool.submit(door.post, "/v1/sources", token, body) for body in bodies]
        assert store.begun.wait(60)
        assert [door.get("/v1/me", token).status for _ in range(5)] == [200] * 5
        assert not any(each.done() for each in pushed)
        store.go.set()
        assert {each.result().status for each in pushed} == {200}


def test_one_that_stood_in_line_for_too_long_is_told_to_come_again(
    waiting: tuple[RunningDoor, Waiting], monkeypatch: pytest.MonkeyPatch
) -> None:
    door, store = waiting
    token, (first, second) = door.token(), (sources_body(laptop_session(f"s{at}"), some_entries(2)) for at in range(2))
    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(door.post, "/v1/sources", token, first)
        assert store.begun.wait(60)
        monkeypatch.setattr(routing, "LINE_SECONDS", -1.0)
        two = pool.submit(door.post, "/v1/sources", token, second)
        store.go.set()
        assert one.result().status == 200
        got = two.result()
    assert (got.status, got.error, got.headers["retry-after"]) == (503, "store_busy", "5")
    monkeypatch.setattr(routing, "LINE_SECONDS", 600.0)
    assert door.post("/v1/sources", token, second).status == 200
