"""What an operator does with the SQLite file: a copy while it is used, a check of a copy, writing it anew."""

import time
from collections.abc import Callable
from pathlib import Path

from minutebook.errors import StoreCorrupt
from minutebook.records import SourceEntry
from minutebook.store import codec
from minutebook.store.kernel import Stored
from minutebook.store.sqlite_file import Connection, Database, check_ours, connect, first_value, text_of, translated

EXAMINED = {
    "format": "PRAGMA user_version",
    "sessions": "SELECT count(*) FROM document WHERE collection = 'sessions'",
    "sources": "SELECT sum(length) FROM stream WHERE substr(name, 1, 2) = 's:'",
    "memory": "SELECT sum(length) FROM stream WHERE substr(name, 1, 2) = 'm:'",
}


class Upkeep(Database):
    """Copying and cleaning."""

    def scrub(self) -> bool:
        """Write the file anew, so that no page keeps what was removed, and empty the log beside it.

        Waits for others, but not for ever: StoreBusy, or False when they are in the way of the log, which still has it.
        """
        with self.translated():
            self.check_in_place()
            fresh, give_up_at = self.new_connection(), time.monotonic() + self.busy_seconds
            try:
                fresh.execute("VACUUM")
                while first_value(fresh, "PRAGMA wal_checkpoint(TRUNCATE)"):  # does not wait for another's checkpoint
                    if time.monotonic() >= give_up_at:
                        return False
                    time.sleep(0.05)
                return True
            finally:
                fresh.close()

    def copy_to(self, path: Path) -> None:
        """Copy the whole store, as of one moment, into a file that is there and empty; others may write meanwhile."""
        with translated(path):
            self.check_in_place()
            fresh, copy = self.new_connection(), connect(path, isolation_level=None)
            try:
                fresh.backup(copy)  # in one step, so that no writer makes it begin again
                copy.execute("PRAGMA journal_mode = DELETE").fetchall()  # one file, with nothing beside it
            finally:
                copy.close()
                fresh.close()


def examine(path: Path, look: Callable[[str, SourceEntry], object]) -> dict[str, int]:
    """Check every page and read every record of a store's file that nobody has open; what it holds.

    look: given each source entry, and where it stands for people.
    Raises StoreCorrupt, StoreTooNew.
    """
    with translated(path):
        path.stat()
        connection = connect(f"{path.absolute().as_uri()}?immutable=1", uri=True, isolation_level=None)
        try:
            check_ours(connection, path)
            said = " ".join(first_value(connection, "PRAGMA integrity_check(1)").split())
            if said != "ok" or not first_value(connection, "PRAGMA application_id"):
                raise StoreCorrupt(f"{path}: {said if said != 'ok' else 'an empty file'}: take another backup")
            _read_records(connection, path, look)
            return {name: first_value(connection, sql) or 0 for name, sql in EXAMINED.items()}
        finally:
            connection.close()


def _read_records(connection: Connection, path: Path, look: Callable[[str, SourceEntry], object]) -> None:
    """SQLite has no checksums: a page may be in order although the record in it is not."""
    sql = (
        "SELECT name, position, item.id, kind, weight, item.total, body FROM item"
        " JOIN stream ON stream.id = item.stream WHERE substr(name, 1, 2) IN ('s:', 'm:')"
    )
    for name, position, id, kind, weight, total, body in connection.execute(sql):
        stored = Stored(position, text_of(id), text_of(kind), weight, total, text_of(body))
        where = f"entry {position} of {text_of(name)[2:]!r}"
        try:
            if text_of(name).startswith("s:"):
                look(where, codec.source_entry(stored))
            else:
                codec.memory_entry(text_of(name)[2:], stored)
        except (StoreCorrupt, TypeError, ValueError, LookupError) as error:
            raise StoreCorrupt(f"{path}: {where} cannot be read ({error}): take another backup") from error
