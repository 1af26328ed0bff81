"""What every turn hook does: wake the worker, leave. Nothing is imported here that a hook would have to wait for."""

import os
import stat

WAKE_SUFFIX = ".wake"


def wake_path(store_path: str) -> str:
    """The FIFO on which a worker of that store listens."""
    return store_path + WAKE_SUFFIX


def wake(store_path: str) -> bool:
    """Wake the worker of a store file; False when none listens. Never blocks, never raises OSError."""
    try:
        handle = os.open(wake_path(store_path), os.O_WRONLY | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0))
    except (OSError, AttributeError):  # ENXIO: nobody reads it. No such file: nobody ever did. Windows has no FIFO
        return False
    try:
        if not stat.S_ISFIFO(os.fstat(handle).st_mode):
            return False
        os.write(handle, b"!")
    except BlockingIOError:
        return True  # full of wakes that the worker has yet to read
    except OSError:
        return False
    finally:
        os.close(handle)
    return True
