"""om-hook as an agent runs it: through the installed console script."""

import json
import os
import stat
import subprocess
import sys
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import pytest
from hookkit import OM_HOOK, PATIENCE_SECONDS, Agent, patient

from minutebook.hosts import bell, slotfile
from minutebook.hosts.hook import ACTIONS, AGENT, ANSWER, ENDED, RING, NotForUs, command, slot_output, walk
from minutebook.hosts.paused_file import write_paused
from minutebook.pipeline.pauses import Pause

RINGING = [(host, event) for host, events in ACTIONS.items() for event, does in events.items() if RING in does]
ENDING = [(host, event) for host, events in ACTIONS.items() for event, does in events.items() if ENDED in does]


def slot(agent: Agent, *lines: tuple[str, str], host: str = "claude_code") -> None:
    """What workers left for the session."""
    for kind, text in lines:
        assert slotfile.add(bell.slot_path(agent.store, host, agent.session), {"kind": kind, "text": text})


def printed(agent: Agent, *words: str, **more: Any) -> Any:
    """What the hook printed, as JSON; None for nothing."""
    done = agent.hook(*words, **more)
    assert (done.returncode, done.stderr) == (0, b"")
    return json.loads(done.stdout) if done.stdout else None


# -- ringing -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("host", "event"), [pair for pair in RINGING if ANSWER not in ACTIONS[pair[0]][pair[1]]])
def test_a_turn_hook_rings_the_bell_and_prints_nothing(agent: Agent, host: str, event: str) -> None:
    agent.say("hello")
    with agent.listening():
        done = agent.hook(host, event)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    ((name, rung),) = agent.bells.items()
    assert name == f"{host}.{agent.session}"
    assert rung["path"] == str(agent.transcript) and rung["cwd"] == str(agent.transcript.parent)
    assert (rung["event"], rung["ended"], rung["rings"], rung["agent"]) == (event, False, 1, "")
    assert not agent.log and not Path(agent.store).exists()


@pytest.mark.parametrize(("host", "event"), ENDING)
def test_the_end_of_a_session_is_rung(agent: Agent, host: str, event: str) -> None:
    with agent.listening():
        agent.hook(host, event, reason="other")
    assert [rung["ended"] for rung in agent.bells.values()] == [True]


def test_rings_that_nobody_took_are_counted(agent: Agent) -> None:
    with agent.listening():
        for event in ("UserPromptSubmit", "PostToolBatch", "Stop"):
            agent.hook(event)
    ((_, rung),) = agent.bells.items()
    assert (rung["rings"], rung["event"]) == (3, "Stop") and rung["since"] < rung["time"]


def test_a_sub_agent_rings_for_its_own_transcript(agent: Agent) -> None:
    own = {"agent_id": "a123", "agent_type": "Explore", "agent_transcript_path": "/tmp/agent-a123.jsonl"}
    with agent.listening():
        agent.hook("SubagentStop", **own)
        agent.hook("SubagentStop", **{**own, "agent_type": "", "agent_id": "compacting"})
        agent.hook("SubagentStop", agent_type="Explore")
    ((name, rung),) = agent.bells.items()
    assert name == f"claude_code.{agent.session}.a123"
    assert (rung["agent"], rung["path"], rung["ended"]) == ("a123", "/tmp/agent-a123.jsonl", True)


def test_a_session_that_keeps_no_transcript_rings_for_nothing(agent: Agent) -> None:
    with agent.listening():
        agent.hook("codex", "Stop", transcript_path=None)
        agent.hook("SessionStart", source="startup")  # it has none yet
    assert not agent.bells and not agent.log


def test_a_home_path_is_this_user_s(agent: Agent) -> None:
    with agent.listening():
        agent.hook("Stop", transcript_path="~/t.jsonl")
    assert [rung["path"] for rung in agent.bells.values()] == [str(Path.home() / "t.jsonl")]


# -- off, paused, on a server --------------------------------------------------------------------------------------


def test_off_does_nothing_at_all(agent: Agent) -> None:
    done = agent.hook("Stop", env={"MINUTEBOOK_OFF": "1"})
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"") and not agent.home.exists()


def test_a_paused_session_rings_for_nothing(agent: Agent) -> None:
    pause = Pause(scope="session", name=f"claude_code:{agent.session}", since="2026-05-02T10:00:00Z")
    with agent.listening():
        write_paused(Path(agent.store), [pause])
        agent.hook("Stop")
        assert not agent.bells
        agent.hook("codex", "Stop")
        write_paused(Path(agent.store), [])
        agent.hook("Stop")
    assert sorted(agent.bells) == [f"claude_code.{agent.session}", f"codex.{agent.session}"]


