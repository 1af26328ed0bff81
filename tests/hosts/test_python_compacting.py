"""minutebook.Session: a list in place of a longer one, valid, with the memory in it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from programs_lists import NUMBERS, SMALL, Program, calls_and_answers, entries_of, learn, opened, programs

import minutebook
from minutebook.hosts.python_messages import read_messages
from minutebook.pipeline.quoting import OPENING
from minutebook.pipeline.sourcetext import entry_text


@pytest.fixture
def session(tmp_path: Path) -> Iterator[minutebook.Session]:
    with opened(tmp_path, settings=SMALL) as made:
        yield made


@given(program=programs(most=10), keep=st.integers(0, 500))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_compacted_list_is_valid_and_goes_on(tmp_path: Path, program: Program, keep: int) -> None:
    """The system first, then the memory, then the very same newest messages, no call without its result."""
    with opened(tmp_path, f"compact-{next(NUMBERS)}") as session:
        session.record(program.messages)
        learn(session, "much was done")
        given_ = list(program.messages)
        lead = [each for each in given_[:1] if each.get("role") == "system"]
        new = session.compact(given_, keep_recent_tokens=keep)
        assert program.messages == given_
        if new == given_:
            return
        assert new[: len(lead)] == lead
        assert new[len(lead)]["role"] == "user" and new[len(lead)]["content"].startswith(OPENING)
        kept = new[len(lead) + 1 :]
        assert kept and all(a is b for a, b in zip(kept, given_[len(given_) - len(kept) :], strict=True))
        calls, answers = calls_and_answers(kept)
        assert answers <= calls
        assert session.status()["next_compaction"]["tokens"] == sum(m.tokens for m in read_messages(kept))
        assert session.record(new) == 0
        new += [{"role": "user", "content": "what next?"}, {"role": "assistant", "content": "this"}]
        assert session.record(new) == 2
        assert [entry_text(entry) for entry in entries_of(session) if entry.typed] == [*program.prompts, "what next?"]


def test_without_memory_or_without_something_to_cut_the_list_stays(session: minutebook.Session) -> None:
    messages = [{"role": "user", "content": "x" * 400}, {"role": "assistant", "content": "y" * 400}] * 2
    assert session.compact(messages) == messages
    learn(session, "a")
    assert session.compact(messages, keep_recent_tokens=10**6) == messages
    assert session.compact(messages)[0]["content"].startswith(OPENING)


def test_it_obeys_the_clock_and_compacts_again_and_again(session: minutebook.Session) -> None:
    """003-064, as om replay does: due by compact_after_tokens, and the fold of each compaction is in force."""
    messages: list[Any] = [{"role": "system", "content": "You are an agent."}]
    compactions = 0
    for at in range(60):
        messages += [
            {"role": "user", "content": f"step {at} " + "x" * 60},
            {"role": "assistant", "content": f"ok {at}"},
        ]
        session.record(messages)
        tokens = session.status()["next_compaction"]["tokens"]
        assert session.compaction_due == (tokens >= 200)
        if session.compaction_due:
            learn(session, f"step {at} was done")
            messages = session.compact(messages)
            compactions += 1
            assert not session.compaction_due and session.status()["observations"]["visible"] == compactions
            assert f"step {at} was done" in messages[1]["content"]
            assert len([m for m in messages if OPENING in str(m["content"])]) == 1
    assert compactions > 3 and len(messages) < 30
    assert len(entries_of(session)) == 120


def test_passive_asks_for_no_compaction(tmp_path: Path) -> None:
    with opened(tmp_path, settings={**SMALL, "passive": True}) as session:
        session.record([{"role": "user", "content": "x" * 4_000}])
        assert not session.compaction_due


def test_a_program_that_builds_its_own_context_composes_and_confirms(session: minutebook.Session) -> None:
    messages = [{"role": "user", "content": f"step {at} " + "x" * 200} for at in range(8)]
    session.record(messages)
    assert session.compose() is None
    (seen,) = learn(session, "eight steps")
    composed = session.compose(keep_recent_tokens=120)
    assert composed is not None and f"[{seen}]" in composed.text
    assert session.compose(keep_recent_tokens=120) == composed
    assert session.status()["observations"]["visible"] == 0
    session.confirm(composed)
    assert session.status()["observations"]["visible"] == 1
    assert session.status()["next_compaction"]["tokens"] <= 120


def test_a_composition_of_another_program_that_is_open_is_waited_for(session: minutebook.Session) -> None:
    """It died between compose and confirm: the list stays as it is, and nothing is raised into the agent."""
    messages = [{"role": "user", "content": f"step {at} " + "x" * 200} for at in range(8)]
    session.record(messages)
    learn(session, "eight steps")
    assert session.compose(keep_recent_tokens=300) is not None
    assert session.compact(messages) == messages
