"""One method for each question to the box; the only import of httpx, and where its errors become ours.

Every question may be asked again: what was done already is done once. So a box that is busy or away for a moment is
asked again after a pause. An answer is read whole and checked before anything of it is used.
"""

import json
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt, stop_when_event_set

from minutebook.box import wire
from minutebook.box.access import Access
from minutebook.errors import BadSetting, BoxDiverged, BoxFailed, BoxRefused, BoxUnreachable, MissingExtra
from minutebook.pipeline.rows import Lengths
from minutebook.records import MemoryEntry, SourceEntry
from minutebook.store import codec

T = TypeVar("T")
CONNECT_SECONDS = 5.0
SILENCE_SECONDS = 15.0
ANSWER_SECONDS = 120.0
"""The longest time for a whole answer, however it trickles."""
ANSWER_MAX_BYTES = 48_000_000
TRIES = 4
PAUSE_FIRST_SECONDS = 0.25
PAUSE_MAX_SECONDS = 20.0
"""Also of what the box asks for in Retry-After: after it, whoever asked has other things to look after."""
BUSY = (429, 503)
AWAY = (502, 504)
"""Said by a proxy before the box."""
SAID_CHARACTERS = 300
NEW_TOKEN = (
    "ask who runs the box for a new one (`om token create`), put it into box.token or MINUTEBOOK_BOX_TOKEN, and start"
    " `om sync` again"
)


class Leaving(Exception):
    """Somebody wants this process to end, and the request in hand was the last one."""


class _TooLarge(BoxFailed):
    """An answer above the limit: fewer entries are asked for."""


class _Again(Exception):
    """Worth another try. failure: what is raised after the last one. seconds: what the box asked to wait."""

    def __init__(self, failure: BoxFailed, seconds: float = 0.0) -> None:
        self.failure = failure
        self.seconds = seconds


