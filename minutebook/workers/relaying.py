"""The workers' end of a Pi session's socket: ask its model, tell its user. The other end is hosts/relay.py."""

import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from minutebook.hosts.relay import is_private, read_line, write_line

CONNECT_SECONDS = 1.0
"""It is on this machine: whoever listens takes the connection at once."""
SEND_SECONDS = 10.0
ANSWER_GRACE_SECONDS = 5.0


def ask(path: str, request: Mapping[str, Any], timeout_seconds: float, within_seconds: float = 0.0) -> dict[str, Any]:
    """The session's answer to a request, which may be an `error`. Raises OSError when nobody is there, or goes away.

    timeout_seconds: of the request itself. within_seconds: together with its wait for others before it, if longer.
    """
    within = max(timeout_seconds, within_seconds)
    with _connected(path) as connection:
        times = {"timeout_seconds": timeout_seconds, "within_seconds": within}
        write_line(connection, {**request, "type": "ask", **times})
        return _answer(connection, within + ANSWER_GRACE_SECONDS)


def model_of(path: str) -> Mapping[str, Any] | None:
    """The session's model, as its host names it; None when nobody is there, or it has none. Calls no model."""
    try:
        with _connected(path) as connection:
            write_line(connection, {"type": "model"})
            model = _answer(connection, CONNECT_SECONDS).get("model")
    except OSError:
        return None
    named = isinstance(model, dict) and bool(model.get("provider")) and bool(model.get("id"))
    return model if named and isinstance(model, dict) else None


def notify(path: str, level: str, text: str, *, once: bool = False) -> bool:
    """Show the session's user a notice; False, and nothing else, when nobody is there (003-138).

    once: not again in this session, however often it is sent.
    """
    with suppress(OSError), _connected(path) as connection:
        write_line(connection, {"type": "notice", "level": level, "text": text, **({"once": True} if once else {})})
        return True
    return False


@contextmanager
def _connected(path: str) -> Iterator[socket.socket]:
    if not is_private(os.path.dirname(path)):  # noqa: PTH120
        raise FileNotFoundError(0, "nobody listens for this session")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(CONNECT_SECONDS)
        connection.connect(path)
        connection.settimeout(SEND_SECONDS)
        yield connection


def _answer(connection: socket.socket, seconds: float) -> dict[str, Any]:
    """The line that comes back within so many seconds; ConnectionError when the session goes before."""
    connection.settimeout(seconds)
    began = time.monotonic()
    try:
        line = read_line(connection)
    except ValueError as error:
        raise ConnectionError(f"the session's answer cannot be read: {error}") from error
    if not line:
        raise ConnectionError(f"the session went away after {time.monotonic() - began:.0f} s without an answer")
    return line
