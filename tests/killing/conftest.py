"""Warm processes for all tests of this folder."""

import os
from collections.abc import Iterator
from importlib.util import find_spec

import pytest
from killing.family import MODELS, PRELOADED, Nursery
from killing.homes import Files, Home, OnServer
from killing.plans import DONE, summary
from scripted_server import ScriptedServer

STORES = os.environ.get("MINUTEBOOK_KILL_STORES", "sqlite redis").split()
FIRST_DATABASE = 8_000
"""Of the server of a test process; other tests have those before."""


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


@pytest.fixture(params=STORES)
def home(request: pytest.FixtureRequest) -> Home:
    """Where the stores of a test are."""
    if request.param == "sqlite":
        return Files()
    pytest.importorskip("redis")
    return OnServer(request.getfixturevalue("redis_server").url.rpartition("/")[0], first=FIRST_DATABASE)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server
