"""A session's file into the ledger: from where it was read to, in steps, within a budget."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hookkit import SESSION, Agent

from minutebook.errors import BadTranscript
from minutebook.hosts import delivering
from minutebook.hosts.delivering import deliver, deliver_reading, read_before, reader_of, readings
from minutebook.pipeline.deliveries import Reading
from minutebook.pipeline.pauses import Pause, begin_pause
from minutebook.pipeline.purged import tombstone
from minutebook.pipeline.sessions import find_session
from minutebook.store.kernel import Store

KEY = f"claude_code:{SESSION}"


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Where the file was read to by each step, of 400 bytes; about one prompt."""
    monkeypatch.setattr(delivering, "STEP_BYTES", 400)
    monkeypatch.setattr(delivering, "BUDGET_STEP_BYTES", 400)
    return []


def noting(steps: list[int]) -> Callable[[Reading], None]:
    return lambda reading: steps.append(int(reading.cursor.get("offset", -1)))


def test_it_goes_on_where_it_was_read_to(agent: Agent, store: Store, steps: list[int]) -> None:
    agent.say("one", "two")
    first = deliver(store, "claude_code", agent.transcript)
    agent.say("three")
    second = deliver(store, "claude_code", agent.transcript, each=noting(steps))
    assert (first.new, second.new, second.duplicates) == (2, 1, 0) and first.session == second.session == KEY
    assert second.branches and second.whole and second.recognised and len(steps) == 1
    assert agent.is_taken_in()


def test_what_did_not_change_is_not_noted(agent: Agent, store: Store) -> None:
    agent.say("one")
    deliver(store, "claude_code", agent.transcript)
    before = find_session(store, KEY)
    assert deliver(store, "claude_code", agent.transcript).new == 0
    assert find_session(store, KEY) == before


def test_a_budget_ends_between_two_steps_and_loses_nothing(agent: Agent, store: Store, steps: list[int]) -> None:
    agent.say(*map(str, range(10)))
    done = deliver(store, "claude_code", agent.transcript, seconds=0.0, each=noting(steps))
    assert not done.whole and len(steps) == 1 and len(agent.ledger()) == done.new < 10
    times = 1
    while not deliver(store, "claude_code", agent.transcript, seconds=0.0, key=KEY).whole:
        times += 1
    assert agent.is_taken_in() and times > 3


def test_a_record_that_is_longer_than_a_step_comes_to_an_end(agent: Agent, store: Store, steps: list[int]) -> None:
    agent.say("x" * 5_000, "two")
    while not deliver(store, "claude_code", agent.transcript, seconds=0.0).whole:
        assert len(steps) < 20
        steps.append(0)
    assert agent.is_taken_in()


def test_a_session_is_known_by_its_file_or_by_its_name(agent: Agent, store: Store, tmp_path: Path) -> None:
    reader = reader_of("claude_code")
    agent.say("one")
    assert read_before(store, reader, agent.transcript, KEY) is None
    deliver(store, "claude_code", agent.transcript, key="claude_code:somebody else")
    for key in ("", KEY, "claude_code:somebody else"):
        session = read_before(store, reader, agent.transcript, key)
        assert session is not None and session.key == KEY
    copy = tmp_path / "copy" / agent.transcript.name
    copy.parent.mkdir()
    copy.write_bytes(agent.transcript.read_bytes())
    assert read_before(store, reader, copy, KEY) is None  # what its cursor says is of another file
    assert deliver(store, "claude_code", copy, key=KEY).duplicates == 1 and agent.is_taken_in()


def test_a_file_of_another_host_is_not_recognised(agent: Agent, store: Store) -> None:
    agent.say("one", "two")
    done = deliver(store, "codex", agent.transcript)
    assert not done.recognised and done.whole and done.session == "" and find_session(store, KEY) is None


def test_a_host_that_is_not_known_is_named(agent: Agent, store: Store) -> None:
    with pytest.raises(BadTranscript, match="no such host"):
        deliver(store, "../claude_code", agent.transcript)


def test_a_file_that_says_nothing_for_long_is_not_read_twice(
    agent: Agent, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its head is looked for in its beginning only."""
    monkeypatch.setattr(delivering, "HEAD_BYTES", 500)
    monkeypatch.setattr(delivering, "HEAD_MAX_BYTES", 1_000)
    agent.transcript.write_text('{"type": "mode", "value": "x"}\n' * 500)
    agent.say("one")
    assert read_before(store, reader_of("claude_code"), agent.transcript) is None
    assert deliver(store, "claude_code", agent.transcript).new == 1


def test_an_ignored_project_ends_at_once(agent: Agent, store: Store, steps: list[int]) -> None:
    agent.say(*map(str, range(10)))
    ignore = (str(agent.transcript.parent),)
    done = deliver(store, "claude_code", agent.transcript, ignore=ignore, each=noting(steps))
    assert done.recognised and done.whole and done.new == 0 and len(steps) == 1
    assert find_session(store, KEY) is None


def test_a_removed_session_ends_at_once(agent: Agent, store: Store, steps: list[int]) -> None:
    agent.say(*map(str, range(10)))
    store.put(tombstone(KEY, time="2026-05-02T10:30:00Z", reason="purge"))
    done = deliver(store, "claude_code", agent.transcript, each=noting(steps))
    assert done.purged and done.whole and done.new == 0 and len(steps) == 1


def test_a_paused_time_is_left_out_and_passed(agent: Agent, store: Store) -> None:
    begin_pause(store, Pause(scope="all", since="2026-05-02T10:00:01Z"))
    agent.say("one", "two", "three")
    assert deliver(store, "claude_code", agent.transcript).new == 1
    session = find_session(store, KEY)
    assert session is not None and session.cursor["offset"] == agent.transcript.stat().st_size
    reading = reader_of("claude_code").read(agent.transcript)
    assert deliver_reading(store, reading).new == 0 and agent.ledger() == ["one"]


def test_how_far_it_is_is_told(agent: Agent, store: Store, steps: list[int]) -> None:
    agent.say("one", "two", "three")
    told: list[tuple[Path, int, int]] = []
    list(readings(reader_of("claude_code"), agent.transcript, None, lambda *each: told.append(each), 400))
    size = agent.transcript.stat().st_size
    assert told[-1] == (agent.transcript, size, size) and len(told) > 2
    assert [at for _, at, _ in told] == sorted(at for _, at, _ in told)


@pytest.mark.parametrize("path", ["/nul\0", "/lone\ud800", os.devnull, "/"])
def test_what_is_no_file_is_one_line(store: Store, path: str) -> None:
    with pytest.raises(BadTranscript):
        deliver(store, "claude_code", Path(path))
