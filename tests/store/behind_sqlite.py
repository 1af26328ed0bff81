"""Reads a store's file with sqlite3 alone: no code of the store."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

connect = sqlite3.connect
"""Kept here, so that a test which replaces sqlite3.connect does not reach this reader."""


def text(value: str | bytes) -> str:
    return value if isinstance(value, str) else bytes(value).decode("utf-8", "surrogatepass")


def plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(text(value) if isinstance(value, (str, bytes)) else value for value in row)


class BehindSqlite:
    """contract_suite.Behind on a SQLite file. Selects in Python, so that the file's own indexes are not trusted."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def select(self, sql: str) -> list[tuple[Any, ...]]:
        with closing(connect(self.path, timeout=10)) as connection:
            return [plain(row) for row in connection.execute(sql)]

    def items(self, stream: str) -> list[tuple[int, str, str, int, int, str]]:
        sql = (
            "SELECT name, position, item.id, kind, weight, item.total, body FROM item JOIN stream ON stream.id = stream"
        )
        return sorted(row[1:] for row in self.select(sql) if row[0] == stream)

    def marks(self, stream: str) -> dict[str, int]:
        rows = self.select("SELECT stream.name, mark.name, value FROM mark JOIN stream ON stream.id = stream")
        return {name: value for owner, name, value in rows if owner == stream}

    def document(self, collection: str, key: str) -> tuple[int, str] | None:
        rows = self.select("SELECT collection, key, version, body FROM document")
        found = [row[2:] for row in rows if row[:2] == (collection, key)]
        assert len(found) <= 1
        return (found[0][0], found[0][1]) if found else None

    def dirty_keys(self) -> set[str]:
        return {row[0] for row in self.select("SELECT key FROM dirty")}

    def jobs(self) -> set[tuple[str, str, str, str, int]]:
        return {
            (role, lineage, branch, state, tries)
            for role, lineage, branch, state, tries in self.select(
                "SELECT role, lineage, branch, state, tries FROM job"
            )
        }

    def value(self, sql: str) -> Any:
        return self.select(sql)[0][0]

    def checked(self) -> str:
        """SQLite's own opinion of the file: ok."""
        return str(self.value("PRAGMA integrity_check"))
