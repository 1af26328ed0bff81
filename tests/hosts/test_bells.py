"""The worker's half of the bell: every session that rang is in the ledger, whatever one of them is about."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hookkit import SESSION, Agent

from minutebook.errors import BadSetting, StoreBusy, StoreFull
from minutebook.hosts import bell, bells, detecting
from minutebook.hosts.bells import AGAIN_SECONDS, FOREIGN_SECONDS, RETRY_SECONDS, TEMPORARY_SECONDS, Bells
from minutebook.hosts.delivering import READERS
from minutebook.pipeline.pauses import Pause, begin_pause
from minutebook.pipeline.sessions import find_session, list_sessions
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.store.sqlite import SqliteStore

NOBODY = 2**22 + 1
"""No process has such a number."""


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def environment(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINUTEBOOK_HOME", str(agent.home))
    agent.home.mkdir()


@pytest.fixture
def store(agent: Agent, environment: None) -> Iterator[SqliteStore]:
    with closing(SqliteStore(Path(agent.store))) as store:
        yield store


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def settings() -> dict[str, Any]:
    """project → its settings, or what is raised instead."""
    return {}


@pytest.fixture
def taking(agent: Agent, clock: Clock, settings: dict[str, Any]) -> Bells:
    """A worker's bells."""

    def settings_of(project: str) -> Settings:
        found = settings.get(project, Settings())
        if isinstance(found, Exception):
            raise found
        assert isinstance(found, Settings)
        return found

    return Bells(agent.store, settings_of, clock=clock)


def ring(by: Agent, **more: Any) -> None:
    """As the agent's hook does it."""
    given = {"host": "claude_code", "session": by.session, "path": str(by.transcript), **more}
    bell.ring(by.store, **{"cwd": str(by.transcript.parent), **given})


def take_all(taking: Bells, store: Store, clock: Clock, most: int = 50) -> None:
    """Until nothing is left to do."""
    for _ in range(most):
        again = taking(store)
        if again is None:
            return
        clock.now += again
    raise AssertionError("it comes to no end")


def refuse(error: Exception) -> Callable[..., Any]:
    """A delivery that fails."""

    def deliver(*_: object, **__: object) -> None:
        raise error

    return deliver


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


# -- what cannot be taken in ---------------------------------------------------------------------------------------


def directory(path: Path) -> None:
    path.mkdir()


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def gone(path: Path) -> None:
    path.unlink(missing_ok=True)


def loop(path: Path) -> None:
    path.symlink_to(path)


def another_host(path: Path) -> None:
    path.write_text('{"type": "session_meta", "payload": {"id": "x"}}\n' * 3)


def nonsense(path: Path) -> None:
    path.write_bytes(b"\xff\0no rows at all\n" * 50)


@pytest.mark.parametrize("made", [directory, pipe, device, gone, loop, another_host, nonsense])
def test_a_transcript_that_cannot_be_read_is_one_line_and_stops_nobody(
    agent: Agent, store: Store, taking: Bells, clock: Clock, tmp_path: Path, made: Callable[[Path], None]
) -> None:
    path = tmp_path / "other.jsonl"
    made(path)
    agent.say("one")
    for _ in range(3):
        ring(agent, session="0-other", path=str(path))
        ring(agent)
        take_all(taking, store, clock)
    assert agent.is_taken_in() and not agent.bells
    (line,) = agent.log
    assert str(path) in line


def test_a_transcript_that_comes_late_is_taken_in(agent: Agent, store: Store, taking: Bells, clock: Clock) -> None:
    ring(agent)
    again = taking(store)
    agent.say("one")
    assert again is not None
    clock.now += again
    take_all(taking, store, clock)
    assert agent.is_taken_in() and not agent.log


def test_a_session_that_ends_without_a_word_is_no_complaint(
    agent: Agent, store: Store, taking: Bells, clock: Clock
) -> None:
    ring(agent, ended=True)
    take_all(taking, store, clock)
    assert not agent.bells and not agent.log


def test_a_session_s_later_fault_is_said_again_when_it_was_well_between(
    agent: Agent, store: Store, taking: Bells, clock: Clock
) -> None:
    agent.say("one")
    kept = agent.transcript.read_bytes()
    for _ in range(2):
        agent.transcript.unlink()
        ring(agent)
        take_all(taking, store, clock)
        agent.transcript.write_bytes(kept)
        ring(agent)
        take_all(taking, store, clock)
    assert len(agent.log) == 2


@pytest.mark.parametrize("text", ["", "{", "[]", '{"host": "codex"}', '{"host": "../x", "session": "s", "path": "/t"}'])
def test_a_bell_that_cannot_be_read_is_dropped(
    agent: Agent, store: Store, taking: Bells, clock: Clock, text: str
) -> None:
    agent.say("one")
    ring(agent)
    Path(bell.bells_folder(agent.store), "codex.s").write_text(text)
    take_all(taking, store, clock)
    assert agent.is_taken_in() and not agent.bells and len(agent.log) == 1


@pytest.mark.parametrize("path", ["", "relative", "/nul\0", "/lone\ud800", "/" + "x" * 3_000])
def test_a_path_that_is_none_is_one_line(agent: Agent, store: Store, taking: Bells, clock: Clock, path: str) -> None:
    ring(agent, path=path)
    take_all(taking, store, clock)
    assert not agent.bells and len(agent.log) == 1


@pytest.mark.parametrize("error", [StoreBusy("it is busy"), StoreFull("the disk is full"), RuntimeError("a fault")])
def test_a_store_that_cannot_take_it_in_is_tried_again(
    agent: Agent, store: Store, taking: Bells, clock: Clock, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    agent.say("one")
    ring(agent)
    monkeypatch.setattr(bells, "deliver", refuse(error))
    for pause in RETRY_SECONDS:
        assert taking(store) == pause
        clock.now += pause
    assert taking(store) is None  # the worker may leave, and the bell stays
    assert len(agent.bells) == len(agent.log) == 1
    monkeypatch.undo()
    taking.give_back()
    assert list(agent.bells) == [f"claude_code.{SESSION}"]


def test_what_failed_for_long_is_taken_in_when_it_goes_again(
    agent: Agent, store: Store, taking: Bells, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent.say("one")
    ring(agent)
    with monkeypatch.context() as patch:
        patch.setattr(bells, "deliver", refuse(StoreBusy("it is busy")))
        while (again := taking(store)) is not None:
            clock.now += again
    clock.now += RETRY_SECONDS[-1]
    take_all(taking, store, clock)
    assert agent.is_taken_in() and not agent.bells


def test_settings_that_cannot_be_read_hold_up_their_project_only(
    agent: Agent, store: Store, taking: Bells, clock: Clock, settings: dict[str, Any], tmp_path: Path
) -> None:
    """What must be kept out is not known then."""
    other = Agent(tmp_path, session="99999999-2222-4333-8444-555555555555")
    agent.say("one")
    other.say("two")
    settings["/wrong"] = BadSetting("/wrong/.minutebook.toml: line 1")
    ring(agent, cwd="/wrong")
    ring(other)
    while (again := taking(store)) is not None:
        clock.now += again
    assert other.is_taken_in() and agent.ledger() == []
    (line,) = agent.log
    assert "/wrong/.minutebook.toml" in line and len(agent.bells) == 1
    settings.clear()
    clock.now += RETRY_SECONDS[-1]
    take_all(taking, store, clock)
    assert agent.is_taken_in()


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
