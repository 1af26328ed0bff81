"""The file of what workers have to say to a session: workers add lines, hooks take them. Each line is told once.

Both hold the file's lock while they do so, and both look whether the file that they locked is the one that is there:
so no line is added to a file that was just taken away.
"""
# No pathlib: it alone costs a hook as much as the start of the interpreter.
# ruff: noqa: PTH108, PTH116, PTH120

import fcntl
import os
import time
from _collections_abc import Collection

from minutebook.hosts.barejson import parse, to_json
from minutebook.hosts.beside import make_folder, write_all

WAIT_SECONDS = 0.1
SLOT_MAX_BYTES = 256 * 1024
TRIES = 20


def add(path: str, line: dict[str, object]) -> bool:
    """Add a line; False where nobody takes them and the file is full. Raises OSError."""
    handle = _opened(path, os.O_RDWR | os.O_CREAT)
    if handle is None:
        return False
    try:
        if os.fstat(handle).st_size > SLOT_MAX_BYTES:
            return False
        os.lseek(handle, 0, os.SEEK_END)
        write_all(handle, (to_json(line) + "\n").encode())
        return True
    finally:
        os.close(handle)


def take(path: str, kinds: Collection[str]) -> list[dict[str, object]]:
    """The lines of these kinds, oldest first; the others stay. Raises OSError."""
    handle = _opened(path, os.O_RDWR)
    if handle is None:
        return []
    try:
        lines = _lines(os.read(handle, 2 * SLOT_MAX_BYTES))
        taken = [line for line in lines if line.get("kind") in kinds]
        others = [line for line in lines if line.get("kind") not in kinds]
        if not others:
            os.unlink(path)
        elif taken:
            os.ftruncate(handle, 0)
            os.lseek(handle, 0, os.SEEK_SET)
            write_all(handle, "".join(to_json(line) + "\n" for line in others).encode())
        return taken
    finally:
        os.close(handle)


def _lines(data: bytes) -> list[dict[str, object]]:
    """A line that was cut in half by a death is passed over."""
    found = map(parse, data.decode("utf-8", "replace").splitlines())
    return [line for line in found if isinstance(line, dict)]


def _opened(path: str, flags: int) -> int | None:
    """The file that is there, locked; None where there is none, or others hold it for too long."""
    until = time.monotonic() + WAIT_SECONDS
    while True:
        handle = _open(path, flags)
        if handle is None:
            return None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_there(handle, path):
                return handle
        except BlockingIOError:
            pass
        os.close(handle)
        if time.monotonic() >= until:
            return None
        time.sleep(WAIT_SECONDS / TRIES)


def _open(path: str, flags: int) -> int | None:
    flags |= os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        if not flags & os.O_CREAT:
            return None
        make_folder(os.path.dirname(path))
        return os.open(path, flags, 0o600)


def _is_there(handle: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False
