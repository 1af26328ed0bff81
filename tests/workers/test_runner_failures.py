"""What becomes of a job that fails: halving, gaps, back-off, the errors that status shows."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from builders import ScriptedMind, concluded, deliver, memory_of, observed, remember, say
from jobs import (
    BACKENDS,
    OFF,
    SMALL,
    Clock,
    contents,
    not_before,
    observe_each,
    observer_of,
    observing_mind,
    run,
    sent_ids,
    session_of_entries,
)

from minutebook.errors import BadSetting, MissingExtra, ProviderFailed, SpanFailed
from minutebook.pipeline import ledger, workbook
from minutebook.pipeline.branches import memory_stream
from minutebook.pipeline.status import role_errors, work_done
from minutebook.records import GAP, Branch
from minutebook.settings import Settings
from minutebook.store.kernel import Job, Store
from minutebook.workers.contract import Desk
from minutebook.workers.runner import retry_seconds, run_job


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def store(clocked: Store) -> Store:
    return clocked


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


@pytest.mark.parametrize(("settings", "max_tries"), [(replace(SMALL, span_max_tries=1), 1), (SMALL, 5)])
def test_a_poison_entry_becomes_a_gap_and_the_rest_is_observed_003_012(
    store: Store, clock: Clock, settings: Settings, max_tries: int
) -> None:
    branch = session_of_entries(store, 8)
    mind = ScriptedMind(poison("s1-e2"))
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
    assert [(error.role, error.at) for error in role_errors(store, branch)] == [("observer", "1970-01-12T13:46:40Z")]
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
    pauses = []
    for _ in range(12):
        clock.now = not_before(store)[0]
        run(store, job, ScriptedMind([SpanFailed("rubbish")]), settings, queue=False)
        pauses.append(not_before(store)[0] - clock.now)
    assert pauses[:4] == [10, 20, 40, 80] and pauses[-1] == 3_600, "a model that keeps on is asked ever more rarely"


def test_settings_that_cannot_be_read_put_the_job_off(store: Store, clock: Clock) -> None:
    branch = session_of_entries(store, 8)
    store.queue(observer_of(branch))

    def wrong(_: Branch) -> Settings:
        raise BadSetting("minutebook.toml, line 3: passive")

    mind = observing_mind()
    ran = run_job(store, observer_of(branch), minds=lambda *_: mind, settings_for=wrong, owner="w1", log=OFF)
    assert (ran.ended, mind.batches, not_before(store)) == ("retry", [], [clock.now + 300])
    assert role_errors(store, branch)[0].error == "minutebook.toml, line 3: passive"


def test_failures_are_kept_per_branch_003_159(store: Store) -> None:
    one, other = session_of_entries(store, 8, "one"), session_of_entries(store, 8, "other")
    run(store, observer_of(one), ScriptedMind([SpanFailed("too long")]))
    mind = observing_mind()
    run(store, observer_of(other), mind)
    assert [len(ids) for ids in sent_ids(mind)] == [8]
    assert role_errors(store, other) == []
    assert workbook.read_span(store, observer_of(one), 0) is not None


def test_failures_of_a_fork_are_not_its_parents_003_159(store: Store) -> None:
    branch = session_of_entries(store, 8)
    fork = deliver(store, [say("another way " * 20, id="x1", parent="s1-e1")])
    assert (fork.lineage, fork.parent) == (branch.lineage, branch.key)
    run(store, observer_of(fork), ScriptedMind([SpanFailed("too long")]))
    assert ([error.role for error in role_errors(store, fork)], role_errors(store, branch)) == (["observer"], [])
    assert workbook.read_span(store, observer_of(branch), 0) is None


def test_a_halving_holds_only_at_the_coverage_where_it_failed(store: Store) -> None:
    branch = session_of_entries(store, 8)
    run(store, observer_of(branch), ScriptedMind([SpanFailed("too long")]))
    remember(store, branch, observations=[observed("another worker did it")], covers=2)
    mind = observing_mind()
    assert run(store, observer_of(branch), mind).ended == "recorded"
    assert [len(ids) for ids in sent_ids(mind)] == [6]
