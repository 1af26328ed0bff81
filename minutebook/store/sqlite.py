"""The store in one SQLite file: for one machine, any number of processes and threads.

A write transaction takes the lock before it reads, which is what gives positions without holes and one winner per
compare. The tables are described in migrations/*.sql; the file itself is sqlite_file's business.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from minutebook.store.kernel import Appended, Claim, Dirty, Document, Item, Job, JobState, Put, Stale, Stored, Tip
from minutebook.store.sqlite_file import Connection, Database, first_value

IDS_PER_QUERY = 500
"""Below the 999 variables that an old SQLite allows in one statement."""
END = 2**62

ITEM_COLUMNS = "item.position, item.id, item.kind, item.weight, item.total, item.body"
JOB_COLUMNS = "role, lineage, branch, state, not_before, owner, lease_ends, tries, error, failed_at"
READY_AT = "CASE state WHEN 'pending' THEN not_before ELSE lease_ends END"
THIS_JOB = "role = :role AND lineage = :lineage AND branch = :branch"
STILL_OURS = THIS_JOB + " AND state = 'running' AND token = :token AND lease_ends > :now"


def _bound(text: str) -> str | bytes:
    """Text as SQLite takes it: as it is, or as bytes when it holds a lone surrogate."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "surrogatepass")


def _holes(count: int) -> str:
    return ", ".join("?" * count)


def _chunks(ids: Iterable[str]) -> Iterator[list[str | bytes]]:
    rest = (_bound(id) for id in ids)
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
    ) -> Appended | Stale:
        with self.writing() as connection:
            number, length, total = _stream(connection, stream)
            marks = _marks(connection, number)
            stale = _stale(marks, expect or {}, length, expect_length) or _stale_put(connection, puts)
            if stale:
                return stale
            if not number and (items or advance):
                number = first_value(connection, "INSERT INTO stream (name) VALUES (?) RETURNING id", [_bound(stream)])
            positions = _known(connection, number, items)
            rows, duplicates = _place(number, length, total, items, positions)
            if rows:
                length, total = length + len(rows), rows[-1][5]
                _write_items(connection, rows)
                connection.execute("UPDATE stream SET length = ?, total = ? WHERE id = ?", (length, total, number))
            _write_marks(connection, number, advance or {})
            for put in puts:
                _write_document(connection, put)
            if dirty is not None:
                _write_dirty(connection, dirty)
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
        wanted = None if kinds is None else [_bound(kind) for kind in kinds]
        sql = (
            f"SELECT {ITEM_COLUMNS} FROM item WHERE stream = (SELECT id FROM stream WHERE name = ?)"
            " AND position >= ? AND position < ?"
            f"{'' if wanted is None else f' AND kind IN ({_holes(len(wanted))})'}"
            f" ORDER BY position {'DESC' if reverse else 'ASC'} LIMIT ?"
        )
        span = (_bound(stream), start, END if stop is None else stop)
        return [_stored(row) for row in self.rows(sql, (*span, *(wanted or ()), END if limit is None else limit))]

    def find(self, stream: str, ids: Iterable[str]) -> dict[str, Stored]:
        found: dict[str, Stored] = {}
        for chunk in _chunks(ids):
            sql = (
                f"SELECT {ITEM_COLUMNS} FROM item WHERE stream = (SELECT id FROM stream WHERE name = ?)"
                f" AND id IN ({_holes(len(chunk))})"
            )
            found.update((item.id, item) for item in map(_stored, self.rows(sql, (_bound(stream), *chunk))))
        return found

    def tip(self, stream: str) -> Tip:
        # One statement, so that length and marks are of one moment.
        rows = self.rows(
            "SELECT length, total, mark.name, value FROM stream LEFT JOIN mark ON mark.stream = stream.id"
            " WHERE stream.name = ?",
            (_bound(stream),),
        )
        if not rows:
            return Tip(0, 0, {})
        return Tip(rows[0][0], rows[0][1], {_text(name): value for _, _, name, value in rows if name is not None})

    def total_before(self, stream: str, position: int) -> int:
        if position <= 0:
            return 0
        rows = self.rows(
            "SELECT coalesce((SELECT total FROM item WHERE stream = stream.id AND position = ?), stream.total)"
            " FROM stream WHERE name = ?",
            (position - 1, _bound(stream)),
        )
        return int(rows[0][0]) if rows else 0


