"""`om mcp`."""

import os
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import click

from minutebook.cli.choosing import choose_session
from minutebook.cli.options import placed
from minutebook.cli.place import Place
from minutebook.errors import BadInput, MissingExtra
from minutebook.hosts.mcp_session import HOSTS, Caller, session_named
from minutebook.hosts.processes import ancestors
from minutebook.pipeline.sessions import Session, find_session, list_sessions
from minutebook.settings import Settings
from minutebook.settings_loading import load
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store

BUSY_SECONDS = 5.0


@click.command(short_help="recall and search as tools of an agent, over MCP")
@placed(choosing=False)
@click.option("--session", "key", metavar="KEY", help="Answer from this session, whatever the program says.")
@click.option("--host", type=click.Choice(HOSTS), help="Which agent starts it; else it goes by the client's name.")
def mcp(place: Place, key: str | None, host: str | None) -> None:
    """Serve recall, memory_search, memory_status and memory_view on stdin and stdout, for an agent to start.

    It answers from the session that Claude Code or Codex names, and from no other. For any other program, --session
    names one. It only reads.

    \b
    claude mcp add minutebook -- om mcp
    om mcp --session claude_code:3f2a8c51-77aa-4f3c-9d0e-5b6f1f0f7a10
    """
    try:
        from minutebook.server.mcp_stdio import Desk, run
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("minutebook"):
            raise
        raise MissingExtra("mcp", "om mcp") from error
    processes = ancestors()
    store_path = os.fspath(place.store_file) if place.store_file is not None else ""

    def keys(client: str, meta: Mapping[str, Any]) -> tuple[str, ...]:
        if key is not None:
            return (key,)
        caller = Caller(client, meta)
        return session_named(caller, os.environ, host=host or "", store_path=store_path, processes=processes)

    @cache
    def settings(project: str) -> Settings:
        folder = Path(project) if Path(project).is_absolute() else None
        return load(folder, place.flags).settings

    find = find_session if key is None else _named
    with suppress(KeyboardInterrupt):
        run(Desk(opened=lambda: _opened(place), keys=keys, settings=settings, find=find))


def _named(store: Store, name: str) -> Session | None:
    """A person's --session, as every command takes it."""
    return choose_session(list_sessions(store), name, Path.cwd())


def _opened(place: Place) -> Store | None:
    """The store, where there is one: this command makes none."""
    if not place.url:
        raise BadInput("--store: give a path, sqlite:///path or redis://host:6379/0")
    return open_store(place.url, busy_seconds=BUSY_SECONDS, create=False) if place.may_have_store() else None
