"""Reading a few rows with a reader, always in two ways."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hookkit import Agent, an_agent

from minutebook.hosts.reading import Reading


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
