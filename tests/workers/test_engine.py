"""The engine in one process: what is due is found, sent, done once, and found again when it was lost."""

import threading
from dataclasses import replace

import pytest
from builders import ScriptedMind, memory_of, say
from jobs import (
    BACKENDS,
    SMALL,
    WAIT,
    Clock,
    Gate,
    contents,
    do_all,
    engine,
    observer_of,
    observing_mind,
    sent_ids,
    session_of_entries,
    spoil_queue,
    waiting,
)

from minutebook.errors import ProviderFailed
from minutebook.pipeline.branches import branch_put, list_branches, memory_stream, source_stream
from minutebook.pipeline.compaction import compose_memory
from minutebook.pipeline.folds import confirm_fold
from minutebook.pipeline.intake import mark_ended
from minutebook.pipeline.status import read_status
from minutebook.records import Branch
from minutebook.settings import Settings
from minutebook.store import codec
from minutebook.store.kernel import Store
from minutebook.workers.engine import Engine


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# -- what is due is done -------------------------------------------------------------------------------------------


def test_what_is_due_is_done_and_then_it_is_idle(store: Store) -> None:
    branch = session_of_entries(store, 5)
    with engine(store, observing_mind()) as working:
        assert working.run_until_idle(WAIT)
    assert len(contents(memory_of(store, branch))) == 5
    assert (store.jobs(), store.take_dirty(9)) == ([], [])


def test_it_goes_on_with_what_comes_later(store: Store) -> None:
    with engine(store, observing_mind()) as working:
        for size in (5, 10, 15):
            branch = session_of_entries(store, size)
            assert working.run_until_idle(WAIT)
            assert len(contents(memory_of(store, branch))) == size


def test_a_backlog_drains_in_runs_without_another_turn_003_007(store: Store) -> None:
    branch = session_of_entries(store, 40)
    mind = observing_mind()
    with engine(store, mind, replace(SMALL, observer_chunk_max_tokens=256)) as working:
        assert working.run_until_idle(WAIT)
    requests = sent_ids(mind)
    assert len(requests) >= 5
    assert [id_ for ids in requests for id_ in ids] == [f"s1-e{number}" for number in range(40)]
    covers = [codec.memory_entry("", stored).covers for stored in store.read(memory_stream(branch.key))]
    assert covers == sorted(covers) and covers[-1] == 40 and len(covers) == len(requests)


def test_an_observer_commit_alone_starts_the_reflector_003_052(store: Store) -> None:
    branch = session_of_entries(store, 5)
    with engine(store, observing_mind(), replace(SMALL, reflect_after_tokens=50)) as working:
        assert working.run_until_idle(WAIT)
    memory = memory_of(store, branch)
    assert len(memory.reflections) == 2 and memory.reflected == memory.observed == 5


def test_every_branch_of_every_session_is_served(store: Store) -> None:
    branches = [session_of_entries(store, 3, f"s{number}") for number in range(12)]
    with engine(store, observing_mind(), concurrency=3) as working:
        assert working.run_until_idle(WAIT)
    assert [len(contents(memory_of(store, branch))) for branch in branches] == [3] * 12


def test_each_project_has_its_own_settings(store: Store) -> None:
    eager = session_of_entries(store, 3, "eager", project="/eager")
    lazy = session_of_entries(store, 3, "lazy", project="/lazy")

    def settings_for(branch: Branch) -> Settings:
        return SMALL if branch.project == "/eager" else Settings()

    with Engine(store, mind=observing_mind(), settings_for=settings_for) as working:
        assert working.run_until_idle(WAIT)
    assert (len(memory_of(store, eager).observations), len(memory_of(store, lazy).observations)) == (3, 0)


def test_passive_starts_nothing_and_afterwards_it_is_worked_off_003_139(store: Store) -> None:
    branch = session_of_entries(store, 5)
    mind = observing_mind()
    with engine(store, mind, replace(SMALL, passive=True)) as working:
        assert working.run_until_idle(WAIT)
    assert (mind.batches, store.tip(memory_stream(branch.key)).length, store.take_dirty(9)) == ([], 0, [])
    with engine(store, mind) as working:
        assert working.run_until_idle(WAIT)
    assert sent_ids(mind)[0][0] == "s1-e0" and memory_of(store, branch).observed == 5


def test_a_job_queued_before_passive_makes_no_request_003_141(store: Store) -> None:
    branch = session_of_entries(store, 5)
    store.queue(observer_of(branch))
    mind = observing_mind()
    with engine(store, mind, replace(SMALL, passive=True)) as working:
        assert working.run_until_idle(WAIT)
    assert (mind.batches, store.tip(memory_stream(branch.key)).length, store.jobs()) == ([], 0, [])


