"""The SQLite store keeps the promises, and what is special to it."""

import os
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from behind_sqlite import BehindSqlite
from contract_suite import StoreContract
from contract_values import Clock, item, items

from minutebook.errors import StoreCorrupt, StoreError
from minutebook.store.kernel import Put, Store
from minutebook.store.opening import open_store
from minutebook.store.sqlite import SqliteStore


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "store.db"


@pytest.fixture
def store(path: Path, clock: Clock) -> Iterator[SqliteStore]:
    opened = SqliteStore(path, busy_seconds=5, create=True, clock=clock)
    yield opened
    opened.close()


@pytest.fixture
def behind(path: Path) -> BehindSqlite:
    return BehindSqlite(path)


class SqliteContract(StoreContract):
    @pytest.fixture
    def another(self, store: SqliteStore, path: Path, clock: Clock) -> Iterator[Store]:
        opened = SqliteStore(path, busy_seconds=5, create=False, clock=clock)
        yield opened
        opened.close()

    @pytest.fixture
    def pass_seconds(self, clock: Clock) -> Callable[[float], None]:
        return clock.pass_seconds


class TestSqlite(SqliteContract):
    pass


class TestRollbackJournal(SqliteContract):
    """Where WAL cannot be had: SQLite's unix-dotfile layer has no shared memory."""

    @pytest.fixture(autouse=True)
    def without_wal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        connect = sqlite3.connect

        def connect_without_shared_memory(address: str, **arguments: Any) -> sqlite3.Connection:
            opened: sqlite3.Connection = connect(f"{address}&vfs=unix-dotfile", **arguments)
            return opened

        monkeypatch.setattr("minutebook.store.sqlite_file.sqlite3.connect", connect_without_shared_memory)

    def test_the_journal_is_deleted_and_synced_in_full(self, store: SqliteStore) -> None:
        assert store.rows("PRAGMA journal_mode") == [("delete",)]
        assert store.rows("PRAGMA synchronous") == [(2,)]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_only_the_owner_reads_the_files(path: Path) -> None:
    old = os.umask(0)
    try:
        store = SqliteStore(path, busy_seconds=1, create=True)
        store.append("s", items("a"))
        assert mode(path.parent) == 0o700
        assert {file.name: oct(mode(file)) for file in path.parent.iterdir()} == {
            "store.db": "0o600",
            "store.db-wal": "0o600",
            "store.db-shm": "0o600",
        }
        store.close()
    finally:
        os.umask(old)


def test_a_folder_that_exists_keeps_its_mode(path: Path) -> None:
    path.parent.mkdir()
    path.parent.chmod(0o755)
    SqliteStore(path, busy_seconds=1, create=True).close()
    assert mode(path.parent) == 0o755


def test_the_journal_is_wal_with_normal_sync(store: SqliteStore, behind: BehindSqlite) -> None:
    assert behind.value("PRAGMA journal_mode") == "wal"
    assert store.rows("PRAGMA synchronous") == [(1,)]


def test_closing_leaves_one_file_that_can_be_opened_again(path: Path, store: SqliteStore) -> None:
    store.append("s", [item("a", 3)], advance={"m": 1})
    store.close()
    assert [file.name for file in path.parent.iterdir()] == ["store.db"]
    again = open_store(str(path), create=False)
    assert [stored.id for stored in again.read("s")] == ["a"]
    assert again.tip("s").marks == {"m": 1}
    again.close()


def test_a_url_opens_the_same_store(path: Path, store: SqliteStore) -> None:
    assert store.url == f"sqlite:///{path}"
    again = open_store(store.url, create=False)
    assert again.url == store.url
    again.close()


def test_a_relative_path_stays_the_same_file_after_chdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = SqliteStore(Path("store.db"), busy_seconds=1, create=True)
    monkeypatch.chdir(tmp_path / "home")
    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.append(store.tip("s").length))
    thread.start()
    thread.join()
    assert seen == [0]
    assert store.url == f"sqlite:///{tmp_path / 'store.db'}"
    store.close()


