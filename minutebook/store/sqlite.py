"""The store in one SQLite file: for one machine, any number of processes and threads.

A write transaction takes the lock before it reads, which is what gives positions without holes and one winner per
compare. The tables are described in migrations/*.sql; the file itself is sqlite_file's business.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from minutebook.store.kernel import Appended, Document, Item, Put, Stale, Stored, Tip
from minutebook.store.sqlite_board import Board, write_dirty
from minutebook.store.sqlite_file import Connection, Database, bound, first_value, holes, text_of
from minutebook.store.sqlite_upkeep import Upkeep

IDS_PER_QUERY = 490
"""Two lists of them are below the 999 variables that an old SQLite allows in one statement."""
END = 2**62

ITEM_COLUMNS = "item.position, item.id, item.kind, item.weight, item.total, item.body"


def _chunks(ids: Iterable[str]) -> Iterator[list[str | bytes]]:
    rest = (bound(id) for id in ids)
    while chunk := list(islice(rest, IDS_PER_QUERY)):
        yield chunk


class _Log(Database):
    """kernel.Log."""

    def append(
        self,
        stream: str,
        items: Sequence[Item],
        *,
        expect: Mapping[str, int] | None = None,
        expect_length: int | None = None,
        advance: Mapping[str, int] | None = None,
        dirty: str | None = None,
        puts: Sequence[Put] = (),
        anew: bool = False,
    ) -> Appended | Stale:
        with self.writing() as connection:
            number, length, total = _stream(connection, stream)
            marks = _marks(connection, number)
            stale = _stale(marks, expect or {}, length, expect_length) or _stale_put(connection, puts)
            if stale:
                return stale
            if anew:
                _erase_stream(connection, stream)
                number, length, total, marks = 0, 0, 0, {}
            if not number and (items or advance):
                number = first_value(connection, "INSERT INTO stream (name) VALUES (?) RETURNING id", [bound(stream)])
            positions = _known(connection, number, items) if length else {}
            rows, duplicates = _place(number, length, total, items, positions)
            if rows:
                length, total = length + len(rows), rows[-1][5]
                _write_items(connection, rows)
                connection.execute("UPDATE stream SET length = ?, total = ? WHERE id = ?", (length, total, number))
            _write_marks(connection, number, advance or {})
            for put in puts:
                _write_document(connection, put)
            if dirty is not None:
                write_dirty(connection, dirty)
            return Appended(positions, duplicates, Tip(length, total, {**marks, **(advance or {})}))

    def read(
        self,
        stream: str,
        start: int = 0,
        stop: int | None = None,
        *,
        kinds: Iterable[str] | None = None,
        limit: int | None = None,
        reverse: bool = False,
    ) -> list[Stored]:
        wanted = None if kinds is None else [bound(kind) for kind in kinds]
        sql = (
            f"SELECT {ITEM_COLUMNS} FROM item WHERE stream = (SELECT id FROM stream WHERE name = ?)"
            " AND position >= ? AND position < ?"
            f"{'' if wanted is None else f' AND kind IN ({holes(len(wanted))})'}"
            f" ORDER BY position {'DESC' if reverse else 'ASC'} LIMIT ?"
        )
        span = (bound(stream), start, END if stop is None else stop)
        return [_stored(row) for row in self.rows(sql, (*span, *(wanted or ()), END if limit is None else limit))]

    def find(self, stream: str, ids: Iterable[str]) -> dict[str, Stored]:
        return self.find_among([stream], ids)[stream]

    def find_among(self, streams: Sequence[str], ids: Iterable[str]) -> dict[str, dict[str, Stored]]:
        found: dict[str, dict[str, Stored]] = {stream: {} for stream in streams}
        wanted = list(_chunks(ids))
        for names in _chunks(found):
            for chunk in wanted:
                sql = (
                    f"SELECT name, {ITEM_COLUMNS} FROM stream JOIN item ON item.stream = stream.id"
                    f" WHERE name IN ({holes(len(names))}) AND item.id IN ({holes(len(chunk))})"
                )
                for name, *row in self.rows(sql, (*names, *chunk)):
                    item = _stored(row)
                    found[text_of(name)][item.id] = item
        return found

    def tip(self, stream: str) -> Tip:
        # One statement, so that length and marks are of one moment.
        rows = self.rows(
            "SELECT length, total, mark.name, value FROM stream LEFT JOIN mark ON mark.stream = stream.id"
            " WHERE stream.name = ?",
            (bound(stream),),
        )
        if not rows:
            return Tip(0, 0, {})
        return Tip(rows[0][0], rows[0][1], {text_of(name): value for _, _, name, value in rows if name is not None})

    def total_before(self, stream: str, position: int) -> int:
        if position <= 0:
            return 0
        rows = self.rows(
            "SELECT coalesce((SELECT total FROM item WHERE stream = stream.id AND position = ?), stream.total)"
            " FROM stream WHERE name = ?",
            (position - 1, bound(stream)),
        )
        return int(rows[0][0]) if rows else 0


class _Documents(Database):
    """kernel.Documents."""

    def get(self, collection: str, key: str) -> Document | None:
        rows = self.rows(
            "SELECT version, body FROM document WHERE collection = ? AND key = ?", (bound(collection), bound(key))
        )
        return Document(key, rows[0][0], text_of(rows[0][1])) if rows else None

    def get_among(self, collection: str, keys: Iterable[str]) -> dict[str, Document]:
        found: dict[str, Document] = {}
        for chunk in _chunks(keys):
            sql = f"SELECT key, version, body FROM document WHERE collection = ? AND key IN ({holes(len(chunk))})"
            for key, version, body in self.rows(sql, (bound(collection), *chunk)):
                document = Document(text_of(key), version, text_of(body))
                found[document.key] = document
        return found

    def put(self, put: Put) -> Document | Stale:
        with self.writing() as connection:
            return _stale_put(connection, [put]) or _write_document(connection, put)

    def delete(self, collection: str, key: str, *, if_version: int | None = None) -> bool:
        with self.writing() as connection:
            return _delete_document(connection, collection, key, if_version)

    def documents(self, collection: str, prefix: str = "") -> list[Document]:
        # No byte of valid text is 0xFF, so the prefix with one more such byte is above all keys that begin with it.
        raw = prefix.encode("utf-8", "surrogatepass")
        rows = self.rows(
            "SELECT key, version, body FROM document WHERE collection = :collection AND"
            " (key >= CAST(:first AS TEXT) AND key < CAST(:last AS TEXT) OR key >= :first AND key < :last)",
            {"collection": bound(collection), "first": raw, "last": raw + b"\xff"},
        )
        found = [Document(text_of(key), version, text_of(body)) for key, version, body in rows]
        return sorted(found, key=lambda document: document.key)

    def changes(self, collection: str) -> int:
        rows = self.rows("SELECT count FROM change WHERE collection = ?", (bound(collection),))
        return int(rows[0][0]) if rows else 0


class SqliteStore(_Log, _Documents, Board, Upkeep):
    """kernel.Store in a SQLite file.

    path: the file. busy_seconds: how long to wait for other processes before StoreBusy. create: make the file and its
    folder when missing, else StoreError. clock: seconds since the epoch. Raises StoreCorrupt, StoreTooNew,
    StoreReadOnly, StoreFull and StoreBusy, from the constructor as from every method.
    """

    def erase(
        self,
        streams: Sequence[str],
        documents: Sequence[tuple[str, str]] = (),
        branches: Sequence[str] = (),
        puts: Sequence[Put] = (),
    ) -> None:
        with self.writing() as connection:
            for name in streams:
                _erase_stream(connection, name)
            for collection, key in documents:
                _delete_document(connection, collection, key, None)
            connection.executemany("DELETE FROM job WHERE branch = ?", [(bound(key),) for key in branches])
            connection.executemany("DELETE FROM dirty WHERE key = ?", [(bound(key),) for key in branches])
            for put in puts:
                _write_document(connection, put)


def _stream(connection: Connection, name: str) -> tuple[int, int, int]:
    """A stream's number, length and total; zeros when it does not exist."""
    row = connection.execute("SELECT id, length, total FROM stream WHERE name = ?", (bound(name),)).fetchone()
    return row or (0, 0, 0)


