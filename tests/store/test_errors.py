"""What goes wrong with a file becomes an error of ours that names the file and what to do; nothing of sqlite3 leaks."""

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
import surroundings
from behind_sqlite import BehindSqlite
from contract_values import items
from store_calls import CALLS, WRITES
from surroundings import small_disk, without_rights

from minutebook.errors import (
    MinutebookError,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreTooNew,
)
from minutebook.store import sqlite_file
from minutebook.store.kernel import Store, Tip
from minutebook.store.sqlite import SqliteStore

HERE = Path(__file__).parent


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(path, busy_seconds=0.05, create=True)
    yield opened
    opened.close()


def opening(path: Path, *, create: bool = False) -> SqliteStore:
    return SqliteStore(path, busy_seconds=0.05, create=create)


def test_every_method_of_the_store_is_called_here() -> None:
    methods = {name for name in dir(Store) if not name.startswith("_")} - {"url", "close", "now"}
    assert CALLS.keys() == methods | {"data_version"}


# Files that are no store


def test_a_missing_file_is_not_made_when_create_is_off(path: Path) -> None:
    with pytest.raises(StoreError, match=r"data/store\.db: no store there"):
        opening(path)
    assert not path.parent.exists()


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="a folder, not a store"):
        opening(tmp_path, create=True)


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(StoreError, match=r"data/store\.db"):
        opening(tmp_path / "data" / "store.db", create=True)


@pytest.mark.parametrize(
    "content", [b"{}\n" * 1000, b"x", b"xy", b"x" * 100, b"x" * 600, b"SQLite format 3\0" + b"\xff" * 4000]
)
def test_a_file_of_another_kind_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.json"
    path.write_bytes(content)
    with pytest.raises(StoreCorrupt, match=r"notes\.json"):
        opening(path, create=True)
    assert path.read_bytes() == content


def test_a_damaged_file_is_told(path: Path, store: SqliteStore) -> None:
    store.append("s", items(*map(str, range(2000))))
    store.close()
    raw = path.read_bytes()
    path.write_bytes(raw[:4096] + b"\x07" * (len(raw) - 4096))
    with pytest.raises(StoreCorrupt, match=r"store\.db.*backup"):
        opening(path).read("s")


def test_a_newer_file_names_both_versions(path: Path, store: SqliteStore) -> None:
    store.close()
    newest = len(list(sqlite_file.MIGRATIONS.glob("*.sql")))
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {newest + 41}")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreTooNew, match=rf"format {newest + 41}, this program knows {newest}: upgrade minutebook"):
        opening(path)
    assert path.read_bytes() == before


# Locks


@contextmanager
def locked_by_another_process(path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, str(HERE / "lock_holder.py"), str(path)]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout
    with holder:
        assert holder.stdout.readline() == "locked\n"
        yield holder


@pytest.mark.parametrize("name", WRITES)
def test_a_write_beside_a_lock_is_busy(path: Path, store: SqliteStore, name: str) -> None:
    store.append("s", items("before"))
    with locked_by_another_process(path):
        with pytest.raises(StoreBusy, match=r"store\.db.*another process"):
            CALLS[name](store)
        assert store.tip("s") == Tip(1, 1, {})
    CALLS[name](store)


def test_a_store_opens_and_reads_beside_a_lock(path: Path, store: SqliteStore) -> None:
    """A hook that must answer at once is not kept waiting by a writer."""
    store.append("s", items("a"))
    with locked_by_another_process(path):
        other = opening(path)
        assert other.tip("s").length == 1
        other.close()


