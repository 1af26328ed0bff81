"""The installed om-hook, as Codex calls it: what is handed over, what is owed, and what happens in a sub-agent."""

import json

import pytest
from hookkit import Agent

from minutebook.hosts import bell

MEMORY = "<minutebook-memory>\n" + "[0123456789ab] é line\n" * 3_000 + "</minutebook-memory>"
SUB = {"agent_id": "01a2-sub", "agent_type": "default"}


def hand_over(agent: Agent) -> None:
    bell.write_handover(agent.store, "codex", agent.session, [MEMORY])


def owed(agent: Agent) -> bool:
    return bell.owes_memory(agent.store, "codex", agent.session)


def test_what_was_composed_is_printed_whole_and_once(agent: Agent):
    agent.say("Hello.")
    hand_over(agent)
    with agent.listening():
        agent.hook("codex", "PostCompact", trigger="auto")
        assert owed(agent)
        done = agent.hook("codex", "SessionStart", source="compact")
        assert (done.returncode, done.stdout.decode()) == (0, MEMORY)
        assert not owed(agent)
        assert bell.read_handover(agent.store, "codex", agent.session) is None
        assert agent.hook("codex", "UserPromptSubmit", prompt="go on").stdout == b""
    assert agent.log == []


@pytest.mark.parametrize(("event", "more"), [("UserPromptSubmit", {"prompt": "go on"}), ("PostToolUse", {})])
def test_what_is_owed_comes_with_the_next_hook(agent: Agent, event: str, more: dict[str, str]):
    agent.say("Hello.")
    hand_over(agent)
    bell.owe_memory(agent.store, "codex", agent.session)
    with agent.listening():
        assert agent.hook("codex", event, **more, **SUB).stdout == b""
        printed = json.loads(agent.hook("codex", event, **more).stdout)
        assert printed == {"hookSpecificOutput": {"hookEventName": event, "additionalContext": MEMORY}}
        assert agent.hook("codex", event, **more).stdout == b""


def test_a_sub_agent_that_compacts_is_given_nothing_of_the_session(agent: Agent):
    agent.say("Hello.")
    hand_over(agent)
    with agent.listening():
        agent.hook("codex", "PostCompact", trigger="auto", **SUB)
        assert not owed(agent)
        assert agent.hook("codex", "PreCompact", trigger="auto", **SUB).stdout == b""
        assert agent.hook("codex", "SessionStart", source="compact", **SUB).stdout == b""
    assert bell.read_handover(agent.store, "codex", agent.session) == [MEMORY]


def test_a_sub_agent_rings_for_itself(agent: Agent):
    """Codex names the session there, and the sub-agent's own transcript."""
    agent.say("Hello.")
    with agent.listening():
        agent.hook("codex", "PostToolUse", **SUB)
        agent.hook("codex", "SubagentStop", **SUB, agent_transcript_path=str(agent.transcript))
        agent.hook("codex", "Stop")
    rung = agent.bells
    assert sorted(rung) == [f"codex.{agent.session}", f"codex.{agent.session}.01a2-sub"]
    assert (rung[f"codex.{agent.session}.01a2-sub"]["rings"], rung[f"codex.{agent.session}"]["rings"]) == (2, 1)
