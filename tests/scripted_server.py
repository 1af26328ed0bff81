"""A model server for tests on 127.0.0.1: answers by role from a script, speaks two protocols, fails in every way.

    with ScriptedServer() as server:
        server.script("observer", Answer(calls=[("record_observations", {...})]), faults.overloaded(), "Done.")
        ...  # litellm.completion(model="openai/scripted", api_base=server.url, api_key="x", ...)
        server.requests[0].text

The role of a request is told by the tool that it offers, or by a line `Role: observer` in its system prompt. When a
role's script is used up its default answers: what `defaults` holds, else the ending that the tools offer
(nothing_to_record, no_safe_drops), else the text "Done.".
"""

import contextlib
import json
import socket
import socketserver
import struct
import sys
import threading
from collections import defaultdict, deque
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Self

import scripted_anthropic
import scripted_openai
from scripted_shapes import Answer, Asked, Broken, Fault, Item, Json, Page, Refused, Scripted

__all__ = ["Answer", "Asked", "Broken", "Fault", "Page", "Refused", "ScriptedServer"]

PROTOCOLS = {"/chat/completions": scripted_openai, "/messages": scripted_anthropic}
ENDINGS = ("nothing_to_record", "no_safe_drops")
BROKEN_OFF = Refused(status=500, message="The stream broke off.", kind="server_error")


class ScriptedServer:
    """Listens from the start; as a context manager it closes, and fails if a script failed.

    url: the base for both protocols. requests: what came, oldest first. defaults: per role, after its script.
    models: the ids that GET /models lists.
    """

    def __init__(self, models: Iterable[str] = ("scripted",)) -> None:
        self.models = list(models)
        self.requests: list[Asked] = []
        self.defaults: dict[str, Scripted] = {}
        self.closing = threading.Event()
        self._scripts: defaultdict[str, deque[Scripted]] = defaultdict(deque)
        self._lock = threading.Lock()
        self._http = _Http(("127.0.0.1", 0), type("Handler", (_Handler,), {"scripted": self}))
        self.failures = self._http.failures
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.close()
        if self.failures and kind is None:
            raise AssertionError(f"a script failed: {self.failures[0]!r}") from self.failures[0]

    def close(self) -> None:
        """Ends what hangs, cuts what is open, and waits for every handler."""
        self.closing.set()
        self._http.shutdown()
        self._http.cut_all()
        self._http.server_close()
        self._thread.join()

    def script(self, role: str, *items: Scripted) -> None:
        """Appends to the role's script. A text is an answer of that text; a function gets the request."""
        with self._lock:
            self._scripts[role].extend(items)

    def left(self, role: str) -> int:
        """How many items of the role's script were not used."""
        return len(self._scripts[role])

    def asked(self, role: str) -> list[Asked]:
        """The requests of one role, oldest first."""
        return [request for request in self.requests if request.role == role]

    def answer(self, path: str, headers: dict[str, str], body: Json) -> tuple[Asked, Answer | Fault]:
        """Keeps the request and takes the role's next item; a bad request is refused before, as a provider does."""
        protocol = next(module for suffix, module in PROTOCOLS.items() if path.endswith(suffix))
        with self._lock:
            asked = protocol.read(len(self.requests) + 1, path, headers, body)
            self.requests.append(asked)
            refused = refusal(asked)
            queue = self._scripts[asked.role]
            item = refused or (queue.popleft() if queue else self.defaults.get(asked.role, _ending))
        return asked, self._settled(asked, item)

    def _settled(self, asked: Asked, item: Scripted) -> Answer | Fault:
        try:
            chosen = item(asked) if callable(item) else item
        except Exception as failure:
            self.failures.append(failure)
            return Refused(status=500, message=f"the script failed: {failure!r}", kind="server_error")
        return Answer(text=chosen) if isinstance(chosen, str) else chosen


def _ending(asked: Asked) -> Item:
    offered = [name for name in ENDINGS if name in asked.tools]
    return Answer(calls=[(offered[0], {})]) if offered else Answer(text="Done.")


def refusal(asked: Asked) -> Refused | None:
    """What both real services refuse: no key, no message, a call without its result or the reverse."""
    key = asked.headers.get("x-api-key") or asked.headers.get("authorization", "").removeprefix("Bearer").strip()
    if not key:
        return Refused(status=401, message="No API key was given.", kind="authentication_error")
    if not asked.messages:
        return Refused(status=400, message="messages: at least one message is required")
    open_calls: set[str] = set()
    for turn in asked.messages:
        if turn.role == "tool" and turn.call_id not in open_calls:
            return Refused(status=400, message=f"the tool result {turn.call_id} answers no call of the message before")
        if turn.role != "tool" and open_calls:
            return Refused(status=400, message=f"these calls have no tool result: {', '.join(sorted(open_calls))}")
        open_calls = open_calls - {turn.call_id} if turn.role == "tool" else {call_id for call_id, _, _ in turn.calls}
    if open_calls:
        return Refused(status=400, message=f"these calls have no tool result: {', '.join(sorted(open_calls))}")
    return None


