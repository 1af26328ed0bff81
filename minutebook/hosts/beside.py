"""What lies beside a store, and where that is. Nothing is imported here that a hook would have to wait for.

All of it is this user's alone (0700, 0600), and no name that came from outside is ever part of a path as it is.
"""
# No pathlib: it alone costs a hook as much as the start of the interpreter.
# ruff: noqa: PTH100, PTH102, PTH105, PTH108, PTH111, PTH116, PTH117, PTH120

import os
import stat
import time
from _collections_abc import Mapping  # collections.abc would load collections
from binascii import crc32

WAKE_SUFFIX = ".wake"
NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
NAME_MOST = 80
BELL_MAX_BYTES = 64 * 1024
UNHEARD_RINGS = 10
"""So many rings that nobody took, and the person is told."""
SIDE_FILE_MAX_BYTES = 4 * 1024 * 1024
HOOK_LOG = "hook.log"
WORKER_LOG = "worker.log"
LOG_MAX_BYTES = 256 * 1024
LOG_LINE_CHARACTERS = 500


def wake_path(store_path: str) -> str:
    """The FIFO on which a worker of that store listens."""
    return store_path + WAKE_SUFFIX


def lock_path(store_path: str) -> str:
    """The file that the worker which hooks started holds locked; its process id is in it."""
    return store_path + ".lock"


def bells_folder(store_path: str) -> str:
    """One small file for each session that moved and was not taken in yet."""
    return store_path + ".bells"


def handover_path(store_path: str, host: str, session: str) -> str:
    """The parts of one composition, for the hooks that print them."""
    return f"{store_path}.handover/{safe_name(host, session)}"


def printed_path(store_path: str, host: str, session: str) -> str:
    """How far the hooks are that print them."""
    return handover_path(store_path, host, session) + ".printed"


def slot_path(store_path: str, host: str, session: str) -> str:
    """What workers have to say to a session at its next hook."""
    return f"{store_path}.slots/{safe_name(host, session)}"


def safe_name(host: str, session: str, agent: str = "") -> str:
    """A file name for a session, or a sub-agent of it, whatever its host calls them."""
    return ".".join(map(_safe, (host, session, agent) if agent else (host, session)))


def _safe(name: str) -> str:
    if 0 < len(name) <= NAME_MOST and NAME_CHARACTERS.issuperset(name):
        return name
    raw = name.encode("utf-8", "surrogatepass")
    return f"={raw[:24].hex()}-{len(raw):x}-{crc32(raw):08x}"


def write_beside(path: str, text: str) -> None:
    """Put a whole file there in one move, private; its folder is made. Raises OSError; nothing half-written stays."""
    folder = os.path.dirname(path)
    temporary = f"{folder}/.{os.getpid()}.{time.monotonic_ns()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        handle = os.open(temporary, flags, 0o600)
    except FileNotFoundError:
        make_folder(folder)
        handle = os.open(temporary, flags, 0o600)
    try:
        try:
            write_all(handle, text.encode("utf-8", "surrogatepass"))
        finally:
            os.close(handle)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def make_folder(folder: str) -> None:
    """Make a folder, and those above it, this user's alone; others may do the same at the same moment."""
    try:
        if not _made(folder):
            make_folder(os.path.dirname(folder))
            os.mkdir(folder, 0o700)
    except FileExistsError:
        return


def _made(folder: str) -> bool:
    """False where the folder above it is not there."""
    try:
        os.mkdir(folder, 0o700)
    except FileNotFoundError:
        return False
    return True


def write_all(handle: int, data: bytes) -> None:
    """All of it, however little the system takes at once."""
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def read_beside(path: str, most: int = SIDE_FILE_MAX_BYTES) -> str | None:
    """A small regular file of ours; None where there is none, or no such one."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > most:
            return None
        return _read_all(handle).decode("utf-8", "replace")
    except OSError:
        return None
    finally:
        os.close(handle)


def _read_all(handle: int) -> bytes:
    pieces = []
    while piece := os.read(handle, 1 << 20):
        pieces.append(piece)
    return b"".join(pieces)


def remove(path: str) -> None:
    """Without a word where it is not there."""
    try:
        os.unlink(path)
    except OSError:
        return


# -- where it all is -----------------------------------------------------------------------------------------------


def local_store_path(environ: Mapping[str, str]) -> str | None:
    """The store that hooks use: MINUTEBOOK_STORE, or this user's own; None where that is on a server.

    The same as places.default_store_path and the command line make of it.
    """
    named = environ.get("MINUTEBOOK_STORE")
    if not named:
        return data_folder(environ) + "/minutebook.sqlite"
    if "://" in named and not named.startswith("sqlite://"):
        return None
    return os.path.abspath(named.removeprefix("sqlite:///"))


def data_folder(environ: Mapping[str, str]) -> str:
    """As places.data_dir."""
    home = environ.get("MINUTEBOOK_HOME")
    if home:
        return os.path.abspath(os.path.expanduser(home))
    named = environ.get("XDG_DATA_HOME", "")
    if os.path.isabs(named):
        return os.path.normpath(named) + "/minutebook"
    below = "Library/Application Support" if _is_mac() else ".local/share"
    return os.path.normpath(f"{environ.get('HOME') or os.path.expanduser('~')}/{below}/minutebook")


def _is_mac() -> bool:
    return os.uname().sysname == "Darwin"


# -- the hook's log ------------------------------------------------------------------------------------------------


def complain(text: str, environ: Mapping[str, str] = os.environ) -> None:
    """One line in the hook log. Never raises: nothing is lost but the line."""
    line = "".join(each if each.isprintable() else " " for each in text[:LOG_LINE_CHARACTERS])
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    try:
        path = f"{data_folder(environ)}/{HOOK_LOG}"
        handle = open_log(path)
        try:
            write_all(handle, f"{stamp} {line}\n".encode("utf-8", "replace"))
        finally:
            os.close(handle)
    except (OSError, ValueError):
        return


def open_log(path: str) -> int:
    """A bounded log, open for a line more: one that is full becomes the old copy. Raises OSError."""
    try:
        if os.stat(path).st_size >= LOG_MAX_BYTES:
            os.replace(path, path + ".old")
    except FileNotFoundError:
        make_folder(os.path.dirname(path))
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
