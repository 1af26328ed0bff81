"""The store on a Redis server: for a team, any number of machines, processes and threads.

Every write is one Lua script (lua/*.lua), which nobody comes between: that is what gives positions without holes and
one winner per compare. The keys, all behind one prefix:

  format       string  "minutebook <number>"
  s:<stream>   hash    length, total and marks    i:<stream>  hash  position → item    n:<stream>  hash  id → position
  d:<collection>  hash key → document             changes     hash  what is counted of collections
  dirty, jobs, ready:<role>, fence, wakes, done:<caller>      the board (redis_board.py, lua/)
"""

import time
import zlib
from collections.abc import Iterable, Mapping, Sequence

from minutebook.store.kernel import Appended, Document, Item, Put, Stale, Stored, Tip
from minutebook.store.redis_board import Board
from minutebook.store.redis_server import Server, Value, packed, text_of

SMALL_READ = 16
"""So many positions are asked for by name; a script is dearer."""
SCANNED_ITEMS, SCANNED_BYTES = 2_000, 4_000_000
"""What one call of a reading script looks at: the server does nothing else meanwhile."""
IDS_PER_CALL, STREAMS_PER_CALL = 1_000, 20
DOCUMENTS_PER_CALL = 1_000
COMPRESSED_FROM_BYTES = 300
SCRUB_PAUSE_SECONDS = 0.1
PLAIN, COMPRESSED = b"0", b"1"


class _Log(Server):
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
        expected, advanced = expect or {}, advance or {}
        keys = [*self._stream_keys(stream), *self.dirty_keys(), self._changes_key]
        arguments: list[Value] = ["" if expect_length is None else expect_length, int(dirty is not None)]
        arguments += [packed(dirty or ""), len(expected), len(advanced), len(puts), len(items), int(anew)]
        for name, value in (*expected.items(), *advanced.items()):
            arguments += (packed(name), value)
        for put in puts:
            arguments += (packed(put.collection), packed(put.key))
            arguments += ("" if put.if_version is None else put.if_version, _packed_body(put.body))
        for item in items:
            arguments += (packed(item.id), item.weight, _packed_item(item))
        keys += [self._collection_key(put.collection) for put in puts]
        shrinks = anew and len(items) <= (expect_length or 0) and not puts
        reply = self.change("shrink" if shrinks else "append", keys, *arguments)
        if reply.startswith(b"S"):
            return _stale(reply, expected, expect_length, puts)
        return _appended(reply, items)

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
        wanted = None if kinds is None else [packed(kind) for kind in kinds]
        start = max(start, 0)
        if wanted == [] or limit == 0 or (stop is not None and stop <= start):
            return []
        if wanted is None and not reverse:
            ends = [end for end in (stop, None if limit is None else start + limit) if end is not None]
            if ends and min(ends) - start <= SMALL_READ:
                return self._read_places(stream, start, min(ends))
        return self._read_on(stream, start, stop, wanted or [], limit, reverse)

    def _read_places(self, stream: str, start: int, stop: int) -> list[Stored]:
        held = self.ask("HMGET", self._stream_keys(stream)[1], *range(start, stop))
        return [_stored(item) for item in held if item is not None]

    def _read_on(
        self, stream: str, start: int, stop: int | None, kinds: list[bytes], limit: int | None, reverse: bool
    ) -> list[Stored]:
        """In as many calls as it takes: a long stream must not keep the server from others."""
        keys = self._stream_keys(stream)[:2]
        found: list[Stored] = []
        while True:
            rest = "" if limit is None else limit - len(found)
            span = (start, "" if stop is None else stop, rest, int(reverse))
            read_on, *some = self.look("read", keys, *span, SCANNED_ITEMS, SCANNED_BYTES, *kinds)
            found += map(_stored, some)
            if read_on < 0:
                return found
            start, stop = (start, read_on) if reverse else (read_on, stop)

    def find(self, stream: str, ids: Iterable[str]) -> dict[str, Stored]:
        return self.find_among([stream], ids)[stream]

    def find_among(self, streams: Sequence[str], ids: Iterable[str]) -> dict[str, dict[str, Stored]]:
        found: dict[str, dict[str, Stored]] = {stream: {} for stream in streams}
        wanted = [packed(id) for id in ids]
        names = list(found)
        if len(names) > STREAMS_PER_CALL:
            exist = self.ask_all([("EXISTS", self._stream_keys(name)[1]) for name in names])
            names = [name for name, exists in zip(names, exist, strict=True) if exists]
        for first in range(0, len(names), STREAMS_PER_CALL):
            some = names[first : first + STREAMS_PER_CALL]
            keys = [key for name in some for key in self._stream_keys(name)[:0:-1]]
            for at in range(0, len(wanted), IDS_PER_CALL):
                for name, items in zip(some, self.look("find", keys, *wanted[at : at + IDS_PER_CALL]), strict=True):
                    found[name].update((item.id, item) for item in map(_stored, items))
        return found

    def tip(self, stream: str) -> Tip:
        fields = self.ask("HGETALL", self._stream_keys(stream)[0])
        values = {bytes(name): int(value) for name, value in zip(fields[::2], fields[1::2], strict=True)}
        length, total = values.pop(b"l", 0), values.pop(b"t", 0)
        return Tip(length, total, {text_of(name[1:]): value for name, value in values.items()})

    def total_before(self, stream: str, position: int) -> int:
        if position <= 0:
            return 0
        return int(self.look("total_before", self._stream_keys(stream)[:2], position - 1))

    def _stream_keys(self, stream: str) -> list[bytes]:
        name = packed(stream)
        return [self.prefix + b"s:" + name, self.prefix + b"i:" + name, self.prefix + b"n:" + name]

    def _collection_key(self, collection: str) -> bytes:
        return self.prefix + b"d:" + packed(collection)

    @property
    def _changes_key(self) -> bytes:
        return self.prefix + b"changes"

    def dirty_keys(self) -> list[bytes]:
        """The keys by which a branch is marked dirty."""
        return [self.prefix + b"dirty", self.prefix + b"fence"]


