"""The Responses API, as far as Codex uses it: a scripted server on 127.0.0.1."""

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Self

COMPACTION_PROMPT = "CONTEXT CHECKPOINT COMPACTION"


@dataclass(frozen=True, slots=True)
class Call:
    """A tool that the model calls; namespace: of an MCP server's tool."""

    name: str
    arguments: dict[str, Any]
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model says: a text, calls, or both. tokens: what it claims to have read, which decides on compaction."""

    text: str = ""
    calls: Sequence[Call] = ()
    tokens: int = 1_000


@dataclass(frozen=True, slots=True)
class Asked:
    """One request. said: role (or item type) and text of each of its items, in order."""

    number: int
    body: dict[str, Any]
    said: list[tuple[str, str]] = field(default_factory=list)

    @property
    def compacts(self) -> bool:
        """Whether it is the request for a summary."""
        return any(COMPACTION_PROMPT in text for _, text in self.said[-2:])

    def of(self, role: str) -> list[str]:
        """The texts of one role."""
        return [text for each, text in self.said if each == role]

    @property
    def text(self) -> str:
        """All of it, to count in."""
        return "\n".join(text for _, text in self.said)


Scripted = Reply | Callable[[Asked], Reply]
"""An answer, or what makes one of the request."""


class ScriptedResponses:
    """Answers from `script`, then with "Done."; a compaction with `summary`. requests: what came, oldest first."""

    def __init__(self) -> None:
        self.script: deque[Scripted] = deque()
        self.summary = "The summary that Codex's own model wrote."
        self.requests: list[Asked] = []
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"scripted": self}))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def turns(self) -> list[Asked]:
        """The requests that ask for no summary."""
        return [asked for asked in self.requests if not asked.compacts]

    def answer(self, body: dict[str, Any]) -> tuple[int, Reply]:
        """The number of this request, and what it is answered with."""
        with self._lock:
            asked = Asked(
                len(self.requests) + 1, body, [said for item in body.get("input", []) for said in _said(item)]
            )
            self.requests.append(asked)
            if asked.compacts:
                return asked.number, Reply(self.summary)
            item = self.script.popleft() if self.script else Reply("Done.")
            return asked.number, item if isinstance(item, Reply) else item(asked)


def _said(item: dict[str, Any]) -> Iterator[tuple[str, str]]:
    kind, content = item.get("type", "message"), item.get("content")
    if kind == "message":
        for part in content if isinstance(content, list) else [{"text": content}]:
            yield str(item.get("role")), str(part.get("text") or "")
    elif kind.endswith("_output"):
        output = item.get("output")
        yield kind, output if isinstance(output, str) else json.dumps(output)
    else:
        yield kind, json.dumps(item)


def _items(number: int, reply: Reply) -> Iterator[dict[str, Any]]:
    if reply.text:
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        message = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed"}
        yield {**message, "content": content}
    for at, call in enumerate(reply.calls):
        yield {
            "type": "function_call",
            "id": f"fc_{number}_{at}",
            "call_id": f"call_{number}_{at}",
            "name": call.name,
            "arguments": json.dumps(call.arguments),
            "status": "completed",
            **({"namespace": call.namespace} if call.namespace else {}),
        }


def _events(number: int, reply: Reply) -> Iterator[dict[str, Any]]:
    head = {"id": f"resp_{number:05}", "object": "response"}
    yield {"type": "response.created", "response": {**head, "status": "in_progress", "output": []}}
    items = list(_items(number, reply))
    for index, item in enumerate(items):
        if item["type"] == "message":
            begun = {**item, "content": [], "status": "in_progress"}
            at = {"item_id": item["id"], "output_index": index, "content_index": 0}
            yield {"type": "response.output_item.added", "output_index": index, "item": begun}
            yield {"type": "response.output_text.delta", **at, "delta": reply.text}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    usage = {
        "input_tokens": reply.tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 50,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": reply.tokens + 50,
    }
    yield {"type": "response.completed", "response": {**head, "status": "completed", "output": items, "usage": usage}}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    scripted: ClassVar[ScriptedResponses]

    def log_message(self, format: str, *args: object) -> None:
        return

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
        if not self.path.partition("?")[0].endswith("/responses"):
            self.send_error(404)
            return
        number, reply = self.scripted.answer(body)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for at, event in enumerate(_events(number, reply)):
            line = json.dumps({**event, "sequence_number": at})
            self.wfile.write(f"event: {event['type']}\ndata: {line}\n\n".encode())
