"""The lock by which there is one worker that hooks started: this process inherited it, open and locked."""

import os
import sys
from types import TracebackType
from typing import NoReturn, Self

from minutebook.errors import BadInput
from minutebook.hosts.bell import lock_path
from minutebook.hosts.starting import FAILED, hold, say


class Hold:
    """A locked descriptor. While it is held no hook starts a worker. The file says which process holds it.

    As a context: an error that leaves it is noted, so that hooks do not start the next one at once.
    """

    def __init__(self, handle: int, store_path: str) -> None:
        """Raises BadInput of a descriptor that is not that of the store's lock file, or which another has locked."""
        path = lock_path(store_path)
        try:
            same = os.path.samestat(os.fstat(handle), os.stat(path))  # noqa: PTH116 (of a descriptor, too)
        except OSError:
            same = False
        if not same:
            raise BadInput(f"--hold {handle}: that is for hooks only: descriptor {handle} is not {path}")
        os.set_inheritable(handle, False)
        self._handle = handle
        if not self.take():
            raise BadInput(f"--hold {handle}: another worker has {path}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is not None and not issubclass(kind, (SystemExit, KeyboardInterrupt)):
            say(self._handle, FAILED)

    def take(self) -> bool:
        """Hold it (again); False where another worker was started meanwhile."""
        if not hold(self._handle):
            return False
        say(self._handle, str(os.getpid()))
        return True

    def start_again(self) -> NoReturn:
        """Begin anew as the same process, with the lock: what is rung meanwhile is seen at the start."""
        os.set_inheritable(self._handle, True)
        os.execv(sys.executable, sys.orig_argv)

    def release(self) -> None:
        """Whoever rings from here on may start another worker."""
        import fcntl

        say(self._handle, "")
        fcntl.flock(self._handle, fcntl.LOCK_UN)
