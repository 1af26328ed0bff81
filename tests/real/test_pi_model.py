"""Real Pi without a model of ours: the workers think with the session's own (003-127), and tell its user (003-134)."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import scripted_faults as faults
from scripted_server import Answer, Asked, ScriptedServer
from scripted_shapes import Item

from minutebook.pipeline.branches import Path as BranchPath
from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.folding import Memory, fold
from minutebook.pipeline.ledger import read_memory
from minutebook.pipeline.sessions import list_sessions
from minutebook.pipeline.status import role_errors
from minutebook.records import Branch
from minutebook.workers.models_accounts import accounts
from tests.real.pi_lab import SETTINGS, PiLab, observe
from tests.real.pi_rpc import Rpc, until

MIND = "session/scripted/main"
SECTION = "observational-memory"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[PiLab]:
    with ScriptedServer() as server:
        made = PiLab(tmp_path, server)
        made.install()
        yield made
        made.stop_workers()


def turn(lab: PiLab, pi: Rpc, number: int = 1) -> None:
    """One turn that makes the observer due."""
    lab.agent.queue.append(Answer(text=f"Did step {number}. " + "It is done. " * 150))
    pi.prompt(f"Step {number}: use port {8000 + number}. " + "Mind the details. " * 100)


def branch_of(lab: PiLab) -> Branch | None:
    with lab.store() as store:
        sessions = list_sessions(store)
        return load_branch(store, sessions[0].branch) if sessions and sessions[0].branch else None


def memory(lab: PiLab) -> Memory:
    with lab.store() as store:
        sessions = list_sessions(store)
        branch = load_branch(store, sessions[0].branch) if sessions and sessions[0].branch else None
        return fold(read_memory(store, branch) if branch else [])


def minds(lab: PiLab) -> set[str]:
    return {held.mind for held in memory(lab).observations.values()}


def error(lab: PiLab) -> str:
    """The observer's last error."""
    branch = branch_of(lab)
    if branch is None:
        return ""
    with lab.store() as store:
        return next((each.error for each in role_errors(store, branch) if each.role == "observer"), "")


def covered(lab: PiLab) -> bool:
    """Whether everything of the session is observed."""
    branch = branch_of(lab)
    if branch is None:
        return False
    with lab.store() as store:
        return memory(lab).observed == BranchPath(store, branch).length()


def test_the_workers_think_with_the_sessions_own_model_003_127_134(lab: PiLab) -> None:
    with lab.rpc() as pi:
        turn(lab, pi)
        until(lambda: memory(lab).observations, "the memory of the turn")
        started = pi.told("observer starts")
        ended = pi.told("observer recorded")
    count = len(memory(lab).observations)
    assert minds(lab) == {MIND} and error(lab) == ""
    assert started.startswith("info: Minutebook: observer starts on ~")
    assert ended == f"info: Minutebook: observer recorded {count} observations"
    first, last = lab.server.asked("observer")
    assert first.headers["authorization"] == "Bearer pi-signs-with-this"
    assert first.system == last.system and len(first.system) > 1_000 and "observation" in first.system
    assert "use port 8001" in first.messages[0].text and first.body["max_completion_tokens"] == 4_096
    assert [message.role for message in last.messages] == ["user", "assistant", "tool"]
    with lab.store() as store:
        (line,) = accounts(store)
    assert (line.model, line.requests, line.role) == (MIND, 2, "observer") and line.input_tokens > 0


def test_what_pi_s_own_settings_say_counts_003_124_127_135(lab: PiLab) -> None:
    """Switched off there: the extractive mind works, from the threshold set there, and tells nothing routine."""
    lab.settings("")
    lab.configure(
        **{SECTION: {"observeAfterTokens": 400, "sessionModelAllowed": False, "showWorkerNotifications": False}}
    )
    with lab.rpc() as pi:
        turn(lab, pi)
        until(lambda: memory(lab).observations, "the memory of the turn")
        pi.prompt("And now?")
        assert [each for each in pi.notices() if "observer" in each] == []
    assert minds(lab) == {"extractive"} and lab.server.asked("observer") == []


def test_an_old_key_in_pi_s_settings_is_one_warning_003_160(lab: PiLab) -> None:
    lab.configure(**{SECTION: {"observationThresholdTokens": 5}})
    with lab.rpc() as pi:
        pi.prompt("Hello.")
        told = pi.told("observationThresholdTokens")
        assert told.startswith("warning: ") and "observe_after_tokens" in told and "settings.json, line 1" in told
        assert sum("observationThresholdTokens" in each for each in pi.notices()) == 1


def test_a_model_without_end_is_stopped_by_agent_max_turns_003_129_136(lab: PiLab) -> None:
    lab.settings(f"{SETTINGS}agent_max_turns = 4\nretry_first_seconds = 600\n")
    numbers = iter(range(1_000))

    def endless(asked: Asked) -> Item:
        item = {
            "content": f"Fact {next(numbers)}",
            "timestamp": "2026-01-01 10:00",
            "relevance": "low",
            "sources": ["s1"],
        }
        return Answer(calls=[("record_observations", {"observations": [item]})])

    lab.server.defaults["observer"] = endless
    with lab.rpc() as pi:
        turn(lab, pi)
        warning = pi.told("observer failed")
        assert minds(lab) == set()
    assert warning.startswith("warning: ") and "agent_max_turns = 4" in warning
    tasks = [asked.messages[0].text for asked in lab.server.asked("observer")]
    assert tasks.count(tasks[0]) == 4


