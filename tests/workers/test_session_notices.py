"""From the fault to the sentence that the person in the agent reads: through the real console scripts."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minutebook.hosts.slots import read_told
from minutebook.settings import ModelChoice, Settings
from minutebook.store.kernel import Store
from minutebook.store.sqlite import SqliteStore
from minutebook.workers import models_cooldowns
from minutebook.workers.models_errors import Failure
from minutebook.workers.session_notices import notify_session

HOOK = str(Path(sys.executable).with_name("om-hook"))
OM = str(Path(sys.executable).with_name("om"))
PATIENCE_SECONDS = 60.0


class Agent:
    """One session of an agent: its transcript, and the hooks that it runs."""

    def __init__(self, folder: Path, session: str = "s1", **settings: object) -> None:
        self.session = session
        self.path = folder / f"{session}.jsonl"
        self.store = folder / "data" / "minutebook.sqlite"
        home = {"HOME": str(folder / "home"), "MINUTEBOOK_HOME": str(folder / "data"), "PATH": "/usr/bin:/bin"}
        self.environ = home | {f"MINUTEBOOK_{name.upper()}": str(value) for name, value in settings.items()}
        self.turns = 0

    def turn(self, words: int = 400) -> None:
        """One prompt and its answer, of about so many words."""
        self.turns += 1
        rows = [self._row(role, f"{role} {self.turns}: {'word ' * words}") for role in ("user", "assistant")]
        with self.path.open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)

    def _row(self, role: str, text: str) -> dict[str, Any]:
        content: object = text if role == "user" else [{"type": "text", "text": text}]
        return {
            "parentUuid": f"assistant-{self.turns - 1}" if role == "user" else f"user-{self.turns}",
            "uuid": f"{role}-{self.turns}",
            "isSidechain": False,
            "type": role,
            "message": {"role": role, "content": content, **({"id": f"m{self.turns}"} if role == "assistant" else {})},
            "timestamp": f"2026-01-01T10:{self.turns // 60:02}:{self.turns % 60:02}.000Z",
            "cwd": "/project",
            "sessionId": self.session,
            "version": "2.1.332",
        }

    def hook(self, event: str) -> str:
        """What the hook prints: a message for the person, or nothing."""
        payload = {"session_id": self.session, "transcript_path": str(self.path), "cwd": "/project"}
        done = subprocess.run(
            [HOOK, "claude-code", event], input=json.dumps(payload), env=self.environ, capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, "")
        return str(json.loads(done.stdout)["systemMessage"]) if done.stdout else ""

    def om(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([OM, *arguments], env=self.environ, capture_output=True, text=True)

    def slot(self) -> Path:
        return Path(f"{self.store}.slots") / f"claude_code.{self.session}"

    def end_worker(self) -> None:
        """The one that a hook started: its process id is in the lock."""
        try:
            pid = int(Path(f"{self.store}.lock").read_text())
            os.kill(pid, 15)
        except (OSError, ValueError):
            return
        wait_until(lambda: not Path(f"/proc/{pid}").exists() or not _runs(pid))


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def wait_until(true: Any) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not true():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.fixture
def agents(tmp_path: Path) -> Iterator[Any]:
    made: list[Agent] = []

    def make(session: str = "s1", **settings: object) -> Agent:
        made.append(Agent(tmp_path, session, **settings))
        return made[-1]

    yield make
    for agent in made:
        agent.end_worker()


def test_a_model_that_cannot_be_asked_is_said_in_the_agent_once(agents: Any) -> None:
    """A person without the program that `model` names hears of it at the next prompt, in every open session, once."""
    settings = {"model": "host:codex", "observe_after_tokens": 500, "retry_first_seconds": 1}
    one, other = agents("one", **settings), agents("other", **settings)
    for agent in (one, other):
        agent.turn()
        assert agent.hook("UserPromptSubmit") == ""
        agent.turn()
        agent.hook("Stop")
    for agent in (one, other):
        wait_until(agent.slot().exists)
        said = agent.hook("UserPromptSubmit")
        assert said.startswith("Minutebook: host/codex cannot be asked: the program `codex` is not installed")
        assert "start `codex` once and log in" in said
        agent.turn()
        agent.hook("Stop")
    store = SqliteStore(one.store, busy_seconds=5)
    try:
        failed = models_cooldowns.read(store, ModelChoice(provider="host", id="codex"))
        assert failed is not None
        wait_until(lambda: models_cooldowns.read(store, ModelChoice(provider="host", id="codex")).failures > 2)  # type: ignore[union-attr]
    finally:
        store.close()
    assert [agent.hook("UserPromptSubmit") for agent in (one, other)] == ["", ""]


def test_a_worker_that_does_not_come_is_said_by_the_hook_itself(agents: Any) -> None:
    """Another process holds the lock and listens to nothing."""
    from minutebook.hosts.bell import UNHEARD_RINGS
    from minutebook.hosts.starting import hold, open_lock

    agent = agents()
    agent.store.parent.mkdir(parents=True)
    lock = open_lock(str(agent.store))
    try:
        assert hold(lock)
        agent.turn()
        assert agent.hook("UserPromptSubmit") == ""
        (path,) = Path(f"{agent.store}.bells").iterdir()
        bell = json.loads(path.read_text())
        path.write_text(json.dumps({**bell, "since": bell["since"] - 300, "rings": UNHEARD_RINGS - 1}))
        said = agent.hook("UserPromptSubmit")
        assert "nobody takes in what is said here" in said and "om doctor" in said
        assert agent.hook("UserPromptSubmit") == ""
    finally:
        os.close(lock)
    assert agent.hook("UserPromptSubmit") == "", "and now one is started"
    wait_until(lambda: not list(Path(f"{agent.store}.bells").iterdir()))
    assert agent.om("status", "--store", str(agent.store)).stdout, "nothing was lost"


def test_nothing_recorded_for_turns_though_due_is_said(agents: Any) -> None:
    """The model's program answers with rubbish, which is tried again and again."""
    agent = agents(observe_after_tokens=300, notice_after_turns=2, model="host:claude", model_tries=1)
    program = agent.path.parent / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho rubbish\n")
    program.chmod(0o755)
    agent.environ["PATH"] = f"{program.parent}:/usr/bin:/bin"
    said = ""
    until = time.monotonic() + PATIENCE_SECONDS
    while not said and time.monotonic() < until:
        agent.turn()
        agent.hook("Stop")
        wait_until(lambda: not [*Path(f"{agent.store}.bells").iterdir()])
        said = agent.hook("UserPromptSubmit")
    assert "nothing was recorded of the last" in said and "host/claude" in said
    agent.turn()
    agent.hook("Stop")
    wait_until(lambda: not [*Path(f"{agent.store}.bells").iterdir()])
    assert agent.hook("UserPromptSubmit") == ""


