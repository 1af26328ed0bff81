"""One job, from its claim to its end."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builders import MINUTE, NOTHING, ScriptedMind, concluded, deliver, memory_of, observed, remember, reply, say
from jobs import SMALL, Clock, contents, observe_each, observer_of, observing_mind, sent_ids, session_of_entries

from minutebook.debuglog import RUN_ENDED, RUN_REASONS, DebugLog
from minutebook.errors import BadSetting, MissingExtra, ProviderFailed, SpanFailed
from minutebook.pipeline import ledger, workbook
from minutebook.pipeline.branches import memory_stream
from minutebook.pipeline.outcomes import Committed, Outcome, commit_outcome
from minutebook.pipeline.status import role_errors, work_done
from minutebook.records import GAP, Branch
from minutebook.settings import Settings
from minutebook.store.kernel import Job, Store
from minutebook.store.sqlite import SqliteStore
from minutebook.workers.contract import Desk, Mind
from minutebook.workers.leases import Leases
from minutebook.workers.runner import Ran, retry_seconds, run_job

OFF = DebugLog(False, Path())


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    opened = SqliteStore(tmp_path / "store.db", clock=clock)
    yield opened
    opened.close()


def run(
    store: Store, job: Job, mind: Mind, settings: Settings = SMALL, *, queue: bool = True, log: DebugLog = OFF
) -> Ran:
    if queue:
        store.queue(job)
    return run_job(
        store, job, minds=lambda role, chosen: mind, settings_for=lambda branch: settings, owner="w1", log=log
    )


def not_before(store: Store) -> list[float]:
    return [state.not_before for state in store.jobs()]


def test_a_job_that_nobody_queued_is_not_run(store: Store) -> None:
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


def test_a_broken_span_is_halved_down_to_one_entry_003_012(store: Store) -> None:
    branch = session_of_entries(store, 8)
    mind = ScriptedMind([SpanFailed("cut at the output limit")])
    assert [run(store, observer_of(branch), mind).ended for _ in range(4)] == ["retry"] * 4
    assert [len(ids) for ids in sent_ids(mind)] == [8, 4, 2, 1]
    assert all(ids[0] == "s1-e0" for ids in sent_ids(mind))
    assert memory_of(store, branch).observed == 0


def test_a_success_ends_the_halving_003_012(store: Store) -> None:
    branch = session_of_entries(store, 8)
    assert run(store, observer_of(branch), ScriptedMind([SpanFailed("too long")])).ended == "retry"
    good = observing_mind()
    assert run(store, observer_of(branch), good, queue=False).ended == "recorded"
    assert run(store, observer_of(branch), good).ended == "recorded"
    assert [len(ids) for ids in sent_ids(good)] == [4, 4]
    assert store.documents(workbook.SPANS) == []


def poison(entry_id: str) -> Callable[[Any, Desk], None]:
    def script(batch: Any, desk: Desk) -> None:
        if any(shown.placed.entry.id == entry_id for shown in batch.sources):
            raise SpanFailed("refused by the provider")
        observe_each(batch, desk)

    return script


@pytest.mark.parametrize("max_tries", [1, 5])
def test_a_poison_entry_becomes_a_gap_and_the_rest_is_observed_003_012(
    store: Store, clock: Clock, max_tries: int
) -> None:
    branch = session_of_entries(store, 8)
    mind = ScriptedMind(poison("s1-e2"))
    settings = replace(SMALL, span_max_tries=max_tries)
    ended = []
    while memory_of(store, branch).observed < 8:
        ended.append(run(store, observer_of(branch), mind, settings).ended)
        clock.now += settings.retry_max_seconds
    alone = [ids for ids in sent_ids(mind) if ids == ["s1-e2"]]
    assert len(alone) == max_tries
    memory = memory_of(store, branch)
    assert [(gap.since, gap.covers, gap.reason) for gap in memory.open_gaps()] == [(2, 3, "refused by the provider")]
    assert contents(memory) == [f"saw s1-e{number}" for number in range(8) if number != 2]
    gap = next(entry for entry in ledger.read_memory(store, branch) if entry.kind == GAP)
    assert gap.data["sourceEntryIds"] == ["s1-e2"] and gap.data["tries"] == max_tries
    assert ended.count("gap") == work_done(store, branch)["observer"]["gaps"] == 1


def test_a_lone_entry_is_tried_again_with_back_off(store: Store, clock: Clock) -> None:
    branch = session_of_entries(store, 1)
    settings = replace(SMALL, observe_after_tokens=10)
    mind = ScriptedMind([SpanFailed("rubbish")])
    pauses = []
    for _ in range(4):
        run(store, observer_of(branch), mind, settings)
        pauses.append(not_before(store)[0] - clock.now)
        clock.now += pauses[-1]
    assert pauses == [5, 10, 20, 40]
    assert run(store, observer_of(branch), mind, settings).ended == "gap"


def test_a_provider_failure_backs_off_and_leaves_the_span_alone_003_012(store: Store, clock: Clock) -> None:
    branch = session_of_entries(store, 8)
    mind = ScriptedMind([ProviderFailed("quota")])
    settings = replace(SMALL, retry_first_seconds=5, retry_max_seconds=30, span_max_tries=1)
    pauses = []
    for _ in range(5):
        assert run(store, observer_of(branch), mind, settings).ended == "retry"
        pauses.append(not_before(store)[0] - clock.now)
        clock.now += pauses[-1]
    assert pauses == [5, 10, 20, 30, 30]
    assert [len(ids) for ids in sent_ids(mind)] == [8] * 5
    assert memory_of(store, branch).gaps == [] and memory_of(store, branch).observed == 0
    assert run(store, observer_of(branch), observing_mind(), settings).ended == "recorded"
    assert store.jobs() == []


def test_back_off_doubles_to_its_maximum() -> None:
    settings = Settings(retry_first_seconds=5, retry_max_seconds=300)
    assert [retry_seconds(settings, failures) for failures in (0, 1, 2, 6, 7, 8, 10**6)] == [
        5,
        5,
        10,
        160,
        300,
        300,
        300,
    ]


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (ProviderFailed("no quota left"), "provider", "no quota left"),
        (SpanFailed("cut"), "span", "cut"),
        (MissingExtra("models", "asking a model"), "provider", "pip install"),
        (KeyError("oops"), "bug", "KeyError: 'oops'"),
    ],
)
def test_an_error_is_kept_with_time_and_kind_and_changes_no_memory_003_165(
    store: Store, error: Exception, kind: str, said: str
) -> None:
    branch = session_of_entries(store, 8)
    assert run(store, observer_of(branch), ScriptedMind([error])).ended == "retry"
    document = store.get(workbook.ERRORS, f"observer|{branch.key}")
    assert document is not None
    body = json.loads(document.body)
    assert (body["kind"], body["at"]) == (kind, "1970-01-12T13:46:40Z")
    assert said in body["error"]
    assert store.tip(memory_stream(branch.key)).length == 0 and memory_of(store, branch).observed == 0
    assert work_done(store, branch)["observer"]["failed"] == 1
    assert store.jobs()[0].error.startswith(type(error).__name__)


def test_an_error_stays_until_that_role_s_own_success_003_104(store: Store, clock: Clock) -> None:
    branch = session_of_entries(store, 8)
    settings = replace(SMALL, reflect_after_tokens=10)
    note = observed("a fact", sources=["s1-e0"])
    remember(store, branch, observations=[note], covers=1)
    run(store, observer_of(branch), ScriptedMind([ProviderFailed("down")]), settings)
    proposal = {"content": "a conclusion", "supports": [note.id]}
    reflector = Job("reflector", branch.lineage, branch.key)
    assert run(store, reflector, ScriptedMind([[proposal]]), settings).ended == "recorded"
    assert [error.role for error in role_errors(store, branch)] == ["observer"]
    clock.now += 300
    assert run(store, observer_of(branch), observing_mind(), settings).ended == "recorded"
    assert role_errors(store, branch) == []


def test_a_gap_is_no_success_003_104(store: Store) -> None:
    branch = session_of_entries(store, 1)
    settings = replace(SMALL, observe_after_tokens=10, span_max_tries=1)
    assert run(store, observer_of(branch), ScriptedMind([SpanFailed("rubbish")]), settings).ended == "gap"
    assert [error.error for error in role_errors(store, branch)] == ["rubbish"]


@pytest.mark.parametrize("role", ["reflector", "dropper", "digester"])
def test_other_roles_are_retried_with_back_off_after_a_span_failure(store: Store, clock: Clock, role: str) -> None:
    branch = session_of_entries(store, 8)
    settings = replace(
        SMALL,
        reflect_after_tokens=10,
        observations_pool_max_tokens=2,
        observations_pool_target_tokens=1,
        reflection_context_max_tokens=10,
    )
    notes = [observed(f"a fact of some length, number {number}", sources=["s1-e0"]) for number in range(3)]
    remember(store, branch, observations=notes)
    remember(store, branch, reflections=[concluded(f"a conclusion {n}", notes[0]) for n in range(9)], covers=0)
    length = store.tip(memory_stream(branch.key)).length
    job = Job(role, branch.lineage, branch.key)
    assert run(store, job, ScriptedMind([SpanFailed("rubbish")]), settings).ended == "retry"
    assert not_before(store) == [clock.now + 5]
    assert store.tip(memory_stream(branch.key)).length == length
    assert [(error.role, error.error) for error in role_errors(store, branch)] == [(role, "rubbish")]


def test_settings_that_cannot_be_read_put_the_job_off(store: Store, clock: Clock) -> None:
    branch = session_of_entries(store, 8)
    store.queue(observer_of(branch))

    def wrong(_: Branch) -> Settings:
        raise BadSetting("minutebook.toml, line 3: passive")

    mind = observing_mind()
    ran = run_job(store, observer_of(branch), minds=lambda *_: mind, settings_for=wrong, owner="w1", log=OFF)
    assert (ran.ended, mind.batches, not_before(store)) == ("retry", [], [clock.now + 300])
    assert role_errors(store, branch)[0].error == "minutebook.toml, line 3: passive"


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


def test_failures_are_kept_per_branch_003_159(store: Store) -> None:
    one, other = session_of_entries(store, 8, "one"), session_of_entries(store, 8, "other")
    run(store, observer_of(one), ScriptedMind([SpanFailed("too long")]))
    mind = observing_mind()
    run(store, observer_of(other), mind)
    assert [len(ids) for ids in sent_ids(mind)] == [8]
    assert role_errors(store, other) == []
    assert workbook.read_span(store, observer_of(one), 0) is not None


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


def test_the_lease_is_kept_while_a_mind_thinks_003_169(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "beats.db")
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
        ("stream_error", "observer", [failing("stream_error")]),
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
