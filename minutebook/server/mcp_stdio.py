"""The MCP server on stdin and stdout, for the agent of this machine: bound to one session, and it never ends its host.

The store is opened at a call and not before; whatever is wrong with it is the text of that call's answer.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Any

import anyio
from mcp.server.stdio import stdio_server

from minutebook.errors import MinutebookError, NotFound, StoreError
from minutebook.pipeline.agenttools import Question, answer, checked, nothing_yet
from minutebook.pipeline.following import branch_to_read
from minutebook.pipeline.sessions import Session, find_session
from minutebook.records import Branch
from minutebook.server.mcp_tools import make_server
from minutebook.settings import Settings
from minutebook.store.kernel import Store

NO_SESSION = (
    "No session is bound to this server: the program that started it does not say which one it is in. A person can "
    "bind one: `om mcp --session KEY` as the server's command; `om sessions` lists the keys."
)
BY_SETTINGS = ("memory_status", "memory_view")
"""What is searched and recalled does not hang on a settings file that may be wrong."""
NO_STORE = "No store yet: nothing was taken in on this machine. `om doctor` tells a person what to do."


@dataclass
class Desk:
    """Where calls are answered, one at a time.

    opened: opens the store; None while there is none. keys: the session that a call is about, of the client's name and
    what it sent beside the call. settings: of a project. find: the session of a key.
    """

    opened: Callable[[], Store | None]
    keys: Callable[[str, Mapping[str, Any]], Sequence[str]]
    settings: Callable[[str], Settings]
    find: Callable[[Store, str], Session | None] = find_session
    _store: Store | None = None
    _lock: Lock = field(default_factory=Lock)

    def answered(self, name: str, arguments: object, client: str, meta: Mapping[str, Any]) -> tuple[str, bool]:
        """The text of an answer, and whether it is an error; never raises."""
        with self._lock:
            try:
                return self._told(checked(name, arguments), self.keys(client, meta)), False
            except MinutebookError as error:
                if isinstance(error, StoreError):
                    self.close()  # the next call opens it anew
                return str(error), True
            except Exception as error:
                self.close()
                return f"unexpected {type(error).__name__}: this is a fault of Minutebook; your work goes on", True

    def _told(self, question: Question, keys: Sequence[str]) -> str:
        if not keys:
            raise NotFound(NO_SESSION)
        if self._store is None:
            self._store = self.opened()
        if self._store is None:
            return NO_STORE
        branch = branch_of(self._store, [self.find(self._store, key) for key in keys])
        if branch is None:
            return nothing_yet(keys[0])
        settings = self.settings(branch.project) if question.tool in BY_SETTINGS else Settings()
        return answer(self._store, branch, settings, question).text

    def close(self) -> None:
        """Close the store, if it is open."""
        store, self._store = self._store, None
        if store is not None:
            store.close()


def branch_of(store: Store, sessions: Iterable[Session | None]) -> Branch | None:
    """The branch on which the first of these sessions stands that has entries; None where none has."""
    for session in sessions:
        if session is not None and session.branch:
            return branch_to_read(store, session)
    return None


def run(desk: Desk) -> None:
    """Answer until stdin ends."""

    async def answering(name: str, arguments: object, client: str, meta: Mapping[str, Any]) -> tuple[str, bool]:
        return await anyio.to_thread.run_sync(partial(desk.answered, name, arguments, client, meta))

    async def serve() -> None:
        server = make_server(answering)
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    try:
        anyio.run(serve)
    finally:
        desk.close()
