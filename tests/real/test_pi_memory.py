"""Real Pi: forty turns, compactions of its own and by hand, and the memory back after each of them."""

import json
import re
from typing import Any

from builders import observed, remember
from scripted_server import Answer, Refused

from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.sessions import list_sessions
from minutebook.pipeline.status import read_totals_now
from minutebook.pipeline.viewing import viewed
from minutebook.settings import Settings
from tests.real.pi_lab import PiLab, Rpc, bash, until

ID = re.compile(r"^\[([0-9a-f]{12})\]", re.MULTILINE)
BLOCK = "<minutebook-memory>"


def entries_of(lab: PiLab) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lab.session_files()[-1].read_text().splitlines()]


def compactions(lab: PiLab) -> list[dict[str, Any]]:
    return [entry for entry in entries_of(lab) if entry["type"] == "compaction"]


def recorded(lab: PiLab) -> int:
    """How many observations the current branch has."""
    with lab.store() as store:
        sessions = list_sessions(store)
        return read_totals_now(store, load_branch(store, sessions[0].branch)).observations if sessions else 0


def turn(lab: PiLab, pi: Rpc, number: int) -> None:
    lab.agent.queue += [
        bash(f"echo out {number} $(seq 90)"),
        Answer(text=f"Did step {number}. " + "It is done. " * 150),
    ]
    pi.prompt(f"Step {number}: use port {8000 + number}. " + "Mind the details. " * 100)


def test_forty_turns_with_three_compactions(pi_lab: PiLab) -> None:
    """Two by Pi's own threshold, one by hand: our memory each time, once and whole, and no model was asked for it."""
    pi_lab.configure(window=20_000)
    with pi_lab.rpc() as pi:
        for number in range(40):
            turn(pi_lab, pi, number)
            if number == 8:
                until(lambda: recorded(pi_lab) > 8, "the first memory")
        until(lambda: recorded(pi_lab) >= 100, "the memory of nearly all")
        done = pi.call("compact")["data"]
        pi.prompt("And now?")
        request = pi_lab.agent.requests[-1]
        assert [event for event in pi.events if event["type"] == "extension_error"] == []
        reasons = [event["reason"] for event in pi.events if event["type"] == "compaction_end"]
    assert reasons.count("threshold") >= 2
    assert reasons[-1] == "manual"
    found = compactions(pi_lab)
    assert len(found) == len(reasons)
    assert all(entry["fromHook"] and entry["details"]["producer"] == "minutebook" for entry in found)
    assert pi_lab.agent.summaries == []
    assert request.text.count(BLOCK) == 1
    assert done["summary"] in request.messages[0].text
    assert (done["firstKeptEntryId"], done["tokensBefore"]) == (
        found[-1]["firstKeptEntryId"],
        found[-1]["tokensBefore"],
    )
    with pi_lab.store() as store:
        branch = load_branch(store, list_sessions(store)[0].branch)
        visible = viewed(store, branch, Settings(), full=False)
    shown = ID.findall(done["summary"])
    assert sorted(shown) == sorted(ID.findall("\n".join(visible.observation_lines())))
    assert len(shown) > 80
    # the session's own model made it, with Pi's key and our prompt
    asked = pi_lab.server.asked("observer")
    assert asked
    assert all(each.headers["authorization"] == "Bearer pi-signs-with-this" for each in asked)
    assert all(len(each.system) > 1_000 for each in asked)


def test_memory_longer_than_thirty_thousand_characters_goes_back_whole(pi_lab: PiLab) -> None:
    with pi_lab.rpc() as pi:
        for number in range(3):
            turn(pi_lab, pi, number)
        until(lambda: recorded(pi_lab) > 0, "a session with memory")
        with pi_lab.store() as store:
            branch = load_branch(store, list_sessions(store)[0].branch)
            first = next(entry["id"] for entry in entries_of(pi_lab) if entry.get("message", {}).get("role") == "user")
            facts = [observed(f"Fact {number}: " + "detail " * 14, sources=(first,)) for number in range(400)]
            remember(store, branch, observations=facts, covers=4, since=0)
        summary = pi.call("compact")["data"]["summary"]
        pi.prompt("And now?")
    assert len(summary) > 30_000
    assert all(f"[{fact.id}]" in summary for fact in facts)
    request = pi_lab.agent.requests[-1]
    assert summary in request.messages[0].text
    assert request.text.count(BLOCK) == 1


def test_without_memory_pi_summarizes_itself(pi_lab: PiLab) -> None:
    pi_lab.settings('observe_after_tokens = 100000\nmodel = "extractive"\n')
    with pi_lab.rpc() as pi:
        for number in range(3):
            turn(pi_lab, pi, number)
        done = pi.call("compact")
        assert "PI'S OWN SUMMARY" in done["data"]["summary"]
        assert pi_lab.agent.summaries
        assert pi.notices() == []


def test_a_context_that_overflows_is_compacted_with_our_memory_and_the_turn_goes_on(pi_lab: PiLab) -> None:
    too_long = Refused(
        status=400,
        message="This model's maximum context length is 20000 tokens. Your messages resulted in 20400 tokens.",
        code="context_length_exceeded",
    )
    with pi_lab.rpc() as pi:
        for number in range(3):
            turn(pi_lab, pi, number)
        until(lambda: recorded(pi_lab) > 4, "a memory")
        pi_lab.agent.queue += [too_long, Answer(text="After all.")]
        events = pi.prompt("Go on.")
    (end,) = [event for event in events if event["type"] == "compaction_end"]
    assert (end["reason"], end["willRetry"]) == ("overflow", True)
    assert BLOCK in end["result"]["summary"]
    assert pi_lab.agent.summaries == []
    assert pi_lab.agent.requests[-1].text.count(BLOCK) == 1
