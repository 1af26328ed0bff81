"""Writing the files of a host: whole or not at all, with their mode, through symbolic links."""

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from minutebook.errors import BadInput, MinutebookError

FILE_MAX_BYTES = 64_000_000
PRIVATE_MODE = 0o600
PROJECT_MODE = 0o644


class FileChanged(Exception):
    """The file is not any more what the plan was made from."""


def read_host_file(path: str) -> bytes | None:
    """The bytes of a regular file, None where there is none; BadInput says what is wrong with it."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}; nothing was changed") from error
    try:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode) or about.st_size > FILE_MAX_BYTES:
            raise BadInput(f"{path}: not a regular file of a sane size; nothing was changed")
        with os.fdopen(os.dup(handle), "rb") as file:
            return file.read()
    finally:
        os.close(handle)


def write_whole(path: str, content: bytes, mode: int) -> None:
    """Put the file in place by a rename; one that is there keeps its mode. Raises OSError, and leaves nothing then."""
    with contextlib.suppress(FileNotFoundError):
        mode = stat.S_IMODE(os.stat(path).st_mode)  # noqa: PTH116
    new = temporary_of(path)
    remove_temporary(path)
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(new, path)  # noqa: PTH105
    except OSError:
        remove_temporary(path)
        raise
    sync_folder(os.path.dirname(path))  # noqa: PTH120


def temporary_of(path: str) -> str:
    """Where a file is written before it takes its place. One name: the next install removes what a killed one left."""
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.om-install")  # noqa: PTH118


def remove_temporary(path: str) -> None:
    """Without a word where there is none."""
    with contextlib.suppress(OSError):
        os.unlink(temporary_of(path))  # noqa: PTH108


def sync_folder(folder: str) -> None:
    """So that a rename in it outlives a power cut, where the file system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class Writing:
    """Several files as one change: what was done is taken back when a later one fails."""

    def __init__(self) -> None:
        self.done: list[tuple[str, bytes | None]] = []
        self.folders: list[str] = []

    def write(self, path: str, before: bytes | None, after: bytes | None, mode: int) -> None:
        """Write or remove one file; FileChanged where it is not as it was. Raises OSError."""
        if read_host_file(path) != before:
            raise FileChanged(path)
        if after is None:
            os.unlink(path)  # noqa: PTH108
        else:
            self._make_folder(os.path.dirname(path))  # noqa: PTH120
            write_whole(path, after, mode)
        self.done.append((path, before))

    def take_back(self) -> None:
        """All as it was; a file that cannot be is left, the others are still done."""
        for path, before in reversed(self.done):
            with contextlib.suppress(OSError):
                if before is None:
                    os.unlink(path)  # noqa: PTH108
                else:
                    write_whole(path, before, PRIVATE_MODE)
        remove_empty(self.folders)

    def _make_folder(self, folder: str) -> None:
        missing = []
        while not os.path.isdir(folder):  # noqa: PTH112
            missing.append(folder)
            folder = os.path.dirname(folder)  # noqa: PTH120
        for each in reversed(missing):
            with contextlib.suppress(FileExistsError):  # the agent has made it meanwhile
                os.mkdir(each, 0o755)  # noqa: PTH102
                self.folders.append(each)


def remove_empty(folders: Iterable[str]) -> None:
    """Those that are there and empty, the deepest first."""
    for folder in sorted(set(folders), key=len, reverse=True):
        with contextlib.suppress(OSError):
            os.rmdir(folder)  # noqa: PTH106


@contextlib.contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Two installs do not run at once. Makes the data folder."""
    import fcntl

    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(folder / "installed.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_MODE)
    except OSError as error:
        raise failed(str(folder), error) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def failed(path: str, error: OSError) -> MinutebookError:
    """What could not be written, in our words."""
    return MinutebookError(f"{path}: cannot be written: {error.strerror or error}; everything is as it was")