def test_closing_closes_the_connections_of_all_threads(path: Path, store: SqliteStore) -> None:
    done, leave = threading.Event(), threading.Event()

    def read_and_wait() -> None:
        store.tip("s")
        done.set()
        leave.wait(60)

    thread = threading.Thread(target=read_and_wait)
    thread.start()
    assert done.wait(60)
    store.close()
    # SQLite removes the WAL with the last connection: the other thread's is closed too.
    assert [file.name for file in path.parent.iterdir()] == ["store.db"]
    leave.set()
    thread.join()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.tip("s")


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="lists open files by /proc")
def test_connections_of_ended_threads_are_closed(store: SqliteStore) -> None:
    for _ in range(20):
        thread = threading.Thread(target=store.tip, args=("s",))
        thread.start()
        thread.join()
    names = [Path(f"/proc/self/fd/{number}").resolve().name for number in range(256)]
    assert 1 <= names.count("store.db") <= 2


def test_data_version_tells_of_other_connections(store: SqliteStore, path: Path) -> None:
    before = store.data_version()
    assert store.data_version() == before
    other = SqliteStore(path, busy_seconds=5, create=False)
    other.mark_dirty("a")
    assert store.data_version() != before
    other.close()


def test_data_version_tells_of_other_threads(store: SqliteStore) -> None:
    before = store.data_version()
    thread = threading.Thread(target=store.mark_dirty, args=("a",))
    thread.start()
    thread.join()
    assert store.data_version() != before


def test_two_threads_see_at_once_that_the_file_was_written_anew(path: Path, store: SqliteStore) -> None:
    """The second looks while the first is about to note it: neither takes the smaller file for a damaged one."""
    seconds: list[threading.Thread] = []
    failed: list[StoreError] = []

    class Looking(SqliteStore):
        def _was_scrubbed(self) -> bool:
            found = super()._was_scrubbed()
            if not seconds:
                seconds.append(threading.Thread(target=look))
                seconds[0].start()
                seconds[0].join(0.5)
            return found

    def look() -> None:
        try:
            open_already.data_version()
        except StoreError as error:
            failed.append(error)

    store.append("s", items(*(f"id-{number:0200}" for number in range(2_000))))
    store.close()
    with closing(Looking(path)) as open_already, closing(SqliteStore(path)) as other:
        assert open_already.tip("s").length == 2_000
        other.erase(["s"])
        assert other.scrub()
        assert open_already.data_version() and seconds
        seconds[0].join(30)
    assert failed == []


def test_a_clash_of_positions_is_never_swallowed(store: SqliteStore, behind: BehindSqlite) -> None:
    """Promise 2: a damaged length must not drop items silently."""
    store.append("s", items("a", "b"))
    with store.writing() as connection:
        connection.execute("UPDATE stream SET length = 1")
    with pytest.raises(StoreCorrupt, match=r"store\.db"):
        store.append("s", items("c"), advance={"m": 1}, dirty="d")
    assert [row[1] for row in behind.items("s")] == ["a", "b"]
    assert behind.marks("s") == {}
    assert behind.dirty_keys() == set()
    store.mark_dirty("d")


def test_no_statement_scans_a_table(store: SqliteStore) -> None:
    """The cost of a hook, a clock and a compaction does not grow with the session (the board is small and may scan)."""
    store.append("s", items("a"), advance={"m": 1})
    store.put(Put("c", "k", "1"))
    statements: list[str] = []
    with store.writing() as connection:
        pass
    connection.set_trace_callback(statements.append)
    store.append("s", items("a", "b"), expect={"m": 1}, advance={"m": 2}, dirty="d", puts=[Put("c", "k", "1", 1)])
    store.read("s", 1, 5, kinds=["source"], limit=3, reverse=True)
    store.find("s", ["a", "b"])
    store.tip("s")
    store.total_before("s", 1)
    store.get("c", "k")
    store.documents("c", "k")
    store.changes("c")
    store.delete("c", "k")
    connection.set_trace_callback(None)
    queries = [sql for sql in statements if sql.startswith(("SELECT", "UPDATE", "DELETE"))]
    assert len(queries) >= 12
    plans = {sql: [row[3] for row in store.rows(f"EXPLAIN QUERY PLAN {sql}")] for sql in queries}
    assert {sql: plan for sql, plan in plans.items() if any(step.startswith("SCAN") for step in plan)} == {}
    assert not any("TEMP B-TREE" in step for plan in plans.values() for step in plan)
