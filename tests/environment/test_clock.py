"""The machine's clock jumps by a day while work is pending, in hand, paused or awaited."""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builders import ScriptedMind, deliver, memory_of, reply
from jobs import (
    SMALL,
    WAIT,
    Clock,
    Gate,
    contents,
    engine,
    observe_each,
    observer_of,
    observing_mind,
    session_of_entries,
    until,
)
from ledgers import Counting

from minutebook.errors import ProviderFailed
from minutebook.pipeline.branches import Path as Entries
from minutebook.pipeline.branches import memory_stream
from minutebook.pipeline.clocks import due_roles
from minutebook.pipeline.readings import read_state
from minutebook.settings import ModelChoice, Settings
from minutebook.store.kernel import Store
from minutebook.store.sqlite import SqliteStore
from minutebook.workers import models_cooldowns
from minutebook.workers.models_errors import Failure
from minutebook.workers.owners import is_dead, new_owner

DAY = 86_400.0
JUMPS = pytest.mark.parametrize("jump", [DAY, -DAY], ids=["forward", "back"])


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    with closing(SqliteStore(tmp_path / "store.db", clock=clock)) as opened:
        yield opened


@JUMPS
def test_a_dead_worker_s_claim_is_free_within_its_lease(store: Store, clock: Clock, jump: float) -> None:
    """Of another machine, so that nobody can tell that it is dead but by its lease."""
    branch = session_of_entries(store, 4)
    store.queue(observer_of(branch))
    assert store.claim(observer_of(branch), "elsewhere:1:x", lease_seconds=60, deadline_seconds=600)
    with engine(store, observing_mind()) as working:
        working.look()
        assert memory_of(store, branch).observed == 0
        clock.now += jump
        working.look()
        until(lambda: jump > 0 or store.jobs()[0].lease_ends <= clock.now + 60)
        clock.now += 61
        until(lambda: memory_of(store, branch).observed == 4)


def test_a_claim_in_hand_outlives_a_clock_that_went_back(store: Store, clock: Clock) -> None:
    """Nobody takes it over, and its run is committed."""
    branch, gate = session_of_entries(store, 4), Gate()
    with engine(store, ScriptedMind(gate)) as working:
        until(gate.entered.is_set)  # before there is a second worker that could have claimed it instead
        with engine(store, other := observing_mind()) as second:
            clock.now -= DAY
            working.look()
            second.look()
            gate.open.set()
            assert working.run_until_idle(WAIT)
    assert other.batches == []
    assert len(contents(memory_of(store, branch))) == 4 and store.tip(memory_stream(branch.key)).length == 1


def test_a_claim_in_hand_when_the_clock_went_on_is_done_again_and_recorded_once(store: Store, clock: Clock) -> None:
    """Its lease and deadline are over by the only clock that processes share: the late run commits nothing."""
    branch, gate = session_of_entries(store, 4), Gate()
    with engine(store, ScriptedMind(gate)) as working:
        assert gate.entered.wait(WAIT)
        clock.now += DAY
        with engine(store, observing_mind()) as second:
            assert second.run_until_idle(WAIT)
        gate.open.set()
        assert working.run_until_idle(WAIT)
    assert contents(memory_of(store, branch)) == [f"saw s1-e{n}" for n in range(4)]
    assert store.tip(memory_stream(branch.key)).length == 1


@JUMPS
def test_a_job_that_pauses_after_a_failure_is_done_in_time(store: Store, clock: Clock, jump: float) -> None:
    branch, failing = session_of_entries(store, 4), [ProviderFailed("down")]

    def script(batch: object, desk: object) -> None:
        if failing:
            raise failing.pop()
        observe_each(batch, desk)  # type: ignore[arg-type]

    with engine(store, ScriptedMind(script)) as working:
        assert working.wait_quiet(WAIT) == "waiting"
        clock.now += jump
        if jump < 0:
            assert working.wait_quiet(WAIT) == "waiting", "the pause is not cut short"
            clock.now += SMALL.retry_first_seconds
        assert working.run_until_idle(WAIT)
    assert memory_of(store, branch).observed == 4


@JUMPS
def test_new_turns_are_observed_at_once(store: Store, clock: Clock, jump: float) -> None:
    with engine(store, observing_mind()) as working:
        assert working.run_until_idle(WAIT)
        clock.now += jump
        branch = session_of_entries(store, 4)
        assert working.run_until_idle(WAIT)
        assert memory_of(store, branch).observed == 4


