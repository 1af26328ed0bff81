"""A box of raw bytes: each connection is one request and what the script sends back, whatever a client makes of it."""

import contextlib
import json
import socket
import socketserver
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

Script = bytes | Callable[[socket.socket], None]


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it came. headers: by lower-case name."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


def answer(body: Any, status: int = 200, *, length: int | None = None, **headers: str) -> bytes:
    """A whole answer; body: bytes as they are, anything else as JSON. length: what is said of it."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Said", f"Content-Length: {len(content) if length is None else length}"]
    lines += ["Connection: close", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode() + content


def endless(connection: socket.socket) -> None:
    """An answer without an end, in large pieces; stops when nobody reads it any more."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    with contextlib.suppress(OSError):
        while True:
            connection.sendall(b"[" * 1_000_000)


class RawBox:
    """Listens on the loopback. script: what the next connections get, then `default`."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.script: deque[Script] = deque()
        self.default: Script = answer({"error": "not_found", "message": "nothing here"}, 404)
        box = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                box.take(self.rfile, self.connection)

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                """A client that leaves early is no news."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def take(self, incoming: Any, connection: socket.socket) -> None:
        """Read one request, keep it, and send what the script has next."""
        first = incoming.readline().decode().split()
        if len(first) < 2:
            return
        headers = {}
        while line := incoming.readline().decode().strip():
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        body = incoming.read(int(headers.get("content-length", 0)))
        self.asked.append(Asked(first[0], first[1], headers, body))
        script = self.script.popleft() if self.script else self.default
        if callable(script):
            script(connection)
        else:
            connection.sendall(script)
