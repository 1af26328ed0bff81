"""Every route, as the OpenAPI description lists them: a new one cannot be forgotten."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from doors import Got, RunningDoor, laptop_session, some_entries, sources_body

WITHOUT_TOKEN = ("/healthz", "/readyz", "/metrics")
RECORD = "0123456789ab"


@dataclass(frozen=True)
class Route:
    """query: the names of its parameters that a value is needed for, and of those that are not."""

    method: str
    path: str
    query: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def reads_a_branch(self) -> bool:
        return "branch" in self.query


def routes_of(description: Mapping[str, Any]) -> Iterator[Route]:
    """All routes of an OpenAPI description that want a token."""
    for path, methods in description["paths"].items():
        for method, about in methods.items():
            if path not in WITHOUT_TOKEN:
                query = tuple(each["name"] for each in about.get("parameters", ()) if each["in"] == "query")
                yield Route(method.upper(), path, query)


def ask_about(door: RunningDoor, route: Route, token: str, key: str, **more: Any) -> Got:
    """A well-formed request to a route, about a branch or session of that key. more: other values of its query."""
    if route.method == "GET":
        values = {"branch": key, "id": RECORD, "q": "words of turn", **more}
        return door.get(route.path, token, **{name: values[name] for name in route.query if name in values})
    assert route.method == "POST", f"{route}: say how it is asked"
    if route.path == "/mcp":
        tool = str(more.get("tool", "memory_search"))
        return call_tool(door, token, key, tool, arguments_of(tool, str(more.get("q", "words of turn"))))
    return door.post(route.path, token, body_about(route.path, key))


def arguments_of(tool: str, words: str) -> dict[str, Any]:
    """What a tool of /mcp is called with."""
    given: dict[str, dict[str, Any]] = {
        "recall": {"id": RECORD},
        "memory_search": {"words": words},
        "memory_view": {"full": True},
    }
    return given.get(tool, {})


def call_tool(door: RunningDoor, token: str, key: str, tool: str, arguments: Any = None, **more: Any) -> Got:
    """A tool's call over MCP, as a request of its own. more: headers."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments or {}}}
    headers = {"Accept": "application/json, text/event-stream", **more}
    return door.ask("POST", "/mcp", token, body=call, headers=headers, session=key)


def body_about(path: str, key: str) -> Any:
    """The body of a route that takes one."""
    if path == "/v1/lengths":
        return {"branches": [key]}
    if path == "/v1/memory":
        return {"branch": key, "at": None, "before": "", "entries": []}
    assert path == "/v1/sources", f"{path}: say what its body is"
    host, _, name = key.partition(":")
    return sources_body(laptop_session(name, host=host), some_entries(1))
