"""POST /mcp: the same tools over MCP's streamable HTTP, for a token's own sessions. Each request stands for itself.

The address names the session (`/mcp?session=KEY`), as that is what every MCP client lets a person set. A session that
the token may not read is answered like one that is not there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import Response
from starlette.types import Receive, Scope, Send

from minutebook.errors import BadInput
from minutebook.pipeline.agenttools import answer, checked
from minutebook.pipeline.boxkeys import branch_as_seen
from minutebook.server import shapes
from minutebook.server.callers import Caller
from minutebook.server.refusals import Refusal, log_failure, refusal_of
from minutebook.server.routing import BODY, VISIT, Signed, refusals
from minutebook.server.strictjson import BadJson, loads

PATH = "/mcp"
BODY_MAX_BYTES = 262_144
"""Of a message; what it asks is short."""
NO_SESSION = "no session is named: put it into the address of this server, …/mcp?session=claude_code:3f2a8c51"
RESPONSES: dict[int | str, dict[str, Any]] = {
    **refusals(),
    200: {"description": "The answer, as JSON-RPC."},
    202: {"description": "A notification was taken."},
    400: {"description": "The request is no proper HTTP, JSON or JSON-RPC; of the latter, the body says so."},
    404: {"description": "There is no such method."},
    406: {"description": "The Accept header leaves out application/json."},
}
ASKED = {"requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}}


def is_served() -> bool:
    """Whether the extra is there."""
    return find_spec("mcp") is not None


def mcp(caller: Signed, asked: Annotated[shapes.McpQuestion, Query()]) -> Response:
    """MCP over streamable HTTP: recall, memory_search, memory_status and memory_view of one session.

    A tool's answer is text, also where it is an error.
    """
    from minutebook.server import mcp_tools  # noqa: F401 (loaded here, in a thread: the library takes a second)

    return Exchange(caller, asked.session)


class Exchange(Response):
    """The answer to one message; it is only made when it is sent, in the loop."""

    def __init__(self, caller: Caller, session: str) -> None:
        super().__init__()
        self.desk = Desk(caller, session)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from minutebook.server.mcp_tools import make_server

        check_message(scope[VISIT].header(b"content-type"), scope[BODY])
        desk, threads = self.desk, self.desk.caller.house.threads

        async def answering(name: str, arguments: object, client: str, meta: Mapping[str, Any]) -> tuple[str, bool]:
            return await threads.run(partial(desk.answered, name, arguments))

        server = make_server(answering)
        server.middleware.clear()  # the door has its own spans
        manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
        async with manager.run():
            await manager.handle_request(scope, receive, send)


def check_message(content_type: bytes, body: bytes) -> None:
    """Raise a Refusal for what is no JSON, or more than a message needs."""
    if content_type.partition(b";")[0].strip().lower() != b"application/json":
        raise Refusal(415, "unsupported", "send JSON, and say so: Content-Type: application/json")
    if len(body) > BODY_MAX_BYTES:
        raise Refusal(413, "too_large", f"the message is larger than {BODY_MAX_BYTES} bytes")
    try:
        loads(body)
    except BadJson as error:
        raise Refusal(400, "bad_json", str(error)) from None


@dataclass(frozen=True, slots=True)
class Desk:
    """Where one caller's calls about one session are answered."""

    caller: Caller
    session: str

    def answered(self, name: str, arguments: object) -> tuple[str, bool]:
        """The text of an answer, and whether it is an error; never raises."""
        try:
            return self._told(name, arguments), False
        except Exception as error:
            refusal = refusal_of(error)
            log_failure(self.caller.request_id, error, refusal)
            return f"{refusal.message} (request {self.caller.request_id})", True

    def _told(self, name: str, arguments: object) -> str:
        question = checked(name, arguments)
        if not self.session:
            raise BadInput(NO_SESSION)
        house = self.caller.house
        branch = self.caller.readable_session(self.session)
        seen = branch_as_seen(self.caller.user, branch)
        found = answer(house.store, branch, house.settings, question, seen=seen)
        self.caller.noted(self.session, found.count, status=200 if found.found else 404)
        return found.text
