"""The SQLite file under the store: opening, migrations, connections, transactions, and the translation of errors.

WAL where the file system can, else a rollback journal. Every write is one short BEGIN IMMEDIATE transaction.
"""

import errno
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from minutebook.errors import StoreBusy, StoreCorrupt, StoreError, StoreFull, StoreGone, StoreReadOnly, StoreTooNew
from minutebook.store.sqlite_making import make_file

APPLICATION_ID = 1298287409
Connection = sqlite3.Connection
connect = sqlite3.connect
Parameters = Sequence[Any] | Mapping[str, Any]
MIGRATIONS = Path(__file__).parent / "migrations"
LIBRARY_VERSION = sqlite3.sqlite_version
LIBRARY_OLDEST = (3, 35)  # RETURNING
GONE = "the store was removed or replaced while it was open: start again"
EFFECTIVE = os.access in os.supports_effective_ids
PREPARING = threading.Lock()
"""Held while this process makes a new file: nobody in it may have the file open when the maker closes it again."""


def _advice(error: sqlite3.Error) -> tuple[type[StoreError], str]:
    """The error class and the advice for what SQLite said, by its result code (the low byte is the primary code)."""
    extended = getattr(error, "sqlite_errorcode", 0)
    code = extended & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreBusy, "another process holds the file; try again, or see which program has it open"
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return StoreReadOnly, "make the file and its folder writable for this user"
    if code == sqlite3.SQLITE_CANTOPEN:
        return (
            StoreReadOnly,
            "check that its folder exists, that this user may write there, and the limit of open files",
        )
    if code == sqlite3.SQLITE_FULL or extended == sqlite3.SQLITE_IOERR_SHMSIZE:
        return StoreFull, "free some disk space and try again"
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CONSTRAINT):
        return StoreCorrupt, "no readable Minutebook store; move it away or restore it from a backup"
    if code == sqlite3.SQLITE_IOERR:
        return StoreError, "check the disk and the space left on it"
    return StoreError, "nothing was written"


def _advice_of_os(error: OSError) -> str:
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return "raise the limit of open files"
    return "check the path and that this user may write there"


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """The one place where SQLite's and the file system's errors become ours."""
    try:
        yield
    except sqlite3.Error as error:
        kind, advice = _advice(error)
        raise kind(f"{path}: {error}: {advice}") from error
    except OSError as error:
        kind = {errno.ENOSPC: StoreFull, errno.EACCES: StoreReadOnly, errno.EPERM: StoreReadOnly}.get(
            error.errno or 0, StoreReadOnly if error.errno == errno.EROFS else StoreError
        )
        raise kind(f"{path}: {error.strerror or error}: {_advice_of_os(error)}") from error


def _migrations() -> list[tuple[int, Path]]:
    """Migration files in order, by the number that their names begin with."""
    return sorted((int(file.name[:4]), file) for file in MIGRATIONS.glob("[0-9][0-9][0-9][0-9]_*.sql"))


def _statements(script: str) -> Iterator[str]:
    """The statements of a script (executescript would commit on its own)."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""


def _stat(path: Path) -> os.stat_result | None:
    """None where there is no file."""
    try:
        return os.stat(path)  # noqa: PTH116 (a third of Path.stat's time, before each write)
    except (FileNotFoundError, NotADirectoryError):
        return None


def bound(text: str) -> str | bytes:
    """Text as SQLite takes it: as it is, or as bytes when it holds a lone surrogate."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def text_of(value: str | bytes) -> str:
    """What `bound` was given."""
    return value if isinstance(value, str) else value.decode("utf-8", "surrogatepass")


def holes(count: int) -> str:
    """Places for so many values in a statement."""
    return ", ".join("?" * count)


def first_value(connection: Connection, sql: str, parameters: Parameters = ()) -> Any:
    """The first column of the first row, or None."""
    # All rows are fetched: a statement that is still open would be in the way of the commit.
    rows = connection.execute(sql, parameters).fetchall()
    return rows[0][0] if rows else None


