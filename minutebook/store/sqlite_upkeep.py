"""What an operator does with the SQLite file: a copy while it is used, a check of a copy, writing it anew."""

import time
from pathlib import Path

from minutebook.errors import StoreCorrupt
from minutebook.store.sqlite_file import Database, check_ours, connect, first_value, translated

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
        with translated(self.path):
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


def examine(path: Path) -> dict[str, int]:
    """Check every page of a store's file that nobody has open; what it holds. Raises StoreCorrupt, StoreTooNew."""
    with translated(path):
        path.stat()
        connection = connect(f"{path.absolute().as_uri()}?immutable=1", uri=True, isolation_level=None)
        try:
            check_ours(connection, path)
            said = " ".join(first_value(connection, "PRAGMA integrity_check(1)").split())
            if said != "ok" or not first_value(connection, "PRAGMA application_id"):
                raise StoreCorrupt(f"{path}: {said if said != 'ok' else 'an empty file'}: take another backup")
            return {name: first_value(connection, sql) or 0 for name, sql in EXAMINED.items()}
        finally:
            connection.close()