# -- one session, without processes --------------------------------------------------------------------------------


def taken_in(store: Store, tmp_path: Path) -> str:
    from minutebook.hosts.delivering import deliver

    agent = Agent(tmp_path)
    agent.turn()
    return deliver(store, "claude_code", agent.path).session


def outage(store: Store, kind: str, settings: Settings) -> None:
    assert settings.model is not None
    models_cooldowns.note_failure(store, settings.model, Failure(kind, "…"), settings, rests=True, text="said")  # type: ignore[arg-type]


@pytest.mark.parametrize(("kind", "told"), [("auth", True), ("quota", True), ("rate", False), ("network", False)])
def test_what_mends_itself_is_not_told(store: Store, tmp_path: Path, kind: str, told: bool) -> None:
    key, beside = taken_in(store, tmp_path), str(tmp_path / "beside")
    settings = Settings(model=ModelChoice(provider="openai", id="x"))
    assert notify_session(store, beside, key, lambda branch: settings) == []
    outage(store, kind, settings)
    assert [notice.text for notice in notify_session(store, beside, key, lambda branch: settings)] == ["said"] * told
    assert read_told(beside, "claude_code", "s1") is not None


def test_a_session_whose_settings_name_another_model_is_not_concerned(store: Store, tmp_path: Path) -> None:
    key, beside = taken_in(store, tmp_path), str(tmp_path / "beside")
    assert notify_session(store, beside, key, lambda branch: Settings()) == []
    outage(store, "auth", Settings(model=ModelChoice(provider="openai", id="x")))
    assert notify_session(store, beside, key, lambda branch: Settings()) == []


def test_a_session_that_is_not_there_is_told_nothing(store: Store, tmp_path: Path) -> None:
    assert notify_session(store, str(tmp_path / "beside"), "claude_code:none", lambda branch: Settings()) == []
