"""What hooks load. One that rings: this package's three small modules, and what is written in C. One that answers with
memory: nothing that is slow to import, and no way to a model or a queue."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hookkit import Agent, an_agent

from minutebook.hosts import bell, slotfile

FORBIDDEN = (
    "litellm",
    "huey",
    "redis",
    "pydantic",
    "rich",
    "click",
    "numpy",
    "tenacity",
    "asyncio",
    "http",
    "urllib.request",
    "subprocess",
    "logging",
    "minutebook.workers",
    "minutebook.cli",
    "tomllib",
)
RINGING = {
    "minutebook",
    "minutebook.hosts",
    "minutebook.hosts.barejson",
    "minutebook.hosts.bell",
    "minutebook.hosts.beside",
    "minutebook.hosts.hook",
    "_json",
    "binascii",
}
STARTING = {"minutebook.hosts.starting", "fcntl"}
SLOT = {"minutebook.hosts.slotfile", "fcntl"}
SCRIPT = "import sys; sys.argv[0] = 'om-hook'; from minutebook.hosts import hook; hook.LIMIT_SECONDS = 60; hook.main()"
"""However busy the machine is."""


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    with an_agent(tmp_path) as agent:
        yield agent


def loaded(agent: Agent, *words: str, script: str = SCRIPT, **payload: object) -> set[str]:
    """The modules that a hook loads after the interpreter has started, whatever it does in the end."""
    done = subprocess.run(
        [sys.executable, "-I", "-X", "importtime", "-c", script, *words],
        input=json.dumps(agent.payload(**payload)).encode(),
        env=agent.environment,
        capture_output=True,
        check=True,
    )
    assert not agent.log
    names = [line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines() if "import time:" in line]
    return set(names[names.index("site") + 1 :])


def test_a_hook_that_rings_loads_next_to_nothing(agent: Agent) -> None:
    with agent.listening():
        assert loaded(agent, "claude-code", "Stop") == RINGING
        assert loaded(agent, "codex", "PostToolUse") == RINGING
        assert loaded(agent, "claude-code", "UserPromptSubmit", prompt="go") == RINGING


def test_a_hook_that_prints_a_part_loads_hardly_more(agent: Agent) -> None:
    bell.write_handover(agent.store, "claude_code", agent.session, ["one", "two"])
    names = loaded(agent, "claude-code", "SessionStart", "--part", "2", source="compact")
    assert names == RINGING | {"minutebook.hosts.parts", "minutebook.hosts.claims"}


def test_a_start_without_memory_opens_no_store(agent: Agent) -> None:
    names = loaded(agent, "claude-code", "SessionStart", source="startup")
    assert names & {"json", "re", "sqlite3", "_sqlite3", "typing", "pathlib", "dataclasses"} == set()
    assert {name for name in names if name.startswith(("minutebook.store", "minutebook.pipeline"))} == set()


def test_a_hook_that_finds_something_in_the_slot_loads_a_lock(agent: Agent) -> None:
    slotfile.add(bell.slot_path(agent.store, "claude_code", agent.session), {"kind": "steer", "text": "x"})
    with agent.listening():
        assert loaded(agent, "claude-code", "PostToolBatch") == RINGING | SLOT


def test_a_hook_that_starts_a_worker_loads_a_lock(agent: Agent) -> None:
    assert loaded(agent, "claude-code", "Stop") == RINGING | STARTING


@pytest.mark.parametrize(
    ("host", "event", "source"),
    [
        ("claude-code", "PreCompact", None),
        ("claude-code", "SessionStart", "compact"),
        ("claude-code", "SessionStart", "resume"),
    ],
)
def test_a_hook_that_answers_loads_nothing_slow(agent: Agent, host: str, event: str, source: str | None) -> None:
    agent.say("hello")
    with agent.listening():
        names = loaded(agent, host, event, source=source)
    assert {"minutebook.pipeline.compaction", "minutebook.store.sqlite", "minutebook.hosts.delivering"} <= names
    assert {name for name in names if f"{name}.".startswith(tuple(f"{each}." for each in FORBIDDEN))} == set()
    others = {name for name in names if name.startswith(("minutebook.hosts.codex", "minutebook.hosts.pi"))}
    assert others == set()
    assert agent.is_taken_in()


def test_the_answering_path_reaches_no_more_than_it_may(tmp_path: Path) -> None:
    """Whatever of the pipeline and of a host's reader is loaded in advance."""
    script = "; ".join(
        f"import {name}"
        for name in (
            "minutebook.store.opening",
            "minutebook.store.sqlite",
            "minutebook.pipeline.intake",
            "minutebook.pipeline.compaction",
            "minutebook.hosts.claude_code.reader",
            "minutebook.hosts.codex.reader",
            "minutebook.hosts.answering",
        )
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; {script}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    names = set(done.stdout.split())
    assert "minutebook.pipeline.compaction" in names
    assert {name for name in names if f"{name}.".startswith(tuple(f"{each}." for each in FORBIDDEN))} == set()