def test_a_new_file_that_another_process_locks_is_busy(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch()
    with locked_by_another_process(path), pytest.raises(StoreBusy, match=r"store\.db"):
        opening(path)
    opening(path).close()


def test_a_writer_waits_for_the_lock(path: Path, store: SqliteStore) -> None:
    patient = SqliteStore(path, busy_seconds=60, create=False)
    with locked_by_another_process(path) as holder:
        thread = threading.Thread(target=patient.append, args=("s", items("a")))
        thread.start()
        with pytest.raises(StoreBusy):
            store.append("s", items("b"))
        assert thread.is_alive()
        holder.communicate(timeout=30)
        thread.join(30)
    assert [stored.id for stored in store.read("s")] == ["a"]
    patient.close()


def test_threads_of_one_process_take_turns(path: Path) -> None:
    """One that waits is woken when the other is done, and gives up after busy_seconds."""
    shared = SqliteStore(path, busy_seconds=0.2)
    with shared.writing(), ThreadPoolExecutor(1) as pool:
        refused = pool.submit(shared.append, "s", items("a")).exception()
    assert isinstance(refused, StoreBusy) and "other threads" in str(refused)
    shared.append("s", items("b"))
    assert [stored.id for stored in shared.read("s")] == ["b"]
    shared.close()


def test_opening_a_new_file_waits_for_the_lock(tmp_path: Path) -> None:
    """SQLite's switch to WAL fails at once beside a lock, whatever the busy timeout."""
    path = tmp_path / "store.db"
    path.touch()
    opened: list[SqliteStore] = []
    with locked_by_another_process(path) as holder:
        thread = threading.Thread(target=lambda: opened.append(SqliteStore(path, busy_seconds=60, create=False)))
        thread.start()
        with pytest.raises(StoreBusy):
            opening(path)
        holder.communicate(timeout=30)
        thread.join(30)
    assert BehindSqlite(path).value("PRAGMA journal_mode") == "wal"
    opened[0].close()


# Files that cannot be written


@pytest.fixture
def open_folder() -> Iterator[Path]:
    with surroundings.open_folder() as folder:
        yield folder


def test_a_folder_that_cannot_be_written(open_folder: Path) -> None:
    open_folder.chmod(0o555)
    with without_rights():
        with pytest.raises(StoreReadOnly, match=r"store\.db.*may write there"):
            opening(open_folder / "store.db", create=True)
        with pytest.raises(StoreReadOnly, match=r"store\.db"):
            opening(open_folder / "sub" / "store.db", create=True)
    open_folder.chmod(0o755)


@pytest.mark.parametrize(("file_mode", "folder_mode"), [(0o444, 0o555), (0o444, 0o777), (0o000, 0o755)])
def test_a_file_that_cannot_be_written(open_folder: Path, file_mode: int, folder_mode: int) -> None:
    path = open_folder / "store.db"
    made = opening(path, create=True)
    made.append("s", items("a"))
    made.close()
    path.chmod(file_mode)
    open_folder.chmod(folder_mode)
    with without_rights(), pytest.raises(StoreReadOnly, match=r"store\.db"):
        opening(path).append("s", items("b"))
    open_folder.chmod(0o755)
    path.chmod(0o600)
    assert [row[1] for row in BehindSqlite(path).items("s")] == ["a"]


@pytest.mark.parametrize("name", WRITES)
def test_a_write_that_is_refused_is_read_only(store: SqliteStore, name: str) -> None:
    store.rows("PRAGMA query_only = ON")
    with pytest.raises(StoreReadOnly, match=r"store\.db.*writable"):
        CALLS[name](store)
    store.rows("PRAGMA query_only = OFF")
    CALLS[name](store)


# No space


def test_a_full_file_keeps_what_it_had(store: SqliteStore, path: Path) -> None:
    """SQLite's own limit of pages: the same error as a full disk, in the middle of a large append."""
    store.append("s", items("a"), advance={"m": 1})
    pages = store.rows("PRAGMA page_count")[0][0]
    store.rows(f"PRAGMA max_page_count = {pages + 5}")
    many = items(*(f"long-id-{number:0100}" for number in range(1000)))
    with pytest.raises(StoreFull, match=r"store\.db.*disk space"):
        store.append("s", many, advance={"m": 2}, dirty="d")
    assert store.tip("s") == Tip(1, 1, {"m": 1})
    assert BehindSqlite(path).dirty_keys() == set()
    store.rows("PRAGMA max_page_count = 1000000")
    store.append("s", many)
    assert BehindSqlite(path).checked() == "ok"


def test_a_full_disk_keeps_what_was_acknowledged(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "512k") as disk:
        path = disk.folder / "store.db"
        command = [sys.executable, str(HERE / "filling_process.py"), str(path)]
        said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
        assert said[0] == "StoreFull"
        disk.remount("size=4m")
        store = opening(path)
        assert store.tip("s") == Tip(int(said[1]), int(said[1]), {"m": int(said[1])})
        store.append("s", items("after"))
        store.close()
        assert BehindSqlite(path).checked() == "ok"


# Nothing leaks


@pytest.mark.parametrize("name", CALLS)
def test_a_closed_store_says_so(store: SqliteStore, name: str) -> None:
    store.close()
    with pytest.raises(StoreError, match=r"store\.db: the store is closed"):
        CALLS[name](store)


@pytest.mark.parametrize("name", sorted(CALLS.keys() - {"data_version"}))
def test_a_store_without_its_tables_raises_our_error(store: SqliteStore, name: str) -> None:
    with store.writing() as connection:
        for table in ("stream", "item", "mark", "document", "change", "dirty", "job", "fence"):
            connection.execute(f"DROP TABLE {table}")
    with pytest.raises(StoreError, match=r"store\.db.*no such table"):
        CALLS[name](store)


def all_kinds(kind: type[BaseException]) -> list[type[BaseException]]:
    return [kind, *(below for child in kind.__subclasses__() for below in all_kinds(child))]


CODES = {name: getattr(sqlite3, name) for name in dir(sqlite3) if name.startswith("SQLITE_")}


@pytest.mark.parametrize("kind", all_kinds(sqlite3.Error))
def test_every_kind_of_sqlite_error_is_translated(kind: type[BaseException]) -> None:
    with pytest.raises(MinutebookError, match=r"store\.db: why"), sqlite_file.translated(Path("store.db")):
        raise kind("why")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("SQLITE_BUSY", StoreBusy),
        ("SQLITE_BUSY_RECOVERY", StoreBusy),
        ("SQLITE_LOCKED", StoreBusy),
        ("SQLITE_READONLY_DIRECTORY", StoreReadOnly),
        ("SQLITE_PERM", StoreReadOnly),
        ("SQLITE_CANTOPEN", StoreReadOnly),
        ("SQLITE_FULL", StoreFull),
        ("SQLITE_IOERR_SHMSIZE", StoreFull),
        ("SQLITE_CORRUPT_INDEX", StoreCorrupt),
        ("SQLITE_NOTADB", StoreCorrupt),
        ("SQLITE_CONSTRAINT_UNIQUE", StoreCorrupt),
        ("SQLITE_IOERR_READ", StoreError),
        ("SQLITE_NOMEM", StoreError),
    ],
)
def test_codes_of_sqlite_that_are_hard_to_provoke(name: str, wanted: type[StoreError]) -> None:
    error = sqlite3.OperationalError("why")
    error.sqlite_errorcode = CODES[name]
    with pytest.raises(StoreError) as caught, sqlite_file.translated(Path("store.db")):
        raise error
    assert type(caught.value) is wanted
    assert str(caught.value).startswith("store.db: why: ")