def test_a_store_on_a_server_is_named_in_the_log(agent: Agent) -> None:
    done = agent.hook("Stop", env={"MINUTEBOOK_STORE": "redis://box:6379/0"})
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    (line,) = agent.log
    assert "MINUTEBOOK_STORE" in line and "a server" in line and not agent.bells


def test_a_named_store_is_the_one(agent: Agent, tmp_path: Path) -> None:
    other = tmp_path / "other" / "memory.sqlite"
    (tmp_path / "other").mkdir()
    os.mkfifo(f"{other}.wake")
    handle = os.open(f"{other}.wake", os.O_RDWR)
    agent.hook("Stop", env={"MINUTEBOOK_STORE": f"sqlite:///{other}"})
    os.close(handle)
    assert not agent.bells and len(list(Path(f"{other}.bells").iterdir())) == 1


# -- the slot ------------------------------------------------------------------------------------------------------


def test_a_prompt_gets_steers_and_the_person_notices_once(agent: Agent) -> None:
    slot(agent, ("steer", "remember é"), ("notice", "no key"), ("steer", "and this"), ("notice", "no worker"))
    with agent.listening():
        first, second = printed(agent, "UserPromptSubmit", prompt="go"), printed(agent, "UserPromptSubmit", prompt="go")
    assert first == {
        "systemMessage": "no key\nno worker",
        "hookSpecificOutput": {
            "hookEventName": "UserPromptSubmit",
            "additionalContext": "remember é\n\nand this",
        },
    }
    assert second is None


@pytest.mark.parametrize(("host", "event"), [("claude_code", "PostToolBatch"), ("codex", "PostToolUse")])
def test_between_tools_only_steers_are_told(agent: Agent, host: str, event: str) -> None:
    slot(agent, ("notice", "no key"), ("steer", "remember"), host=host)
    with agent.listening():
        assert printed(agent, host, event) == {
            "hookSpecificOutput": {"hookEventName": event, "additionalContext": "remember"}
        }
        assert printed(agent, host, event) is None
        assert printed(agent, host, "UserPromptSubmit", prompt="go") == {"systemMessage": "no key"}


def test_what_is_for_the_session_is_not_told_to_a_sub_agent_in_it(agent: Agent) -> None:
    slot(agent, ("steer", "remember"))
    with agent.listening():
        assert printed(agent, "PostToolBatch", agent_id="a1", agent_type="Explore") is None
        assert printed(agent, "PostToolBatch") is not None


def test_a_slot_that_cannot_be_read_stops_no_bell(agent: Agent) -> None:
    with agent.listening():
        path = Path(bell.slot_path(agent.store, "claude_code", agent.session))
        path.mkdir(parents=True)
        assert printed(agent, "UserPromptSubmit", prompt="go") is None
    assert len(agent.bells) == len(agent.log) == 1


def test_what_is_said_stays_below_what_claude_code_puts_into_a_file() -> None:
    output = slot_output("UserPromptSubmit", [("steer", "s" * 20_000), ("notice", "n" * 20_000)])
    found, _ = walk(output)
    assert len(str(found["systemMessage"])) < 10_000
    assert all(len(str(text)) < 10_000 for text in found["hookSpecificOutput"].values())  # type: ignore[attr-defined]
    assert slot_output("Stop", []) == ""


# -- parts ---------------------------------------------------------------------------------------------------------


def part(agent: Agent, number: int, source: str = "compact") -> str:
    done = agent.hook("SessionStart", "--part", str(number), source=source)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def test_the_other_parts_are_slices_of_what_was_handed_over(agent: Agent) -> None:
    with agent.listening():
        bell.write_handover(agent.store, "claude_code", agent.session, ["one", "two ✓\n", "three"])
        first_has_ended(agent)
        assert [part(agent, number) for number in (2, 3, 4)] == ["two ✓\n", "three", ""]
        assert part(agent, 2, source="startup") == part(agent, 2, source="clear") == ""
    assert not agent.bells  # the first one rings


def test_a_part_that_comes_first_waits_for_the_composition(agent: Agent) -> None:
    with start_part(agent, 2) as waiting:
        assert waiting.stdin is not None
        waiting.stdin.write(json.dumps(agent.payload(source="compact")).encode())
        bell.write_handover(agent.store, "claude_code", agent.session, ["one", "two"])
        first_has_ended(agent)
        output, _ = waiting.communicate(timeout=PATIENCE_SECONDS)
        assert (waiting.returncode, output) == (0, b"two")


def start_part(agent: Agent, number: int) -> AbstractContextManager[subprocess.Popen[bytes]]:
    program = patient(part_seconds=25)
    return agent.start_hook("claude-code", "SessionStart", "--part", str(number), program=program)


