"""A real store for the tests of the workers: a SQLite file, or where a module asks for both, a real Redis server too.

A module asks by a fixture `backend` of its own, with BACKENDS as its params.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hostmodels import Install
from jobs import Clock

from minutebook.store.kernel import Store
from minutebook.store.sqlite import SqliteStore

OpenStore = Callable[[Clock | None], Store]


@pytest.fixture
def backend() -> str:
    """sqlite or redis."""
    return "sqlite"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def open_one(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[OpenStore]:
    """Opens the store of the test again and again, as other processes do; with a clock instead of the real one."""
    opened: list[Store] = []

    def one(clock: Clock | None) -> Store:
        if backend == "redis":
            from minutebook.store.redis import RedisStore
            from minutebook.store.redis_address import address_of

            url = request.getfixturevalue("redis_url")
            opened.append(RedisStore(address_of(url), busy_seconds=5, clock=clock))
        else:
            more = {"clock": clock} if clock else {}
            opened.append(SqliteStore(tmp_path / "store.db", busy_seconds=5, **more))
        return opened[-1]

    yield one
    for store in opened:
        store.close()


@pytest.fixture
def store(open_one: OpenStore) -> Store:
    return open_one(None)


@pytest.fixture
def clocked(open_one: OpenStore, clock: Clock) -> Store:
    """With a clock that stands."""
    return open_one(clock)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts a program of the name on the PATH, which alone holds it; returns the folder that it may write to."""
    bin_folder, seen = tmp_path / "bin", tmp_path / "seen"
    bin_folder.mkdir()
    seen.mkdir()
    monkeypatch.setenv("PATH", f"{bin_folder}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MINUTEBOOK_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("CODEX_HOME", raising=False)

    def put(name: str, body: str) -> Path:
        path = bin_folder / name
        path.write_text(f"#!/bin/sh\nSEEN={seen}\n{body}\n")
        path.chmod(0o755)
        return seen

    return put
