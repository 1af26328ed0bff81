"""A real door: uvicorn on a free port of loopback, in a thread of the test process; and what laptops send to it."""

import json
import re
import socket
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

from builders import reply, say

from minutebook.pipeline.rows import branch_row, session_row, source_row
from minutebook.pipeline.sessions import Session
from minutebook.records import Branch, SourceEntry
from minutebook.server.house import opened_house
from minutebook.server.running import listening_socket, make_server
from minutebook.server.tokens import create_token
from minutebook.settings import Settings
from minutebook.store.kernel import Store

ORDERS = "github.com/acme/orders"
BILLS = "github.com/acme/bills"


@dataclass(frozen=True)
class Got:
    """An answer."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def data(self) -> Any:
        return json.loads(self.content)

    @property
    def error(self) -> str:
        """The word of an error, or ""."""
        return str(self.data.get("error", ""))


@dataclass
class RunningDoor:
    """Answers until it is left. audit: the file of the audit log."""

    store: Store
    audit: Path
    settings: Settings = field(default_factory=Settings)

    def __enter__(self) -> Self:
        self.listener = listening_socket("127.0.0.1", 0)
        self.port = int(self.listener.getsockname()[1])
        self._ending = ExitStack()
        self.house = self._ending.enter_context(opened_house(self.store, self.settings))
        self.server = make_server(self.house)
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.listener]}, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.server.should_exit = True
        self.thread.join(30)
        assert not self.thread.is_alive(), "the door does not stop"
        self._ending.close()

    def token(self, user: str = "alice", *projects: str, days: int | None = None) -> str:
        """A new token's text."""
        return create_token(self.store, user, projects, days=days)[1]

    def ask(
        self,
        method: str,
        path: str,
        token: str = "",
        *,
        body: Any = None,
        raw: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        **query: Any,
    ) -> Got:
        """One request on a connection of its own. body: as JSON; raw: as it is."""
        sent = {"Authorization": f"Bearer {token}"} if token else {}
        content = raw if body is None else json.dumps(body).encode()
        if content is not None:
            sent["Content-Type"] = "application/json"
        target = f"{path}?{urlencode(query, errors='surrogatepass')}" if query else path
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            connection.request(method, target, content, {**sent, **(headers or {})})
            answer = connection.getresponse()
            return Got(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())

    def get(self, path: str, token: str = "", **query: Any) -> Got:
        return self.ask("GET", path, token, **query)

    def post(self, path: str, token: str, body: Any) -> Got:
        return self.ask("POST", path, token, body=body)

    def say(self, sent: bytes, *, answers: int = 1) -> bytes:
        """Bytes as they are on a connection, and what comes back: so many whole answers, or all until it ends."""
        with closing(socket.create_connection(("127.0.0.1", self.port), timeout=30)) as connection:
            connection.sendall(sent)
            return received(connection, answers)


def received(connection: socket.socket, answers: int = 1) -> bytes:
    """So many answers, or what comes until the other side closes."""
    found = b""
    while _whole_answers(found) < answers:
        try:
            chunk = connection.recv(65536)
        except ConnectionError:
            break
        if not chunk:
            break
        found += chunk
    return found


def _whole_answers(found: bytes) -> int:
    """How many answers are there with their bodies; those of this server say how long they are."""
    head, ended, rest = found.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head.lower())
    if not ended or length is None or len(rest) < int(length[1]):
        return 0
    return 1 + _whole_answers(rest[int(length[1]) :])


def status_of(answer: bytes) -> int:
    """The status of an answer's first line; 0 for none."""
    words = answer.split(b" ", 2)
    return int(words[1]) if len(words) > 1 and words[0].startswith(b"HTTP/") else 0


# -- what laptops send ---------------------------------------------------------------------------------------------


def laptop_session(name: str = "s1", project: str = ORDERS, host: str = "claude_code", **more: Any) -> Session:
    """A session as a laptop has it, on its main branch."""
    key = f"{host}:{name}"
    return Session(key=key, host=host, session=name, project=project, lineage=key, branch=key, branches=[key], **more)


def main_branch(session: Session) -> Branch:
    """The session's main branch."""
    return Branch(
        key=session.key, host=session.host, session=session.session, lineage=session.key, project=session.project
    )


def some_entries(count: int, start: int = 0, words: str = "words of turn") -> list[SourceEntry]:
    """Prompts and answers e0, e1 …"""
    return [(reply if at % 2 else say)(f"{words} {at}", id=f"e{at}") for at in range(start, start + count)]


def sources_body(session: Session, entries: Sequence[SourceEntry], at: int = 0, before: str = "") -> dict[str, Any]:
    """The body of POST /v1/sources for the session's main branch."""
    branch = main_branch(session)
    rows = [source_row(branch.key, at + number, entry) for number, entry in enumerate(entries)]
    return {"session": session_row(session), "branch": branch_row(branch), "at": at, "before": before, "entries": rows}


def push(door: RunningDoor, token: str, session: Session, entries: Sequence[SourceEntry]) -> str:
    """Send a session's first entries; its key as its user sees it."""
    got = door.post("/v1/sources", token, sources_body(session, entries))
    assert got.status == 200, got.content
    return session.key
