"""How a sleeping dispatcher is woken: by this process, by what any other one writes or rings, else by a timer.

Beside a store that is a file lies a FIFO. It also tells hooks that a worker is there: without a reader it cannot be
opened for writing. A store on a server tells of what is written to it.
"""

import os
import selectors
import socket
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from minutebook.errors import StoreError
from minutebook.hosts.bell import wake_path
from minutebook.store.kernel import Store
from minutebook.workers.dispatching import WHOLE_STORE

POLL_SECONDS = 0.05
POLL_BESIDE_FIFO_SECONDS = 0.08
"""How often the store is asked whether another process wrote; what rings the FIFO does not wait for it."""
POLL_BESIDE_SERVER_SECONDS = 5.0
"""The server tells of all that is written; it is asked in case the connection that it tells it on is dead."""

EAR_LEAST_SECONDS = 1.0
"""Where the server ends the connection at once, the store is asked instead for so long."""


class Ear(Protocol):
    """What becomes readable when somebody wrote, or rang."""

    def fileno(self) -> int:
        """For a selector."""

    def drain(self) -> object:
        """Read all that is there. Raises StoreError when nothing will come any more."""

    def close(self) -> None:
        """Release it."""


class Fifo:
    """The FIFO beside a store, open for reading."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def fileno(self) -> int:
        """Its descriptor."""
        return self._handle

    def drain(self) -> None:
        """Forget who rang."""
        with suppress(BlockingIOError):
            os.read(self._handle, 65536)

    def close(self) -> None:
        """Nobody listens any more."""
        os.close(self._handle)


def wake_path_of(store: Store) -> str | None:
    """The FIFO of a store that is a file; None for others."""
    scheme, _, path = store.url.partition("://")
    return wake_path(path) if scheme == "sqlite" and path else None


def change_counter(store: Store) -> int | None:
    """A number that changes when another thread or process left work; None where the store has no such number."""
    data_version = getattr(store, "data_version", None)
    return None if data_version is None else int(data_version())


def check_file(store: Store) -> None:
    """Look whether what the store is open on is a store still; nothing where it is no file."""
    check = getattr(store, "check_file", None)
    if check is not None:
        check()


def waker_of(store: Store, path: str | None = None) -> "Waker":
    """The ear for a store: its server's word, or the FIFO beside its file. path: of another FIFO."""
    listen: Callable[[], Ear] | None = getattr(store, "listen", None)
    if path is None and listen is not None:
        return Waker(listen, POLL_BESIDE_SERVER_SECONDS)
    fifo = path or wake_path_of(store)
    return Waker(lambda: _fifo_at(fifo), POLL_BESIDE_FIFO_SECONDS)


class Waker:
    """One dispatcher's ear. wake may be called from any thread, the rest from the dispatcher's.

    open_ear: gives None where there is nothing to listen to just now. beside_seconds: see poll_seconds. only_told: the
    last wait ended because of what was told to all workers, and of nothing else.
    """

    def __init__(self, open_ear: Callable[[], Ear | None], beside_seconds: float = POLL_BESIDE_FIFO_SECONDS) -> None:
        self._open_ear = open_ear
        self._beside_seconds = beside_seconds
        self._ear: Ear | None = None
        self._handle = -1
        self.only_told = False
        self._opened_at = self._rest_until = 0.0
        self._selector = selectors.DefaultSelector()
        self._inner, self._bell = socket.socketpair()
        self._inner.setblocking(False)
        self._bell.setblocking(False)
        self._selector.register(self._inner, selectors.EVENT_READ)

    def listen(self) -> None:
        """Open the ear; where there is none the store is asked oftener. Raises those of WHOLE_STORE."""
        now = time.monotonic()
        if self._ear is not None or now < self._rest_until:
            return
        try:
            self._ear = self._open_ear()
        except WHOLE_STORE:
            raise
        except StoreError:  # a server that lets this user read and write, and not listen
            return
        if self._ear is not None:
            self._opened_at, self._handle = now, self._ear.fileno()
            self._selector.register(self._handle, selectors.EVENT_READ)

    def deafen(self) -> None:
        """Close the ear: from here on a hook finds no worker, and starts one."""
        if self._ear is not None:
            ear, self._ear = self._ear, None
            self._selector.unregister(self._handle)
            ear.close()

    @property
    def poll_seconds(self) -> float:
        """How long to wait at most before the store is asked."""
        return POLL_SECONDS if self._ear is None else self._beside_seconds

    @property
    def is_shared(self) -> bool:
        """Whether what is heard is told to every worker of the store: by its server."""
        return self._beside_seconds > EAR_LEAST_SECONDS

    def missed(self) -> None:
        """Something was written of which nothing was heard: a server tells of all, so that this ear may be dead."""
        if self.is_shared:
            self.deafen()

    def wake(self) -> None:
        """Wake the dispatcher, or keep it from falling asleep."""
        with suppress(OSError):  # full of wakes, or closed
            self._bell.send(b"!")

    def wait(self, seconds: float) -> bool:
        """Sleep until woken (True) or for so long (False)."""
        woken = self._selector.select(max(0.0, seconds))
        self.only_told = bool(woken)
        for key, _ in woken:
            if key.fileobj is self._inner:
                self.only_told = False
                with suppress(BlockingIOError):
                    self._inner.recv(65536)
            else:
                self._hear()
        self.only_told = self.only_told and self.is_shared and self._ear is not None
        return bool(woken)

    def close(self) -> None:
        """Release what is open."""
        self.deafen()
        self._selector.close()
        self._inner.close()
        self._bell.close()

    def _hear(self) -> None:
        """One that is lost is opened again before the next look, which sees what it missed; but not all the time."""
        try:
            if self._ear is not None:
                self._ear.drain()
        except StoreError:
            self._rest_until = self._opened_at + EAR_LEAST_SECONDS
            self.deafen()


def _fifo_at(path: str | None) -> Fifo | None:
    handle = None if path is None else _open_fifo(path)
    return None if handle is None else Fifo(handle)


def _open_fifo(path: str) -> int | None:
    with suppress(OSError, AttributeError):
        if not os.path.lexists(path):
            with suppress(FileExistsError):
                os.mkfifo(path, 0o600)
        if stat.S_ISFIFO(os.lstat(path).st_mode):
            # For writing too, so that it does not read as ended whenever the last hook has left.
            return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    return None
