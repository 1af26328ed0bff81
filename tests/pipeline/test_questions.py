"""Questions to the judge as documents: bounded, without secrets, answered once, gone when nobody waits."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from builders import deliver, say
from jobs import Clock

from minutebook.pipeline import questions
from minutebook.pipeline.branches import memory_stream
from minutebook.pipeline.questions import QUESTIONS, RECORDS_MOST, Candidate, Verdict
from minutebook.records import Branch
from minutebook.store.kernel import Store
from minutebook.store.sqlite import SqliteStore

PORT = Candidate(id="0123456789ab", kind="observation", text="The port is 8081", state="active", relevance="high")
VERDICT = Verdict(ids=(PORT.id,), mind="test", seconds=0.5)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    with closing(SqliteStore(tmp_path / "clocked.db", clock=clock)) as opened:
        yield opened


@pytest.fixture
def branch(store: Store) -> Branch:
    return deliver(store, [say("Which port?", id="e1")])


def ask(store: Store, branch: Branch, query: str = "which port", seconds: float = 20) -> questions.Question:
    return questions.ask(store, branch, query, [PORT], limit=5, deadline_seconds=seconds)


def test_a_question_is_read_as_it_was_asked_and_puts_one_job_on_the_board(store: Store, branch: Branch) -> None:
    first, second = ask(store, branch), ask(store, branch)
    assert questions.find_question(store, first.id) == first and first.candidates == (PORT,)
    assert [state.job for state in store.jobs()] == [first.job] == [second.job]
    assert (first.job.role, first.job.branch, first.id == second.id) == ("judge", branch.key, False)


def test_what_is_stored_is_bounded(store: Store, branch: Branch) -> None:
    many = [replace(PORT, id=str(number), text="x" * 10_000) for number in range(100)]
    asked = questions.ask(store, branch, "word " * 10_000, many, limit=100, deadline_seconds=1)
    assert [each.id for each in asked.candidates] == [str(number) for number in range(RECORDS_MOST)]
    (document,) = store.documents(QUESTIONS)
    assert len(document.body) < 40_000


def test_a_secret_in_the_query_is_neither_stored_nor_asked(store: Store, branch: Branch) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    asked = ask(store, branch, f"where is {secret}\nused")
    assert secret not in store.documents(QUESTIONS)[0].body
    assert asked.query.startswith("where is [secret:") and asked.query.endswith("] used")


def test_the_first_verdict_stands(store: Store, branch: Branch) -> None:
    asked = ask(store, branch)
    assert questions.answer(store, asked, VERDICT)
    assert not questions.answer(store, asked, Verdict(error="late"))
    found = questions.find_question(store, asked.id)
    assert found is not None and found.verdict == VERDICT
    assert questions.open_questions(store) == []


def test_a_verdict_on_a_question_that_was_taken_away_is_not_written(store: Store, branch: Branch) -> None:
    asked = ask(store, branch)
    questions.withdraw(store, asked.id)
    assert not questions.answer(store, asked, VERDICT)
    assert store.documents(QUESTIONS) == []


def test_open_are_those_of_the_branch_that_somebody_waits_for_the_most_urgent_first(
    store: Store, branch: Branch, clock: Clock
) -> None:
    other = deliver(store, [say("elsewhere", id="x1")], "s2")
    slow, quick, elsewhere = ask(store, branch, seconds=30), ask(store, branch, seconds=10), ask(store, other)
    assert [each.id for each in questions.open_questions(store, branch.key)] == [quick.id, slow.id]
    assert [each.id for each in questions.open_questions(store)] == [quick.id, elsewhere.id, slow.id]
    clock.now += 10
    assert [each.id for each in questions.open_questions(store, branch.key)] == [slow.id]


def test_expired_questions_are_forgotten_answered_or_not(store: Store, branch: Branch, clock: Clock) -> None:
    waiting = ask(store, branch, seconds=30)
    questions.answer(store, ask(store, branch, seconds=10), VERDICT)
    ask(store, branch, seconds=10)
    assert questions.forget_expired(store) == 0
    clock.now += 10
    assert questions.forget_expired(store) == 2
    assert [document.key for document in store.documents(QUESTIONS)] == [waiting.id]


def test_a_question_leaves_the_ledger_alone(store: Store, branch: Branch) -> None:
    asked = ask(store, branch)
    questions.answer(store, asked, VERDICT)
    assert store.tip(memory_stream(branch.key)).length == 0