@contextmanager
def _transaction(connection: Connection) -> Iterator[None]:
    """All or nothing. IMMEDIATE: the write lock comes first, so what is read inside cannot change before the commit."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _lies_still(path: Path) -> bool:
    """Whether SQLite may not make the files that it needs beside this one, and none of them waits to be read.

    Such a store can be looked at as it lies there: an old one on a read-only disk, or another user's.
    """
    if os.access(path.parent, os.W_OK, effective_ids=EFFECTIVE):
        return False
    pending = _stat(path.with_name(path.name + "-wal"))
    return pending is None or pending.st_size == 0


def check_ours(connection: Connection, path: Path) -> None:
    """Raise StoreCorrupt for another program's database, StoreTooNew for a newer format. Writes nothing."""
    connection.execute("BEGIN")  # one snapshot: another process may be creating the tables just now
    found, owner, tables = (
        first_value(connection, sql)
        for sql in ("PRAGMA user_version", "PRAGMA application_id", "SELECT count(*) FROM sqlite_master")
    )
    connection.execute("COMMIT")
    if owner != APPLICATION_ID and (owner or found or tables):
        raise StoreCorrupt(f"{path}: another program's database, not a Minutebook store: choose another path")
    newest = _migrations()[-1][0]
    if found > newest:
        raise StoreTooNew(f"{path}: the store has format {found}, this program knows {newest}: upgrade minutebook")


def _set_journal(connection: Connection, busy_seconds: float) -> bool:
    """WAL (True), or a rollback journal where WAL cannot be had: some network and container file systems.

    SQLite's switch does not wait for other processes that open the new file, so the waiting is here.
    """
    give_up_at = time.monotonic() + busy_seconds
    while True:
        try:
            if first_value(connection, "PRAGMA journal_mode = WAL") == "wal":
                return True
        except sqlite3.OperationalError as error:
            if _advice(error)[0] is StoreBusy:
                if time.monotonic() >= give_up_at:
                    raise
                time.sleep(0.01)
                continue
        connection.execute("PRAGMA journal_mode = DELETE").fetchall()
        return False


def _cookie(connection: Connection) -> int:
    """A number that every change of the schema raises, and every VACUUM."""
    found: int = first_value(connection, "PRAGMA schema_version")
    return found


def _migrate(connection: Connection) -> None:
    """Bring the schema up to date, one transaction a migration."""
    found = first_value(connection, "PRAGMA user_version")
    for number, file in _migrations():
        if number <= found:
            continue
        with _transaction(connection):
            # Another process may have migrated while this one waited for the lock.
            if number > first_value(connection, "PRAGMA user_version"):
                for statement in _statements(file.read_text(encoding="utf-8")):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number}")