def test_what_was_queued_before_the_clock_went_back_is_not_waited_for(store: Store, clock: Clock) -> None:
    branch = session_of_entries(store, 4)
    store.queue(observer_of(branch))
    clock.now -= DAY
    with engine(store, observing_mind()) as working:
        assert working.run_until_idle(WAIT)
    assert memory_of(store, branch).observed == 4


@JUMPS
def test_the_tail_of_a_session_waits_for_no_lost_day(store: Store, clock: Clock, jump: float) -> None:
    """A tail is flushed when its session is idle; a last turn that lies ahead counts as long ago."""
    branch = session_of_entries(store, 2)
    settings = replace(SMALL, observe_after_tokens=5_000)
    assert due_roles(read_state(store, branch), settings) == {}
    with engine(store, observing_mind(), settings) as working:
        assert working.run_until_idle(WAIT) and memory_of(store, branch).observed == 0
        clock.now += jump
        until(lambda: memory_of(store, branch).observed == 2)


def test_a_clock_that_is_set_back_during_a_look_is_noticed(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the sweep and the sleep of one look, where the sleep alone could not tell."""
    branch = session_of_entries(store, 2)
    settings = replace(SMALL, observe_after_tokens=5_000)
    ready, jumps = store.ready, [DAY]

    def ready_and_back(*asked: Any) -> Any:
        if jumps and asked[1] > 1:  # the look's own question, not the verdict's
            clock.now -= jumps.pop()
        return ready(*asked)

    with engine(store, observing_mind(), settings, roles=["observer"]) as working:
        assert working.run_until_idle(WAIT) and memory_of(store, branch).observed == 0
        time.sleep(0.2)  # it sleeps, and has taken the wakes that were left: nothing but the clock ends its next sleep
        monkeypatch.setattr(store, "ready", ready_and_back)
        working.look()
        until(lambda: memory_of(store, branch).observed == 2)


def test_a_clock_that_is_set_back_by_a_moment_flushes_nothing(store: Store, clock: Clock) -> None:
    branch = session_of_entries(store, 2)
    clock.now -= 2
    assert due_roles(read_state(store, branch), replace(SMALL, observe_after_tokens=5_000)) == {}


@JUMPS
def test_a_dispatcher_does_not_spin_after_a_jump(store: Store, clock: Clock, jump: float) -> None:
    """With a job in hand, whose lease is over after a jump forward: a look at each poll at the most."""
    session_of_entries(store, 4)
    gate, counting = Gate(), Counting(store)
    with engine(counting, ScriptedMind(gate)) as working:  # type: ignore[arg-type]
        assert gate.entered.wait(WAIT)
        clock.now += jump
        working.look()
        counting.calls.clear()
        gate.entered.clear()
        assert not gate.entered.wait(1.0), "nor does it run the job twice"
        assert counting.calls["now"] < 400
        gate.open.set()
        assert working.run_until_idle(WAIT)


@JUMPS
def test_entries_and_records_keep_their_order(store: Store, clock: Clock, jump: float) -> None:
    deliver(store, [reply("before " * 40, id="e0")])
    clock.now += jump
    branch = deliver(store, [reply("after " * 40, id="e1")])
    with engine(store, observing_mind()) as working:
        assert working.run_until_idle(WAIT)
        clock.now -= jump
        branch = deliver(store, [reply("later " * 60, id="e2")])
        assert working.run_until_idle(WAIT)
    assert [placed.entry.id for placed in Entries(store, branch).read(0)] == ["e0", "e1", "e2"]
    assert contents(memory_of(store, branch)) == ["saw e0", "saw e1", "saw e2"]


def test_a_model_does_not_rest_for_a_lost_day(store: Store, clock: Clock) -> None:
    choice = ModelChoice(provider="openai", id="scripted")
    failure = Failure(kind="server", said="down")
    models_cooldowns.note_failure(store, choice, failure, Settings(), rests=True)
    assert models_cooldowns.resting(store, choice)
    clock.now -= DAY
    assert models_cooldowns.resting(store, choice) is None
    models_cooldowns.note_failure(store, choice, failure, Settings(), rests=True)
    assert models_cooldowns.resting(store, choice)
    clock.now += DAY
    assert models_cooldowns.resting(store, choice) is None


def test_an_owner_is_dead_when_its_process_of_this_machine_is() -> None:
    import subprocess
    import sys

    script = "from minutebook.workers.owners import new_owner; print(new_owner())"
    dead = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    assert is_dead(dead) and not is_dead(new_owner())
    assert not is_dead(f"elsewhere{dead}") and not is_dead("") and not is_dead("a:b") and not is_dead("worker")
