"""One job, from its claim to its end."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builders import MINUTE, NOTHING, ScriptedMind, concluded, deliver, memory_of, observed, remember, reply, say
from jobs import (
    BACKENDS,
    OFF,
    SMALL,
    Clock,
    contents,
    observe_each,
    observer_of,
    observing_mind,
    run,
    session_of_entries,
)

from minutebook.debuglog import RUN_ENDED, RUN_REASONS, DebugLog
from minutebook.errors import ProviderFailed, SpanFailed
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import memory_stream
from minutebook.pipeline.outcomes import Committed, Outcome, commit_outcome
from minutebook.pipeline.status import role_errors, work_done
from minutebook.store.kernel import Job, Store
from minutebook.workers.contract import Desk, Mind
from minutebook.workers.leases import Leases
from minutebook.workers.runner import run_job


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def store(clocked: Store) -> Store:
    return clocked


def test_a_job_that_is_not_there_to_claim_is_not_run_003_167(store: Store) -> None:
    branch = session_of_entries(store, 3)
    assert run(store, observer_of(branch), observing_mind(), queue=False).ended == "taken"


def test_a_run_records_covers_and_leaves_the_board_empty(store: Store) -> None:
    branch = session_of_entries(store, 3)
    assert run(store, observer_of(branch), observing_mind()).ended == "recorded"
    assert contents(memory_of(store, branch)) == ["saw s1-e0", "saw s1-e1", "saw s1-e2"]
    assert store.jobs() == []
    assert [dirty.key for dirty in store.take_dirty(9)] == [branch.key]
    row = work_done(store, branch)["observer"]
    assert row == {"runs": 1, "recorded": 1, "nothing": 0, "failed": 0, "gaps": 0, "mind": "scripted"}


def test_nothing_to_record_covers_and_counts_as_nothing_003_009(store: Store) -> None:
    branch = session_of_entries(store, 3)
    assert run(store, observer_of(branch), ScriptedMind([NOTHING])).ended == "nothing"
    assert memory_of(store, branch).observed == 3
    assert run(store, observer_of(branch), ScriptedMind([NOTHING])).ended == "not_due"
    assert work_done(store, branch)["observer"]["nothing"] == 1


def test_a_job_that_is_not_due_any_more_asks_no_mind_003_141(store: Store) -> None:
    branch = session_of_entries(store, 3)
    mind = observing_mind()
    passive = replace(SMALL, passive=True)
    assert run(store, observer_of(branch), mind, passive).ended == "not_due"
    assert (mind.batches, store.tip(memory_stream(branch.key)).length, store.jobs()) == ([], 0, [])


def test_a_job_of_a_branch_that_is_gone_leaves_the_board(store: Store) -> None:
    assert run(store, Job("observer", "l", "no such branch"), observing_mind()).ended == "gone"
    assert store.jobs() == []


def test_a_late_commit_is_refused_and_the_work_derived_anew_003_167(store: Store) -> None:
    branch = session_of_entries(store, 3)

    def overtaken(batch: Any, desk: Desk) -> None:
        observe_each(batch, desk)
        other = Outcome(role="observer", branch=branch.key, read=0, advance={ledger.OBSERVER: 1})
        assert isinstance(commit_outcome(store, branch, other), Committed)
        for dirty in store.take_dirty(9):
            store.settle_dirty(dirty)

    assert run(store, observer_of(branch), ScriptedMind(overtaken)).ended == "stale"
    assert contents(memory_of(store, branch)) == []
    assert (store.jobs(), [dirty.key for dirty in store.take_dirty(9)]) == ([], [branch.key])
    assert role_errors(store, branch) == []


def test_two_workers_on_one_branch_record_once_003_167(store: Store, clock: Clock) -> None:
    branch = session_of_entries(store, 3)
    second = observing_mind()

    def taken_over(batch: Any, desk: Desk) -> None:
        """The first worker was asleep: its lease ends, another does the work, then it wakes up."""
        clock.now += SMALL.lease_seconds
        assert run(store, observer_of(branch), second, queue=False).ended == "recorded"
        observe_each(batch, desk)

    assert run(store, observer_of(branch), ScriptedMind(taken_over)).ended == "lost"
    assert len(second.batches) == 1
    assert len(contents(memory_of(store, branch))) == 3
    assert store.tip(memory_stream(branch.key)).length == 1


def test_a_run_beyond_its_deadline_commits_nothing_and_says_so_003_169(store: Store, clock: Clock) -> None:
    branch = session_of_entries(store, 3)

    def slow(batch: Any, desk: Desk) -> None:
        observe_each(batch, desk)
        clock.now += SMALL.job_deadline_seconds

    assert run(store, observer_of(branch), ScriptedMind(slow)).ended == "lost"
    assert contents(memory_of(store, branch)) == []
    assert "job_deadline_seconds" in role_errors(store, branch)[0].error
    assert run(store, observer_of(branch), observing_mind(), queue=False).ended == "recorded"


def test_a_job_commits_to_the_branch_that_it_read_003_159(store: Store) -> None:
    branch = session_of_entries(store, 6)

    def moved_on(batch: Any, desk: Desk) -> None:
        deliver(store, [say("another way", id="x1", parent="s1-e1")])
        observe_each(batch, desk)

    assert run(store, observer_of(branch), ScriptedMind(moved_on)).ended == "recorded"
    fork = deliver(store, [])
    assert fork.key != branch.key
    assert len(contents(memory_of(store, branch))) == 6
    assert contents(memory_of(store, fork)) == []
    deliver(store, [reply("on the other way: " + "some words to weigh " * 5, id="x2")])
    assert run(store, observer_of(fork), observing_mind()).ended == "recorded"
    assert contents(memory_of(store, fork)) == ["saw s1-e0", "saw s1-e1", "saw x1", "saw x2"]
    assert len(contents(memory_of(store, branch))) == 6


def test_an_outcome_that_changes_nothing_is_not_written(store: Store) -> None:
    branch = session_of_entries(store, 3)
    for dirty in store.take_dirty(9):
        store.settle_dirty(dirty)

    class Idle:
        def prepare(self, context: Any) -> Outcome:
            return Outcome(role="observer", branch=branch.key, read=0, advance={ledger.OBSERVER: 0})

        def think(self, prepared: Any, mind: Mind) -> Outcome:
            raise AssertionError

    store.queue(observer_of(branch))
    ran = run_job(
        store,
        observer_of(branch),
        minds=lambda *_: observing_mind(),
        settings_for=lambda _: SMALL,
        owner="w1",
        log=OFF,
        roles=lambda _: Idle(),
    )
    assert (ran.ended, store.take_dirty(9), store.jobs()) == ("nothing", [], [])


def test_the_lease_is_kept_while_a_mind_thinks_003_169(open_one: Callable[..., Store]) -> None:
    store = open_one(None)
    branch = session_of_entries(store, 3)
    settings = replace(SMALL, lease_seconds=1)
    beats: list[float] = []

    def long(batch: Any, desk: Desk) -> None:
        first = store.jobs()[0].lease_ends
        while store.jobs()[0].lease_ends == first:  # only the heartbeat's thread can move it
            pass
        beats.append(store.jobs()[0].lease_ends - first)
        observe_each(batch, desk)

    assert run(store, observer_of(branch), ScriptedMind(long), settings).ended == "recorded"
    assert beats and beats[0] > 0
    store.close()


def test_what_is_in_hand_can_be_released(store: Store) -> None:
    branch = session_of_entries(store, 3)
    with Leases(store) as leases:

        def stopped(batch: Any, desk: Desk) -> None:
            leases.release_all("its worker was stopped")
            observe_each(batch, desk)

        store.queue(observer_of(branch))
        ran = run_job(
            store,
            observer_of(branch),
            minds=lambda *_: ScriptedMind(stopped),
            settings_for=lambda _: SMALL,
            owner="w1",
            log=OFF,
            leases=leases,
        )
    assert ran.ended == "lost"
    assert [(state.state, state.error) for state in store.jobs()] == [("pending", "its worker was stopped")]
    assert run(store, observer_of(branch), observing_mind(), queue=False).ended == "recorded"


def rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in sorted(folder.rglob("*.ndjson")) for line in file.read_text().splitlines()]


OF_ANSWERS = ("stream_error", "too_long", "cut", "turn_cap", "refused", "rubbish")


def failing(reason: str) -> Exception:
    error = SpanFailed("its text is not shown")
    error.reason = reason
    return error


def test_each_run_ends_with_its_reason_003_146(store: Store, tmp_path: Path, clock: Clock) -> None:
    log = DebugLog(True, tmp_path / "log")
    good = {"content": "said", "timestamp": MINUTE, "relevance": "low", "sources": ["s1"]}
    settings = replace(SMALL, observations_pool_max_tokens=2, observations_pool_target_tokens=1)

    def asleep(batch: Any, desk: Desk) -> None:
        clock.now += settings.lease_seconds
        desk.nothing()

    scripts: list[tuple[str, str, Any]] = [
        ("nothing_called", "observer", []),
        ("all_refused", "observer", [[{"content": "no source"}]]),
        *((word, "observer", [failing(word)]) for word in OF_ANSWERS),
        ("model_unavailable", "observer", [ProviderFailed("key")]),
        ("discarded", "observer", asleep),
        ("nothing_to_record", "observer", [NOTHING]),
        ("below_mark", "observer", []),
        ("not_over_target", "dropper", []),
        ("recorded", "observer", [[good]]),
        ("waiting_for_reflection", "dropper", []),
    ]
    for number, (reason, role, script) in enumerate(scripts):
        branch = session_of_entries(store, 1 if reason == "below_mark" else 3, f"s{number}")
        if reason == "waiting_for_reflection":
            remember(store, branch, observations=[observed("longer than the target")])
        run(store, Job(role, branch.lineage, branch.key), ScriptedMind(script), settings, log=log)
        ended = [row for row in rows(tmp_path / "log") if row["event"] == RUN_ENDED]
        assert [row["data"]["role"] for row in ended if row["data"]["reason"] == reason] == [role]
    assert {reason for reason, _, _ in scripts} == set(RUN_REASONS)
    assert len({row["run_id"] for row in ended}) == len(ended) == len(scripts)
    assert "its text is not shown" not in json.dumps(rows(tmp_path / "log"))


@pytest.mark.parametrize("moved", ["digests_recorded", "reflections_retired"])
def test_a_digest_that_came_too_late_says_what_moved_003_036(store: Store, tmp_path: Path, moved: str) -> None:
    """003-036: another digest came first, or what it read is no longer the beginning of the branch."""
    made = [concluded(f"conclusion {number}", observed("seen")) for number in range(4)]
    branch = session_of_entries(store, 3)
    remember(store, branch, reflections=made)

    def late(batch: Any, desk: Desk) -> None:
        if moved == "digests_recorded":
            remember(store, branch, digest=("first", made[1]))
        else:
            remember(store, branch, retired=[made[0]])
        desk.record([{"content": "late"}])

    settings = replace(SMALL, reflection_context_max_tokens=20)
    job = Job("digester", branch.lineage, branch.key)
    assert run(store, job, ScriptedMind(late), settings, log=DebugLog(True, tmp_path / "log")).ended == "stale"
    data = rows(tmp_path / "log")[-1]["data"]
    assert (data["reason"], data["cause"]) == ("discarded", moved)
    assert "late" not in {digest.content for digest in memory_of(store, branch).digests}


def test_a_capped_and_an_excerpted_chunk_have_a_row_003_146(store: Store, tmp_path: Path) -> None:
    log = DebugLog(True, tmp_path / "log")
    settings = replace(SMALL, observer_chunk_max_tokens=256)
    branch = session_of_entries(store, 12)
    run(store, observer_of(branch), observing_mind(), settings, log=log)
    assert [row["event"] for row in rows(tmp_path / "log")] == ["run_started", "chunk_capped", "run_ended"]
    other = deliver(store, [reply("a long word " * 500, id="long")], "other")
    run(store, observer_of(other), observing_mind(), settings, log=log)
    about_other = [row for row in rows(tmp_path / "log") if row["session"] == "other"]
    assert [row["event"] for row in about_other] == ["run_started", "chunk_excerpted", "run_ended"]
    assert len({row["run_id"] for row in about_other}) == 1
