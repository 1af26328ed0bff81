"""Real Codex: forks, undone turns, sub-agents, commands, and a Codex that does not trust our hooks or finds none."""

import json
from pathlib import Path

import pytest

from minutebook.hosts.beside import slot_path
from minutebook.hosts.codex import wiring
from minutebook.hosts.slotfile import add
from minutebook.pipeline.quoting import OPENING
from tests.real.codex_api import Asked, Call, Reply, ScriptedResponses
from tests.real.codex_lab import AppServer, CodexLab, app_server, shell, wait_until


@pytest.fixture
def api(codex_api: ScriptedResponses) -> ScriptedResponses:
    return codex_api


@pytest.fixture
def lab(codex_lab: CodexLab) -> CodexLab:
    codex_lab.configure()
    codex_lab.install()
    return codex_lab


def told(server: AppServer, kind: str) -> list[str]:
    """What hooks showed the person."""
    runs = [each["params"]["run"] for each in server.told if each.get("method") == "hook/completed"]
    return [entry["text"] for run in runs for entry in run["entries"] if entry["kind"] == kind]


def blocked(server: AppServer) -> list[str]:
    """What the person read in place of a turn."""
    return told(server, "feedback")


def test_commands_are_answered_and_ask_no_model(lab: CodexLab, api: ScriptedResponses):
    with app_server(lab) as server:
        thread = server.start()
        server.turn(thread, "Never touch old.py.")
        asked = len(api.requests)
        server.turn(thread, "om:status")
        (status,) = blocked(server)
        server.turn(thread, "om:view full")
        (view,) = blocked(server)
        server.turn(thread, "/om:recall nothing")
        (usage,) = blocked(server)
        assert len(api.requests) == asked
        server.turn(thread, "om: is that a command?")
    assert f"codex:{thread}" in status and "1 prompt" in status
    assert "## Observations" in view
    assert usage.startswith("Usage: om:recall ID")
    assert api.requests[-1].of("user")[-1] == "om: is that a command?"
    assert "om:status" not in api.requests[-1].text
    assert lab.exec("/om:status").code == 0
    assert len(api.requests) == asked + 1


def test_what_workers_left_is_told_once(lab: CodexLab, api: ScriptedResponses):
    with app_server(lab) as server:
        thread = server.start()
        server.turn(thread, "Hello.")
        path = slot_path(str(lab.store), "codex", thread)
        add(path, {"kind": "notice", "id": "n", "text": "Minutebook: the model cannot be asked."})
        server.turn(thread, "Go on.")
        assert told(server, "warning") == ["Minutebook: the model cannot be asked."]
        add(path, {"kind": "steer", "id": "s", "text": "Minutebook: the export keeps its order."})
        api.script.extend([Reply("", [shell("true")]), Reply("", [shell("true")]), Reply("Done.")])
        server.turn(thread, "And on.")
        assert told(server, "warning") == []
    assert [text for text in api.turns[-1].of("developer") if "keeps its order" in text] == [
        "Minutebook: the export keeps its order."
    ]
    assert "cannot be asked" not in api.turns[-1].text


def test_in_one_project(lab: CodexLab, api: ScriptedResponses):
    lab.om("uninstall", "codex")
    lab.install("--project")
    thread = lab.exec("Hello.").thread
    wait_until(lambda: lab.sessions() == {f"codex:{thread}": 1})


def test_a_fork_and_undone_turns(lab: CodexLab, api: ScriptedResponses):
    with app_server(lab) as server:
        thread = server.start()
        for prompt in ("First.", "Second."):
            server.turn(thread, prompt)
        fork = server.ask("thread/fork", {"threadId": thread})["thread"]["id"]
        server.turn(fork, "In the fork.")
        latest, *_ = server.ask("thread/turns/list", {"threadId": thread})["data"]
        server.ask("thread/revert", {"threadId": thread, "beforeTurnId": latest["id"]})
        server.turn(thread, "Instead of the second.")
    wait_until(lambda: lab.sessions() == {f"codex:{thread}": 3, f"codex:{fork}": 1})
    path = lab.path_of(f"codex:{fork}")
    assert path == ["First.", "Second.", "In the fork."]
    assert lab.path_of(f"codex:{thread}") == ["First.", "Instead of the second."]
    assert lab.hook_log() == []


def test_a_sub_agent_has_a_ledger_of_its_own(lab: CodexLab, api: ScriptedResponses):
    def answer(asked: Asked) -> Reply:
        if "TASK" in asked.of("user")[-1]:
            return Reply("The child looked.")
        return Reply("", [shell("sleep 0.3")])

    with app_server(lab) as server:
        thread = server.start()
        spawn = Call("spawn_agent", {"message": "TASK: look at old.py"}, "multi_agent_v1")
        api.script.extend([Reply("", [spawn]), answer, answer, answer, answer])
        server.turn(thread, "Let another one look.")
        wait_until(lambda: len(lab.sessions()) == 2)
    agent = next(key for key in lab.sessions() if "/" in key)
    assert agent.startswith(f"codex:{thread}/")
    assert lab.path_of(f"codex:{thread}") == ["Let another one look."]
    assert lab.path_of(agent, typed=False) == ["TASK: look at old.py"]


def test_what_nobody_trusted_does_not_run(lab: CodexLab, api: ScriptedResponses):
    lab.om("uninstall", "codex")
    lab.install("--no-trust")
    assert len(wiring.untrusted(lab.hooks())) == len(wiring.EVENTS)
    assert lab.exec("Hello.").code == 0
    assert lab.sessions() == {} and not Path(f"{lab.store}.bells").exists()
    assert "Codex does not run 8 hooks of ours" in lab.om("doctor", code=1)
    lab.install()
    assert wiring.untrusted(lab.hooks()) == []
    thread = lab.exec("Hello again.").thread
    wait_until(lambda: lab.sessions() == {f"codex:{thread}": 1})


def test_a_hook_that_was_changed_is_no_longer_trusted(lab: CodexLab):
    text = lab.hooks_file.read_text()
    lab.hooks_file.write_text(text.replace('"timeout": 5', '"timeout": 6'))
    assert {hook.trust for hook in wiring.untrusted(lab.hooks())} == {"modified"}


@pytest.mark.parametrize("left", ["nothing", "a broken program"])
def test_without_minutebook_codex_goes_on(lab: CodexLab, api: ScriptedResponses, tmp_path: Path, left: str):
    """Uninstalled from under its hooks, or unable to start."""
    program = tmp_path / "bin" / "om-hook"
    lab.configure(compact_at=50_000)
    lab.run_instead(program)
    if left != "nothing":
        program.parent.mkdir()
        program.write_text("#!/bin/sh\necho broken >&2; exit 3\n")
        program.chmod(0o700)
    api.script.extend([Reply("", [shell("true")], 60_000), Reply("Done.")])
    run = lab.exec("Hello.")
    assert (run.code, run.said) == (0, ["Done."])
    assert "broken" not in json.dumps(run.events)
    assert len(api.requests) == 3 and OPENING not in api.requests[-1].text


def test_switched_off_by_a_variable(lab: CodexLab, api: ScriptedResponses):
    """As our own calls of Codex as a model are."""
    lab.exec("Hello.", MINUTEBOOK_OFF="1")
    assert lab.sessions() == {} and not Path(f"{lab.store}.bells").exists()
