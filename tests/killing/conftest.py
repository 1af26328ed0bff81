"""Warm processes for all tests of this folder."""

import os
from collections.abc import Iterator
from importlib.util import find_spec

import pytest
from killing.family import MODELS, PRELOADED, Nursery
from killing.plans import DONE, summary
from scripted_server import ScriptedServer


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in summary(DONE):
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    with Nursery(tmp_path_factory.mktemp("nursery")) as nursery:
        yield nursery


@pytest.fixture(scope="session")
def model_nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    """With litellm, an extra that takes seconds to import: its tests skip without it, but not in CI (CI is set)."""
    if find_spec("litellm") is None and not os.environ.get("CI"):
        pytest.skip("no litellm: pip install 'minutebook[models]'")
    with Nursery(tmp_path_factory.mktemp("models"), [*PRELOADED, *MODELS]) as nursery:
        yield nursery


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server