class _Http(ThreadingHTTPServer):
    """Knows its open connections, so that closing needs no client's help. It waits for its handlers."""

    daemon_threads = False

    def __init__(self, *given: Any) -> None:
        self._open: set[socket.socket] = set()
        self.failures: list[BaseException] = []
        super().__init__(*given)

    def server_bind(self) -> None:
        """Without the look-up of the host's name, which takes seconds on some machines."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self._open.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def cut_all(self) -> None:
        for connection in list(self._open):
            with contextlib.suppress(OSError):  # closed by the other side, or reset by the script
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves early is no news; anything else is a fault of the server or of the request's shape."""
        failure = sys.exception()
        if failure and not isinstance(failure, OSError):
            self.failures.append(failure)


class _Handler(BaseHTTPRequestHandler):
    scripted: ClassVar[ScriptedServer]
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: Any) -> None:
        """Nothing on stderr."""

    def do_GET(self) -> None:
        if not self.path.endswith("/models"):
            return self._page(Page(status=404, body=b'{"error": {"message": "no such path"}}'))
        listed = [{"id": name, "object": "model", "type": "model"} for name in self.scripted.models]
        return self._page(Page(body=json.dumps({"object": "list", "data": listed}).encode()))

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length)
        if len(body) < length:  # whoever asked was killed
            self.close_connection = True
            return None
        path = self.path.partition("?")[0]
        if not path.endswith(tuple(PROTOCOLS)):
            return self._page(Page(status=404, body=b'{"error": {"message": "no such path"}}'))
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked, reply = self.scripted.answer(path, headers, json.loads(body))
        return self._send(asked, reply)

    def _send(self, asked: Asked, reply: Answer | Fault) -> None:
        protocol = next(module for suffix, module in PROTOCOLS.items() if asked.path.endswith(suffix))
        if isinstance(reply, Page):
            self._page(reply)
        elif isinstance(reply, Refused):
            body = json.dumps(protocol.error(reply)).encode()
            self._page(Page(status=reply.status, body=body, headers=reply.headers))
        else:
            broken = reply if isinstance(reply, Broken) else None
            answer = reply.answer if isinstance(reply, Broken) else reply
            self.scripted.closing.wait(answer.delay)
            send = self._stream if asked.stream else self._whole
            send(protocol, asked, answer, broken)

    def _page(self, page: Page) -> None:
        self._headers(page.status, page.content_type, {**page.headers, "Content-Length": str(len(page.body))})
        self.wfile.write(page.body)

    def _headers(self, status: int, content_type: str, more: dict[str, str]) -> None:
        """One request a connection: a client's pool never holds a connection to a server that is gone."""
        self.send_response(status)
        for name, value in {"Content-Type": content_type, "Connection": "close", **more}.items():
            self.send_header(name, value)
        self.end_headers()

    def _whole(self, protocol: Any, asked: Asked, answer: Answer, broken: Broken | None) -> None:
        body = json.dumps(protocol.whole(asked, answer)).encode()
        if broken and broken.then == "error":
            return self._send(asked, BROKEN_OFF)
        if broken and broken.after == 0 and broken.then != "end":
            return self._break(broken)
        sent = body[: len(body) // 2] if broken else body
        announced = len(sent) if broken and broken.then == "end" else len(body)
        self._headers(200, "application/json", {"Content-Length": str(announced)})
        for at in range(0, len(sent), 64) if answer.gap else [0]:
            self.wfile.write(sent[at : at + 64] if answer.gap else sent)
            self.scripted.closing.wait(answer.gap)
        return self._break(broken) if broken else None

    def _stream(self, protocol: Any, asked: Asked, answer: Answer, broken: Broken | None) -> None:
        events = [*protocol.begin(asked, answer), *([] if broken else protocol.finish(asked, answer))]
        if broken and broken.after == 0 and broken.then in ("close", "reset", "hang"):
            return self._break(broken)
        if broken and broken.then == "error":
            events = [*events[: broken.after], protocol.error_event(BROKEN_OFF)]
        self._headers(200, "text/event-stream", {"Transfer-Encoding": "chunked"})
        for event in events[: broken.after] if broken and broken.then != "error" else events:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            self.scripted.closing.wait(answer.gap)
        if broken is None or broken.then in ("end", "error"):
            self.wfile.write(b"0\r\n\r\n")
            return None
        return self._break(broken)

    def _break(self, broken: Broken) -> None:
        """Leaves the connection in the way that was asked for; what was sent so far has been flushed."""
        self.close_connection = True
        if broken.then == "hang":
            self.scripted.closing.wait()
        if broken.then == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            socket.close(self.connection.detach())
