"""The Redis server under the store: connections, calls of scripts, what is sent again when a connection breaks.

Reading may be done twice. Each writing script carries the number of its call (lua/once.lua), and the server keeps the
last reply of each caller: sent again, it is answered and not done again. So every call is repeated, until
`busy_seconds` are over.
"""

import math
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from redis.connection import ConnectionPool
from redis.exceptions import NoScriptError, RedisError, ResponseError

from minutebook.errors import StoreCorrupt, StoreError, StoreGone, StoreTooNew
from minutebook.store.redis_address import Address, Wire, connected
from minutebook.store.redis_errors import may_pass, translated
from minutebook.store.redis_scripts import script

FORMAT = 1
FORMAT_NAME = b"minutebook"
OLDEST = 7
IDLE_SECONDS = 5.0
"""After so long without use it is looked whether the server has closed a connection."""
CLOCK_KEPT_SECONDS = 1.0
ROUND_TRIP_SECONDS = 0.1
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.02, 0.5
LONGEST_TIMEOUT_SECONDS = 10.0
LONGEST_BUSY_SECONDS = 60.0
"""Together they are well below the two minutes for which the server keeps an answer."""
Value = str | bytes | int | float
Command = tuple[Value, ...]


def packed(text: str) -> bytes:
    """Any text as bytes, lone surrogates too."""
    return text.encode("utf-8", "surrogatepass")


def text_of(value: bytes) -> str:
    """What `packed` was given."""
    return value.decode("utf-8", "surrogatepass")


