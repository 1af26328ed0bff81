"""Workers think through the real programs: no hook runs, no session appears, and what they use is counted."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripted_server import Answer, ScriptedServer

from minutebook.settings import ModelChoice, Settings
from minutebook.store.sqlite import SqliteStore
from minutebook.workers.exchange import Message, Request
from minutebook.workers.models import ask_model
from tests.real.claude_lab import words
from tests.real.claude_machine import Machine, wait_until
from tests.real.codex_api import Asked, Reply, ScriptedResponses
from tests.real.codex_lab import CodexLab
from tests.real.programs import codex

RULE = "The build must run with make -j2, because the machine has two cores. " * 20
OBSERVED = "Builds run with make -j2."


def thought(sources: str) -> str:
    """What a model without tools answers an observer's request with."""
    label, time = re.findall(r"^\[(s\d+)\] .*(\d{4}-\d\d-\d\d \d\d:\d\d)", sources, re.MULTILINE)[-1]
    seen = {"content": OBSERVED, "timestamp": time, "relevance": "high", "sources": [label]}
    return json.dumps({"tool": "record_observations", "arguments": {"observations": [seen]}})


# -- Claude Code ---------------------------------------------------------------------------------------------------


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with ScriptedServer() as served:
        served.defaults["observer"] = lambda asked: Answer(text=thought(words(asked)))
        made = Machine(tmp_path, served, model="host:claude", observe_after_tokens=200)
        yield made
        made.stop()


def test_a_worker_that_a_hook_started_thinks_through_claude(machine: Machine) -> None:
    """The person's own session is observed through their own program, and nothing else of it is seen anywhere."""
    machine.install("--user")
    heard = also_heard(machine)
    (machine.folder / "CLAUDE.md").write_text("A canary of the person's own memory file.\n")
    session = machine.prompt(RULE).session
    wait_until(lambda: OBSERVED in machine.om("view", "--full", code=None))
    assert [line["key"] for line in machine.listed()] == [f"claude_code:{session}"]
    assert len([*machine.folder.glob("projects/*/*.jsonl")]) == 1
    told = {json.loads(line)["session_id"] for line in heard.read_text().splitlines() if line.strip()}
    assert told == {session}, "no hook ran for what the worker asked"
    asked = machine.model.asked("observer")[0]
    assert asked.body.get("tools", []) == [] and "canary" not in json.dumps(asked.body)
    (model,) = json.loads(machine.om("models", "--json"))["models"]
    assert (model["model"], model["how"], model["missing"]) == ("host/claude", "login", "")
    assert model["total"]["input_tokens"] > 0 and model["total"]["cost_usd"] > 0
    assert not machine.hook_log()


def also_heard(machine: Machine) -> Path:
    """A hook of the person's own at every event, which writes down what it is told."""
    heard, file = machine.root / "heard", machine.folder / "settings.json"
    settings = json.loads(file.read_text())
    for groups in settings["hooks"].values():
        groups.append({"hooks": [{"type": "command", "command": f"cat >> {heard}; echo >> {heard}"}]})
    file.write_text(json.dumps(settings))
    return heard


def test_doctor_says_what_to_do_for_a_person_who_is_not_logged_in(machine: Machine) -> None:
    assert "host/claude answered" in machine.om("doctor", "--call", code=None)
    machine.settings["ANTHROPIC_API_KEY"] = ""
    said = machine.om("doctor", "--call", code=None)
    assert "Not logged in" in said and "start `claude` once and log in" in said


def test_a_model_that_cannot_be_asked_is_said_in_the_real_agent_once(machine: Machine) -> None:
    """To the person, not to the model: it stands in the session's file as the hook's message, and in no request."""
    machine.settings["MINUTEBOOK_MODEL"] = "host:codex"  # which is not there
    machine.install("--user")
    session = machine.prompt(RULE).session
    wait_until(lambda: [*Path(f"{machine.store}.slots").glob("claude_code.*")])
    for text in ("And now?", "And then?"):
        machine.prompt(text, session=session)
        wait_until(lambda: not machine.bells())
    said = [row for row in machine.rows(session) if "host/codex cannot be asked" in json.dumps(row)]
    shown = [row for row in said if row["attachment"]["type"] == "hook_system_message"]
    assert len(shown) == 1, said
    assert not [asked for asked in machine.model.requests if "cannot be asked" in words(asked)]


# -- Codex ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[CodexLab]:
    with ScriptedResponses() as api:
        made = CodexLab(tmp_path, api)
        made.configure()
        yield made
        made.close()


def test_a_request_goes_through_codex_and_nothing_else_of_it_is_seen(
    lab: CodexLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With our hooks trusted, and a server of the person's own that would leave a mark."""
    lab.install()
    marked = lab.root / "marked"
    lab.append({("mcp_servers", "the person's"): {"command": "/bin/sh", "args": ["-c", f"touch {marked}; cat"]}})
    programs = lab.root / "bin"
    programs.mkdir()
    (programs / "codex").symlink_to(codex())
    for name, value in lab.environ(PATH=f"{programs}:/usr/bin:/bin").items():
        monkeypatch.setenv(name, value)
    lab.api.script.append(lambda asked: Reply(thought(asked.text)))
    choice = ModelChoice(provider="host", id="codex", thinking="high")
    store = SqliteStore(lab.store, busy_seconds=5)
    try:
        reply = ask_model(
            Request(
                role="observer",
                session="s",
                branch="b",
                choice=choice,
                system="You observe. You cannot call tools here",
                messages=(Message(role="user", text="[s1] user, 2026-01-01 10:00\nhello"),),
            ),
            store=store,
            settings=Settings(model=choice, model_tries=1),
        )
    finally:
        store.close()
    assert json.loads(reply.text)["tool"] == "record_observations" and reply.spent.input_tokens == 1_000
    (asked,) = lab.api.requests
    assert _names(asked) <= {"request_user_input", "apply_patch"}, "neither runs anything in a read-only sandbox"
    assert asked.body["reasoning"]["effort"] == "high"
    assert not marked.exists(), "no server was started"
    assert not list(lab.codex_home.glob("sessions/**/*.jsonl")), "no session file"
    assert not Path(f"{lab.store}.bells").exists() and not lab.hook_log(), "no bell"
    assert lab.om("sessions", "--json").strip() == "[]"


def _names(asked: Asked) -> set[str]:
    return {str(tool.get("name")) for tool in asked.body.get("tools", [])}