def test_a_worker_of_some_roles_leaves_the_others_their_work(store: Store) -> None:
    branch = session_of_entries(store, 5)
    with engine(store, observing_mind(), roles=["reflector", "dropper"]) as working:
        assert working.run_until_idle(WAIT)
    assert [(state.job, state.state) for state in store.jobs()] == [(observer_of(branch), "pending")]
    with engine(store, observing_mind(), roles=["observer"]) as working:
        assert working.run_until_idle(WAIT)
    assert len(contents(memory_of(store, branch))) == 5


# -- time ----------------------------------------------------------------------------------------------------------


def test_a_tail_is_observed_when_its_session_ends_003_050(store: Store) -> None:
    branch = session_of_entries(store, 3)
    settings = replace(SMALL, observe_after_tokens=10_000)
    with engine(store, observing_mind(), settings) as working:
        assert working.run_until_idle(WAIT)
        assert memory_of(store, branch).observed == 0
        mark_ended(store, "neutral:s1")
        assert working.run_until_idle(WAIT)
    assert memory_of(store, branch).observed == 3


def test_a_tail_is_observed_when_its_session_goes_idle_003_050(clocked: Store, clock: Clock) -> None:
    branch = session_of_entries(clocked, 3)
    settings = replace(SMALL, observe_after_tokens=10_000, flush_idle_seconds=300)
    with engine(clocked, observing_mind(), settings, sweep_seconds=10**9) as working:
        clock.now += 299
        assert working.run_until_idle(WAIT)
        assert memory_of(clocked, branch).observed == 0 and working.expects_work()
        clock.now += 1
        assert working.run_until_idle(WAIT)
        assert memory_of(clocked, branch).observed == 3 and not working.expects_work()


def test_a_job_that_pauses_is_not_waited_for_and_done_in_time(clocked: Store, clock: Clock) -> None:
    branch = session_of_entries(clocked, 3)
    mind = ScriptedMind([ProviderFailed("down")])
    with engine(clocked, mind) as working:
        assert not working.run_until_idle(WAIT)
        assert len(mind.batches) == 1 and working.look() == "waiting"
        mind.script = do_all
        clock.now += SMALL.retry_first_seconds
        assert working.run_until_idle(WAIT)
    assert len(contents(memory_of(clocked, branch))) == 3


def test_the_timeout_ends_the_waiting_and_not_the_work(store: Store) -> None:
    branch = session_of_entries(store, 3)
    gate = Gate()
    with engine(store, ScriptedMind(gate)) as working:
        assert not working.run_until_idle(0.05)
        gate.open.set()
        assert working.run_until_idle(WAIT)
    assert len(contents(memory_of(store, branch))) == 3


# -- nothing is lost, nothing is done twice ------------------------------------------------------------------------


@pytest.mark.parametrize("lost", ["board", "queue", "both"])
def test_a_wiped_board_or_queue_loses_nothing(store: Store, lost: str) -> None:
    branch = session_of_entries(store, 5)
    store.queue(observer_of(branch))
    if lost != "queue":
        store.wipe_board()
    if lost != "board":
        spoil_queue(store)
    with engine(store, observing_mind()) as working:
        assert working.run_until_idle(WAIT)
    assert len(contents(memory_of(store, branch))) == 5


def test_a_sweep_finds_what_was_lost_under_a_running_engine(clocked: Store, clock: Clock) -> None:
    with engine(clocked, observing_mind(), sweep_seconds=60) as working:
        assert working.run_until_idle(WAIT)
        branch = _unannounced(clocked)
        assert working.run_until_idle(WAIT)
        assert memory_of(clocked, branch).observed == 0
        clock.now += 60
        assert working.run_until_idle(WAIT)
        assert memory_of(clocked, branch).observed == 5


def _unannounced(store: Store) -> Branch:
    """A session whose entries are in the store without a mark that its branch is dirty."""
    branch = Branch(key="neutral:s9", host="neutral", session="s9", lineage="neutral:s9")
    entry = say("some words to weigh")
    items = [codec.source_item(replace(entry, id=f"e{number}"), 30) for number in range(5)]
    store.append(source_stream(branch.key), items, puts=[branch_put(branch)])
    return branch


def test_two_triggers_at_once_make_one_run_003_167(store: Store) -> None:
    branch = session_of_entries(store, 5)
    gate = Gate()
    mind = ScriptedMind(gate)
    with engine(store, mind) as working:
        assert gate.entered.wait(WAIT)
        for _ in range(3):
            store.mark_dirty(branch.key)
            assert working.look() == "busy"
        gate.open.set()
        assert working.run_until_idle(WAIT)
    assert len(mind.batches) == 1 and len(contents(memory_of(store, branch))) == 5