def test_wrong_settings_in_pi_s_file_harm_no_session_and_lose_nothing_003_126(lab: PiLab) -> None:
    """Pi goes on as without us; once the file is mended, the next turn brings all of the session into the ledger."""
    lab.configure(**{SECTION: {"observeAfterTokens": 0}})
    with lab.rpc() as pi:
        turn(lab, pi)
        assert branch_of(lab) is None and lab.agent.requests
        pi.prompt("/om:status")
        assert "observeAfterTokens = 0 is not allowed" in pi.told("observeAfterTokens")
        lab.configure(**{SECTION: {"observeAfterTokens": 400}})
        turn(lab, pi, 2)
        until(lambda: covered(lab) and len(memory(lab).observations) == 4, "the memory of both turns")
        assert [event for event in pi.events if event["type"] == "extension_error"] == []
    assert "observeAfterTokens = 0" in (lab.minutebook / "hook.log").read_text()


@pytest.mark.parametrize("how", ["closed", "killed"])
def test_pi_that_goes_in_the_middle_loses_nothing_003_127(lab: PiLab, how: str) -> None:
    """The request was on its way: nothing of it counts, and the extractive mind observes the whole session."""
    lab.settings(f"{SETTINGS}retry_first_seconds = 1\n")

    def slowly(asked: Asked) -> Item:
        if asked.last.role == "tool":
            return Answer(text="Done.", delay=20)
        return observe(asked)

    lab.server.defaults["observer"] = slowly
    pi = lab.rpc()
    turn(lab, pi)
    until(lambda: len(lab.server.asked("observer")) == 2, "the second request")
    if how == "killed":
        os.kill(pi.process.pid, signal.SIGKILL)
    pi.close()
    until(lambda: covered(lab), "the whole session observed")
    assert minds(lab) == {"extractive"}
    until(lambda: not error(lab), "the error to be over")
    assert any("use port 8001" in held.record.content for held in memory(lab).observations.values())


def test_a_worker_that_is_killed_in_the_middle_takes_its_question_back_003_127(lab: PiLab) -> None:
    """Pi aborts the request; the next worker asks anew, and each thing is recorded once."""
    slow = iter([True])
    lab.server.defaults["observer"] = lambda asked: (
        Answer(text="Done.", delay=20) if next(slow, False) else observe(asked)
    )
    with lab.rpc() as pi:
        turn(lab, pi)
        until(lambda: lab.server.asked("observer"), "the first request")
        for worker in lab.processes("worker"):
            os.kill(worker, signal.SIGKILL)
        until(lambda: not lab.processes("worker"), "the worker to be gone")
        turn(lab, pi, 2)
        until(lambda: covered(lab), "the memory of both turns")
        assert [event for event in pi.events if event["type"] == "extension_error"] == []
    assert minds(lab) == {MIND} and len(memory(lab).observations) == 4


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (
            faults.bad_key(),
            "its key or login is refused, so the extractive mind works instead; log in in Pi with /login",
        ),
        (faults.no_such_model(), "there is no such model, so the extractive mind works instead; choose a model in Pi"),
    ],
    ids=["key", "model"],
)
def test_without_a_usable_key_the_extractive_mind_works_and_it_is_said_once_003_127(
    lab: PiLab, fault: Any, why: str
) -> None:
    lab.server.defaults["observer"] = fault
    with lab.rpc() as pi:
        for number in (1, 2):
            turn(lab, pi, number)
            until(lambda: covered(lab), "the memory of the turn")
        pi.prompt("/om:status")
        (warning,) = [each for each in pi.notices() if each.startswith("warning: ")]
        assert f"own model scripted/main cannot be used: {why}" in warning
    assert minds(lab) == {"extractive"} and len(lab.server.asked("observer")) == 1


def test_what_is_too_long_for_the_model_is_halved_003_012(lab: PiLab) -> None:
    """Pi's words for it are understood: it is the span's fault, and no provider's."""

    def short_only(asked: Asked) -> Item:
        return faults.context_too_long() if len(asked.messages[0].text) > 4_000 else observe(asked)

    lab.server.defaults["observer"] = short_only
    with lab.rpc() as pi:
        turn(lab, pi)
        until(lambda: memory(lab).observations, "the memory of a part")
    assert minds(lab) == {MIND}


def test_a_busy_provider_is_asked_again_and_the_user_s_agent_goes_on_003_127(lab: PiLab) -> None:
    lab.server.script("observer", faults.overloaded(), faults.overloaded())
    with lab.rpc() as pi:
        turn(lab, pi)
        pi.prompt("And now?")
        until(lambda: memory(lab).observations, "the memory of the turn")
        assert [event for event in pi.events if event["type"] == "extension_error"] == []
    assert minds(lab) == {MIND}
