"""uvicorn around the door: where it listens, how long it waits for clients, how it stops."""

import asyncio
import gc
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from minutebook.errors import BadInput
from minutebook.server.app import make_app
from minutebook.server.house import House, opened_house
from minutebook.server.limits import is_loopback
from minutebook.settings import Settings
from minutebook.store.kernel import Store

HEADERS_SECONDS = 15.0
"""A client that has not sent a request's headers by then is hung up on."""
KEEP_ALIVE_SECONDS = 65
ABORT_SECONDS = 30.0
"""So long a client may take to read the rest of an answer when its connection is to end."""
CONNECTIONS_MAX = 1_000
HEAD_MAX_BYTES = 100_000
"""Of what is kept while the headers have not all come; then visits.py has its own limits."""
STOP_SECONDS = 25
BACKLOG = 512
PLAIN_HTTP = (
    "%s is no loopback address, and this is plain HTTP: tokens and contents can be read on the way. "
    "Put a proxy with TLS before it, or a private network around it"
)
logger = logging.getLogger(__name__)


class Gathering:
    """A transport that writes what comes in one step of the loop at once: an answer is one packet, not two."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._waiting: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._waiting:
            self._loop.call_soon(self.flush)
        self._waiting.append(data)

    def flush(self) -> None:
        waiting, self._waiting = b"".join(self._waiting), []
        if waiting and not self._transport.is_closing():
            self._transport.write(waiting)

    def close(self) -> None:
        self.flush()
        self._transport.close()


class PatientProtocol(H11Protocol):
    """uvicorn's, that does not wait for ever: not for the headers of a request, nor for a reader of its answer."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(Gathering(transport, self.loop))  # type: ignore[arg-type]
        # asyncio does it for sockets that it made itself. Without it the body of an answer waits 40 ms for its headers.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._expect_headers()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._expect_headers()
        else:
            self._forget_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_deadline()
        super().connection_lost(exc)

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self.loop.call_later(ABORT_SECONDS, self.transport.abort)

    def _expect_headers(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEADERS_SECONDS, self.transport.abort)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def serve(store: Store, settings: Settings, *, say: Callable[[str], object]) -> None:
    """Answer until SIGTERM, SIGINT or SIGHUP; what is being answered then is finished. Main thread only.

    say: told once where it listens. Raises BadInput where it cannot listen.
    """
    with (
        closing(listening_socket(settings.serve_host, settings.serve_port)) as listener,
        opened_house(store, settings) as house,
    ):
        server = make_server(house)
        if not is_loopback(settings.serve_host):
            logger.warning(PLAIN_HTTP, settings.serve_host)
        gc.collect()
        gc.freeze()  # what is loaded by now stays; the collector need not look through it again and again
        with _signals_end(server):
            say(f"listening on {url_of(listener)}")
            server.run(sockets=[listener])


def make_server(house: House) -> uvicorn.Server:
    """A server that was not started yet."""
    config = uvicorn.Config(
        make_app(house),
        http=PatientProtocol,
        loop="asyncio",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        limit_concurrency=CONNECTIONS_MAX,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
        h11_max_incomplete_event_size=HEAD_MAX_BYTES,
    )
    return uvicorn.Server(config)


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one. Raises BadInput."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError) as error:
        said = getattr(error, "strerror", None) or error
        raise BadInput(f"cannot listen on {host} port {port}: {said}; see serve_host and serve_port") from error


def url_of(listener: socket.socket) -> str:
    """Where it listens."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextmanager
def _signals_end(server: uvicorn.Server) -> Iterator[None]:
    """uvicorn stops at SIGINT and SIGTERM and then raises them again: here they were obeyed, and that is all."""

    def stop(number: int, frame: FrameType | None) -> None:
        server.should_exit = True

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        if before[number] != signal.SIG_IGN:
            signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
