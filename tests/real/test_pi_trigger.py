"""Real Pi: proactive compaction, after Pi has settled and with two looks."""

import pytest
from builders import observed, remember
from scripted_server import Answer, Refused

from tests.real.pi_lab import DRIVER, PiLab, Rpc, until

SETTINGS = 'compact_after_tokens = 1000\nobserve_after_tokens = 300\nmodel = "extractive"\n'
FILLER = "Some words that weigh something. " * 40


def turn(lab: PiLab, pi: Rpc, *before: Refused) -> int:
    """A turn of about 650 tokens; where the events stood before it."""
    since = pi.mark()
    lab.agent.queue += [*before, Answer(text=f"Answered. {FILLER}")]
    pi.prompt(f"Asked. {FILLER}")
    return since


@pytest.fixture
def proactive(pi_lab: PiLab) -> PiLab:
    pi_lab.settings(SETTINGS)
    return pi_lab


def kinds(pi: Rpc, since: int) -> list[str]:
    return [event["type"] for event in pi.events[since:]]


def test_one_request_after_a_run_with_a_retry_and_it_is_told_003_060_061_137(proactive: PiLab) -> None:
    with proactive.rpc() as pi:
        assert "compaction_start" not in kinds(pi, turn(proactive, pi))
        since = turn(proactive, pi, Refused(status=500, message="try again", kind="server_error"))
        told = pi.told("compaction complete", since)
        assert told == "info: Minutebook: compaction complete"
        assert "reached the threshold of 1,000; compacting" in pi.told("threshold", since)
        seen = kinds(pi, since)
        assert seen.count("compaction_start") == 1
        assert seen.index("auto_retry_end") < seen.index("agent_settled") < seen.index("compaction_start")
        assert proactive.agent.summaries  # nothing was remembered yet: Pi's own summarizer


def test_with_memory_no_model_is_asked(proactive: PiLab) -> None:
    with proactive.rpc() as pi:
        turn(proactive, pi)
        until(proactive.has_session, "the session")
        with proactive.store() as store:
            branch = proactive.branch()
            remember(store, branch, observations=[observed("The port is 8443.", sources=("x",))], covers=1)
        since = turn(proactive, pi)
        pi.told("compaction complete", since)
        end = pi.wait(lambda event: event["type"] == "compaction_end", since)
        assert "The port is 8443." in end["result"]["summary"]
        assert proactive.agent.summaries == []
        assert end["reason"] == "manual"


def test_busy_again_it_defers_and_the_next_pause_decides_003_061_137(proactive: PiLab) -> None:
    """Another extension gives the agent work as soon as it has settled."""
    with proactive.rpc("-e", str(DRIVER), TEST_GOES_ON="0") as pi:
        turn(proactive, pi)
    with proactive.rpc("-c", "-e", str(DRIVER), TEST_GOES_ON="1") as pi:
        proactive.agent.queue.append(Answer(text=f"Answered. {FILLER}"))
        proactive.agent.queue.append(Answer(text=f"Answered again. {FILLER}", delay=1.5))
        pi.send("prompt", message=f"Asked. {FILLER}")
        assert "deferred" in pi.told("deferred")
        pi.told("compaction complete")
        assert kinds(pi, 0).count("compaction_start") == 1


def test_a_failure_is_told_with_its_cause_003_137(proactive: PiLab) -> None:
    """No memory yet, and the model that should summarize is gone."""
    proactive.configure(retry={"enabled": False})
    with proactive.rpc() as pi:
        turn(proactive, pi)
        proactive.agent.summary = Refused(status=400, message="no summary today", kind="invalid_request_error")
        since = turn(proactive, pi)
        assert "no summary today" in pi.told("the compaction failed", since)


def test_kept_entries_over_the_threshold_are_not_compacted_after_every_turn_003_063(proactive: PiLab) -> None:
    proactive.configure(compaction={"enabled": True, "keepRecentTokens": 900, "reserveTokens": 1_000})
    proactive.settings('compact_after_tokens = 900\nobserve_after_tokens = 900\nmodel = "extractive"\n')
    with proactive.rpc() as pi:
        turn(proactive, pi)
        since = turn(proactive, pi)
        pi.told("compaction complete", since)
        since = turn(proactive, pi)
        pi.call("get_state")
        assert "compaction_start" not in kinds(pi, since)
        since = turn(proactive, pi)
        pi.told("compaction complete", since)


def test_a_compaction_by_hand_works_below_the_threshold_003_064(pi_lab: PiLab) -> None:
    with pi_lab.rpc() as pi:
        turn(pi_lab, pi)
        turn(pi_lab, pi)
        assert pi.call("compact")["success"]
        assert "compacting" not in str(pi.notices())
