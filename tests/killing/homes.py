"""Where the stores of these tests are: in files, or in databases of a real redis-server."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from shutil import copy
from typing import Any, Protocol

from minutebook.errors import StoreError
from minutebook.hosts.bell import wake
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store
from minutebook.workers.queues import QUEUE_SUFFIX


class Home(Protocol):
    """A kind of stores."""

    told: str
    """What it adds to the name of a tally."""

    def new(self, path: Path) -> str:
        """What names a store that is not there yet. path: where it is if it is a file."""

    def copied(self, store: str, path: Path) -> str:
        """A copy of a store, queues and all."""

    def lose_queues(self, store: str) -> None:
        """Somebody removes the queues under whoever uses them."""

    def listened(self, store: str) -> bool:
        """Whether somebody seems to work on it."""


class Files:
    """Each store is a file."""

    told = ""

    def new(self, path: Path) -> str:
        return str(path)

    def copied(self, store: str, path: Path) -> str:
        for file in Path(store).parent.glob(f"{Path(store).name}*"):
            if file.is_file():
                copy(file, path.parent)
        return str(path)

    def lose_queues(self, store: str) -> None:
        for suffix in (QUEUE_SUFFIX, f"{QUEUE_SUFFIX}-wal", f"{QUEUE_SUFFIX}-shm"):
            Path(store + suffix).unlink(missing_ok=True)

    def listened(self, store: str) -> bool:
        return wake(store)


class OnServer:
    """Each store is a database. url: of the server, without one. Those from `first` on are used in their turn."""

    told = ", on Redis"

    def __init__(self, url: str, first: int = 0, databases: int = 1_000) -> None:
        self._url = url
        self._first = first
        self._databases = databases
        self._numbers = count()

    def new(self, path: Path) -> str:
        store = f"{self._url}/{self._first + next(self._numbers) % self._databases}"
        with _client(store) as client:
            client.flushdb()
        return store

    def copied(self, store: str, path: Path) -> str:
        other = self.new(path)
        with _client(store) as client:
            for key in client.scan_iter():
                client.copy(key, key, destination_db=int(other.rpartition("/")[2]))
        return other

    def lose_queues(self, store: str) -> None:
        with _client(store) as client:
            for key in client.keys("mb:queue:*"):
                client.delete(key)

    def listened(self, store: str) -> bool:
        with closing(open_store(store, create=False)) as opened:
            return bool(opened.listeners())  # type: ignore[attr-defined]


def home_of(store: str) -> Home:
    """The kind of a store that is there."""
    return OnServer(store.rpartition("/")[0]) if "://" in store else Files()


@contextmanager
def opened(store: str) -> Iterator[Store]:
    """A store that is there."""
    with closing(open_store(store, create=False)) as found:
        yield found


def is_there(store: str) -> bool:
    try:
        with opened(store):
            return True
    except StoreError:
        return False


@contextmanager
def _client(store: str) -> Iterator[Any]:
    from redis import Redis

    with closing(Redis.from_url(store)) as client:
        yield client