class _Documents(_Log):
    """kernel.Documents."""

    def get(self, collection: str, key: str) -> Document | None:
        held = self.ask("HGET", self._collection_key(collection), packed(key))
        return None if held is None else _document(key, held)

    def get_among(self, collection: str, keys: Iterable[str]) -> dict[str, Document]:
        found: dict[str, Document] = {}
        wanted = list(dict.fromkeys(keys))
        for at in range(0, len(wanted), DOCUMENTS_PER_CALL):
            some = wanted[at : at + DOCUMENTS_PER_CALL]
            held = self.ask("HMGET", self._collection_key(collection), *map(packed, some))
            found.update((key, _document(key, body)) for key, body in zip(some, held, strict=True) if body is not None)
        return found

    def put(self, put: Put) -> Document | Stale:
        keys = [self._changes_key, self._collection_key(put.collection)]
        version = "" if put.if_version is None else put.if_version
        where = (packed(put.collection), packed(put.key))
        # As it is: what is written alone is a composition, for which an agent waits, or small.
        reply = self.change("put", keys, *where, version, PLAIN + packed(put.body))
        if reply.startswith(b"S"):
            return Stale(f"{put.collection}/{put.key}", put.if_version or 0, int(reply[1:]))
        return Document(put.key, int(reply[1:]), put.body)

    def delete(self, collection: str, key: str, *, if_version: int | None = None) -> bool:
        keys = [self._changes_key, self._collection_key(collection)]
        version = "" if if_version is None else if_version
        return self.change("delete", keys, packed(collection), packed(key), version) == b"1"

    def documents(self, collection: str, prefix: str = "") -> list[Document]:
        begin = packed(prefix)
        pattern = b"".join(b"\\" + byte if byte in b"*?[]^\\-" else byte for byte in map(_byte, begin)) + b"*"
        found: dict[bytes, bytes] = {}
        cursor = b"0"
        while True:
            cursor, fields = self.ask(
                "HSCAN", self._collection_key(collection), cursor, "MATCH", pattern, "COUNT", DOCUMENTS_PER_CALL
            )
            found.update(zip(fields[::2], fields[1::2], strict=True))
            if int(cursor) == 0:
                break
        documents = [_document(text_of(key), body) for key, body in found.items() if key.startswith(begin)]
        return sorted(documents, key=lambda document: document.key)

    def changes(self, collection: str) -> int:
        return int(self.ask("HGET", self._changes_key, b"c" + packed(collection)) or 0)


