"""Questions through the queue: a real store, a real engine, and what is left when something dies."""

from typing import Any

import pytest
from builders import ScriptedMind, deliver, say
from jobs import OFF, SMALL, WAIT, Clock, Gate, engine, until

from minutebook.errors import BadSetting
from minutebook.pipeline import questions
from minutebook.pipeline.branches import memory_stream
from minutebook.pipeline.questions import QUESTIONS, Candidate, Question, Verdict
from minutebook.records import Branch
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.workers.contract import Desk
from minutebook.workers.engine import ALL_ROLES, MEMORY_ROLES, Engine
from minutebook.workers.extractive import ExtractiveMind
from minutebook.workers.judge import LEASE_SECONDS
from minutebook.workers.runner import run_job

RECORDS = [Candidate(id=f"t{n}", kind="user", text=f"word {n} of the gateway") for n in range(1, 4)]


@pytest.fixture
def branch(store: Store) -> Branch:
    return deliver(store, [say("gateway", id="e1")])


def ask(store: Store, branch: Branch, query: str = "gateway", seconds: float = 600) -> Question:
    return questions.ask(store, branch, query, RECORDS, limit=3, deadline_seconds=seconds)


def verdict_on(store: Store, question: Question) -> Verdict | None:
    found = questions.find_question(store, question.id)
    return found.verdict if found else None


def backwards(batch: Any, desk: Desk) -> None:
    desk.record([{"id": record.id} for record in reversed(batch.records)])


def test_a_worker_of_all_roles_serves_the_judge_too() -> None:
    assert [*MEMORY_ROLES, "judge"] == list(ALL_ROLES)


def test_a_question_is_answered_and_the_ledger_gets_nothing(store: Store, branch: Branch) -> None:
    asked = ask(store, branch, "word 2")
    with engine(store, ExtractiveMind()) as working:
        assert working.run_until_idle(WAIT)
    found = verdict_on(store, asked)
    assert found is not None and (found.ids[0], found.mind, found.error) == ("t2", "extractive", "")
    assert store.tip(memory_stream(branch.key)).length == 0 and store.jobs() == []


def test_a_question_wakes_an_engine_that_sleeps(store: Store, branch: Branch) -> None:
    with engine(store, ExtractiveMind(), sweep_seconds=10**9) as working:
        assert working.run_until_idle(WAIT)
        asked = ask(store, branch)
        until(lambda: verdict_on(store, asked))


def test_several_questions_on_one_branch_at_once_are_all_answered(store: Store, branch: Branch) -> None:
    asked = [ask(store, branch, f"word {n}") for n in (1, 2, 3)]
    with engine(store, ExtractiveMind()) as working:
        assert working.run_until_idle(WAIT)
    found = [verdict_on(store, each) for each in asked]
    assert [each.ids[0] for each in found if each] == ["t1", "t2", "t3"]


def test_a_question_asked_while_another_is_judged_is_answered_too(store: Store, branch: Branch) -> None:
    gate = Gate(backwards)
    with engine(store, ScriptedMind(gate), sweep_seconds=10**9) as working:
        first = ask(store, branch)
        assert gate.entered.wait(WAIT)
        second = ask(store, branch)
        gate.open.set()
        assert working.run_until_idle(WAIT)
    assert [verdict_on(store, each).ids for each in (first, second)] == [("t3", "t2", "t1")] * 2  # type: ignore[union-attr]


def test_a_question_asked_after_the_last_look_is_found_when_the_job_ends(store: Store, branch: Branch) -> None:
    """The asker cannot queue a job that still runs; who ends it looks once more."""
    ask(store, branch)
    job = store.jobs()[0].job
    seen = []

    class Late:
        """The store, with a question that comes just before the job is finished."""

        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        def finish(self, claim: Any) -> bool:
            seen.append(ask(store, branch))
            return store.finish(claim)

    late: Any = Late()
    run_job(late, job, minds=lambda *_: ExtractiveMind(), settings_for=lambda _: SMALL, owner="w", log=OFF)
    assert [state.state for state in store.jobs()] == ["pending"] and verdict_on(store, seen[0]) is None


