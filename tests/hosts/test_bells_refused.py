"""What a worker cannot take in: one line in the log each, and nobody else is held up."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bellkit import Clock, ring, take_all
from hookkit import SESSION, Agent

from minutebook.errors import BadSetting, StoreBusy, StoreFull
from minutebook.hosts import bell, bells
from minutebook.hosts.bells import RETRY_SECONDS, Bells
from minutebook.store.kernel import Store


def refuse(error: Exception) -> Callable[..., Any]:
    """A delivery that fails."""

    def deliver(*_: object, **__: object) -> None:
        raise error

    return deliver


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


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit"])
def test_a_session_that_is_open_and_said_nothing_yet_is_no_complaint(
    agent: Agent, store: Store, taking: Bells, clock: Clock, event: str
) -> None:
    """Claude Code makes the file late."""
    ring(agent, event=event)
    take_all(taking, store, clock)
    assert not agent.bells and not agent.log
    ring(agent, event="Stop")
    take_all(taking, store, clock)
    assert len(agent.log) == 1


def test_a_session_that_was_read_and_whose_file_is_gone_is_named_at_once(
    agent: Agent, store: Store, taking: Bells, clock: Clock
) -> None:
    agent.say("one")
    ring(agent)
    take_all(taking, store, clock)
    agent.transcript.unlink()
    ring(agent, event="UserPromptSubmit")
    take_all(taking, store, clock)
    assert len(agent.log) == 1


def test_a_session_that_said_something_and_whose_file_is_gone_is_named(
    agent: Agent, store: Store, taking: Bells, clock: Clock
) -> None:
    """It was over, and its file removed, before anybody read it."""
    ring(agent, event="Stop")
    ring(agent, event="SessionEnd", ended=True)
    take_all(taking, store, clock)
    (said,) = agent.log
    assert not agent.bells and str(agent.transcript) in said


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
