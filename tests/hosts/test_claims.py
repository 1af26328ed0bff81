"""A memory that two equal hooks are to print, because Minutebook was installed in two ways, is printed by one."""

import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from hookkit import Agent

from minutebook.hosts import bell
from minutebook.hosts.claims import CLAIM_SECONDS, PARTS_MOST, claim, forget_claims, is_claimed
from minutebook.hosts.claude_code.hooks import PARTS

MEMORY = "<minutebook-memory>\n[0123456789ab] a line\n</minutebook-memory>"
RACERS = 8
RACE = """
import os, sys
from minutebook.hosts.claims import claim
os.write(1, b".")
os.read(0, 1)
os.write(1, b"mine" if claim(sys.argv[1], "codex", "s") else b"-")
"""


def race(store: str) -> list[bytes]:
    """What processes said that claimed the same at once, all loaded before."""
    with ExitStack() as stack:
        racers = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", RACE, store], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
                )
            )
            for _ in range(RACERS)
        ]
        for racer in racers:
            assert racer.stdout is not None and racer.stdout.read(1) == b"."
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write(b"!")
        return [racer.communicate()[0] for racer in racers]


def grown_old(store: str, host: str, session: str, by: float = 2 * CLAIM_SECONDS) -> None:
    (path,) = Path(f"{store}.handover").glob(f"{host}.{session}.claim.1")
    then = time.time() - by
    os.utime(path, (then, then))


def test_one_of_many_at_once_has_it(tmp_path: Path) -> None:
    store = str(tmp_path / "data" / "m.sqlite")
    assert race(store).count(b"mine") == 1
    grown_old(store, "codex", "s")
    assert race(store).count(b"mine") == 1


@pytest.mark.parametrize("by", [2 * CLAIM_SECONDS, -3600.0])
def test_an_old_claim_is_none_and_neither_is_one_of_a_clock_that_was_set_back(tmp_path: Path, by: float) -> None:
    store = str(tmp_path / "m.sqlite")
    assert claim(store, "codex", "s") and is_claimed(store, "codex", "s") and not claim(store, "codex", "s")
    grown_old(store, "codex", "s", by)
    assert not is_claimed(store, "codex", "s")
    assert claim(store, "codex", "s") and not claim(store, "codex", "s")


def test_each_part_of_each_session_until_the_next_compaction(tmp_path: Path) -> None:
    store = str(tmp_path / "m.sqlite")
    assert all(claim(store, "claude_code", "s", part) for part in range(1, PARTS + 1))
    assert claim(store, "claude_code", "other") and claim(store, "codex", "s")
    forget_claims(store, "claude_code", "s")
    assert all(claim(store, "claude_code", "s", part) for part in range(1, PARTS + 1))
    assert not claim(store, "claude_code", "other") and PARTS <= PARTS_MOST


def test_where_nothing_can_be_claimed_it_is_printed_all_the_same(tmp_path: Path) -> None:
    store = str(tmp_path / "m.sqlite")
    Path(f"{store}.handover").write_text("a file in the place of the folder")
    assert claim(store, "codex", "s") and claim(store, "codex", "s") and not is_claimed(store, "codex", "s")


# -- the program ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "more"),
    [("SessionStart", {"source": "compact"}), ("UserPromptSubmit", {"prompt": "go on"}), ("PostToolUse", {})],
)
def test_the_same_hook_again_prints_nothing(agent: Agent, event: str, more: dict[str, str]) -> None:
    agent.say("Hello.")
    bell.write_handover(agent.store, "codex", agent.session, [MEMORY])
    bell.owe_memory(agent.store, "codex", agent.session)
    with agent.listening():
        printed = [agent.hook("codex", event, **more).stdout for _ in range(2)]
        assert json.dumps(MEMORY)[1:-1].encode() in printed[0] or MEMORY.encode() == printed[0]
        assert printed[1] == b""
    assert not bell.owes_memory(agent.store, "codex", agent.session) and agent.log == []


def test_after_the_next_compaction_it_is_printed_again(agent: Agent) -> None:
    agent.say("Hello.")
    with agent.listening():
        for _ in range(2):
            for _ in range(2):
                agent.hook("codex", "PreCompact", trigger="auto")
            bell.write_handover(agent.store, "codex", agent.session, [MEMORY])
            for _ in range(2):
                agent.hook("codex", "PostCompact", trigger="auto")
            printed = [agent.hook("codex", "SessionStart", source="compact").stdout.decode() for _ in range(2)]
            assert printed == [MEMORY, ""]


def test_what_was_claimed_and_not_printed_comes_with_a_later_hook(agent: Agent) -> None:
    """The hook that claimed it was killed."""
    agent.say("Hello.")
    bell.write_handover(agent.store, "codex", agent.session, [MEMORY])
    with agent.listening():
        agent.hook("codex", "PostCompact", trigger="auto")
        assert claim(agent.store, "codex", agent.session)
        assert agent.hook("codex", "SessionStart", source="compact").stdout == b""
        grown_old(agent.store, "codex", agent.session)
        told = json.loads(agent.hook("codex", "PostToolUse").stdout)["hookSpecificOutput"]
    assert told["additionalContext"] == MEMORY


def test_each_part_in_claude_code_is_printed_by_one_of_two(agent: Agent) -> None:
    """By its settings and as a plugin: two commands, which Claude Code does not take for the same."""
    bell.write_handover(agent.store, "claude_code", agent.session, ["one", "two", "three"])
    words = [("SessionStart",), *(("SessionStart", "--part", str(part)) for part in (2, 3))]
    with agent.listening():
        printed = [agent.hook(*each, source="compact").stdout for each in words for _ in range(2)]
    assert printed == [b"one", b"", b"two", b"", b"three", b""]