def first_has_ended(agent: Agent) -> None:
    bell.write_beside(bell.printed_path(agent.store, "claude_code", agent.session), "1 - -")


def test_parts_end_in_their_order_however_they_were_started(agent: Agent) -> None:
    """Claude Code puts what they print in the order in which they end."""
    bell.write_handover(agent.store, "claude_code", agent.session, ["one", "two", "three", "four"])
    with ExitStack() as stack:
        hooks = {number: stack.enter_context(start_part(agent, number)) for number in (4, 3, 2)}
        for hook in hooks.values():
            assert hook.stdin is not None
            hook.stdin.write(json.dumps(agent.payload(source="compact")).encode())
            hook.stdin.close()
        first_has_ended(agent)
        while any(hook.returncode is None for hook in hooks.values()):
            ended = next((number for number, hook in hooks.items() if hook.returncode is None and hook.poll() == 0), 2)
            assert all(hooks[before].poll() == 0 for before in range(2, ended)), f"{ended} ended first"
        said = [hooks[number].stdout.read() for number in (2, 3, 4)]
    assert said == [b"two", b"three", b"four"]


def test_a_part_does_not_wait_forever_for_the_one_before(agent: Agent) -> None:
    bell.write_handover(agent.store, "claude_code", agent.session, ["one", "two"])
    assert part(agent, 2) == "two"


def test_a_part_without_a_composition_prints_nothing(agent: Agent) -> None:
    assert part(agent, 2) == "" and not agent.log


def test_what_was_handed_over_is_over_after_the_compaction(agent: Agent) -> None:
    with agent.listening():
        bell.write_handover(agent.store, "claude_code", agent.session, ["one"])
        agent.hook("PostCompact", trigger="auto", compact_summary="…")
    assert bell.read_handover(agent.store, "claude_code", agent.session) is None


# -- the command line ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["claude-code", "Stop"], ("claude_code", "Stop", 1)),
        (["claude_code", "SessionStart", "--part", "3"], ("claude_code", "SessionStart", 3)),
        (["codex", "Interrupt"], ("codex", "Interrupt", 1)),
    ],
)
def test_a_command_line_is_host_event_and_part(words: list[str], meant: tuple[str, str, int]) -> None:
    assert command(words) == meant


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["claude-code"],
        ["claude-code", "MessageDisplay"],
        ["../x", "Stop"],
        ["claude-code", "Stop", "--part"],
        ["claude-code", "Stop", "--part", "-1"],
        ["claude-code", "Stop", "--part", "٣"],
        ["claude-code", "Stop", "--part", "1" * 5_000],
        ["claude-code", "Stop", "2", "3"],
    ],
)
def test_another_command_line_is_one_line_in_the_log(agent: Agent, words: list[str]) -> None:
    with pytest.raises(NotForUs, match="usage"):
        command(words)


def test_an_event_that_nobody_asked_for_does_no_harm(agent: Agent) -> None:
    done = agent.hook("claude-code", "FileChanged")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(agent.log) == 1 and "usage: om-hook" in agent.log[0]


def test_each_event_has_something_to_do() -> None:
    for events in ACTIONS.values():
        assert all(does and (set(does) & {RING, ENDED, AGENT}) for does in events.values())


def test_the_script_is_installed(agent: Agent) -> None:
    assert OM_HOOK.stat().st_mode & stat.S_IXUSR
    done = subprocess.run([OM_HOOK], capture_output=True, env=agent.environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"") and len(agent.log) == 1


SLOW = """
import sys, time
from minutebook.hosts import answering, hook
answering.answer = lambda *words: time.sleep(60)
hook.LIMIT_SECONDS = 3
sys.argv = ["om-hook", "claude-code", "UserPromptSubmit"]
hook.main()
"""


@pytest.mark.parametrize(("prompt", "held"), [("/om:status", True), ("om:statuses, what are they?", False)])
def test_a_command_that_cannot_be_answered_in_time_is_held_back_all_the_same(
    agent: Agent, prompt: str, held: bool
) -> None:
    """A model could do nothing with it. What only begins like a command is a prompt like any other."""
    agent.say("hello")
    given = json.dumps(agent.payload(prompt=prompt)).encode()
    with agent.listening():
        done = subprocess.run([sys.executable, "-c", SLOW], input=given, capture_output=True, env=agent.environment)
    assert done.returncode == 0
    assert (json.loads(done.stdout)["decision"] if done.stdout else None) == ("block" if held else None)
    assert len(agent.log) == (1 if held else 0) and len(agent.bells) == 1
