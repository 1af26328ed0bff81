"""Making the file of a new store: by one process at a time, whoever else wants to use it at once."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

BESIDE = ("-wal", "-shm", "-journal")
WAIT_SECONDS, POLL_SECONDS = 1.0, 0.002


def make_file(path: Path) -> None:
    """An empty file with mode 0600, and nothing beside it; one that is there stays as it is. Raises OSError.

    What a store left that was removed alone would be taken for the new one's. It goes before the file is there: from
    that moment on other processes may use it, and what lies beside it is theirs.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _alone_in(path.parent):
        if path.exists():
            return
        for suffix in BESIDE:
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """No other process makes a store in this folder meanwhile, where it can be locked; nobody waits for long."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except PermissionError:  # one in which this user may make files, and not list them
        yield
        return
    try:
        give_up_at = time.monotonic() + WAIT_SECONDS
        while not _locked(handle) and time.monotonic() < give_up_at:
            time.sleep(POLL_SECONDS)
        yield
    finally:
        os.close(handle)


def _locked(handle: int) -> bool:
    """False where another process has it, or the file system has no locks."""
    with suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False