class _Documents(Database):
    """kernel.Documents."""

    def get(self, collection: str, key: str) -> Document | None:
        rows = self.rows(
            "SELECT version, body FROM document WHERE collection = ? AND key = ?", (_bound(collection), _bound(key))
        )
        return Document(key, rows[0][0], _text(rows[0][1])) if rows else None

    def put(self, put: Put) -> Document | Stale:
        with self.writing() as connection:
            return _stale_put(connection, [put]) or _write_document(connection, put)

    def delete(self, collection: str, key: str, *, if_version: int | None = None) -> bool:
        with self.writing() as connection:
            gone = connection.execute(
                "DELETE FROM document WHERE collection = ? AND key = ? AND version = coalesce(?, version)",
                (_bound(collection), _bound(key), if_version),
            ).rowcount
            if gone:
                _count_change(connection, collection)
            return bool(gone)

    def documents(self, collection: str, prefix: str = "") -> list[Document]:
        # No byte of valid text is 0xFF, so the prefix with one more such byte is above all keys that begin with it.
        raw = prefix.encode("utf-8", "surrogatepass")
        rows = self.rows(
            "SELECT key, version, body FROM document WHERE collection = :collection AND"
            " (key >= CAST(:first AS TEXT) AND key < CAST(:last AS TEXT) OR key >= :first AND key < :last)",
            {"collection": _bound(collection), "first": raw, "last": raw + b"\xff"},
        )
        found = [Document(_text(key), version, _text(body)) for key, version, body in rows]
        return sorted(found, key=lambda document: document.key)

    def changes(self, collection: str) -> int:
        rows = self.rows("SELECT count FROM change WHERE collection = ?", (_bound(collection),))
        return int(rows[0][0]) if rows else 0


class _Board(Database):
    """kernel.Board."""

    def now(self) -> float:
        return self._clock()

    def mark_dirty(self, key: str) -> None:
        with self.writing() as connection:
            _write_dirty(connection, key)

    def take_dirty(self, limit: int) -> list[Dirty]:
        rows = self.rows("SELECT key, revision FROM dirty ORDER BY revision LIMIT ?", (limit,))
        return [Dirty(_text(key), revision) for key, revision in rows]

    def settle_dirty(self, taken: Dirty) -> bool:
        sql = "DELETE FROM dirty WHERE key = :key AND revision = :revision"
        return self._changed(sql, {"key": _bound(taken.key), "revision": taken.revision})

    def queue(self, job: Job, *, delay_seconds: float = 0.0) -> bool:
        return self._changed(
            "INSERT INTO job (role, lineage, branch, state, not_before)"
            " VALUES (:role, :lineage, :branch, 'pending', :not_before)"
            " ON CONFLICT (role, lineage, branch) DO NOTHING",
            {**_job_key(job), "not_before": self.now() + delay_seconds},
        )

    def ready(self, roles: Iterable[str], limit: int) -> list[JobState]:
        wanted = [_bound(role) for role in roles]
        rows = self.rows(
            f"SELECT {JOB_COLUMNS} FROM job WHERE role IN ({_holes(len(wanted))}) AND {READY_AT} <= ?"
            f" ORDER BY {READY_AT}, rowid LIMIT ?",
            (*wanted, self.now(), limit),
        )
        return [_job_state(row) for row in rows]

    def next_ready_at(self, roles: Iterable[str]) -> float | None:
        wanted = [_bound(role) for role in roles]
        sql = f"SELECT min({READY_AT}) FROM job WHERE role IN ({_holes(len(wanted))})"
        at: float | None = self.rows(sql, wanted)[0][0]
        return at

    def claim(self, job: Job, owner: str, *, lease_seconds: float, deadline_seconds: float) -> Claim | None:
        with self.writing() as connection:
            now = self.now()
            deadline_at = now + deadline_seconds
            values = {
                **_job_key(job),
                "now": now,
                "owner": _bound(owner),
                "lease_ends": min(now + lease_seconds, deadline_at),
                "deadline_at": deadline_at,
            }
            tries = first_value(
                connection,
                "UPDATE job SET state = 'running', owner = :owner, tries = tries + 1, lease_ends = :lease_ends,"
                " deadline_at = :deadline_at, token = (SELECT last + 1 FROM fence)"
                f" WHERE {THIS_JOB} AND {READY_AT} <= :now RETURNING tries",
                values,
            )
            if tries is None:
                return None
            token: int = first_value(connection, "UPDATE fence SET last = last + 1 RETURNING last")
            return Claim(job, owner, token, tries, deadline_at)

    def beat(self, claim: Claim, *, lease_seconds: float) -> bool:
        return self._changed_claim(
            claim,
            "UPDATE job SET lease_ends = min(:now + :lease_seconds, deadline_at)",
            {"lease_seconds": lease_seconds},
        )

    def finish(self, claim: Claim) -> bool:
        return self._changed_claim(claim, "DELETE FROM job", {})

    def fail(self, claim: Claim, *, retry_seconds: float, error: str) -> bool:
        return self._changed_claim(
            claim,
            "UPDATE job SET state = 'pending', not_before = :now + :retry_seconds, owner = '', lease_ends = 0,"
            " deadline_at = 0, error = :error, failed_at = :now",
            {"retry_seconds": retry_seconds, "error": _bound(error)},
        )

    def jobs(self) -> list[JobState]:
        states = [_job_state(row) for row in self.rows(f"SELECT {JOB_COLUMNS} FROM job")]
        return sorted(states, key=lambda state: (state.job.role, state.job.branch, state.job.lineage))

    def wipe_board(self) -> None:
        with self.writing() as connection:
            connection.execute("DELETE FROM job")
            connection.execute("DELETE FROM dirty")

    def _changed_claim(self, claim: Claim, change: str, values: Mapping[str, Any]) -> bool:
        """Apply a change to the claimed job if the claim still holds."""
        with self.writing() as connection:
            # The clock is read under the lock: a wait for the lock must not make an expired claim look alive.
            key = {**_job_key(claim.job), "token": claim.token, "now": self.now()}
            return bool(connection.execute(f"{change} WHERE {STILL_OURS}", {**key, **values}).rowcount)

    def _changed(self, sql: str, values: Mapping[str, Any]) -> bool:
        with self.writing() as connection:
            return bool(connection.execute(sql, values).rowcount)


