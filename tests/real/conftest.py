"""Tests that drive the real programs: collected by `make test-hosts` alone (MINUTEBOOK_HOSTS)."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripted_server import ScriptedServer

from tests.real.codex_api import ScriptedResponses
from tests.real.codex_lab import CodexLab
from tests.real.pi_lab import PiLab

collect_ignore_glob = [] if os.environ.get("MINUTEBOOK_HOSTS") else ["test_*.py"]


@pytest.fixture
def pi_lab(tmp_path: Path) -> Iterator[PiLab]:
    """Pi with our extension installed; no process is left when the test is over."""
    with ScriptedServer() as server:
        lab = PiLab(tmp_path, server)
        lab.install()
        yield lab
        lab.stop_workers()
        assert lab.processes() == []


@pytest.fixture
def codex_api() -> Iterator[ScriptedResponses]:
    """The model of Codex, scripted."""
    with ScriptedResponses() as scripted:
        yield scripted


@pytest.fixture
def codex_lab(tmp_path: Path, codex_api: ScriptedResponses) -> Iterator[CodexLab]:
    """Codex in a home of its own, with nothing of ours in it yet; no worker is left when the test is over."""
    lab = CodexLab(tmp_path, codex_api)
    yield lab
    lab.close()