class RedisStore(_Documents, Board):
    """kernel.Store on a Redis server of version 7 or later.

    address: see redis_address. busy_seconds: for how long a server that is away, loads or is busy is asked again before
    StoreUnreachable or StoreBusy. create: make the store when it is missing, else StoreError. clock: seconds since the
    epoch instead of the server's. Raises StoreTooNew, StoreCorrupt for another program's keys, StoreFull, StoreReadOnly
    and StoreGone, from the constructor as from every method.
    """

    def erase(
        self,
        streams: Sequence[str],
        documents: Sequence[tuple[str, str]] = (),
        branches: Sequence[str] = (),
        puts: Sequence[Put] = (),
    ) -> None:
        of_streams = [key for name in streams for key in self._stream_keys(name)]
        keys = [*self.board_keys(), self.dirty_keys()[0], self._changes_key, *of_streams]
        keys += [self._collection_key(collection) for collection, _ in documents]
        keys += [self._collection_key(put.collection) for put in puts]
        arguments: list[Value] = [len(of_streams), len(documents), len(branches), len(puts)]
        for collection, key in documents:
            arguments += (packed(collection), packed(key))
        arguments += map(packed, branches)
        for put in puts:
            arguments += (packed(put.collection), packed(put.key), _packed_body(put.body))
        self.change("erase", keys, *arguments)

    def scrub(self) -> bool:
        """Have the server write its append-only file anew, so that it does not keep what was removed; waits for it.

        False when that does not end in time. A server without such a file has nothing to do; a snapshot (dump.rdb)
        keeps what was removed until the next one.
        """
        if not self._has_file("aof_enabled"):
            return True
        give_up_at = time.monotonic() + self.busy_seconds
        asked = False
        while time.monotonic() < give_up_at:
            if not self._has_file("aof_rewrite_in_progress"):
                if asked:
                    return True
                self.ask("BGREWRITEAOF")
                asked = True
            time.sleep(SCRUB_PAUSE_SECONDS)
        return False

    def _has_file(self, name: str) -> bool:
        said = text_of(self.ask("INFO", "persistence"))
        return f"{name}:1" in said.split()


def _byte(value: int) -> bytes:
    return bytes((value,))


def _stale(reply: bytes, expect: Mapping[str, int], expect_length: int | None, puts: Sequence[Put]) -> Stale:
    """What lua/appending.lua says of a compare that failed."""
    kind, place, found = reply[1:].split()
    at = int(place) - 1
    if kind == b"m":
        name, expected = list(expect.items())[at]
        return Stale(name, expected, int(found))
    if kind == b"l":
        return Stale("length", expect_length or 0, int(found))
    return Stale(f"{puts[at].collection}/{puts[at].key}", puts[at].if_version or 0, int(found))


def _appended(reply: bytes, items: Sequence[Item]) -> Appended:
    """What lua/appending.lua says of an append that was done."""
    head, _, rest = reply[1:].partition(b"\n")
    before, length, total, mark_count, *places = map(int, head.split())
    positions: dict[str, int] = {}
    duplicates = []
    for item, place in zip(items, places, strict=True):
        if place < before or item.id in positions:
            duplicates.append(item.id)
        positions[item.id] = place
    marks = {}
    for _ in range(mark_count):
        line, _, rest = rest.partition(b"\n")
        value, size = map(int, line.split())
        marks[text_of(rest[:size])] = value
        rest = rest[size:]
    return Appended(positions, tuple(duplicates), Tip(length, total, marks))


def _packed_body(body: str) -> bytes:
    """A text with a mark before it: whether it is compressed. No text of that length grows by it."""
    plain = packed(body)
    return PLAIN + plain if len(plain) < COMPRESSED_FROM_BYTES else COMPRESSED + zlib.compress(plain, 1)


def _body(mark: bytes, body: bytes) -> str:
    return text_of(zlib.decompress(body) if mark == COMPRESSED else body)


def _packed_item(item: Item) -> bytes:
    """An item as lua/appending.lua puts it behind position, weight and total."""
    id, kind, body = packed(item.id), packed(item.kind), _packed_body(item.body)
    return b"%d %d %b\n%b%b%b" % (len(id), len(kind), body[:1], id, kind, body[1:])


def _stored(held: bytes) -> Stored:
    head, _, rest = held.partition(b"\n")
    position, weight, total, id_size, kind_size, mark = head.split()
    kind_at = int(id_size)
    body_at = kind_at + int(kind_size)
    id, kind = text_of(rest[:kind_at]), text_of(rest[kind_at:body_at])
    return Stored(int(position), id, kind, int(weight), int(total), _body(mark, rest[body_at:]))


def _document(key: str, held: bytes) -> Document:
    version, _, body = held.partition(b" ")
    return Document(key, int(version), _body(body[:1], body[1:]))