class SqliteStore(_Log, _Documents, _Board):
    """kernel.Store in a SQLite file.

    path: the file. busy_seconds: how long to wait for other processes before StoreBusy. create: make the file and its
    folder when missing, else StoreError. clock: seconds since the epoch. Raises StoreCorrupt, StoreTooNew,
    StoreReadOnly, StoreFull and StoreBusy, from the constructor as from every method.
    """


def _stream(connection: Connection, name: str) -> tuple[int, int, int]:
    """A stream's number, length and total; zeros when it does not exist."""
    row = connection.execute("SELECT id, length, total FROM stream WHERE name = ?", (_bound(name),)).fetchone()
    return row or (0, 0, 0)


def _marks(connection: Connection, stream: int) -> dict[str, int]:
    rows = connection.execute("SELECT name, value FROM mark WHERE stream = ?", (stream,))
    return {_text(name): value for name, value in rows}


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
            found = first_value(connection, sql, (_bound(put.collection), _bound(put.key))) or 0
            if found != put.if_version:
                return Stale(f"{put.collection}/{put.key}", put.if_version, found)
    return None


def _known(connection: Connection, stream: int, items: Iterable[Item]) -> dict[str, int]:
    """Positions of those items that the stream has already."""
    known: dict[str, int] = {}
    for chunk in _chunks(item.id for item in items):
        sql = f"SELECT id, position FROM item WHERE stream = ? AND id IN ({_holes(len(chunk))})"
        known.update((_text(id), position) for id, position in connection.execute(sql, (stream, *chunk)))
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
        rows.append((stream, position, _bound(item.id), _bound(item.kind), item.weight, total, _bound(item.body)))
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
        [(stream, _bound(name), value) for name, value in marks.items()],
    )


def _write_document(connection: Connection, put: Put) -> Document:
    version = first_value(
        connection,
        "INSERT INTO document (collection, key, version, body) VALUES (?, ?, 1, ?)"
        " ON CONFLICT (collection, key) DO UPDATE SET version = version + 1, body = excluded.body RETURNING version",
        (_bound(put.collection), _bound(put.key), _bound(put.body)),
    )
    _count_change(connection, put.collection)
    return Document(put.key, version, put.body)


def _count_change(connection: Connection, collection: str) -> None:
    connection.execute(
        "INSERT INTO change (collection, count) VALUES (?, 1) ON CONFLICT (collection) DO UPDATE SET count = count + 1",
        (_bound(collection),),
    )


def _write_dirty(connection: Connection, key: str) -> None:
    # REPLACE gives the key a new revision, so that settling at the old one leaves this mark alone.
    connection.execute("INSERT OR REPLACE INTO dirty (key) VALUES (?)", (_bound(key),))


def _stored(row: tuple[Any, ...]) -> Stored:
    position, id, kind, weight, total, body = row
    return Stored(position, _text(id), _text(kind), weight, total, _text(body))


def _job_key(job: Job) -> dict[str, Any]:
    return {"role": _bound(job.role), "lineage": _bound(job.lineage), "branch": _bound(job.branch)}


def _job_state(row: tuple[Any, ...]) -> JobState:
    role, lineage, branch, state, not_before, owner, lease_ends, tries, error, failed_at = row
    job = Job(_text(role), _text(lineage), _text(branch))
    return JobState(job, state, not_before, _text(owner), lease_ends, tries, _text(error), failed_at)
