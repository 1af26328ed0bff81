"""The ASGI application around all routes: names, limits, request ids, errors, measures. Nothing gets past it."""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.types import ASGIApp

from minutebook.server.house import House
from minutebook.server.refusals import Refusal, log_failure, refusal_of
from minutebook.server.routing import BODY, VISIT
from minutebook.server.tracing import span
from minutebook.server.visits import Gone, Message, Receive, Scope, Send, Visit

Handler = Callable[[Request], Awaitable[ASGIApp]]
GONE = 499
"""Counted for a client that left before it had said everything."""
UNKNOWN_ROUTE = "(none)"


@dataclass(frozen=True, slots=True)
class Door:
    """app: the routes; it finds the visit in the scope, and the whole body beside it. routes: the paths of all.

    handlers: by method and path, what answers at once; the rest, and what nobody answers, is the app's.
    """

    app: ASGIApp
    house: House
    routes: frozenset[str]
    handlers: Mapping[tuple[str, str], Handler]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        route = scope["path"] if scope["path"] in self.routes else UNKNOWN_ROUTE
        visit = Visit(self.house, route, scope, receive, send)
        with span(f"{visit.method} {route}") as note, self.house.metrics.in_flight.track_inprogress():
            await self._answered(visit)
            note(route=route, status=visit.status, request_id=visit.id)

    async def _answered(self, visit: Visit) -> None:
        try:
            await self._enter(visit)
        except Gone:
            visit.status = GONE
        except Exception as error:
            await self._refuse(visit, error)
        finally:
            seconds = time.perf_counter() - visit.began
            self.house.metrics.answered(visit.route, visit.method, visit.status, seconds)

    async def _enter(self, visit: Visit) -> None:
        visit.check_headers()
        if not self.house.names.allows(visit.header(b"host").decode("latin-1")):
            raise Refusal(421, "misdirected", "the Host header names another server; serve_names lists more names")
        if visit.has_large_body():
            await self.house.threads.run(visit.caller)
        body = await visit.body(self.house.settings.serve_body_max_bytes)
        visit.scope.update({VISIT: visit, BODY: body})
        handler = self.handlers.get((visit.method, visit.route))
        answer = self.app if handler is None else await handler(Request(visit.scope))
        await answer(visit.scope, _replay(body, visit.receive), visit.answer)

    async def _refuse(self, visit: Visit, error: Exception) -> None:
        if visit.status:  # the routes have answered it
            return
        refusal = refusal_of(error)
        log_failure(visit.id, error, refusal)
        await visit.refuse(refusal)


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body that was read, then whatever comes after it."""
    whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return whole.pop() if whole else await receive()

    return next_message
