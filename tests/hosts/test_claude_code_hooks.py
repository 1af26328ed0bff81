"""What Claude Code's answering hooks print, in process: the program itself is in tests/real."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from builders import observed, remember
from hookkit import Agent

from minutebook.errors import BadSetting
from minutebook.hosts import bell
from minutebook.hosts.answering import answer, opened
from minutebook.hosts.claims import forget_claims
from minutebook.hosts.claude_code.hooks import MOST_TOKENS, PARTS, Standing, compose_now, within_parts
from minutebook.hosts.delivering import deliver
from minutebook.pipeline.branches import Path as SourcePath
from minutebook.pipeline.folds import read_proposal
from minutebook.pipeline.intake import own_branch
from minutebook.pipeline.ledger import read_memory
from minutebook.pipeline.rendering import PART_CHARACTERS
from minutebook.records import FOLD
from minutebook.settings import Settings

HOST = "claude_code"
Ask = Callable[..., str]


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agent:
    """A session with three prompts."""
    monkeypatch.setenv("MINUTEBOOK_HOME", str(tmp_path / "minutebook"))
    found = Agent(tmp_path)
    found.say("fix the importer", "and the tests", "go on")
    return found


def ask(agent: Agent, event: str, **more: Any) -> str:
    return answer(HOST, event, agent.payload(hook_event_name=event, **more), agent.store)


def remembered(agent: Agent, *contents: str) -> None:
    """Take the transcript in, and record these observations of it."""
    with opened(agent.store) as store:
        deliver(store, HOST, agent.transcript)
        branch = own_branch(store, f"{HOST}:{agent.session}")
        remember(store, branch, observations=[observed(text) for text in contents], covers=2)


def write(agent: Agent, *rows: dict[str, Any]) -> None:
    with agent.transcript.open("a", encoding="utf-8") as file:
        for number, row in enumerate(rows):
            base = {"uuid": f"x{number}", "parentUuid": None, "sessionId": agent.session, "isSidechain": False}
            file.write(json.dumps({**base, "timestamp": "2026-05-02T11:00:00.000Z", **row}) + "\n")


BOUNDARY = {"type": "system", "subtype": "compact_boundary", "compactMetadata": {"trigger": "auto"}}
SUMMARY = {"type": "user", "isCompactSummary": True, "message": {"role": "user", "content": "This session is …"}}


def given(text: str) -> dict[str, Any]:
    hook = {"type": "hook_success", "hookName": "SessionStart:compact", "hookEvent": "SessionStart", "content": text}
    return {"type": "attachment", "attachment": hook}


def folds(agent: Agent) -> int:
    with opened(agent.store) as store:
        deliver(store, HOST, agent.transcript)
        return sum(e.kind == FOLD for e in read_memory(store, own_branch(store, f"{HOST}:{agent.session}")))


def test_a_compaction_without_memory_says_nothing(agent: Agent) -> None:
    """003-066."""
    assert ask(agent, "PreCompact", trigger="auto") == ""
    assert ask(agent, "SessionStart", source="compact") == ""
    assert bell.read_handover(agent.store, HOST, agent.session) == []


def test_memory_is_composed_before_and_printed_after_the_compaction(agent: Agent) -> None:
    remembered(agent, "the importer drops rows", "the tests need a clock")
    agent.say("one more")
    told = ask(agent, "PreCompact", trigger="auto", custom_instructions=None)
    assert "0 reflections and 2 observations" in told and len(told) < 10_000 and "<minutebook" not in told
    agent.say("while it is summarized")
    memory = ask(agent, "SessionStart", source="compact")
    assert "the importer drops rows" in memory and "one more" in memory and "while it is summarized" not in memory
    assert folds(agent) == 0
    write(agent, BOUNDARY, SUMMARY, given(memory))
    assert folds(agent) == 1
    with opened(agent.store) as store:
        assert SourcePath(store, own_branch(store, f"{HOST}:{agent.session}")).length() == 7


def test_a_compaction_that_was_broken_off_does_not_stand_in_the_way(agent: Agent) -> None:
    """003-079."""
    remembered(agent, "the importer drops rows")
    ask(agent, "PreCompact", trigger="manual")
    agent.say("no, wait")
    assert ask(agent, "PreCompact", trigger="manual")
    assert "no, wait" in ask(agent, "SessionStart", source="compact")


def test_where_something_else_compacted_the_memory_is_composed_after_it(agent: Agent) -> None:
    remembered(agent, "the importer drops rows")
    write(agent, BOUNDARY, {"type": "user", "isMeta": True, "message": {"role": "user", "content": "kept"}})
    assert "the importer drops rows" in ask(agent, "SessionStart", source="compact")
    assert folds(agent) == 1, "its record was there already, so nothing else would confirm it"


def test_what_is_not_taken_in_yet_is_not_handed_over(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    remembered(agent, "the importer drops rows")
    monkeypatch.setattr("minutebook.hosts.answering.DELIVERY_SECONDS", -1.0)
    agent.say(*["x" * 100_000] * 3)
    assert ask(agent, "PreCompact", trigger="auto")
    assert bell.read_handover(agent.store, HOST, agent.session) is None


def test_a_resumed_session_is_given_only_what_it_lost(agent: Agent) -> None:
    remembered(agent, "the importer drops rows")
    assert ask(agent, "SessionStart", source="resume") == ""
    write(agent, BOUNDARY, SUMMARY)
    for source in ("resume", "fork"):
        memory = ask(agent, "SessionStart", source=source)
        assert "the importer drops rows" in memory
        assert bell.read_handover(agent.store, HOST, agent.session) == [memory]
    with opened(agent.store) as store:
        assert read_proposal(store, own_branch(store, f"{HOST}:{agent.session}")) is None, "nothing is compacted"
    write(agent, {**given(memory), "uuid": "given"})
    assert ask(agent, "SessionStart", source="resume") == ""
    assert bell.read_handover(agent.store, HOST, agent.session) == []


def test_a_memory_of_long_lines_still_fits_the_hooks(agent: Agent) -> None:
    """A line is not cut in two where it fits a part, so parts may be half empty."""
    remembered(agent, *(f"{at} " + "long " * 1_100 for at in range(40)))
    with opened(agent.store) as store:
        branch = own_branch(store, f"{HOST}:{agent.session}")
        settings = Settings(compaction_max_tokens=90_000)
        whole = compose_now(store, branch, settings)
        composition = within_parts(store, Standing(branch, settings, True), compose_now)
    assert whole is not None and len(whole.parts()) > PARTS
    assert composition is not None and composition.tokens <= MOST_TOKENS
    assert PARTS // 2 < len(composition.parts()) <= PARTS
    assert max(map(len, composition.parts())) <= PART_CHARACTERS


@pytest.mark.parametrize("event", ["UserPromptSubmit", "PostToolBatch"])
def test_what_session_start_did_not_come_to_print_is_told_by_the_next_hook(agent: Agent, event: str) -> None:
    remembered(agent, *(f"{at} the importer drops rows " + "long " * 100 for at in range(40)))
    bell.owe_memory(agent.store, HOST, agent.session)
    write(agent, BOUNDARY, SUMMARY)
    with agent.listening():
        told = json.loads(agent.hook(event, prompt="go on").stdout)["hookSpecificOutput"]
        assert told["hookEventName"] == event
        assert "the importer drops rows" in told["additionalContext"]
        assert len(told["additionalContext"]) <= PART_CHARACTERS
        assert agent.hook(event, prompt="go on").stdout == b""


def test_session_start_settles_what_it_printed(agent: Agent) -> None:
    remembered(agent, "the importer drops rows")
    with agent.listening():
        for _ in ("composed by it", "handed over"):
            assert b"the importer drops rows" in agent.hook("SessionStart", source="compact").stdout
            assert not bell.owes_memory(agent.store, HOST, agent.session)
            forget_claims(agent.store, HOST, agent.session)  # as the next compaction does


def test_wrong_settings_harm_no_agent_003_126(agent: Agent, tmp_path: Path) -> None:
    """Nothing printed, exit 0, one line in the log; mended, the next hook has everything taken in."""
    remembered(agent, "the importer drops rows")
    file = tmp_path / "minutebook" / "minutebook.toml"
    file.write_text("compaction_max_tokens = 'many'\n")
    with pytest.raises(BadSetting, match="compaction_max_tokens"):
        ask(agent, "PreCompact", trigger="auto")
    agent.say("said while the settings were wrong")
    with agent.listening():
        done = agent.hook("PreCompact", trigger="auto")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert sum("compaction_max_tokens" in line for line in agent.log) == 1
    assert len(agent.bells) == 1  # where the transcript is was noted all the same
    file.unlink()
    assert "the importer drops rows" in ask(agent, "SessionStart", source="compact")
    assert agent.ledger()[-1] == "said while the settings were wrong"


@pytest.mark.parametrize("prompt", ["hello", "/other", "/om:statusx", "", "/om:stat us"])
def test_other_prompts_are_left_alone(agent: Agent, prompt: str) -> None:
    assert ask(agent, "UserPromptSubmit", prompt=prompt) == ""


def test_a_command_is_answered_and_held_back(agent: Agent) -> None:
    """003-110."""
    remembered(agent, "the importer drops rows")
    said = {
        prompt: json.loads(ask(agent, "UserPromptSubmit", prompt=prompt)) for prompt in ("/om:view full", "/om:view x")
    }
    assert {each["decision"] for each in said.values()} == {"block"}
    assert "the importer drops rows" in said["/om:view full"]["reason"]
    assert said["/om:view x"]["reason"] == "Usage: /om:view [full]"
    assert said["/om:view x"]["hookSpecificOutput"]["suppressOriginalPrompt"] is True


def test_a_command_before_anything_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINUTEBOOK_HOME", str(tmp_path / "minutebook"))
    said = json.loads(ask(Agent(tmp_path), "UserPromptSubmit", prompt="/om:status"))
    assert "nothing of this session was recorded yet" in said["reason"]
