"""Real Claude Code: what workers have for the model reaches it between two tools, once; a notice is not for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from scripted_server import Answer, Asked

from minutebook.hosts.beside import slot_path
from minutebook.hosts.slotfile import add
from tests.real.claude_lab import ClaudeLab, claude_lab, said, shell, words

STEER = "Minutebook: the export keeps its order."
NOTICE = "Minutebook: the model cannot be asked."


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[ClaudeLab]:
    with claude_lab(tmp_path) as found:
        yield found


@pytest.mark.parametrize("way", ["--user", "--plugin"])
def test_a_steer_comes_with_the_next_request_after_a_batch_of_tools(lab: ClaudeLab, way: str) -> None:
    lab.install(way)
    session = lab.prompt("Hello.").session
    path = slot_path(str(lab.store), "claude_code", session)

    def meanwhile(asked: Asked) -> Answer:
        """After the prompt's hook, which takes what is there, and before the hook of the tools."""
        add(path, {"kind": "notice", "id": "n", "text": NOTICE})
        add(path, {"kind": "steer", "id": "s", "text": STEER})
        return shell("echo one")

    lab.script = [meanwhile, shell("echo batch-$((1+1))"), said("done")]
    lab.prompt("Look at both.", session=session)
    before, after, later = map(words, lab.asked[-3:])
    assert (before.count(STEER), after.count(STEER), later.count(STEER)) == (0, 1, 1)
    assert "batch-2" in later and "batch-2" not in after and NOTICE not in later
    assert lab.hook_log() == ""
    with lab.talk("--resume", session) as talk:
        talk.say("And on.")
        shown = [event for event in talk.events if NOTICE in str(event)]
    assert shown and NOTICE not in words(lab.asked[-1])