class Database:
    """The file and its connections, one a thread."""

    def __init__(
        self, path: Path, *, busy_seconds: float = 30.0, create: bool = True, clock: Callable[[], float] = time.time
    ) -> None:
        self.path = path.absolute()
        self.busy_seconds = busy_seconds
        self._clock = clock
        self._lock, self._writing, self._comparing = threading.Lock(), threading.Lock(), threading.Lock()
        self._local = threading.local()
        self._open: dict[threading.Thread, Connection] = {}
        self._closed = False
        self._synchronous = "FULL"
        self._cookie = 0
        with translated(self.path), PREPARING:
            self._prepare_file(create)
            self._opened = _stat(self.path)
            self._immutable = _lies_still(self.path)
        try:
            with self.translated():
                connection = self._connection()
                check_ours(connection, self.path)
                if _set_journal(connection, busy_seconds):
                    # Safe against power loss in WAL mode only; against a killed process always.
                    self._synchronous = "NORMAL"
                    connection.execute("PRAGMA synchronous = NORMAL")
                _migrate(connection)
                self.check_in_place()
                self._opened, self._cookie = _stat(self.path), _cookie(connection)
        except BaseException:
            self.close()
            raise

    def _prepare_file(self, create: bool) -> None:
        """The file must exist before SQLite opens it, so that its mode is 0600 from the first byte (and -wal's too).

        A file that exists is never opened here: closing it would drop the locks of this process's other connections.
        """
        if self.path.is_dir():
            raise StoreError(f"{self.path}: a folder, not a store: give the path of a file")
        if not self.path.exists():
            if not create:
                raise StoreError(f"{self.path}: no store there: check the path, or run a command that creates it")
            make_file(self.path)
        if self.path.stat().st_size == 1:
            # SQLite takes a file of one byte for an empty database, and would overwrite it.
            raise StoreCorrupt(f"{self.path}: not a Minutebook store: choose another path")

    def _connection(self) -> Connection:
        """This thread's connection."""
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is None or self._closed:
            connection = self._local.connection = self._connect()
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        return connection

    def _connect(self) -> Connection:
        with self._lock:
            if self._closed:
                raise StoreError(f"{self.path}: the store is closed")
            for thread in [thread for thread in self._open if not thread.is_alive()]:
                self._open.pop(thread).close()
            self.check_in_place()
            connection = self._open[threading.current_thread()] = self.new_connection()
            self.check_in_place()  # again: what was opened is the file of before
        return connection

    def new_connection(self) -> Connection:
        """One that nobody else uses; whoever asks closes it."""
        how: Any = {"timeout": self.busy_seconds, "isolation_level": None, "check_same_thread": False}
        # Never "rwc": SQLite would put an empty database where the file was taken away a moment ago.
        mode = "immutable=1" if self._immutable else "mode=rw"
        opened: Connection = sqlite3.connect(f"{self.path.as_uri()}?{mode}", uri=True, **how)
        return opened

    @contextmanager
    def translated(self) -> Iterator[None]:
        """As the function of this name; where the file is gone, StoreGone, whatever SQLite took that for."""
        try:
            with translated(self.path):
                yield
        except StoreError as error:
            if self._is_gone():  # since the look before: nothing keeps a file in its place
                raise StoreGone(f"{self.path}: {GONE}") from error
            raise

    def _leads_here(self, now: os.stat_result | None) -> bool:
        """Whether what lies at the path is the file that was opened."""
        opened = self._opened
        return opened is not None and now is not None and (now.st_ino, now.st_dev) == (opened.st_ino, opened.st_dev)

    def _is_gone(self) -> bool:
        try:
            return not self._leads_here(_stat(self.path))
        except OSError:  # nobody can tell
            return False

    def check_in_place(self) -> None:
        """Raise StoreGone when the path does not lead to the file that was opened.

        SQLite would go on writing to what was removed, or into the files beside a new store that belong to that one.
        """
        opened, now = self._opened, _stat(self.path)
        if opened is None or now is None or not self._leads_here(now):
            raise StoreGone(f"{self.path}: {GONE}")
        if now.st_size < opened.st_size:  # what SQLite has in its cache would hide it for long
            with self._comparing:
                if self._opened is opened:  # else another thread has seen to it
                    self._check_smaller(now)

    def _check_smaller(self, now: os.stat_result) -> None:
        if not self._was_scrubbed():
            said = "the store became smaller while it was open: start again, and restore it from a backup if need be"
            raise StoreCorrupt(f"{self.path}: {said}")
        self._opened = now

    def _was_scrubbed(self) -> bool:
        """Whether the file is smaller because it was written anew: that alone raises its cookie. Else it only grows."""
        fresh = self.new_connection()
        try:
            before, self._cookie = self._cookie, _cookie(fresh)
            return self._cookie > before
        except sqlite3.DatabaseError as error:
            if _advice(error)[0] is StoreBusy:  # it cannot be told yet
                raise
            return False
        finally:
            fresh.close()

    def check_file(self) -> None:
        """Raise StoreCorrupt where the file holds no store any more, which this process' caches may hide for long."""
        with self.translated():
            self.check_in_place()
            fresh = self.new_connection()
            try:
                check_ours(fresh, self.path)
            finally:
                fresh.close()

    def check_there(self) -> None:
        """Raise StoreGone where the file was removed or another lies in its place: reading goes on with the old one."""
        with self.translated():
            self.check_in_place()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One write transaction on this thread's connection."""
        with self.translated(), self._turn():
            connection = self._connection()
            self.check_in_place()
            with _transaction(connection):
                yield connection

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Threads of this process come one after the other: SQLite would make them look again and again, and sleep."""
        if not self._writing.acquire(timeout=self.busy_seconds):
            raise StoreBusy(f"{self.path}: other threads of this process hold it; try again")
        try:
            yield
        finally:
            self._writing.release()

    def rows(self, sql: str, parameters: Parameters = ()) -> list[Any]:
        """All rows of one reading statement, as of one moment."""
        with self.translated():
            return self._connection().execute(sql, parameters).fetchall()

    @property
    def url(self) -> str:
        return f"sqlite:///{self.path}"

    def data_version(self) -> int:
        """A number that changes when another connection (thread or process) has committed; no query. Or StoreGone."""
        with self.translated():
            self.check_in_place()
        version: int = self.rows("PRAGMA data_version")[0][0]
        return version

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._lock, self.translated():
            self._closed = True
            while self._open:
                self._open.popitem()[1].close()
