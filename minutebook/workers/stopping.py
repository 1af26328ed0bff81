"""What a signal handler may set while the main thread waits for it."""

import threading
from contextlib import suppress
from queue import Empty, SimpleQueue


class Stopped(threading.Event):
    """An event that the handler of a signal may set.

    One of Python's own has a lock, which the main thread holds for a moment whenever it begins or ends to wait. The
    handler runs in the main thread: if that is the moment, it waits for itself for ever. A SimpleQueue has none.
    """

    def __init__(self) -> None:
        super().__init__()
        self._is_told = False
        self._told: SimpleQueue[None] = SimpleQueue()

    def is_set(self) -> bool:
        return self._is_told

    def set(self) -> None:
        self._is_told = True
        self._told.put(None)

    def wait(self, timeout: float | None = None) -> bool:
        if not self._is_told:
            with suppress(Empty):
                self._told.get(timeout=None if timeout is None else max(0.0, timeout))
                self._told.put(None)  # for others that wait
        return self._is_told
