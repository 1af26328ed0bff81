"""The SQLite store under concurrent threads and processes."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from behind_sqlite import BehindSqlite
from contract_races import RaceContract, in_threads, start_writer
from contract_values import items

from minutebook.store.kernel import Store
from minutebook.store.sqlite import SqliteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "store.db"


class TestSqliteRaces(RaceContract):
    @pytest.fixture
    def store(self, path: Path) -> Iterator[Store]:
        opened = SqliteStore(path, busy_seconds=30, create=True)
        yield opened
        opened.close()
        assert BehindSqlite(path).checked() == "ok"

    @pytest.fixture
    def open_again(self, path: Path) -> Callable[[], Store]:
        return lambda: SqliteStore(path, busy_seconds=30, create=False)


def test_processes_that_create_the_file_at_once(path: Path) -> None:
    writers = [start_writer(str(path), "s", f"w{n}", first=0, appends=3, batch=2) for n in range(4)]
    for writer in writers:
        writer.communicate(timeout=60)
    assert [writer.returncode for writer in writers] == [0] * 4
    assert len(BehindSqlite(path).items("s")) == 24
    assert BehindSqlite(path).checked() == "ok"


def test_a_process_that_makes_the_file_takes_nothing_away_from_one_that_was_faster(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one has the new file open, and writes, before the maker comes to its next line."""
    writers: list[subprocess.Popen[str]] = []
    make = os.open

    def made_and_written(name: object, flags: int, *more: Any, **named: Any) -> int:
        handle: int = make(name, flags, *more, **named)
        if name == path and flags & os.O_EXCL:
            writers.append(start_writer(str(path), "s", "w", first=0, appends=100, batch=1))
            assert writers[0].stdout
            assert [writers[0].stdout.readline() for _ in range(3)] == ["opening\n", "1\n", "2\n"]
        return handle

    monkeypatch.setattr("minutebook.store.sqlite_file.os.open", made_and_written)
    with closing(SqliteStore(path, create=True)) as store:
        assert store.tip("s").length >= 2
        store.append("t", items("a"))
        writers[0].communicate(timeout=60)
        assert writers[0].returncode == 0
        assert (store.tip("s").length, store.tip("t").length) == (100, 1)
    assert BehindSqlite(path).checked() == "ok"


def test_opening_twice_in_one_process_keeps_the_locks(path: Path) -> None:
    """POSIX drops all of a process's locks on a file when it closes any descriptor of it.

    Without them another process that leaves would believe to be the last, and take the WAL away with it.
    """
    first = SqliteStore(path, busy_seconds=5, create=True)
    first.append("s", items("a"))
    second = SqliteStore(path, busy_seconds=5, create=True)
    writer = start_writer(str(path), "s", "w", first=0, appends=1, batch=1)
    writer.communicate(timeout=60)
    assert writer.returncode == 0
    assert path.with_name("store.db-wal").exists()
    first.append("s", items("b"))
    assert [stored.id for stored in second.read("s")] == ["a", "w-0", "b"]
    second.close()
    first.close()
    assert BehindSqlite(path).checked() == "ok"


def test_threads_that_create_the_file_at_once(path: Path) -> None:
    for attempt in range(10):
        file = path.with_name(f"{attempt}.db")

        def work(number: int, file: Path = file) -> None:
            store = SqliteStore(file, busy_seconds=30, create=True)
            store.append("s", items(str(number)))
            store.close()

        in_threads(6, work)
        assert len(BehindSqlite(file).items("s")) == 6
        assert BehindSqlite(file).value("PRAGMA journal_mode") == "wal"