def _marks(connection: Connection, stream: int) -> dict[str, int]:
    rows = connection.execute("SELECT name, value FROM mark WHERE stream = ?", (stream,))
    return {text_of(name): value for name, value in rows}


def _stale(marks: Mapping[str, int], expect: Mapping[str, int], length: int, expect_length: int | None) -> Stale | None:
    """The first mark, or the length, that is not what was expected."""
    for name, expected in expect.items():
        if marks.get(name, 0) != expected:
            return Stale(name, expected, marks.get(name, 0))
    if expect_length is not None and expect_length != length:
        return Stale("length", expect_length, length)
    return None


def _stale_put(connection: Connection, puts: Iterable[Put]) -> Stale | None:
    """The first document that does not have the version that was named."""
    for put in puts:
        if put.if_version is not None:
            sql = "SELECT version FROM document WHERE collection = ? AND key = ?"
            found = first_value(connection, sql, (bound(put.collection), bound(put.key))) or 0
            if found != put.if_version:
                return Stale(f"{put.collection}/{put.key}", put.if_version, found)
    return None


def _known(connection: Connection, stream: int, items: Iterable[Item]) -> dict[str, int]:
    """Positions of those items that the stream has already."""
    known: dict[str, int] = {}
    for chunk in _chunks(item.id for item in items):
        sql = f"SELECT id, position FROM item WHERE stream = ? AND id IN ({holes(len(chunk))})"
        known.update((text_of(id), position) for id, position in connection.execute(sql, (stream, *chunk)))
    return known


