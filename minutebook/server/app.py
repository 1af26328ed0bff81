"""The whole application: the door, and behind it FastAPI with the routes."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from minutebook import __version__
from minutebook.errors import MinutebookError
from minutebook.server import reading, taking
from minutebook.server.door import REQUEST_ID, Door, log_failure
from minutebook.server.health import health_routes
from minutebook.server.house import House
from minutebook.server.refusals import Hidden, Refusal, invalid, refusal_of

ABOUT = "A team's box: laptops send what happened, workers remember it, and the memory comes back."
OF_STATUS = {404: "no_such_page", 405: "method_not_allowed"}
ERRORS = (HTTPException, RequestValidationError, Refusal, Hidden, MinutebookError, RecursionError, Exception)
FAULTS_NAMED = 5


def make_app(house: House) -> Door:
    """The ASGI application of a house."""
    app = routes_of(house)
    return Door(app, house, frozenset([*app.openapi()["paths"], "/openapi.json"]))


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
    for router in (reading.router, taking.router, health_routes(house)):
        app.include_router(router)
    for kind in ERRORS:
        app.add_exception_handler(kind, _answer_error)
    return app


async def _answer_error(request: Request, error: Exception) -> Response:
    refusal, request_id = _refusal_of(error), request.scope[REQUEST_ID]
    log_failure(request_id, error, refusal)
    body = refusal.body(request_id)
    return Response(body, refusal.status, {**refusal.headers}, media_type="application/json")


def _refusal_of(error: Exception) -> Refusal:
    if isinstance(error, RequestValidationError):
        return invalid("; ".join(map(_fault, error.errors()[:FAULTS_NAMED])))
    if isinstance(error, HTTPException):
        name = OF_STATUS.get(error.status_code, "bad_request")
        return Refusal(error.status_code, name, str(error.detail), {**(error.headers or {})})
    return refusal_of(error)


def _fault(fault: Mapping[str, Any]) -> str:
    """Where it is and what is wrong, never the value."""
    return f"{'.'.join(str(step) for step in fault['loc'])}: {fault['msg']}"
