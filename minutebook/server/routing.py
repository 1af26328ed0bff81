"""How routes are written: a caller that is known, JSON that is read strictly, answers that any text fits into."""

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import Depends, Query, Request, Security
from fastapi.responses import Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer

from minutebook.server.callers import Caller
from minutebook.server.door import CALLER
from minutebook.server.refusals import Refusal
from minutebook.server.shapes import KEY_CHARACTERS, PAGE_MAX, POSITION_MAX, ErrorAnswer
from minutebook.server.strictjson import BadJson, loads
from minutebook.store import codec

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
    415: "The body has a content encoding.",
    414: "The address is too long.",
    421: "The Host header names another server.",
    422: "Something in the request is of a wrong type, or outside of its limits.",
    431: "The headers are too large.",
    429: "More than serve_requests_per_minute; Retry-After says when to go on.",
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


class _StrictRequest(Request):
    async def json(self) -> Any:
        try:
            return loads(await self.body())
        except BadJson as error:
            raise Refusal(400, "bad_json", str(error)) from None


class StrictRoute(APIRoute):
    """A route whose body is read by strictjson."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handler(_StrictRequest(request.scope, request.receive))

        return strict


_bearer = HTTPBearer(auto_error=False, description="A token that `om token create` made.")


async def _signed(request: Request, given: Annotated[Any, Security(_bearer)]) -> Caller:
    """The door has looked at the token; `given` is for the description."""
    caller: Caller = request.scope[CALLER]
    return caller


Signed = Annotated[Caller, Depends(_signed)]
BranchKey = Annotated[str, Query(min_length=1, max_length=KEY_CHARACTERS, description="A branch's key.")]
After = Annotated[int, Query(ge=0, le=POSITION_MAX, description="How many entries to pass over.")]
Limit = Annotated[int, Query(ge=1, le=PAGE_MAX)]
