"""Where a fuzz has its store: a SQLite file of its own, or a database of its own on a real redis-server."""

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from minutebook.store.kernel import Put, Store
from minutebook.store.sqlite import SqliteStore

NewStore = Callable[[Path, Callable[[], float]], Store]
"""Folder and clock → an empty store, opened."""
BUSY_SECONDS = 1.0
KEY = object()
READS: Mapping[bytes, tuple[Any, ...]] = {
    b"string": ("GET", KEY),
    b"hash": ("HGETALL", KEY),
    b"zset": ("ZRANGE", KEY, 0, -1),
    b"list": ("LRANGE", KEY, 0, -1),
}


def in_file(folder: Path, clock: Callable[[], float]) -> Store:
    """A SQLite file in the folder."""
    return SqliteStore(folder / "store.db", busy_seconds=BUSY_SECONDS, create=True, clock=clock)


class OnServer:
    """Stores on one server, each in a database that was emptied. url: of the server, without a database; first: of
    the databases that are used, each in its turn.
    """

    def __init__(self, url: str, first: int = 0, databases: int = 1_000) -> None:
        self._url = url
        self._numbers = count()
        self._first = first
        self._databases = databases

    def __call__(self, folder: Path, clock: Callable[[], float]) -> Store:
        from redis import Redis

        from minutebook.store.redis import RedisStore
        from minutebook.store.redis_address import address_of

        url = f"{self._url}/{self._first + next(self._numbers) % self._databases}"
        client = Redis.from_url(url)
        client.flushdb()
        client.close()
        return RedisStore(address_of(url), busy_seconds=BUSY_SECONDS, clock=clock)


def keyed(store: Store, seed: int) -> Store:
    """With the seed's key of redaction, so that texts repeat."""
    store.put(Put("store", "redaction_key", json.dumps({"key": f"{seed:032x}"}), if_version=0))
    return store


def everything(store: Store) -> list[tuple[str, bytes]]:
    """All bytes that the store holds, by the name of the file or key: as they lie there, and as they are read."""
    if store.url.startswith("sqlite:"):
        path = Path(store.url.removeprefix("sqlite:///"))
        return [(file.name, file.read_bytes()) for file in path.parent.glob(path.name + "*")]
    keys = store.ask("KEYS", store.prefix + b"*")  # type: ignore[attr-defined]
    return [part for key in keys for part in _parts(store, key)]


def _parts(store: Any, key: bytes) -> Iterator[tuple[str, bytes]]:
    """A key's value as it lies there; of those whose texts are compressed, the texts too."""
    kind = store.ask("TYPE", key)
    value = store.ask(*(part if part is not KEY else key for part in READS[kind]))
    yield key.decode(), b"\n".join(map(bytes, value if isinstance(value, list) else [value]))
    name = key.decode().removeprefix(store.prefix.decode())
    texts = {"i:": lambda: store.read(name[2:]), "d:": lambda: store.documents(name[2:])}.get(name[:2], list)()
    yield key.decode(), "\n".join(each.body for each in texts).encode("utf-8", "surrogatepass")
