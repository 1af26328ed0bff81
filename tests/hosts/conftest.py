"""Reading a few rows with a reader, always in two ways."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from bellkit import Clock
from hookkit import Agent, an_agent

from minutebook.hosts.bells import Bells
from minutebook.hosts.reading import Reading
from minutebook.settings import Settings
from minutebook.store.sqlite import SqliteStore


@pytest.fixture
def read_rows(tmp_path: Path) -> Callable[..., Reading]:
    """Write rows as a file and read it at once; reading it row by row must give the same."""

    def read(reader: ModuleType, rows: list[Any], name: str = "session.jsonl") -> Reading:
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        whole = reader.read(path)
        events: list[Any] = []
        piece, stop = None, 0
        for line in path.read_bytes().splitlines(keepends=True):
            stop += len(line)
            piece = reader.read(path, json.loads(json.dumps(piece.cursor)) if piece else None, stop=stop)
            events += piece.events
        if piece:
            assert (events, piece.cursor) == (whole.events, whole.cursor)
        return whole

    return read


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    """An agent with a session, a home and hooks of its own."""
    with an_agent(tmp_path) as agent:
        yield agent


@pytest.fixture
def environment(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINUTEBOOK_HOME", str(agent.home))
    agent.home.mkdir()


@pytest.fixture
def store(agent: Agent, environment: None) -> Iterator[SqliteStore]:
    with closing(SqliteStore(Path(agent.store))) as store:
        yield store


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def settings() -> dict[str, Any]:
    """project → its settings, or what is raised instead."""
    return {}


@pytest.fixture
def taking(agent: Agent, clock: Clock, settings: dict[str, Any]) -> Bells:
    """A worker's bells."""

    def settings_of(project: str, _host: str) -> Settings:
        found = settings.get(project, Settings())
        if isinstance(found, Exception):
            raise found
        assert isinstance(found, Settings)
        return found

    return Bells(agent.store, settings_of, clock=clock)
