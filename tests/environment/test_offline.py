"""No network and no key: everything that the base install does works where no socket can be opened."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from surroundings import talk

GUARDED = """
import socket, sys

def refuse(*arguments, **more):
    raise AssertionError("the network was touched")

real = socket.socket
class Guarded(real):
    def __init__(self, family=-1, *rest, **more):
        if family not in (socket.AF_UNIX,) and "fileno" not in more:
            refuse()
        super().__init__(family, *rest, **more)

socket.socket, socket.create_connection, socket.getaddrinfo = Guarded, refuse, refuse
for extra in ("litellm", "redis", "numpy", "httpx", "openai"):
    sys.modules[extra] = None
sys.argv[0] = "om"
from minutebook.cli import main
main()
"""
COMMANDS = (
    "ingest --wait {file}",
    "ingest --estimate {file}",
    "status",
    "view --full",
    "compact",
    "sessions",
    "jobs",
    "search port",
    "search --judge port",
    "note hi",
    "models",
    "settings",
    "doctor --call",
    "worker --until-idle",
)


def guarded(*arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    env = {name: value for name, value in os.environ.items() if name in ("HOME", "PYTHONPATH")}
    env["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # no other installation's
    return subprocess.run(
        [sys.executable, "-c", GUARDED, *arguments], capture_output=True, text=True, env=env, cwd=cwd, timeout=60
    )


def test_the_base_install_needs_no_network_and_no_extra(tmp_path: Path) -> None:
    file = talk(tmp_path / "s1.jsonl", 60)
    for command in COMMANDS:
        done = guarded(*command.format(file=file).split(), cwd=tmp_path)
        assert done.returncode == 0, (command, done.stderr)
        assert "network was touched" not in done.stderr + done.stdout
    id_ = guarded("view", "--full", cwd=tmp_path).stdout.partition("\n[")[2][:12]
    assert guarded("recall", id_, cwd=tmp_path).returncode == 0
    assert guarded("replay", str(file), cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("model", ["openai/gpt-5-mini", "anthropic/claude-haiku-4-5"])
def test_without_litellm_and_a_key_work_is_put_off_or_done_by_rules(tmp_path: Path, model: str) -> None:
    """As the setting without_provider says; doctor says what is missing."""
    file, chosen = talk(tmp_path / "s1.jsonl", 100), ("--set", f"model={model}")
    done = guarded("ingest", "--wait", *chosen, str(file), cwd=tmp_path)
    assert done.returncode == 1 and "Work is left that failed" in done.stderr
    assert "pip install 'minutebook[models]'" in guarded("jobs", cwd=tmp_path).stdout
    doctor = guarded("doctor", *chosen, cwd=tmp_path)
    assert doctor.returncode == 1 and "pip install 'minutebook[models]'" in doctor.stdout
    chosen = (*chosen, "--set", "without_provider=extractive", "--store", str(tmp_path / "other.sqlite"))
    done = guarded("ingest", "--wait", *chosen, str(file), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Recorded by         extractive" in guarded("status", *chosen, cwd=tmp_path).stdout
