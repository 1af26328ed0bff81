"""A Pi session's end of a socket beside the store: what workers say there reaches its extension, and the answer them.

A connection carries one line of JSON and gets at most one back:

    {"type":"model"}                        → {"type":"model","model":{…} or null}    who would think, without a call
    {"type":"ask",…,"timeout_seconds":120,"within_seconds":600}
                                            → the extension's answer, or {"error":{"kind","message"}}
    {"type":"notice","level","text","once"} and {"type":"steer",…}: handed on, nothing comes back

Standard library only. Asking is the workers' alone (workers/relaying.py): nothing here can call a model by itself.
"""

import json
import os
import socket
import stat
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from itertools import count
from typing import Any

Line = Mapping[str, Any]

PATH_MAX_BYTES = 100
"""A socket's address has 104 bytes on macOS and 108 on Linux, the end mark included."""
LINE_MAX_BYTES = 16_000_000
CONNECTIONS_MOST = 32
FIRST_LINE_SECONDS = 5.0
TIMEOUT_SECONDS = 120.0
TIMEOUT_MOST_SECONDS = 3_600.0
GRACE_SECONDS = 2.0
"""The extension ends a request at its time by itself, and says why; only after this it is taken for lost."""
STALE_SECONDS = 60.0
SWEPT_MOST = 200
HANDED_ON = ("notice", "steer")


# -- where it is ---------------------------------------------------------------------------------------------------


