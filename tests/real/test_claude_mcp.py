"""Real Claude Code and our MCP server: it answers from the session in which the program is, also after /clear."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripted_server import Answer, Asked

from minutebook.pipeline.sessions import find_session
from minutebook.store.kernel import Store
from tests.real.claude_lab import ClaudeLab, Talk, claude_lab, said, words

TOOLS = {"recall", "memory_search", "memory_status", "memory_view"}
RESULT = re.compile(r"^(?:\d+ hits? in this session.*|No hit in this session.*)", re.MULTILINE | re.DOTALL)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[ClaudeLab]:
    with claude_lab(tmp_path) as found:
        yield found


def searching(sought: str) -> list[object]:
    """The model searches its memory, and ends its turn."""

    def search(asked: Asked) -> Answer:
        (tool,) = [name for name in asked.tools if name.endswith("__memory_search")]
        return Answer(calls=[(tool, {"words": sought})])

    return [search, said("looked")]


def found_by(lab: ClaudeLab, talk: Talk, sought: str) -> str:
    """What a search gave the model."""
    lab.script = searching(sought)  # type: ignore[assignment]
    talk.say("look it up")
    results = RESULT.findall(words(lab.asked[-1]))
    return str(results[-1]) if results else ""


def taken_in(session: str, prompts: int) -> object:
    def enough(store: Store) -> bool:
        known = find_session(store, f"claude_code:{session}")
        return known is not None and known.prompts >= prompts

    return enough


def test_the_session_after_clear_is_another_one(lab: ClaudeLab) -> None:
    """The server is one process over both, started with the id of the first."""
    lab.install("--plugin")
    with lab.talk() as talk:
        lab.script = [said("The gateway of the first one listens on 8443.")]
        talk.say("the first prompt is about the zebra gateway")
        first = talk.session
        lab.wait_for(taken_in(first, 1))  # type: ignore[arg-type]
        assert "zebra gateway" in found_by(lab, talk, "zebra gateway")
        assert {name.rpartition("__")[2] for name in lab.asked[-1].tools if "__" in name} >= TOOLS
        talk.say("/clear")
        lab.script = [said("The mail of the second one is read at noon.")]
        talk.say("the second prompt is about the okapi mail")
        second = talk.session
        assert second != first
        lab.wait_for(taken_in(second, 1))  # type: ignore[arg-type]
        assert "okapi mail" in found_by(lab, talk, "okapi mail zebra")
        found = found_by(lab, talk, "zebra gateway")
        assert found and "the first prompt" not in found and "8443" not in found
    assert lab.hook_log() == ""


def test_a_fork_is_answered_with_what_it_shares_and_with_its_own(lab: ClaudeLab) -> None:
    lab.install("--user")
    lab.script = [said("shared words about the zebra")]
    session = lab.prompt("the first prompt about the zebra").session
    lab.wait_for(taken_in(session, 1))  # type: ignore[arg-type]
    with lab.talk("--resume", session, "--fork-session") as talk:
        lab.script = [said("forked")]
        talk.say("the fork goes on about the okapi")
        assert talk.session != session
        lab.wait_for(taken_in(talk.session, 1))  # type: ignore[arg-type]
        found = found_by(lab, talk, "zebra okapi")
        assert "the first prompt about the zebra" in found and "goes on about the okapi" in found