class BoxClient:
    """The box, as one user's token sees it. Usable from one thread at a time.

    stopping: set by whoever wants to leave; the request in hand is finished then (or given up), and the
    next question is Leaving.
    silence_seconds: the longest pause within an answer.
    Every method raises BoxFailed (BoxUnreachable, BoxRefused, BoxDiverged); nothing is half-taken then. Raises
    MissingExtra.
    """

    def __init__(
        self,
        access: Access,
        *,
        stopping: threading.Event | None = None,
        tries: int = TRIES,
        silence_seconds: float = SILENCE_SECONDS,
    ) -> None:
        try:
            import httpx
        except ImportError:
            raise MissingExtra("box", "a team box") from None
        self._httpx = httpx
        self.url = access.url
        self._token = access.token
        self._stopping = stopping or threading.Event()
        self._tries = tries
        self._asking = False
        headers = {"Authorization": f"Bearer {access.token}", "Accept-Encoding": "identity", "User-Agent": "minutebook"}
        try:
            _ = urlsplit(access.url).port  # one that is out of range is found by nobody else
            self._http = httpx.Client(
                base_url=httpx.URL(access.url),
                headers=headers,
                timeout=httpx.Timeout(silence_seconds, connect=min(silence_seconds, CONNECT_SECONDS)),
                follow_redirects=False,
            )
        except (httpx.InvalidURL, ValueError) as error:
            raise BadSetting(f"box_url = {access.url!r} is no URL that can be asked: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def give_up(self) -> None:
        """Raise Leaving out of the request in hand, if there is one: for a signal handler of the thread that asks."""
        if self._asking:
            raise Leaving

    # -- questions ---------------------------------------------------------------------------------------------

    def me(self) -> wire.Me:
        """Whose token this is, and for which projects."""
        return self._ask("GET", "/v1/me", wire.me)

    def lengths(self, keys: Sequence[str]) -> dict[str, Lengths | None]:
        """How much the box has of each branch; None where it has none, or none for this token."""
        read = partial(wire.lengths_of_many, keys=keys)
        return self._ask("POST", "/v1/lengths", read, body={"branches": list(keys)})

    def send_sources(
        self, session: Mapping[str, Any], branch: Mapping[str, Any], at: int, before: str, rows: Sequence[Any]
    ) -> Lengths:
        """Source rows that begin at position `at` of the branch's own stream, after the entry of id `before`."""
        body = {"session": session, "branch": branch, "at": at, "before": before, "entries": rows}
        return self._ask("POST", "/v1/sources", wire.lengths, body=body)

    def send_memory(
        self, branch: str, at: int | None, before: str, rows: Sequence[Any], marks: Mapping[str, int] | None = None
    ) -> Lengths:
        """Memory rows: at index `at` of the branch's stream, or (None) offered for the box to place.

        marks: coverages as of the last of them, which may have moved without an entry.
        """
        body = {"branch": branch, "at": at, "before": before, "entries": rows, "marks": dict(marks or {})}
        return self._ask("POST", "/v1/memory", wire.lengths, body=body)

    def memory(self, branch: str, after: int, limit: int) -> tuple[list[MemoryEntry], Lengths]:
        """Memory entries from index `after` on, at most `limit`, and the lengths as of then."""
        return self._page("/v1/memory", branch, after, limit, wire.memory_page)

    def sources(self, branch: str, after: int, limit: int) -> tuple[list[SourceEntry], Lengths]:
        """Source entries from position `after` of the branch's own stream on, likewise."""
        return self._page("/v1/sources", branch, after, limit, wire.sources_page)

    def sessions(self, after: str, limit: int) -> wire.Sessions:
        """Sessions that changed after a cursor ("" for all), with their branches; the next cursor."""
        return self._ask("GET", "/v1/sessions", wire.sessions, params={"after": after, "limit": limit})

    def why_not_made(self, branch: str) -> str:
        """Why memory that is due on the box is not being made there; "" when it is, or nothing is due."""
        return self._ask("GET", "/v1/status", wire.why_not_made, params={"branch": branch})

    def _page(self, path: str, branch: str, after: int, limit: int, read: Callable[..., T]) -> T:
        """Fewer and fewer at once while the answer is too large."""
        while True:
            params: dict[str, str | int] = {"branch": branch, "after": after, "limit": limit}
            checked = partial(read, branch=branch, after=after, limit=limit)
            try:
                return self._ask("GET", path, checked, params=params)
            except _TooLarge:
                if limit == 1:
                    raise
                limit = max(1, limit // 8)

    # -- one request -------------------------------------------------------------------------------------------

    def _ask(
        self,
        method: str,
        path: str,
        read: Callable[[Mapping[str, Any]], T],
        *,
        params: Mapping[str, str | int] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> T:
        """The answer to one question, read by `read`."""
        if self._stopping.is_set():
            raise Leaving
        content = None if body is None else codec.to_json(body).encode()
        retrying = Retrying(
            stop=stop_after_attempt(self._tries) | stop_when_event_set(self._stopping),
            retry=retry_if_exception_type(_Again),
            wait=_pause,
            sleep=self._wait,
            reraise=True,
        )
        try:
            answer: Answer = retrying(self._once, method, path, content, params)
        except _Again as again:
            raise again.failure from again.__cause__
        if not 200 <= answer.status < 300:
            raise self._failure(answer)
        try:
            return read(answer.parsed())
        except wire.Rubbish as rubbish:
            raise BoxFailed(f"{self.url}: {path} answered with {rubbish}", status=answer.status) from rubbish

    def _wait(self, seconds: float) -> None:
        self._stopping.wait(seconds)

    def _once(self, method: str, path: str, content: bytes | None, params: Mapping[str, str | int] | None) -> "Answer":
        headers = {} if content is None else {"Content-Type": "application/json"}
        self._asking = True
        try:
            with self._http.stream(method, path, params=params, content=content, headers=headers) as response:
                answer = Answer(response.status_code, self._bounded(response, path))
                asked = response.headers.get("Retry-After", "")
        except self._httpx.TransportError as error:
            failure = BoxUnreachable(f"{self.url}: does not answer: {self._said(str(error) or type(error).__name__)}")
            raise _Again(failure) from error
        except (self._httpx.HTTPError, self._httpx.StreamError, self._httpx.InvalidURL) as error:
            raise BoxFailed(f"{self.url}: {path} could not be read: {self._said(str(error))}") from error
        finally:
            self._asking = False
        if answer.status in BUSY or answer.status in AWAY:
            raise _Again(self._failure(answer), float(asked) if asked.isascii() and asked.isdigit() else 0.0)
        return answer

    def _bounded(self, response: Any, path: str) -> bytes:
        """The body as it came; nobody asked for a compressed one, which could grow without end."""
        deadline, found = time.monotonic() + ANSWER_SECONDS, bytearray()
        for chunk in response.iter_raw():
            found += chunk
            if len(found) > ANSWER_MAX_BYTES:
                raise _TooLarge(f"{self.url}: {path} answered with more than {ANSWER_MAX_BYTES:,} bytes")
            if time.monotonic() > deadline:
                raise _Again(BoxUnreachable(f"{self.url}: {path} took longer than {ANSWER_SECONDS:.0f} s to answer"))
        return bytes(found)

    def _failure(self, answer: "Answer") -> BoxFailed:
        """What an answer that is no success means."""
        said, status = self._said(answer.message()), answer.status
        if status == 401:  # what the door says is for people who ask it by hand
            return BoxRefused(f"{self.url}: the token is not accepted: {NEW_TOKEN}", status=status)
        if status == 403:
            return BoxRefused(f"{self.url}: the token is not accepted: {said}", status=status)
        if status == 409:
            return BoxDiverged(f"{self.url}: {said}", status=status)
        if status in BUSY or status in AWAY:
            return BoxUnreachable(f"{self.url}: is busy or away ({status}): {said}", status=status)
        if 300 <= status < 400:
            return BoxFailed(f"{self.url}: redirects elsewhere ({status}); set box_url to where it is", status=status)
        return BoxFailed(f"{self.url}: {status}: {said}", status=status)

    def _said(self, text: str) -> str:
        """A foreign text on one line, short, and without the token."""
        line = " ".join(text.replace(self._token, "…").split())
        return line if len(line) <= SAID_CHARACTERS else line[:SAID_CHARACTERS] + "…"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came, whole."""

    status: int
    content: bytes

    def parsed(self) -> Mapping[str, Any]:
        """The JSON object in it; raises wire.Rubbish."""
        try:
            value = json.loads(self.content)
        except (ValueError, RecursionError) as error:
            raise wire.Rubbish("something that is no JSON") from error
        if not isinstance(value, dict):
            raise wire.Rubbish("something that is no JSON object")
        return value

    def message(self) -> str:
        """What it says about itself."""
        try:
            said = self.parsed().get("message")
        except wire.Rubbish:
            said = None
        return said if isinstance(said, str) and said else "no reason was given"


def _pause(state: RetryCallState) -> float:
    """As long as the box asked for, or twice as long each time; never at the same moment as everybody else."""
    outcome = state.outcome.exception() if state.outcome else None
    asked = outcome.seconds if isinstance(outcome, _Again) else 0.0
    doubled = PAUSE_FIRST_SECONDS * 2.0 ** (state.attempt_number - 1)
    return min(PAUSE_MAX_SECONDS, max(asked, doubled)) * random.uniform(1.0, 1.5)
