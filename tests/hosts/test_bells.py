"""The worker's half of the bell: every session that rang is in the ledger, once, whoever took its bell."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from bellkit import Clock, ring, take_all
from hookkit import SESSION, Agent

from minutebook.hosts import bell, bells, detecting
from minutebook.hosts.bells import AGAIN_SECONDS, FOREIGN_SECONDS, TEMPORARY_SECONDS, Bells
from minutebook.hosts.delivering import READERS
from minutebook.pipeline.pauses import Pause, begin_pause
from minutebook.pipeline.sessions import find_session, list_sessions
from minutebook.settings import Settings
from minutebook.store.kernel import Store

NOBODY = 2**22 + 1
"""No process has such a number."""


# -- taking in -----------------------------------------------------------------------------------------------------


def test_what_was_rung_for_is_in_the_ledger(agent: Agent, store: Store, taking: Bells, clock: Clock) -> None:
    agent.say("one", "two")
    ring(agent)
    assert taking(store) == AGAIN_SECONDS and agent.is_taken_in()
    take_all(taking, store, clock)
    assert not agent.bells and not agent.log


def test_without_a_bell_nothing_is_read_or_written(agent: Agent, taking: Bells) -> None:
    """A store that must not be asked at all."""
    nothing: Any = None
    assert taking(nothing) is None
    assert list(agent.home.iterdir()) == [] if agent.home.exists() else True


def test_rows_that_the_agent_writes_after_its_hook_are_taken_in(
    agent: Agent, store: Store, taking: Bells, clock: Clock
) -> None:
    agent.say("one")
    ring(agent, event="SessionEnd", ended=True)
    again = taking(store)
    agent.say("written late")
    assert again is not None
    session = find_session(store, f"claude_code:{SESSION}")
    assert session is not None and not session.ended
    clock.now += again
    assert taking(store) is None and agent.is_taken_in()
    session = find_session(store, f"claude_code:{SESSION}")
    assert session is not None and session.ended


def test_a_session_that_is_resumed_is_not_over_any_more(
    agent: Agent, store: Store, taking: Bells, clock: Clock
) -> None:
    agent.say("one")
    ring(agent, ended=True)
    take_all(taking, store, clock)
    agent.say("two")
    ring(agent)
    take_all(taking, store, clock)
    session = find_session(store, f"claude_code:{SESSION}")
    assert session is not None and not session.ended and agent.is_taken_in()


def test_a_bell_that_rings_while_its_session_is_taken_in_is_not_lost(
    agent: Agent, store: Store, taking: Bells, clock: Clock
) -> None:
    agent.say("one")
    ring(agent)
    taking(store)
    agent.say("two")
    ring(agent, event="SessionEnd", ended=True)
    assert len(agent.bells) == 2
    take_all(taking, store, clock)
    session = find_session(store, f"claude_code:{SESSION}")
    assert agent.is_taken_in() and session is not None and session.ended and not agent.bells


def test_sub_agents_have_a_session_of_their_own(agent: Agent, store: Store, taking: Bells, clock: Clock) -> None:
    agent.say("one")
    own = agent.transcript.with_name("agent-a7.jsonl")
    row = json.loads(agent.transcript.read_text())
    own.write_text(json.dumps({**row, "isSidechain": True, "agentId": "a7", "uuid": "other"}) + "\n")
    ring(agent)
    ring(agent, agent="a7", path=str(own), ended=True)
    take_all(taking, store, clock)
    assert sorted(session.key for session in list_sessions(store)) == [
        f"claude_code:{SESSION}",
        f"claude_code:{SESSION}/a7",
    ]


def test_a_large_session_lets_the_others_have_their_turn(
    agent: Agent, store: Store, taking: Bells, clock: Clock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(bells, "TURN_SECONDS", 0.0)
    monkeypatch.setattr(bells, "STEP_BYTES", 2_000)
    other = Agent(tmp_path, session="99999999-2222-4333-8444-555555555555")
    agent.say(*(f"prompt {number} " + "x" * 500 for number in range(20)))
    other.say("short")
    ring(agent)
    ring(other)
    assert taking(store) == 0.0
    assert other.is_taken_in() and 0 < len(agent.ledger()) < 20
    take_all(taking, store, clock)
    assert agent.is_taken_in()


def test_a_paused_time_is_left_out(agent: Agent, store: Store, taking: Bells, clock: Clock) -> None:
    agent.say("one", "two")
    begin_pause(store, Pause(scope="all", since="2026-05-02T10:00:01Z"))
    ring(agent)
    take_all(taking, store, clock)
    assert agent.ledger() == ["one"]


def test_nothing_of_an_ignored_project_is_taken_in(
    agent: Agent, store: Store, taking: Bells, clock: Clock, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is it read again and again."""
    monkeypatch.setattr(bells, "TURN_SECONDS", 0.0)
    monkeypatch.setattr(bells, "STEP_BYTES", 500)
    folder = str(agent.transcript.parent)
    settings[folder] = Settings(ignore=(folder,))
    agent.say(*map(str, range(20)))
    ring(agent)
    take_all(taking, store, clock, most=5)
    assert agent.ledger() == [] and not agent.bells and not agent.log