def relay_path(store_path: str, session_key: str) -> str:
    """The socket of a session, beside its store or, where that is too long for an address, in a private temp folder."""
    store = os.path.realpath(store_path)
    name = sha256(session_key.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    beside = os.path.join(f"{store}.asks", name)  # noqa: PTH118
    if len(os.fsencode(beside)) <= PATH_MAX_BYTES:
        return beside
    return os.path.join(_temp_folder(), f"{sha256(os.fsencode(store)).hexdigest()[:12]}.{name}")  # noqa: PTH118


def _temp_folder() -> str:
    """The same for every process of this user, whatever its TMPDIR says: a worker was perhaps started elsewhere."""
    return f"/tmp/minutebook-{os.getuid()}"


def is_private(folder: str) -> bool:
    """Whether a folder is this user's own and nobody else's: another's under our name in /tmp is never used."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


# -- lines on a connection, for both ends --------------------------------------------------------------------------


def read_line(connection: socket.socket) -> dict[str, Any]:
    """The next line; {} at the end. Raises ValueError for what is too long or no JSON object, OSError."""
    received = bytearray()
    while not received.endswith(b"\n"):
        part = connection.recv(65_536)
        if not part:
            break
        received += part
        if len(received) > LINE_MAX_BYTES:
            raise ValueError("a line that is too long")
    line = json.loads(received) if received.strip() else {}
    if not isinstance(line, dict):
        raise ValueError("a line that is no object")
    return line


def write_line(connection: socket.socket, line: Line) -> None:
    """Send one line; raises OSError."""
    connection.sendall(json.dumps(line, separators=(",", ":")).encode() + b"\n")


# -- the session's end ---------------------------------------------------------------------------------------------


class _Asked:
    """One question on its way. answer: None until it came. Settling ends the wait of its connection's thread."""

    def __init__(self, id_: str, connection: socket.socket) -> None:
        self.id = id_
        self.answer: dict[str, Any] | None = None
        self._connection = connection

    def settle(self, answer: dict[str, Any]) -> None:
        self.answer = answer
        with suppress(OSError):  # the worker has just gone
            self._connection.shutdown(socket.SHUT_RD)


class Relay:
    """The socket of one session, served by threads of this process.

    send: hands one line to the extension; called from several threads, never raises. One question at a time goes to
    the extension: the others wait for their turn, until within_seconds are over.
    """

    def __init__(self, store_path: str, session_key: str, send: Callable[[dict[str, Any]], None]) -> None:
        self.path = relay_path(store_path, session_key)
        self._send = send
        self._model: Line | None = None
        self._listener: socket.socket | None = None
        self._inode = 0
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._places = threading.BoundedSemaphore(CONNECTIONS_MOST)
        self._open: dict[str, _Asked] = {}
        self._numbers = count(1)
        self._closed = False

    def start(self) -> str:
        """Listen; returns why that is not possible, "" when it is. Never raises."""
        try:
            self._listener, self._inode = _listen(self.path)
        except OSError as error:
            return f"no socket for the session's own model at {self.path}: {error.strerror or error}"
        threading.Thread(target=self._accept, args=(self._listener,), name="minutebook-relay", daemon=True).start()
        return ""

    def model_is(self, model: Line | None) -> None:
        """The session's model now: provider, id, window, max_tokens, reasoning; None for none."""
        self._model = model

    def answered(self, line: Line) -> None:
        """The extension's answer to a question; one that nobody waits for any more is dropped."""
        with self._lock:
            asked = self._open.get(str(line.get("id")))
        if asked is not None:
            asked.settle({name: value for name, value in line.items() if name not in ("type", "id")})

    def close(self) -> None:
        """Take the socket away; workers that wait are told that the session is gone."""
        with self._lock:
            self._closed = True
            waiting = list(self._open.values())
        if self._listener is not None:
            with suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            _remove_own(self.path, self._inode)
        for asked in waiting:
            asked.settle(_error("gone", "the session has ended"))

    def _accept(self, listener: socket.socket) -> None:
        while not self._closed:
            try:
                connection, _ = listener.accept()
            except OSError:  # closed, or out of descriptors
                time.sleep(0.1)
                continue
            if not self._places.acquire(blocking=False):
                connection.close()
                continue
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, suppress(OSError, ValueError):  # a client that leaves, or talks nonsense
                connection.settimeout(FIRST_LINE_SECONDS)
                self._do(connection, read_line(connection))
        finally:
            self._places.release()

    def _do(self, connection: socket.socket, line: dict[str, Any]) -> None:
        kind = line.get("type")
        if kind == "model":
            write_line(connection, {"type": "model", "model": self._model})
        elif kind in HANDED_ON:
            self._send(line)
        elif kind == "ask":
            answer = self._ask(connection, line)
            if answer is not None:
                connection.settimeout(FIRST_LINE_SECONDS)
                write_line(connection, {"type": "answer", **answer})

    def _ask(self, connection: socket.socket, line: dict[str, Any]) -> dict[str, Any] | None:
        """The answer; None when the worker has gone."""
        timeout = _seconds(line.get("timeout_seconds"), TIMEOUT_SECONDS)
        ends_at = time.monotonic() + _seconds(line.get("within_seconds"), timeout)
        if not self._turn.acquire(timeout=max(0.0, ends_at - time.monotonic())):
            return _error("busy", "the session's model is at other work of this session")
        try:
            left = max(0.1, ends_at - time.monotonic())
            return None if _hung_up(connection) else self._put(connection, line, min(left, timeout))
        finally:
            self._turn.release()

    def _put(self, connection: socket.socket, line: dict[str, Any], seconds: float) -> dict[str, Any] | None:
        asked = _Asked(f"a{next(self._numbers)}", connection)
        with self._lock:
            if self._closed:
                return _error("gone", "the session has ended")
            self._open[asked.id] = asked
        told = {name: value for name, value in line.items() if name != "within_seconds"}
        self._send({**told, "id": asked.id, "timeout_seconds": round(seconds, 3)})
        late = _until_told(connection, seconds + GRACE_SECONDS)
        with self._lock:
            del self._open[asked.id]
        if asked.answer is None:
            self._send({"type": "cancel", "id": asked.id})
            return _error("timeout", f"no answer within {seconds:.0f} s") if late else None
        return asked.answer


def _until_told(connection: socket.socket, seconds: float) -> bool:
    """Wait until the question is settled, or the worker hangs up; True when the time ran out before."""
    connection.settimeout(seconds)
    try:
        connection.recv(1)
    except TimeoutError:
        return True
    return False


def _hung_up(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return not connection.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"error": {"kind": kind, "message": message}}


def _seconds(value: object, otherwise: float) -> float:
    given = isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0
    return min(float(value), TIMEOUT_MOST_SECONDS) if given else otherwise  # type: ignore[arg-type]


# -- the socket's file ---------------------------------------------------------------------------------------------


def _listen(path: str) -> tuple[socket.socket, int]:
    """A listening socket at the path and its inode. It takes the place of one that a dead or older child left."""
    folder = os.path.dirname(path)  # noqa: PTH120
    os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
    if not is_private(folder):
        raise PermissionError(0, f"others may use {folder}")
    _sweep(folder)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    fresh = os.path.join(folder, f".{os.getpid()}.{os.path.basename(path)[-4:]}")  # noqa: PTH118, PTH119 (no longer)
    try:
        _remove(fresh)
        listener.bind(fresh)
        os.chmod(fresh, 0o600)  # noqa: PTH101
        listener.listen(CONNECTIONS_MOST)
        os.replace(fresh, path)  # noqa: PTH105 (from here on it can be reached, and it listens already)
        return listener, os.lstat(path).st_ino
    except OSError:
        listener.close()
        _remove(fresh)
        raise


def _sweep(folder: str) -> None:
    """Remove the sockets of dead children: of the first so many that are there."""
    with suppress(OSError), os.scandir(folder) as found:
        for entry in [each for each, _ in zip(found, range(SWEPT_MOST), strict=False)]:
            with suppress(OSError):
                if time.time() - entry.stat(follow_symlinks=False).st_mtime > STALE_SECONDS and _is_dead(entry.path):
                    _remove(entry.path)


def _is_dead(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(0.2)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            return True
        except OSError:
            return False
        return False


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)  # noqa: PTH108


def _remove_own(path: str, inode: int) -> None:
    """Not the socket of a newer child of the same session."""
    with suppress(OSError):
        if os.lstat(path).st_ino == inode:
            os.unlink(path)  # noqa: PTH108
