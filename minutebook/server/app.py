"""The whole application: the door, and behind it FastAPI with the routes."""

from collections.abc import Callable, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from minutebook.errors import MinutebookError
from minutebook.server import mcp_http, reading, shapes, taking
from minutebook.server.door import Door, Handler
from minutebook.server.health import add_health_routes
from minutebook.server.house import House
from minutebook.server.refusals import Hidden, Refusal, log_failure, refusal_of
from minutebook.server.routing import VISIT, Answer, Route, TakingRoute, refusals
from minutebook.version import __version__

ABOUT = "A team's box: laptops send what happened, workers remember it, and the memory comes back."
OF_STATUS = {404: "no_such_page", 405: "method_not_allowed"}
ERRORS = (HTTPException, Refusal, Hidden, MinutebookError, RecursionError, Exception)
RouteRow = tuple[str, Callable[..., Answer], type[BaseModel]]
TAKING: Sequence[RouteRow] = (
    ("/v1/sources", taking.push_sources, shapes.LengthsAnswer),
    ("/v1/memory", taking.push_memory, shapes.LengthsAnswer),
)
IN_TURN = {"/v1/sources": TakingRoute}
READING: Sequence[RouteRow] = (
    ("/v1/memory", reading.memory, shapes.EntriesAnswer),
    ("/v1/me", reading.me, shapes.MeAnswer),
    ("/v1/sources", reading.sources, shapes.EntriesAnswer),
    ("/v1/sessions", reading.sessions, shapes.SessionsAnswer),
    ("/v1/status", reading.status, shapes.StatusAnswer),
    ("/v1/view", reading.view, shapes.ViewAnswer),
    ("/v1/recall", reading.recall_record, shapes.RecallAnswer),
    ("/v1/search", reading.search_branch, shapes.SearchAnswer),
    ("/v1/notices", reading.notices, shapes.NoticesAnswer),
    ("/v1/compaction", reading.compaction, shapes.CompactionAnswer),
)


def make_app(house: House) -> Door:
    """The ASGI application of a house."""
    app = routes_of(house)
    return Door(app, house, frozenset([*app.openapi()["paths"], "/openapi.json"]), _handlers(app))


def _handlers(app: FastAPI) -> dict[tuple[str, str], Handler]:
    """What answers each method and path of ours: most of what the framework does on the way there is for nobody."""
    routes = [route for route in app.routes if isinstance(route, Route)]
    return {(method, route.path): route.get_route_handler() for route in routes for method in route.methods or ()}


def routes_of(house: House) -> FastAPI:
    """FastAPI with every route; without pages, which would load scripts from elsewhere."""
    app = FastAPI(
        title="Minutebook box",
        description=ABOUT,
        version=__version__,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False},  # the door has its own spans, which hold no contents
    )
    add_health_routes(app, house)
    _add_routes(app)
    for kind in ERRORS:
        app.add_exception_handler(kind, _answer_error)
    return app


def _add_routes(app: FastAPI) -> None:
    def add(method: str, path: str, *more: int, kind: type[Route] = Route, **about: Any) -> None:
        said = {"responses": refusals(*more), "tags": ["v1"], **about}
        app.router.add_api_route(path, methods=[method], route_class_override=kind, **said)

    for path, endpoint, answer in TAKING:
        kind = IN_TURN.get(path, Route)
        add("POST", path, 403, 409, 410, kind=kind, endpoint=endpoint, response_model=answer)
    add("POST", "/v1/lengths", endpoint=reading.many_lengths, response_model=shapes.ManyLengthsAnswer)
    for path, endpoint, answer in READING:
        add("GET", path, endpoint=endpoint, response_model=answer)
    if mcp_http.is_served():
        asked: dict[str, Any] = {"responses": mcp_http.RESPONSES, "openapi_extra": mcp_http.ASKED, "tags": ["mcp"]}
        add("POST", mcp_http.PATH, endpoint=mcp_http.mcp, response_model=None, **asked)


async def _answer_error(request: Request, error: Exception) -> Response:
    refusal, request_id = _refusal_of(error), request.scope[VISIT].id
    if refusal.status == 405:  # of the whole path; the framework knows one route of it
        there = request.app.openapi()["paths"].get(request.scope["path"], {"get": None})
        refusal.headers = {"Allow": ", ".join(sorted(map(str.upper, there)))}
    log_failure(request_id, error, refusal)
    body = refusal.body(request_id)
    return Response(body, refusal.status, {**refusal.headers}, media_type="application/json")


def _refusal_of(error: Exception) -> Refusal:
    if isinstance(error, HTTPException):
        name = OF_STATUS.get(error.status_code, "bad_request")
        return Refusal(error.status_code, name, str(error.detail), {**(error.headers or {})})
    return refusal_of(error)