# -- other workers -------------------------------------------------------------------------------------------------


def left_by(agent: Agent, pid: int) -> Path:
    """A bell that the worker with that number has taken."""
    folder = Path(bell.bells_folder(agent.store))
    return (folder / f"claude_code.{SESSION}").rename(folder / f"+{pid}.claude_code.{SESSION}")


def test_what_a_dead_worker_had_taken_is_taken_again(agent: Agent, store: Store, taking: Bells, clock: Clock) -> None:
    agent.say("one")
    ring(agent)
    left_by(agent, NOBODY)
    take_all(taking, store, clock)
    assert agent.is_taken_in() and not agent.bells


def test_what_a_living_worker_has_taken_is_its_own(agent: Agent, store: Store, taking: Bells, clock: Clock) -> None:
    agent.say("one")
    ring(agent)
    left_by(agent, os.getppid())
    take_all(taking, store, clock)
    assert agent.ledger() == [] and len(agent.bells) == 1


def test_for_so_long_nobody_has_a_bell_in_hand(
    agent: Agent, store: Store, taking: Bells, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its worker ran on another machine, where its number is another process's."""
    agent.say("one")
    ring(agent)
    left_by(agent, os.getppid())
    monkeypatch.setattr(bells, "FOREIGN_SECONDS", -1.0)
    take_all(taking, store, clock)
    assert agent.is_taken_in() and FOREIGN_SECONDS > 60


def test_a_worker_that_leaves_gives_back_what_it_has_in_hand(agent: Agent, store: Store, taking: Bells) -> None:
    agent.say("one")
    ring(agent)
    taking(store)
    assert list(agent.bells) == [f"+{os.getpid()}.claude_code.{SESSION}"]
    taking.give_back()
    assert list(agent.bells) == [f"claude_code.{SESSION}"]
    ring(agent, event="Stop")
    taking(store)
    ring(agent, event="SessionEnd", ended=True)
    taking.give_back()
    assert [rung["event"] for rung in agent.bells.values()] == ["SessionEnd"]


def test_half_written_bells_of_killed_hooks_are_swept_out(
    agent: Agent, store: Store, taking: Bells, clock: Clock
) -> None:
    agent.say("one")
    ring(agent)
    folder = Path(bell.bells_folder(agent.store))
    old, new = folder / ".1.2", folder / ".3.4"
    old.write_text("{")
    new.write_text("{")
    os.utime(old, (0, 0))
    take_all(taking, store, clock)
    assert not old.exists() and new.exists() and TEMPORARY_SECONDS > 60


def test_a_hook_loads_the_readers_that_all_others_use() -> None:
    assert {host: module.__name__ for host, module in detecting.READERS.items()} == READERS
