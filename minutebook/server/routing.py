"""How a route runs: in one thread, the token first, then what was asked, then the work.

FastAPI finds the route and writes its description; what was asked is read here, so that a body which cannot be used is
no secret's way around the token, and one request costs one change of threads.
"""

import time
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Annotated, Any, get_origin, get_type_hints
from urllib.parse import parse_qsl

from fastapi import Depends, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ValidationError

from minutebook.errors import StoreBusy
from minutebook.server.callers import Caller
from minutebook.server.house import House
from minutebook.server.refusals import Refusal, invalid
from minutebook.server.shapes import ErrorAnswer, NoQuestion
from minutebook.server.strictjson import BadJson, loads
from minutebook.server.visits import Visit
from minutebook.store import codec

VISIT = "minutebook.visit"
BODY = "minutebook.body"
FIELDS_MAX = 20
LINE_SECONDS = 9.0
"""So long a request waits for those before it: with the store's own 5 s, less than a laptop's 15 for an answer."""
FAULTS_NAMED = 5

_REASONS = {
    400: "The request is no proper HTTP or JSON.",
    401: "No token, or one that is unknown, expired or revoked.",
    403: "The token is not for the project that the request names.",
    404: "Unknown, another's, of another project, or purged: nobody is told which.",
    405: "There is such a path, not with this method.",
    408: "The body did not come in time.",
    409: "The box holds other entries at this place.",
    410: "The session was purged, and is not taken in again.",
    413: "The body is over serve_body_max_bytes.",
    414: "The address is too long.",
    415: "The body is no JSON, or has a content encoding.",
    421: "The Host header names another server.",
    422: "Something in the request is of a wrong type, or outside of its limits.",
    429: "More than serve_requests_per_minute; Retry-After says when to go on.",
    431: "The headers are too large.",
    503: "The store does not answer, is busy or full; Retry-After says when to try again.",
}
_ALWAYS = (400, 401, 404, 405, 408, 413, 414, 415, 421, 422, 429, 431, 503)


def refusals(*more: int) -> dict[int | str, dict[str, Any]]:
    """The errors that a route's description lists."""
    return {status: {"model": ErrorAnswer, "description": _REASONS[status]} for status in sorted({*_ALWAYS, *more})}


class Answer(Response):
    """Compact JSON in ASCII: lone surrogates and control characters are written out."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return codec.to_json(content).encode()


class Route(APIRoute):
    """A route whose function takes a caller, and, as `asked`, a pydantic model: of the address (Query), or the body."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        endpoint, (model, in_body) = self.endpoint, _asked_by(self.endpoint)

        def run(visit: Visit, body: bytes) -> Response:
            caller = visit.caller()
            values = _body_of(visit, body) if in_body else _query_of(visit)
            question = _checked(model, values)
            answer: Response = endpoint(caller) if model is NoQuestion else endpoint(caller, question)
            return answer

        async def handle(request: Request) -> Response:
            visit: Visit = request.scope[VISIT]
            return await self.at_desk(visit.house, partial(run, visit, request.scope[BODY]))

        return handle

    async def at_desk(self, house: House, work: Callable[[], Response]) -> Response:
        """Have it done where requests of this kind are."""
        return await house.threads.run(work)


class TakingRoute(Route):
    """One that takes in sources. It waits in line for that, not for ever: another process may hold the store."""

    async def at_desk(self, house: House, work: Callable[[], Response]) -> Response:
        give_up_at = time.monotonic() + LINE_SECONDS

        def in_turn() -> Response:
            if time.monotonic() > give_up_at:
                raise StoreBusy("others were taken in, or waited for the store, all the time; try again")
            return work()

        return await house.takers.run(in_turn)


def _asked_by(endpoint: Callable[..., Any]) -> tuple[type[BaseModel], bool]:
    """The model of what is asked, and whether it is the body."""
    hint = get_type_hints(endpoint, include_extras=True).get("asked", NoQuestion)
    in_address = get_origin(hint) is Annotated
    return (hint.__origin__ if in_address else hint), not in_address and hint is not NoQuestion


def _checked(model: type[BaseModel], values: Any) -> BaseModel:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)[:FAULTS_NAMED]
        raise invalid("; ".join(map(_fault, faults))) from None


def _body_of(visit: Visit, body: bytes) -> Any:
    kind = visit.header(b"content-type").partition(b";")[0].strip().lower()
    if kind != b"application/json":
        raise Refusal(415, "unsupported", "send JSON, and say so: Content-Type: application/json")
    try:
        return loads(body)
    except BadJson as error:
        raise Refusal(400, "bad_json", str(error)) from None


def _query_of(visit: Visit) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            visit.scope["query_string"].decode("ascii"), keep_blank_values=True, max_num_fields=FIELDS_MAX
        )
    except ValueError:  # more fields than any route has, or bytes that no address has
        raise invalid("the address cannot be read") from None
    values = dict(pairs)
    if len(values) < len(pairs):
        raise invalid("a name stands twice in the address")
    return values


def _fault(fault: Mapping[str, Any]) -> str:
    """Where it is and what is wrong, never the value."""
    return f"{'.'.join(str(step) for step in fault['loc']) or 'body'}: {fault['msg']}"


_bearer = HTTPBearer(auto_error=False, description="A token that `om token create` made.")
Signed = Annotated[Caller, Depends(_bearer)]
"""Who asks. For FastAPI, which describes it and never fills it in, a bearer token."""
