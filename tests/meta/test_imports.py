"""The import contracts hold, and each of these deliberate violations is caught."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINT = Path(sys.executable).with_name("lint-imports")

VIOLATIONS = {
    "no-model-below": ("pipeline/compaction.py", "import huey\n", "A compaction cannot call a model"),
    "layers": ("store/codec.py", "import minutebook.pipeline.clocks\n", "Imports run one way"),
    "one-sqlite": ("pipeline/search.py", "import sqlite3\n", "sqlite3 only in its store file"),
    "one-litellm": ("workers/observer.py", "import litellm\n", "litellm only where models are asked"),
    "one-redis": ("pipeline/status.py", "import redis\n", "redis only in its store files"),
    "one-httpx": ("cli/status.py", "import httpx\n", "httpx only where the box is asked"),
    "one-web": ("cli/status.py", "import uvicorn\n", "The web framework only in the server"),
    "no-worker-in-the-server": (
        "server/__init__.py",
        "import minutebook.workers.roles\n",
        "A compaction cannot call a model",
    ),
    "no-worker-below": ("hosts/reading.py", "import minutebook.workers.roles\n", "A compaction cannot call a model"),
}


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(LINT), "--no-cache"],
        cwd=folder,
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(folder)},
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "minutebook", tmp_path / "minutebook", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_contracts_hold(copy: Path) -> None:
    done = lint(copy)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", VIOLATIONS)
def test_a_violation_is_caught(copy: Path, name: str) -> None:
    file, line, contract = VIOLATIONS[name]
    path = copy / "minutebook" / file
    path.write_text(path.read_text() + "\n" + line)
    done = lint(copy)
    assert done.returncode != 0
    broken = done.stdout.partition("Broken contracts")[2]
    assert contract in broken
