"""Real Pi: commands, the recall tool, notices, steers."""

import os

import pytest
from builders import concluded, observed, remember
from scripted_server import Answer

from minutebook.hosts.beside import slot_path
from minutebook.hosts.slotfile import add
from minutebook.pipeline.branches import Path as BranchPath
from minutebook.records import Observation, Reflection
from tests.real.pi_lab import PiLab, Rpc, bash, until

FILLER = "Some words that weigh something. " * 20


@pytest.fixture
def known(pi_lab: PiLab) -> tuple[PiLab, Observation, Reflection]:
    """A session with a record of each kind."""
    pi_lab.settings("passive = true\n")
    pi_lab.agent.queue += [bash("echo the port is 8443"), Answer(text=f"Done. {FILLER}")]
    with pi_lab.rpc() as pi:
        pi.prompt("Find the port.")
        until(pi_lab.has_session, "the session")
    with pi_lab.store() as store:
        branch = pi_lab.branch()
        sources = [placed.entry.id for placed in BranchPath(store, branch).read()]
        fact = observed("The port is 8443.", "high", sources=tuple(sources[:3]))
        conclusion = concluded("It listens on 8443.", fact)
        remember(store, branch, observations=[fact], reflections=[conclusion])
    return pi_lab, fact, conclusion


def said(pi: Rpc, command: str) -> str:
    """What a command tells."""
    since = pi.mark()
    pi.prompt(command)
    (notice,) = pi.notices(since)
    return notice


def test_commands(known: tuple[PiLab, Observation, Reflection]) -> None:
    """003-110: other arguments give the usage as a notice."""
    lab, fact, _ = known
    with lab.rpc("-c") as pi:
        assert "Observations         1 recorded / 0 dropped / 1 active" in said(pi, "/om:status")
        assert f"[{fact.id}]" in said(pi, "/om:view full")
        assert "(no observation is visible)" in said(pi, "/om:view")
        recalled = said(pi, f"/om:recall {fact.id}")
        assert recalled.startswith(f"info: Recalled [{fact.id}]: 0 reflections, 1 observation, 3 sources")
        assert "the port is 8443" in recalled
        assert said(pi, f"/om:recall [{fact.id.upper()}],") == recalled
        assert said(pi, "/om:view all") == "warning: Usage: /om:view [full]"
        assert said(pi, "/om:status now") == "warning: Usage: /om:status"
        assert said(pi, "/om:recall nothing").startswith("warning: Usage: /om:recall ID [PAGE]")
        assert len(lab.agent.requests) == 2  # no model was asked


def test_the_agent_recalls_the_exact_source_003_096(known: tuple[PiLab, Observation, Reflection]) -> None:
    lab, fact, conclusion = known
    lab.agent.queue += [
        Answer(calls=[("recall", {"id": conclusion.id})]),
        Answer(calls=[("recall", {"id": "0123456789ab"})]),
        Answer(calls=[("recall", {"id": "not an id"})]),
        Answer(text="Recalled."),
    ]
    with lab.rpc("-c") as pi:
        pi.prompt("Which port was it, exactly?")
        ends = [event for event in pi.events if event["type"] == "tool_execution_end"]
        tool = lab.agent.requests[-1].body["tools"]
    assert [end["isError"] for end in ends] == [False, False, True]
    details = ends[0]["result"]["details"]
    assert details["ok"] is True
    assert details["head"].startswith(f"Recalled [{conclusion.id}]: 1 reflection, 1 observation, 3 sources")
    assert details["lines"][:2] == [
        f"[{conclusion.id}] reflection, current: It listens on 8443.",
        f"[{fact.id}] observation, active: The port is 8443.",
    ]
    assert details["lines"][4].startswith("3 of 3: tool result bash, ")
    results = [turn.text for turn in lab.agent.requests[-1].messages if turn.role == "tool"]
    assert "the port is 8443" in results[1]
    assert results[2].startswith("Not recalled: this branch has no record [0123456789ab]")
    recall = next(each["function"] for each in tool if each["function"]["name"] == "recall")
    assert sorted(recall["parameters"]["properties"]) == ["id", "page"]
    assert recall["parameters"]["required"] == ["id"]


def test_what_workers_left_for_the_session_is_shown_and_steers(pi_lab: PiLab) -> None:
    """A notice for the person, and a memory before the model's next step; read back, it is known as ours."""
    pi_lab.settings("passive = true\n")
    steer = "<minutebook-memory>The port is 8443.</minutebook-memory>"
    with pi_lab.rpc() as pi:
        pi.prompt("Hello.")
        until(pi_lab.has_session, "the session")
        session = pi_lab.sessions()[0].session
        path = slot_path(str(pi_lab.store_path), "pi", session)
        add(path, {"kind": "notice", "text": "No worker came.", "id": "n"})
        add(path, {"kind": "steer", "text": steer, "id": "s"})
        pi_lab.agent.queue += [bash("sleep 1"), bash("sleep 1"), Answer(text="Done.")]
        pi.prompt("Look for the port.")
        assert pi.told("No worker came.") == "warning: No worker came."
        assert not os.path.exists(path)  # noqa: PTH110
        assert steer in pi_lab.agent.requests[-1].text
        pi.prompt("Thanks.")
    with pi_lab.store() as store:
        entries = [placed.entry for placed in BranchPath(store, pi_lab.branch()).read()]
    assert [entry.custom_type for entry in entries if entry.role == "custom"] == ["om.injected"]
