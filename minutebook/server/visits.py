"""One request on its way through the door: its id, its headers, its body within limits, and its answer."""

import asyncio
import random
import re
import sys
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from minutebook.server.callers import Caller
from minutebook.server.house import House
from minutebook.server.limits import is_loopback
from minutebook.server.refusals import Refusal
from minutebook.server.tokens import id_named_by, token_of

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

HEADERS_MAX_BYTES = 32_768
TARGET_MAX_BYTES = 60_000
SMALL_BODY_BYTES = 131_072
"""So much is kept of anybody's body while their token is looked up."""
BODY_SECONDS = 60.0
"""A body that has not come by then is given up."""
LINGER_SECONDS = 2.0
LINGER_BYTES = 64 * 1024 * 1024
"""A client that sends a body which nobody wants is listened to for so long, so that it can read why."""

SECURITY_HEADERS = [
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
]
METHODS = ("GET", "POST", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS")
FORWARDED = (b"forwarded", b"x-forwarded-for", b"x-real-ip")
GIVE_A_TOKEN = "give a token that is valid: Authorization: Bearer mb_…"
ONCE = (b"host", b"authorization", b"content-length", b"content-type", b"transfer-encoding")

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_IDS = random.Random()  # of names, no secrets; a call to the system would leave the interpreter to the other threads
_LENGTH = re.compile(rb"[0-9]{1,15}")


class Gone(Exception):
    """The client left before it had said everything."""


@dataclass(slots=True)
class Visit:
    """A request. route: the path of its route. status: of the answer, 0 before it begins.

    unread: whether some of its body may still come.
    """

    house: House
    route: str
    scope: Scope
    receive: Receive
    send: Send
    id: str = ""
    began: float = field(default_factory=time.perf_counter)
    status: int = 0
    unread: bool = True
    _caller: Caller | None = None

    def __post_init__(self) -> None:
        given = self.header(b"x-request-id")
        self.id = given.decode() if _REQUEST_ID.fullmatch(given) else f"{_IDS.getrandbits(64):016x}"

    @property
    def method(self) -> str:
        """One that clients know; OTHER for their inventions, which are without number."""
        method: str = self.scope["method"]
        return method if method in METHODS else "OTHER"

    def header(self, name: bytes) -> bytes:
        """The first value of a header, b"" without one."""
        return next((value for each, value in self.scope["headers"] if each == name), b"")

    def is_local(self) -> bool:
        """Whether a program of this machine asks for itself: what a proxy forwards comes from elsewhere."""
        client = self.scope.get("client")
        return client is not None and is_loopback(client[0]) and not any(map(self.header, FORWARDED))

    def caller(self) -> Caller:
        """Who asks; raises a Refusal without a valid token, or when it asks too much. Reads the store."""
        if self._caller is None:
            scheme, _, text = self.header(b"authorization").decode("latin-1").partition(" ")
            is_bearer = scheme.lower() == "bearer"
            token = token_of(self.house.store, text.strip(), clock=self.house.clock) if is_bearer else None
            if token is None:
                if is_bearer:
                    self.house.check_store()
                self._note_stranger(id_named_by(text.strip()))
                raise Refusal(401, "unauthorized", GIVE_A_TOKEN, {"WWW-Authenticate": "Bearer"})
            wait = self.house.rate.wait_seconds(token.id)
            if wait:
                later = {"Retry-After": str(int(wait) + 1)}
                raise Refusal(429, "too_many", "too many requests for this token in a minute", later)
            self._caller = Caller(self.house, token, self.id, self.route)
        return self._caller

    def _note_stranger(self, token_id: str) -> None:
        address = (self.scope.get("client") or ("",))[0]
        if self.house.notes_stranger(address):
            self.house.audit.note(
                at=self.house.clock(),
                request_id=self.id,
                token=token_id,
                route=self.route,
                status=401,
                address=address or "unknown",
            )

    def has_large_body(self) -> bool:
        """Whether the body is one that is read only for a valid token; one of unknown length is."""
        length = self.header(b"content-length")
        return bool(self.header(b"transfer-encoding")) or (bool(length) and _number(length) > SMALL_BODY_BYTES)

    def check_headers(self) -> None:
        """Raise a Refusal where they are too large, one comes twice that must not, or two of them disagree."""
        if sum(len(name) + len(value) for name, value in self.scope["headers"]) > HEADERS_MAX_BYTES:
            raise Refusal(431, "too_large", f"the headers are larger than {HEADERS_MAX_BYTES} bytes")
        if len(self.scope["raw_path"]) + len(self.scope["query_string"]) > TARGET_MAX_BYTES:
            raise Refusal(414, "too_large", f"the address is longer than {TARGET_MAX_BYTES} bytes")
        names = [name for name, _ in self.scope["headers"]]
        if any(names.count(name) > 1 for name in ONCE):
            raise Refusal(400, "bad_request", "a header came twice")
        if b"transfer-encoding" in names and b"content-length" in names:
            raise Refusal(400, "bad_request", "a body has a length or comes in chunks, not both")
        if self.header(b"content-encoding") not in (b"", b"identity"):
            raise Refusal(415, "unsupported", "send the body as it is, without a content encoding")

    async def body(self, max_bytes: int) -> bytes:
        """The whole body; raises a Refusal as soon as it is too large or too late."""
        length = self.header(b"content-length")
        if length and _number(length) > max_bytes:
            raise too_large(max_bytes)
        try:
            async with asyncio.timeout(BODY_SECONDS):
                return await self._read(max_bytes)
        except TimeoutError:
            raise Refusal(408, "timeout", "the body did not come in time") from None

    async def _read(self, max_bytes: int) -> bytes:
        chunks, size = [], 0
        while self.unread:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise Gone
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
            self.unread = message.get("more_body", False)
            if size > max_bytes:
                raise too_large(max_bytes)
        return b"".join(chunks)

    async def answer(self, message: Message) -> None:
        """Send on what the application sends, with the headers of every answer."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [*message.get("headers", ()), *SECURITY_HEADERS, (b"x-request-id", self.id.encode())]
            message = {**message, "headers": headers}
        await self.send(message)

    async def refuse(self, refusal: Refusal) -> None:
        """Answer with an error; a body that was not read is left unread, and the connection ends."""
        body = refusal.body(self.id)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        headers += [(name.lower().encode(), value.encode()) for name, value in refusal.headers.items()]
        sending = self.unread and self._announces_body()
        if sending:
            headers.append((b"connection", b"close"))
        await self.answer({"type": "http.response.start", "status": refusal.status, "headers": headers})
        await self.answer({"type": "http.response.body", "body": body, "more_body": sending})
        if sending:
            await self._linger()
            await self.answer({"type": "http.response.body", "body": b""})

    def _announces_body(self) -> bool:
        return bool(self.header(b"transfer-encoding")) or self.header(b"content-length") not in (b"", b"0")

    async def _linger(self) -> None:
        left = LINGER_BYTES
        try:
            async with asyncio.timeout(LINGER_SECONDS):
                while left > 0 and self.unread:
                    message = await self.receive()
                    if message["type"] == "http.disconnect":
                        return
                    left -= len(message.get("body", b""))
                    self.unread = message.get("more_body", False)
        except TimeoutError:
            return


def _number(length: bytes) -> int:
    return int(length) if _LENGTH.fullmatch(length) else sys.maxsize


def too_large(max_bytes: int) -> Refusal:
    """The body is over the limit."""
    return Refusal(413, "too_large", f"the body is larger than {max_bytes} bytes; send fewer entries at once")
