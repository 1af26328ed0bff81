"""Migrations: ordered files, one transaction each; a migrated file and a new one have the same schema."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from behind_sqlite import BehindSqlite
from contract_values import items

from minutebook.errors import StoreCorrupt, StoreError
from minutebook.store import sqlite_file
from minutebook.store.sqlite import SqliteStore

MIGRATIONS = sorted(sqlite_file.MIGRATIONS.glob("*.sql"))
SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"


@contextmanager
def only_the_first(count: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A program that knows only the first migrations: an older release of this one."""
    folder.mkdir()
    for file in MIGRATIONS[:count]:
        (folder / file.name).write_text(file.read_text())
    with monkeypatch.context() as patch:
        patch.setattr(sqlite_file, "MIGRATIONS", folder)
        yield


def create(path: Path) -> BehindSqlite:
    SqliteStore(path, busy_seconds=5, create=True).close()
    return BehindSqlite(path)


def test_the_files_are_numbered_without_holes() -> None:
    assert MIGRATIONS
    for number, file in enumerate(MIGRATIONS, start=1):
        assert re.fullmatch(rf"{number:04}_[a-z0-9_]+\.sql", file.name)


def test_no_file_ends_a_transaction_of_its_own() -> None:
    for file in MIGRATIONS:
        code = re.sub(r"--.*", "", file.read_text())
        assert not re.search(r"\b(BEGIN|COMMIT|ROLLBACK|VACUUM)\b", code, re.IGNORECASE)
        assert sqlite3.complete_statement(code), f"{file.name} ends within a statement"


def test_a_new_file_is_marked_as_ours(tmp_path: Path) -> None:
    behind = create(tmp_path / "store.db")
    assert behind.value("PRAGMA application_id") == int.from_bytes(b"MbK1", "big") == sqlite_file.APPLICATION_ID
    assert behind.value("PRAGMA user_version") == len(MIGRATIONS)


@pytest.mark.parametrize("count", range(1, len(MIGRATIONS) + 1))
def test_migrated_is_fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """From every earlier format; what the old release stored is still read."""
    with only_the_first(count, tmp_path / "old", monkeypatch):
        old = create(tmp_path / "old.db")
        assert old.value("PRAGMA user_version") == count
    migrated, fresh = create(tmp_path / "old.db"), create(tmp_path / "new.db")
    assert migrated.select(SCHEMA) == fresh.select(SCHEMA)
    assert migrated.value("PRAGMA user_version") == fresh.value("PRAGMA user_version")


def test_a_later_migration_is_applied_once_and_keeps_what_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, folder = tmp_path / "store.db", tmp_path / "migrations"
    store = SqliteStore(path, busy_seconds=5, create=True)
    store.append("s", items("a"))
    store.close()
    with only_the_first(len(MIGRATIONS), folder, monkeypatch):
        later = folder / f"{len(MIGRATIONS) + 1:04}_later.sql"
        later.write_text("CREATE TABLE later (x);\n-- why; and more\nINSERT INTO later VALUES ('a;\nb');\n")
        for _ in range(2):
            assert create(path).select("SELECT x FROM later") == [("a;\nb",)]
        fresh = create(tmp_path / "fresh.db")
        assert BehindSqlite(path).select(SCHEMA) == fresh.select(SCHEMA)
        store = SqliteStore(path, busy_seconds=5, create=False)
        assert [stored.id for stored in store.read("s")] == ["a"]
        store.close()


def test_a_migration_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, folder = tmp_path / "store.db", tmp_path / "migrations"
    before = create(path).select(SCHEMA)
    with only_the_first(len(MIGRATIONS), folder, monkeypatch):
        later = folder / f"{len(MIGRATIONS) + 1:04}_later.sql"
        later.write_text("CREATE TABLE later (x);\nINSERT INTO missing VALUES (1);\n")
        with pytest.raises(StoreError, match=r"store\.db.*missing"):
            create(path)
        assert BehindSqlite(path).select(SCHEMA) == before
        assert BehindSqlite(path).value("PRAGMA user_version") == len(MIGRATIONS)
    create(path)


@pytest.mark.parametrize(
    "script",
    ["CREATE TABLE notes (x)", "PRAGMA user_version = 1", "PRAGMA application_id = 7"],
)
def test_another_programs_database_is_left_alone(tmp_path: Path, script: str) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(script)
    before = path.read_bytes()
    with pytest.raises(StoreCorrupt, match=r"other\.db.*another program"):
        SqliteStore(path, busy_seconds=1, create=True)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["other.db"]


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    """What a process leaves that was killed between making the file and its tables."""
    path = tmp_path / "store.db"
    path.touch()
    assert create(path).value("PRAGMA user_version") == len(MIGRATIONS)