class Server:
    """One database of one server, and the keys of one store in it."""

    def __init__(
        self,
        address: Address,
        *,
        busy_seconds: float = 30.0,
        create: bool = True,
        clock: Callable[[], float] | None = None,
        pool: ConnectionPool | None = None,
    ) -> None:
        """clock: seconds since the epoch, instead of the server's. pool: makes the connections, instead of the
        address.
        """
        self.address = address
        self.prefix = packed(address.prefix)
        self.busy_seconds = busy_seconds
        self._clock = clock
        self._pool = pool or address.pool(min(max(busy_seconds, 0.05), LONGEST_TIMEOUT_SECONDS))
        self._idle: list[tuple[Wire, float]] = []
        self._local = threading.local()
        self._process = os.getpid()
        self._asked_time = (-math.inf, 0.0)
        self._closed = False
        self._opened = False
        self._flagged = True
        self._format_key, self._wakes_key = self.prefix + b"format", self.prefix + b"wakes"
        self.channel = b"%swake:%d" % (self.prefix, address.database)
        try:
            with translated(self.url):
                self._check_server()
                self._check_format(create)
            self._opened = True
        except BaseException:
            self.close()
            raise

    @property
    def url(self) -> str:
        return self.address.url

    def now(self) -> float:
        """The server's clock, carried on for a second by this machine's."""
        if self._clock:
            return self._clock()
        here, then = self._asked_time
        passed = time.monotonic() - here
        if not 0 <= passed < CLOCK_KEPT_SECONDS:
            here = time.monotonic()
            seconds, microseconds = self.ask("TIME")
            then = int(seconds) + int(microseconds) / 1_000_000
            passed = time.monotonic() - here  # all of it: never behind a time that the server has given since
            if passed > ROUND_TRIP_SECONDS:  # it was asked again and again
                here, passed = time.monotonic(), 0.0
            self._asked_time = (here, then)
        return then + passed

    def data_version(self) -> int:
        """A number that changes when a branch became dirty, or a job was queued, failed or released, by anybody."""
        return int(self.ask("GET", self._wakes_key) or 0)

    def writes(self) -> int:
        """A number that changes whenever anything at all is written on the server, if only by hand."""
        said = text_of(self.ask("INFO", "persistence"))
        found = re.search(r"^rdb_changes_since_last_save:(\d+)", said, re.MULTILINE)
        return self.data_version() + (int(found[1]) if found else 0)

    def check_there(self) -> None:
        """Raise StoreGone where the store was removed, as by FLUSHALL: reading finds nothing then, and no fault."""
        with translated(self.url):
            self._check_format(create=False)

    def close(self) -> None:
        """Close all connections that are not in use just now."""
        self._closed = True
        self._drop_idle()

    # Calls

    def ask(self, *command: Value) -> Any:
        """The reply to one reading command."""
        return self._repeated([command])[0]

    def ask_all(self, commands: Sequence[Command]) -> list[Any]:
        """The replies to reading commands, in one round trip; others may write in between."""
        return self._repeated(commands) if commands else []

    def look(self, name: str, keys: Sequence[bytes], *arguments: Value) -> Any:
        """What a reading script returns."""
        return self._run(name, keys, arguments)

    def change(self, name: str, keys: Sequence[bytes], *arguments: Value) -> bytes:
        """What a writing script returns; done once, and all of it or nothing."""
        self._leave_parent()
        local = self._local
        if not hasattr(local, "name"):
            local.name, local.number = self.prefix + b"done:" + secrets.token_hex(8).encode(), 0
        local.number += 1
        head = (b"%s %d" % (FORMAT_NAME, FORMAT), local.number, self.clock_argument(), self.channel)
        reply: bytes = self._run(name, [self._format_key, local.name, self._wakes_key, *keys], (*head, *arguments))
        return reply

    def clock_argument(self) -> str:
        """The time as scripts take it."""
        return repr(float(self._clock())) if self._clock else ""

    def _run(self, name: str, keys: Sequence[bytes], arguments: Sequence[Value]) -> Any:
        wanted = script(name, self._flagged)
        rest = (len(keys), *keys, *arguments)
        try:
            return self._repeated([("EVALSHA", wanted.sha, *rest)], source=wanted.source)[0]
        except _AnotherFormat:
            self._check_format(create=False)
            raise StoreError(f"{self.url}: the store was made anew just now: try again") from None

    def _repeated(self, commands: Sequence[Command], source: str = "") -> list[Any]:
        """Replies to commands, sent until they are answered or the time is over. source: of a script that the server
        may not know.
        """
        with translated(self.url):
            give_up_at, pause = 0.0, FIRST_PAUSE_SECONDS
            while True:
                try:
                    return self._answered(commands)
                except NoScriptError:
                    commands = [("EVAL", source, *commands[0][2:])]
                except (RedisError, OSError) as error:
                    if str(error).startswith("MBFORMAT"):
                        raise _AnotherFormat from None
                    now = time.monotonic()
                    give_up_at = give_up_at or now + min(self.busy_seconds, LONGEST_BUSY_SECONDS)
                    if now >= give_up_at or self._closed or not may_pass(error, opening=not self._opened):
                        raise
                    time.sleep(min(pause, give_up_at - now))
                    pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def _answered(self, commands: Sequence[Command]) -> list[Any]:
        connection = self._connection()
        try:
            packed = connection.pack_commands([_spelled(command) for command in commands])
            connection.send_packed_command(packed, check_health=False)
            replies = [_reply(connection) for _ in commands]
        except BaseException:
            connection.disconnect()
            self._asked_time = (-math.inf, 0.0)
            self._drop_idle()  # they lead to the same server, which may be another soon
            raise
        if self._closed:
            connection.disconnect()
        else:
            self._idle.append((connection, time.monotonic()))
        for reply in replies:
            if isinstance(reply, ResponseError):
                raise reply
        return replies

    # Connections

    def _connection(self) -> Wire:
        """A connection that nobody else uses: the one that was used last, if it still stands."""
        if self._closed:
            raise StoreError(f"{self.url}: the store is closed")
        self._leave_parent()
        with suppress(IndexError):
            while True:
                connection, since = self._idle.pop()
                if time.monotonic() - since < IDLE_SECONDS or _stands(connection):
                    return connection
                connection.disconnect()
        return self.new_connection()

    def new_connection(self) -> Wire:
        """A connection of the caller's own."""
        return connected(self._pool)

    def _leave_parent(self) -> None:
        """In a forked child, whose connections and numbers of calls are its parent's: begin with none."""
        if os.getpid() != self._process:
            self._process, self._idle, self._local = os.getpid(), [], threading.local()

    def _drop_idle(self) -> None:
        with suppress(IndexError):
            while True:
                self._idle.pop()[0].disconnect()

    # Opening

    def _check_server(self) -> None:
        """Raise StoreError for a cluster and for a server that is too old."""
        try:
            said = text_of(self.ask("INFO", "server"))
        except StoreError as error:
            if "unknown command" not in str(error):
                raise
            self._flagged = False  # one that tells no version runs plain scripts
            return
        told = dict(line.split(":", 1) for line in said.splitlines() if ":" in line)
        version = told.get("redis_version", "0")
        if int(version.partition(".")[0]) < OLDEST:
            raise StoreError(f"{self.url}: Redis {version} is too old: version {OLDEST} or later is needed")
        if told.get("redis_mode") == "cluster":
            said = "the board of all sessions cannot be spread over several servers"
            raise StoreError(f"{self.url}: a Redis Cluster: {said}; use one server, with replicas or Sentinel")

    def _check_format(self, create: bool) -> None:
        """Raise StoreTooNew, StoreCorrupt for another program's key, StoreGone or StoreError where no store is."""
        held: bytes | None = self.ask("GET", self._format_key)
        if held is None and create:
            self._make()
            held = self.ask("GET", self._format_key)
        if held is None:
            if self._opened:
                raise StoreGone(f"{self.url}: the store was removed while it was open: start again")
            raise StoreError(f"{self.url}: no store there: check the address, or run a command that creates it")
        name, _, number = held.partition(b" ")
        if name != FORMAT_NAME or not number.isdigit():
            key = text_of(self._format_key)
            raise StoreCorrupt(f"{self.url}: {key!r} is another program's key: choose another ?prefix= or database")
        if int(number) > FORMAT:
            newer = f"the store has format {int(number)}, this program knows {FORMAT}"
            raise StoreTooNew(f"{self.url}: {newer}: upgrade minutebook")

    def _make(self) -> None:
        self._repeated([("SET", self._format_key, b"%s %d" % (FORMAT_NAME, FORMAT), "NX")])


class _AnotherFormat(Exception):
    """A script found the store gone, or of another format."""


def _spelled(command: Command) -> tuple[str | bytes, ...]:
    """The command without numbers: hiredis spells these itself, and crashes when Ctrl-C comes while it does (3.5.0)."""
    return tuple(value if isinstance(value, (str, bytes)) else repr(value) for value in command)


def _reply(connection: Wire) -> Any:
    """The next reply; an error of the server is one too, and the connection goes on."""
    try:
        return connection.read_response()
    except ResponseError as error:
        return error


def _stands(connection: Wire) -> bool:
    """Whether a connection that was long without use is still open: nothing is to be read from it, not its end."""
    try:
        return not connection.can_read()
    except (RedisError, OSError):
        return False