def test_two_engines_on_one_store_record_once_003_167(store: Store) -> None:
    branches = [session_of_entries(store, 6, f"s{number}") for number in range(8)]
    minds = [observing_mind(), observing_mind()]
    with engine(store, minds[0]) as one, engine(store, minds[1]) as other:
        assert one.run_until_idle(WAIT) and other.run_until_idle(WAIT)
    assert [len(contents(memory_of(store, branch))) for branch in branches] == [6] * 8
    assert [store.tip(memory_stream(branch.key)).length for branch in branches] == [1] * 8


def test_what_comes_during_a_run_is_not_forgotten(store: Store) -> None:
    """The branch becomes dirty while its job runs: it stays dirty until that job is over."""
    session_of_entries(store, 3)
    gate = Gate()
    mind = ScriptedMind(gate)
    with engine(store, mind, sweep_seconds=10**9) as working:
        assert gate.entered.wait(WAIT)
        branch = session_of_entries(store, 6)
        assert working.look() == "busy"
        assert [dirty.key for dirty in store.take_dirty(9)] == [branch.key]
        gate.open.set()
        assert working.run_until_idle(WAIT)
    assert len(contents(memory_of(store, branch))) == 6


def test_never_more_than_one_pending_job_for_a_role_and_branch_003_056(store: Store) -> None:
    gate = Gate(then=lambda batch, desk: desk.nothing())
    most = 0
    with engine(store, ScriptedMind(gate), replace(SMALL, reflect_after_tokens=50)) as working:
        for size in range(500, 10_001, 500):
            branch = session_of_entries(store, size, start=size - 500)
            assert working.look() == "busy"
            assert gate.entered.wait(WAIT)
            jobs = [state.job for state in store.jobs()]
            assert len(jobs) == len(set(jobs)) == 1
            most = max(most, len(waiting(store)))
        gate.open.set()
    assert most == 0, "the one job is in hand, and is not sent again"
    assert store.tip(source_stream(branch.key)).length == 10_000


def test_a_compaction_during_a_run_uses_what_is_there_003_168(store: Store) -> None:
    branch = session_of_entries(store, 4)
    with engine(store, observing_mind()) as working:
        assert working.run_until_idle(WAIT)
    session_of_entries(store, 8)
    gate = Gate()
    with engine(store, ScriptedMind(gate)) as working:
        assert gate.entered.wait(WAIT)
        first = compose_memory(store, branch, 8, SMALL)
        confirm_fold(store, branch)
        gate.open.set()
        assert working.run_until_idle(WAIT)
    assert first is not None and "saw s1-e3" in first.text and "saw s1-e4" not in first.text
    assert read_status(store, branch, SMALL).added == 4
    second = compose_memory(store, branch, 8, SMALL)
    assert second is not None and "saw s1-e4" in second.text


# -- stopping ------------------------------------------------------------------------------------------------------


def test_a_stop_finishes_the_job_in_hand_003_170(store: Store) -> None:
    branch = session_of_entries(store, 3)
    gate = Gate()
    working = engine(store, ScriptedMind(gate))
    working.start()
    assert gate.entered.wait(WAIT)
    stopping = threading.Thread(target=working.stop)
    stopping.start()
    gate.open.set()
    stopping.join(WAIT)
    assert len(contents(memory_of(store, branch))) == 3
    assert store.jobs() == []


def test_a_job_that_does_not_end_is_released_003_170(store: Store) -> None:
    branch = session_of_entries(store, 3)
    gate = Gate()
    working = engine(store, ScriptedMind(gate))
    working.start()
    assert gate.entered.wait(WAIT)
    assert not working.stop(timeout_seconds=0)
    assert [state.state for state in store.jobs()] == ["pending"]
    with engine(store, observing_mind()) as other:
        assert other.run_until_idle(WAIT)
    assert len(contents(memory_of(store, branch))) == 3
    gate.open.set()


def test_intake_comes_before_each_look_and_may_fail(store: Store) -> None:
    calls: list[int] = []

    def intake() -> None:
        calls.append(1)
        if len(calls) == 1:
            session_of_entries(store, 3)
        raise RuntimeError("a broken reader")

    with engine(store, observing_mind(), intake=intake) as working:
        assert working.run_until_idle(WAIT)
    (branch,) = list_branches(store)
    assert len(contents(memory_of(store, branch))) == 3


def test_an_engine_needs_something_that_thinks(store: Store) -> None:
    with pytest.raises(ValueError, match="minds"):
        Engine(store, settings_for=lambda _: SMALL)