def test_the_board_is_wiped_and_the_question_is_found_by_the_sweep(store: Store, branch: Branch) -> None:
    asked = ask(store, branch)
    store.wipe_board()
    with engine(store, ExtractiveMind()) as working:
        assert working.run_until_idle(WAIT)
    assert verdict_on(store, asked) is not None


def test_wrong_settings_are_told_to_the_asker_and_leave_no_job(store: Store, branch: Branch) -> None:
    asked = ask(store, branch)

    def settings_for(branch: Branch) -> Settings:
        raise BadSetting("minutebook.toml, line 3: no such setting")

    with Engine(store, mind=ExtractiveMind(), settings_for=settings_for, roles=["judge"]) as working:
        assert working.run_until_idle(WAIT)
    found = verdict_on(store, asked)
    assert found is not None and found.error == "minutebook.toml, line 3: no such setting"


def test_a_failure_is_told_and_not_tried_again(store: Store, branch: Branch) -> None:
    asked, mind = ask(store, branch), ScriptedMind([])
    with engine(store, mind) as working:
        assert working.run_until_idle(WAIT)
    found = verdict_on(store, asked)
    assert found is not None and found.error == "scripted ranked nothing"
    assert len(mind.batches) == 1 and store.jobs() == []


def test_passive_starts_no_work_of_its_own_but_answers_who_asks(store: Store, branch: Branch) -> None:
    asked = ask(store, branch)
    with engine(store, ExtractiveMind(), Settings(passive=True)) as working:
        assert working.run_until_idle(WAIT)
    assert verdict_on(store, asked) is not None


# -- time ----------------------------------------------------------------------------------------------------------


def test_an_expired_question_is_not_judged_and_the_sweep_removes_it(clocked: Store, clock: Clock) -> None:
    ask(clocked, deliver(clocked, [say("gateway", id="e1")]), seconds=20)
    clock.now += 20
    mind = ScriptedMind(backwards)
    with engine(clocked, mind) as working:
        assert working.run_until_idle(WAIT)
    assert (mind.batches, clocked.documents(QUESTIONS), clocked.jobs()) == ([], [], [])


def test_a_sweep_removes_it_where_nothing_else_was_written(clocked: Store, clock: Clock) -> None:
    branch = deliver(clocked, [say("gateway", id="e1")])
    with engine(clocked, ScriptedMind(backwards), sweep_seconds=60) as working:
        assert working.run_until_idle(WAIT)
        ask(clocked, branch, seconds=100)
        assert working.run_until_idle(WAIT)
        clock.now += 61
        assert working.run_until_idle(WAIT) and len(clocked.documents(QUESTIONS)) == 1
        clock.now += 61
        until(lambda: working.run_until_idle(WAIT) and not clocked.documents(QUESTIONS))


def test_a_dead_workers_question_is_free_again_after_a_short_lease(clocked: Store, clock: Clock) -> None:
    asked = ask(clocked, deliver(clocked, [say("gateway", id="e1")]))
    gate = Gate(backwards)
    dead = engine(clocked, ScriptedMind(gate), roles=["judge"])
    dead._leases.release_all = lambda error: None  # type: ignore[method-assign]
    dead.start()
    assert gate.entered.wait(WAIT)
    (state,) = clocked.jobs()
    assert state.state == "running" and state.lease_ends - clocked.now() <= LEASE_SECONDS
    clock.now += LEASE_SECONDS + 1
    with engine(clocked, ScriptedMind(lambda batch, desk: desk.nothing(), name="second")) as working:
        assert working.run_until_idle(WAIT)
        gate.open.set()
    dead.stop()
    found = verdict_on(clocked, asked)
    assert found is not None and (found.mind, found.ids) == ("second", ()), "and the first one's answer is refused"
