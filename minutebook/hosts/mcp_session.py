"""Which session a host means when it calls a tool of our MCP server: by what that host says, and by nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from minutebook.hosts.processes import session_now

CLAUDE_CODE, CODEX = "claude_code", "codex"
CLIENTS = {"claude-code": CLAUDE_CODE, "codex-mcp-client": CODEX}
"""How the hosts name themselves when they connect."""
HOSTS = tuple(CLIENTS.values())
ID_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Caller:
    """client: the name that it gave itself. meta: what it sent beside the call (`_meta`)."""

    client: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)


def session_named(
    caller: Caller,
    environ: Mapping[str, str],
    *,
    host: str = "",
    store_path: str = "",
    processes: list[int] | None = None,
) -> tuple[str, ...]:
    """Keys of the session of this call, the first one that the store knows counts; none where the host names none.

    host: which one started the server, "" to go by the client's own name.
    A variable of Claude Code counts only for Claude Code: a program that it started inherits it, and is another one.
    Codex says it with each call, as one process holds several threads; a sub-agent's thread without entries of its own
    is answered from the session's.
    """
    host = host or CLIENTS.get(caller.client, "")
    if host == CODEX:
        return _codex(caller.meta)
    session = environ.get("CLAUDE_CODE_SESSION_ID", "")
    if host == CLAUDE_CODE and _is_id(session):
        return (f"{CLAUDE_CODE}:{session_now(store_path, CLAUDE_CODE, processes or [], session)}",)
    return ()


def _codex(meta: Mapping[str, Any]) -> tuple[str, ...]:
    thread, session = meta.get("threadId"), meta.get("sessionId")
    thread = thread if _is_id(thread) else session
    session = session if _is_id(session) else thread
    if not _is_id(thread):
        return ()
    main = f"{CODEX}:{session}"
    return (main,) if thread == session else (f"{main}/{thread}", main)


def _is_id(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= ID_CHARACTERS and value.isprintable()
