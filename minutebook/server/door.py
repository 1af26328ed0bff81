"""The ASGI application around all routes: names, tokens, limits, request ids, errors, measures."""

import logging
import time
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp

from minutebook.server.callers import Caller
from minutebook.server.house import House
from minutebook.server.limits import is_loopback
from minutebook.server.refusals import Refusal, refusal_of
from minutebook.server.tokens import token_of
from minutebook.server.tracing import span
from minutebook.server.visits import Gone, Message, Receive, Scope, Send, Visit

OPEN = ("/healthz", "/readyz", "/openapi.json")
METRICS = "/metrics"
FORWARDED = (b"forwarded", b"x-forwarded-for", b"x-real-ip")
CALLER = "minutebook.caller"
REQUEST_ID = "minutebook.request_id"
GONE = 499
"""Counted for a client that left before it had said everything."""
UNKNOWN_ROUTE = "(none)"
GIVE_A_TOKEN = "give a token that is valid: Authorization: Bearer mb_…"
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Door:
    """app: the routes. It finds the caller in the scope, and the whole body at its first `receive`."""

    app: ASGIApp
    house: House
    routes: frozenset[str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        visit, route = Visit(scope, receive, send), self._route(scope)
        with span(f"{scope['method']} {route}") as note, self.house.metrics.in_flight.track_inprogress():
            await self._answered(visit, route)
            note(route=route, status=visit.status, request_id=visit.id)

    async def _answered(self, visit: Visit, route: str) -> None:
        try:
            await self._enter(visit, route)
        except Gone:
            visit.status = GONE
        except Exception as error:
            await self._refuse(visit, error)
        finally:
            self.house.metrics.answered(route, visit.method, visit.status, time.perf_counter() - visit.began)

    async def _refuse(self, visit: Visit, error: Exception) -> None:
        if visit.status:  # the routes have answered it
            return
        refusal = refusal_of(error)
        log_failure(visit.id, error, refusal)
        await visit.refuse(refusal)

    async def _enter(self, visit: Visit, route: str) -> None:
        visit.check_headers()
        if not self.house.names.allows(visit.header(b"host").decode("latin-1")):
            raise Refusal(421, "misdirected", "the Host header names another server; serve_names lists more names")
        if not self._is_open(visit):
            visit.scope[CALLER] = await self._caller(visit, route)
        body = await visit.body(self.house.settings.serve_body_max_bytes)
        visit.scope[REQUEST_ID] = visit.id
        await self.app(visit.scope, _replay(body, visit.receive), visit.answer)

    def _is_open(self, visit: Visit) -> bool:
        """A proxy on this machine speaks for others: what it forwards is not local."""
        path = visit.scope["path"]
        if path != METRICS:
            return path in OPEN
        client = visit.scope.get("client")
        return client is not None and is_loopback(client[0]) and not any(visit.header(name) for name in FORWARDED)

    async def _caller(self, visit: Visit, route: str) -> Caller:
        scheme, _, text = visit.header(b"authorization").decode("latin-1").partition(" ")
        token = None
        if scheme.lower() == "bearer" and text:
            token = await run_in_threadpool(token_of, self.house.store, text.strip(), clock=self.house.clock)
        if token is None:
            raise Refusal(401, "unauthorized", GIVE_A_TOKEN, {"WWW-Authenticate": "Bearer"})
        wait = self.house.rate.wait_seconds(token.id)
        if wait:
            later = {"Retry-After": str(int(wait) + 1)}
            raise Refusal(429, "too_many", "too many requests for this token in a minute", later)
        return Caller(self.house, token, visit.id, route)

    def _route(self, scope: Scope) -> str:
        return scope["path"] if scope["path"] in self.routes else UNKNOWN_ROUTE


def log_failure(request_id: str, error: Exception, refusal: Refusal) -> None:
    """What went wrong in here, for who runs the box; a traceback where nobody expected it."""
    if refusal.status >= 500:
        logger.error("request %s: %s", request_id, error, exc_info=error if refusal.status == 500 else None)


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body that was read, then whatever comes after it."""
    whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return whole.pop() if whole else await receive()

    return next_message
