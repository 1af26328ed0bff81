"""How a sleeping dispatcher is woken: by this process, through a FIFO by any other, else by a look at the store.

The FIFO beside the store also tells hooks that a worker is there: without a reader it cannot be opened for writing.
"""

import os
import selectors
import socket
import stat
from contextlib import suppress

from minutebook.hosts.bell import wake_path
from minutebook.store.kernel import Store

POLL_SECONDS = 0.05
POLL_BESIDE_FIFO_SECONDS = 0.08
"""How often the store is asked whether another process wrote; what rings the FIFO does not wait for it."""


def wake_path_of(store: Store) -> str | None:
    """The FIFO of a store that is a file; None for others."""
    scheme, _, path = store.url.partition("://")
    return wake_path(path) if scheme == "sqlite" and path else None


def change_counter(store: Store) -> int | None:
    """A number that changes when another thread or process wrote; None where the store has no such number."""
    data_version = getattr(store, "data_version", None)
    return None if data_version is None else int(data_version())


def check_file(store: Store) -> None:
    """Look whether what the store is open on is a store still; nothing where it is no file."""
    check = getattr(store, "check_file", None)
    if check is not None:
        check()


class Waker:
    """One dispatcher's ear. wake may be called from any thread, the rest from the dispatcher's."""

    def __init__(self, fifo_path: str | None) -> None:
        self._fifo_path = fifo_path
        self._fifo: int | None = None
        self._selector = selectors.DefaultSelector()
        self._inner, self._bell = socket.socketpair()
        self._inner.setblocking(False)
        self._bell.setblocking(False)
        self._selector.register(self._inner, selectors.EVENT_READ)

    def listen(self) -> None:
        """Open the FIFO; without one (another file system, another file of that name) the store is asked oftener."""
        if self._fifo is None and self._fifo_path is not None:
            self._fifo = _open_fifo(self._fifo_path)
            if self._fifo is not None:
                self._selector.register(self._fifo, selectors.EVENT_READ)

    def deafen(self) -> None:
        """Close the FIFO: from here on a hook finds no worker, and starts one."""
        if self._fifo is not None:
            self._selector.unregister(self._fifo)
            os.close(self._fifo)
            self._fifo = None

    @property
    def poll_seconds(self) -> float:
        """How long to wait at most before the store is asked."""
        return POLL_SECONDS if self._fifo is None else POLL_BESIDE_FIFO_SECONDS

    def wake(self) -> None:
        """Wake the dispatcher, or keep it from falling asleep."""
        with suppress(OSError):  # full of wakes, or closed
            self._bell.send(b"!")

    def wait(self, seconds: float) -> bool:
        """Sleep until woken (True) or for so long (False)."""
        woken = self._selector.select(max(0.0, seconds))
        for key, _ in woken:
            with suppress(BlockingIOError):
                os.read(key.fd, 65536)
        return bool(woken)

    def close(self) -> None:
        """Release what is open."""
        self.deafen()
        self._selector.close()
        self._inner.close()
        self._bell.close()


def _open_fifo(path: str) -> int | None:
    with suppress(OSError, AttributeError):
        if not os.path.lexists(path):
            with suppress(FileExistsError):
                os.mkfifo(path, 0o600)
        if stat.S_ISFIFO(os.lstat(path).st_mode):
            # For writing too, so that it does not read as ended whenever the last hook has left.
            return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    return None