def _place(
    stream: int, length: int, total: int, items: Iterable[Item], positions: dict[str, int]
) -> tuple[list[tuple[Any, ...]], tuple[str, ...]]:
    """Rows for the new items, in their places, and the ids that are not new; positions gains the new ones."""
    rows: list[tuple[Any, ...]] = []
    duplicates = []
    for item in items:
        if item.id in positions:
            duplicates.append(item.id)
            continue
        position = positions[item.id] = length + len(rows)
        total += item.weight
        rows.append((stream, position, bound(item.id), bound(item.kind), item.weight, total, bound(item.body)))
    return rows, tuple(duplicates)


def _write_items(connection: Connection, rows: Iterable[tuple[Any, ...]]) -> None:
    # No ON CONFLICT clause: known ids are sorted out before, and a clash of positions must never be swallowed.
    connection.executemany(
        "INSERT INTO item (stream, position, id, kind, weight, total, body) VALUES (?, ?, ?, ?, ?, ?, ?)", rows
    )


def _write_marks(connection: Connection, stream: int, marks: Mapping[str, int]) -> None:
    connection.executemany(
        "INSERT INTO mark (stream, name, value) VALUES (?, ?, ?)"
        " ON CONFLICT (stream, name) DO UPDATE SET value = excluded.value",
        [(stream, bound(name), value) for name, value in marks.items()],
    )


def _write_document(connection: Connection, put: Put) -> Document:
    version = first_value(
        connection,
        "INSERT INTO document (collection, key, version, body) VALUES (:collection, :key,"
        " coalesce((SELECT version_floor FROM change WHERE collection = :collection), 0) + 1, :body)"
        " ON CONFLICT (collection, key) DO UPDATE SET version = version + 1, body = excluded.body RETURNING version",
        {"collection": bound(put.collection), "key": bound(put.key), "body": bound(put.body)},
    )
    _count_change(connection, put.collection)
    return Document(put.key, version, put.body)


def _delete_document(connection: Connection, collection: str, key: str, if_version: int | None) -> bool:
    gone: int | None = first_value(
        connection,
        "DELETE FROM document WHERE collection = ? AND key = ? AND version = coalesce(?, version) RETURNING version",
        (bound(collection), bound(key), if_version),
    )
    if gone is not None:
        _count_change(connection, collection, gone)
    return gone is not None


def _erase_stream(connection: Connection, name: str) -> None:
    number, _, _ = _stream(connection, name)
    for table in ("item", "mark"):
        connection.execute(f"DELETE FROM {table} WHERE stream = ?", (number,))
    connection.execute("DELETE FROM stream WHERE id = ?", (number,))


def _count_change(connection: Connection, collection: str, deleted_version: int = 0) -> None:
    connection.execute(
        "INSERT INTO change (collection, count, version_floor) VALUES (?, 1, ?) ON CONFLICT (collection)"
        " DO UPDATE SET count = count + 1, version_floor = max(version_floor, excluded.version_floor)",
        (bound(collection), deleted_version),
    )


def _stored(row: Sequence[Any]) -> Stored:
    position, id, kind, weight, total, body = row
    return Stored(position, text_of(id), text_of(kind), weight, total, text_of(body))
