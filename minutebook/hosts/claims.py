"""A memory is printed once, also where an agent runs the same hook twice because it was installed in two ways.

Whichever hook is about to print makes a file first, and the other one, which finds it, prints nothing. So the claim is
the last thing before the printing: a hook that ran out of time, or died, while it composed has claimed nothing.
"""
# No pathlib: it alone costs a hook as much as the start of the interpreter.
# ruff: noqa: PTH116, PTH120

import os
import time

from minutebook.hosts.beside import handover_path, make_folder, remove

CLAIM_SECONDS = 5.0
"""So long an agent waits for a hook of ours: two of one event both print within it, and what is older is of another."""
PARTS_MOST = 20


def claim(store_path: str, host: str, session: str, part: int = 1) -> bool:
    """Whether this process is to print that part. Also where no file can be made: twice is better than not at all."""
    path = _claim_path(store_path, host, session, part)
    try:
        make_folder(os.path.dirname(path))
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return _claim_again(path)
    except OSError:
        return True
    return True


def is_claimed(store_path: str, host: str, session: str, part: int = 1) -> bool:
    """Whether another process has just printed that part, or is about to."""
    try:
        return _is_fresh(os.stat(_claim_path(store_path, host, session, part)))
    except OSError:
        return False


def forget_claims(store_path: str, host: str, session: str) -> None:
    """At a compaction: what is composed for it is to be printed."""
    for part in range(1, PARTS_MOST + 1):
        remove(_claim_path(store_path, host, session, part))


def _claim_again(path: str) -> bool:
    """Of two that find an old claim one gets the lock first, and makes it new."""
    import fcntl

    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_fresh(os.fstat(handle)):
            return False
        os.utime(handle)
    except BlockingIOError:
        return False
    except OSError:
        return True
    finally:
        os.close(handle)
    return True


def _is_fresh(status: os.stat_result) -> bool:
    return 0 <= time.time() - status.st_mtime < CLAIM_SECONDS


def _claim_path(store_path: str, host: str, session: str, part: int) -> str:
    return f"{handover_path(store_path, host, session)}.claim.{part}"
