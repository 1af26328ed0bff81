"""Where a Redis store is: its URL, taken apart.

redis://[[user]:password@]host[:port][/database]     rediss:// with TLS     unix:///path.sock?db=0
redis+sentinel://[[user]:password@]host:port,host:port/service[/database]   rediss+sentinel://
Options after "?": see OPTIONS.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, cast
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from redis.backoff import NoBackoff
from redis.connection import Connection, ConnectionPool, SSLConnection, UnixDomainSocketConnection
from redis.retry import Retry
from redis.sentinel import Sentinel, SentinelConnectionPool

from minutebook.errors import BadInput

SCHEMES = ("redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel")
PASSWORD_VARIABLE = "MINUTEBOOK_REDIS_PASSWORD"
DEFAULT_PREFIX = "mb"
PORT, SENTINEL_PORT = 6379, 26379
TLS_OPTIONS = ("ssl_ca_certs", "ssl_cert_reqs", "ssl_certfile", "ssl_keyfile")
SECRET_OPTIONS = ("sentinel_password",)
OPTIONS = ("db", "prefix", "sentinel_username", *SECRET_OPTIONS, *TLS_OPTIONS)
IN_A_PASSWORD = "in a password, write '/' as %2F, '?' as %3F, '#' as %23 and '@' as %40"
NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
MAX_CONNECTIONS = 2**31
_Sentinel: Any = Sentinel
_SentinelPool: Any = SentinelConnectionPool


class Wire(Protocol):
    """One connection of redis-py, whose own methods have no types."""

    def connect(self) -> None: ...
    def disconnect(self) -> None: ...
    def pack_commands(self, commands: Any) -> Any: ...
    def send_packed_command(self, command: Any, check_health: bool = True) -> None: ...
    def read_response(self) -> Any: ...
    def can_read(self, timeout: float = 0) -> bool: ...


def connected(pool: ConnectionPool) -> Wire:
    """A new connection that the pool does not count: its count never goes down when a server is away."""
    wire = cast(Wire, pool.connection_class(**pool.connection_kwargs))
    wire.connect()
    return wire


@dataclass(frozen=True, slots=True)
class Address:
    """A URL in parts. url: without passwords, for messages. prefix: with its colon. hosts: of Sentinels, or of one
    server; empty where path names a socket. service: the name under which Sentinels know the server.
    """

    url: str
    prefix: str
    database: int
    hosts: tuple[tuple[str, int], ...] = ()
    path: str = ""
    service: str = ""
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: Mapping[str, str] | None = None
    sentinel: Mapping[str, str] = field(default_factory=dict, repr=False)

    def pool(self, timeout_seconds: float) -> ConnectionPool:
        """Makes connections to it that never retry by themselves, with that timeout for each step."""
        common: dict[str, Any] = {
            "db": self.database,
            "username": self.username,
            "password": self.password,
            "max_connections": MAX_CONNECTIONS,
            **_steps(timeout_seconds),
        }
        if self.path:
            return ConnectionPool(connection_class=UnixDomainSocketConnection, path=self.path, **common)
        common |= {"socket_connect_timeout": timeout_seconds, "socket_keepalive": True}
        if self.service:
            return self._watched_pool(timeout_seconds, common)
        common |= {"host": self.hosts[0][0], "port": self.hosts[0][1], **(self.tls or {})}
        return ConnectionPool(connection_class=Connection if self.tls is None else SSLConnection, **common)

    def _watched_pool(self, timeout_seconds: float, common: dict[str, Any]) -> ConnectionPool:
        """Connections to the server that the Sentinels name when they are made."""
        tls: dict[str, Any] = {} if self.tls is None else {"ssl": True, **self.tls}
        steps = {**_steps(timeout_seconds), "socket_connect_timeout": timeout_seconds}
        sentinels = _Sentinel(list(self.hosts), sentinel_kwargs={**steps, **tls, **self.sentinel})
        return cast(ConnectionPool, _SentinelPool(self.service, sentinels, **common, **tls))


def _steps(timeout_seconds: float) -> dict[str, Any]:
    return {"protocol": 2, "retry": Retry(NoBackoff(), 0), "socket_timeout": timeout_seconds}


def without_passwords(url: str) -> str:
    """A URL as it may be shown."""
    bare = re.sub(r"//([^/@:]*)(:.*)?@", lambda found: f"//{found[1]}@" if found[1] else "//", url)
    return re.sub(rf"([?&])({'|'.join(SECRET_OPTIONS)})=[^&]*&?", r"\1", bare).rstrip("?&")


def address_of(url: str) -> Address:
    """The parts of a URL; BadInput, without its passwords, when it is none of a Redis store."""
    shown = without_passwords(url)
    try:
        return _address(urlsplit(url), shown)
    except ValueError as error:
        raise BadInput(f"store {shown!r}: {error}") from None


def _address(parts: SplitResult, shown: str) -> Address:
    if "@" in (parts.query + parts.fragment if parts.scheme == "unix" else parts.path + parts.query + parts.fragment):
        raise ValueError(f"'@' behind the host: {IN_A_PASSWORD}")
    options = _options(parts.query)
    userinfo, _, location = parts.netloc.rpartition("@")
    username, _, password = userinfo.partition(":")
    common: dict[str, Any] = {
        "url": shown,
        "prefix": _prefix(options),
        "username": unquote(username) or None,
        "password": unquote(password) or os.environ.get(PASSWORD_VARIABLE) or None,
        "tls": _tls(parts.scheme, options),
    }
    if parts.scheme == "unix":
        if not parts.path or location:
            raise ValueError("a socket is unix:///path.sock?db=0")
        return Address(path=unquote(parts.path), database=_database(options.get("db", "")), **common)
    names = [unquote(name) for name in parts.path.split("/") if name]
    if parts.scheme.endswith("+sentinel"):
        if not names or len(names) > 2:
            raise ValueError(f"use {parts.scheme}://host:port,host:port/service/database")
        sentinel = {key.removeprefix("sentinel_"): value for key, value in options.items() if "sentinel_" in key}
        hosts = tuple(_host(each, SENTINEL_PORT) for each in location.split(","))
        database = _database(options.get("db", "".join(names[1:])))
        return Address(hosts=hosts, service=names[0], database=database, sentinel=sentinel, **common)
    if len(names) > 1:
        raise ValueError(f"use {parts.scheme}://host:port/database")
    return Address(hosts=(_host(location, PORT),), database=_database(options.get("db", "".join(names))), **common)


def _options(query: str) -> dict[str, str]:
    options = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query)))
    for name in options:
        if name not in OPTIONS:
            raise ValueError(f"unknown option {name!r}; known: {', '.join(OPTIONS)}")
    return options


def _prefix(options: Mapping[str, str]) -> str:
    """Without a colon inside, so that no store's keys lie among another's."""
    name = options.get("prefix", DEFAULT_PREFIX).removesuffix(":")
    if not NAME.fullmatch(name):
        raise ValueError(f"prefix {name!r}: use 1 to 64 letters, digits, '.', '_' or '-'")
    return f"{name}:"


def _tls(scheme: str, options: Mapping[str, str]) -> dict[str, str] | None:
    given = {name: value for name, value in options.items() if name in TLS_OPTIONS}
    if scheme.startswith("rediss"):
        return given
    if given:
        raise ValueError(f"option {next(iter(given))!r} is for rediss://")
    return None


def _database(text: str) -> int:
    if text and not (text.isascii() and text.isdigit()):
        raise ValueError(f"database {text!r} is no number")
    return int(text or 0)


def _host(text: str, port: int) -> tuple[str, int]:
    parts = urlsplit(f"//{text}")
    try:
        number = parts.port
    except ValueError:  # whose message may be a part of a password
        raise ValueError(f"the port is no number: {IN_A_PASSWORD}") from None
    if not parts.hostname:
        raise ValueError("no host")
    return parts.hostname, number or port
