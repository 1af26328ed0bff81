"""The numbers of one branch."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from builders import concluded, observed, reply
from memories import Clock, batch, conversation, digested, dropped, gap, host_compacted, record, reflected

from minutebook.pipeline import calibration, ledger, workbook
from minutebook.pipeline.branches import Path as SourcePath
from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.calibration import Calibration
from minutebook.pipeline.clocks import Reading, due_roles
from minutebook.pipeline.compaction import compose_memory
from minutebook.pipeline.corrections import retire
from minutebook.pipeline.deliveries import Reading as Delivery
from minutebook.pipeline.deliveries import SessionHead
from minutebook.pipeline.intake import accept_turns, mark_ended
from minutebook.pipeline.outcomes import Entry, Outcome, append_memory, commit_outcome, memory_entry
from minutebook.pipeline.readings import read_state
from minutebook.pipeline.sessions import load_session, session_put
from minutebook.pipeline.status import Status, dropper_state, percent, read_status, why_not_made
from minutebook.records import Branch
from minutebook.settings import ModelChoice, Settings
from minutebook.store.kernel import Job, Store
from minutebook.store.sqlite import SqliteStore

DEFAULTS = Settings()
EAGER = Settings(observe_after_tokens=10, flush_min_tokens=5)
"""Everything that the fixture's branch holds is due."""
FIRST, SECOND = observed("the port is 8443", "critical", sources=("e0",)), observed("tests pass", sources=("e1",))
OLD, NEW = concluded("an old conclusion", FIRST), concluded("a new conclusion", SECOND)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    opened = SqliteStore(tmp_path / "store.db", clock=clock)
    yield opened
    opened.close()


@pytest.fixture
def branch(store: Store) -> Branch:
    return conversation(store, 40)


def status(store: Store, branch: Branch, settings: Settings = DEFAULTS, **more: int) -> Status:
    return read_status(store, branch, settings, **more)


def compacted(store: Store, branch: Branch, boundary: int, settings: Settings = DEFAULTS) -> None:
    assert compose_memory(store, branch, boundary, settings) is not None
    host_compacted(store, f"e{boundary}", after="e39", id=f"c{boundary}")


# -- 003-097 to 003-103: the numbers ---------------------------------------------------------------------------------


def test_a_fresh_session_shows_zeros_003_105(store: Store, branch: Branch) -> None:
    now = status(store, branch)
    assert (now.observations, now.dropped, now.active, now.visible, now.added, now.removed) == (0,) * 6
    assert (now.reflections, now.retired, now.reflections_visible, now.reflections_added) == (0,) * 4
    assert (now.entries, now.source_tokens) == (40, SourcePath(store, branch).tokens())
    assert now.digest is None and now.context.tokens == now.reflection_tokens == now.visible_pool.tokens == 0
    assert not now.errors and not now.gaps and not now.running and now.open_compaction is None
    assert (now.due, now.not_made, now.why_not_made) == ({}, False, "")


def test_counts_and_drift_003_097(store: Store, branch: Branch) -> None:
    batch(store, branch, 0, 10, FIRST, SECOND)
    reflected(store, branch, 10, OLD)
    compacted(store, branch, 20)
    now = status(store, branch)
    assert (now.observations, now.dropped, now.active, now.visible, now.added, now.removed) == (2, 0, 2, 2, 0, 0)
    assert (now.reflections, now.reflections_visible, now.reflections_added) == (1, 1, 0)
    dropped(store, branch, 10, FIRST)
    batch(store, branch, 20, 30, observed("later"), observed("later still"))
    reflected(store, branch, 30, NEW)
    now = status(store, branch)
    assert (now.observations, now.dropped, now.active, now.visible, now.added, now.removed) == (4, 1, 3, 2, 2, 1)
    assert (now.reflections, now.reflections_visible, now.reflections_added) == (2, 1, 1)
    retire(store, branch, OLD.id, time="2026-05-02T10:30:00Z")
    assert (status(store, branch).retired, status(store, branch).reflections_visible) == (1, 1)


def test_the_reading_shown_is_the_one_that_decides_003_098(store: Store, branch: Branch) -> None:
    """With a learned factor of two, status and decision change together."""
    tokens = SourcePath(store, branch).tokens()
    settings = replace(DEFAULTS, observe_after_tokens=2 * tokens, reflect_after_tokens=3 * tokens)
    assert status(store, branch, settings).observe == Reading(tokens, 2 * tokens)
    assert "observer" not in status(store, branch, settings).due
    session = load_session(store, "neutral:s1")
    learned = Calibration(model="m", growth=(("m", 20_000, 10_000),))
    session.calibration = calibration.to_data(learned)
    store.put(session_put(session))
    now = status(store, branch, settings)
    state = read_state(store, branch)
    assert now.observe == Reading(2 * tokens, 2 * tokens)
    assert now.reflect == Reading(2 * tokens, 3 * tokens)
    assert now.due == due_roles(state, settings) and "observer" in now.due


def test_the_compaction_reading_by_mode_003_099(store: Store, branch: Branch) -> None:
    tokens = SourcePath(store, branch).tokens()
    ratio = Settings(compact_after_tokens_mode="ratio", compact_after_tokens_ratio=0.5)
    assert status(store, branch).compact == Reading(tokens, 81_000)
    assert status(store, branch, ratio, window=200_000).compact == Reading(tokens, 100_000)
    assert status(store, branch, ratio).compact == Reading(tokens, 81_000)
    assert status(store, branch, ratio).compact_mode == "ratio"
    batch(store, branch, 0, 10, FIRST)
    compacted(store, branch, 30)
    kept = tokens - SourcePath(store, branch).tokens_before(30)
    assert status(store, branch).compact.tokens == kept, "from the first kept entry on, kept entries included"


def test_two_pools_from_their_own_projections_003_100(store: Store, branch: Branch) -> None:
    batch(store, branch, 0, 10, FIRST, SECOND)
    compacted(store, branch, 20)
    dropped(store, branch, 10, FIRST)
    now = status(store, branch)
    assert now.visible_pool == Reading(FIRST.tokens + SECOND.tokens, 20_000)
    assert now.active_pool == Reading(SECOND.tokens, 10_000)


def test_the_three_states_of_the_dropper_003_101(store: Store, branch: Branch) -> None:
    batch(store, branch, 0, 10, FIRST, SECOND)
    small = Settings(observations_pool_max_tokens=20, observations_pool_target_tokens=5)
    assert status(store, branch).dropper == "within target"
    exact = Settings(observations_pool_max_tokens=100, observations_pool_target_tokens=FIRST.tokens + SECOND.tokens)
    assert status(store, branch, exact).dropper == "within target"
    assert status(store, branch, small).dropper == "over target, waiting for a new reflection"
    reflected(store, branch, 10, OLD)
    assert status(store, branch, small).dropper == "due"
    assert "dropper" in status(store, branch, small).due
    commit_outcome(
        store, branch, Outcome(role="dropper", branch=branch.key, read=0, advance={ledger.DROPPER: 1}, entries=())
    )
    assert status(store, branch, small).dropper == "over target, waiting for a new reflection"


def test_tokens_since_the_last_drops_coverage_003_101(store: Store, branch: Branch) -> None:
    path = SourcePath(store, branch)
    assert status(store, branch).since_drop_tokens == path.tokens()
    batch(store, branch, 0, 10, FIRST)
    dropped(store, branch, 10, FIRST)
    assert status(store, branch).since_drop_tokens == path.tokens() - path.tokens_before(10)


def test_reflections_in_tokens_003_102(store: Store, branch: Branch) -> None:
    """All recorded; what a compaction would carry; the digest; a digest over its share is not carried."""
    batch(store, branch, 0, 10, FIRST, SECOND)
    reflected(store, branch, 10, OLD, NEW)
    both = OLD.tokens + NEW.tokens
    now = status(store, branch)
    assert (now.reflection_tokens, now.context, now.digest) == (both, Reading(both, 10_000), None)
    digested(store, branch, 10, "what was concluded", OLD)
    now = status(store, branch)
    assert now.digest is not None
    assert (now.digest.through, now.digest.tokens) == (OLD.id, 5)
    assert (now.reflection_tokens, now.context) == (both, Reading(NEW.tokens + 5, 10_000))
    small = replace(DEFAULTS, reflection_context_max_tokens=10)
    assert (status(store, branch, small).digest, status(store, branch, small).context) == (None, Reading(both, 10))
    retire(store, branch, OLD.id, time="2026-05-02T10:30:00Z")
    assert status(store, branch).reflection_tokens == both, "a retired one was recorded, too"


@pytest.mark.parametrize(
    ("tokens", "threshold", "shown"),
    [(0, 0, 0), (5, 0, 0), (15_000, 10_000, 150), (1, 200, 1), (1, 201, 0), (5, 200, 3), (1_234_567, 1_000, 123_457)],
)
def test_percent_is_whole_and_may_pass_a_hundred_003_103(tokens: int, threshold: int, shown: int) -> None:
    assert percent(Reading(tokens, threshold)) == shown


# -- 003-104: what is only there when there is something ---------------------------------------------------------------


def test_errors_stay_until_the_roles_own_success_003_104(store: Store, branch: Branch, clock: Clock) -> None:
    jobs = {role: Job(role, branch.lineage, branch.key) for role in ("observer", "reflector")}
    workbook.note_error(store, jobs["observer"], RuntimeError("no route"), "provider")
    clock.now += 60
    workbook.note_error(store, jobs["reflector"], RuntimeError("rubbish"), "span")
    workbook.clear_error(store, jobs["reflector"])
    (error,) = status(store, branch).errors
    assert (error.role, error.error, error.at) == ("observer", "no route", "1970-01-12T13:46:40Z")


def test_roles_at_work_open_compaction_gaps_and_minds_003_104(store: Store, branch: Branch, clock: Clock) -> None:
    batch(store, branch, 0, 10, FIRST)
    record(store, branch, "om.unknown", {}, covers=10, since=10)
    gap(store, branch, 10, 12, "refused by the provider")
    assert compose_memory(store, branch, 20, DEFAULTS) is not None
    claimed(store, branch, "observer")
    assert store.queue(Job("reflector", branch.lineage, branch.key))
    now = status(store, branch, replace(DEFAULTS, passive=True, model=ModelChoice(provider="p", id="m")))
    assert (now.running, now.pending, now.open_compaction) == (["observer"], ["reflector"], 20)
    assert [(each.since, each.covers, each.reason) for each in now.gaps] == [(10, 12, "refused by the provider")]
    assert (now.passive, now.mind, now.minds, now.malformed) == (True, "p/m", {"test": 1}, 1)
    clock.now += 60
    now = status(store, branch)
    assert (now.running, now.open_compaction, now.mind) == ([], None, "extractive"), "lease and lock have run out"


def test_a_compaction_while_a_role_works_uses_what_is_there_003_168(store: Store, branch: Branch) -> None:
    batch(store, branch, 0, 10, FIRST)
    claimed(store, branch, "observer")
    assert compose_memory(store, branch, 20, DEFAULTS) is not None
    batch(store, branch, 10, 15, SECOND)  # before the host has compacted
    host_compacted(store, "e20", after="e39")
    batch(store, branch, 15, 20, observed("a third event", sources=("e2",)))
    now = status(store, branch)
    assert (now.visible, now.added) == (1, 2)
    compacted(store, branch, 25)
    now = status(store, branch)
    assert (now.visible, now.added) == (3, 0), "in the next compaction"


# -- 003-105: due, and not being made ----------------------------------------------------------------------------------


def claimed(store: Store, branch: Branch, role: str) -> None:
    job = Job(role, branch.lineage, branch.key)
    store.queue(job)
    assert store.claim(job, "a worker", lease_seconds=60, deadline_seconds=600) is not None


def test_due_work_that_a_worker_just_has_not_come_to_is_no_fault_003_105(
    store: Store, branch: Branch, clock: Clock
) -> None:
    clock.now += 119
    now = status(store, branch, EAGER)
    assert now.due and not now.not_made


def test_due_work_that_nobody_came_for_is_not_being_made_003_105(store: Store, branch: Branch, clock: Clock) -> None:
    clock.now += 180
    now = status(store, branch, EAGER)
    assert now.not_made and now.why_not_made == "no worker came for 3 minutes"
    claimed(store, branch, "observer")
    assert not status(store, branch, EAGER).not_made
    clock.now += 60
    assert status(store, branch, EAGER).not_made, "its worker died: the lease has run out"


def test_a_role_that_failed_last_time_is_not_being_made_003_105(store: Store, branch: Branch) -> None:
    observer = Job("observer", branch.lineage, branch.key)
    workbook.note_error(store, observer, RuntimeError("no route"), "provider")
    assert status(store, branch, EAGER).why_not_made == "observer failed last time"
    assert not status(store, branch).not_made, "nothing is due any more"
    claimed(store, branch, "observer")
    assert not status(store, branch, EAGER).not_made, "it is tried again right now"


def test_another_roles_work_does_not_hide_a_failing_one_003_105() -> None:
    why = why_not_made({"reflector"}, {"reflector"}, at_work=True, quiet_seconds=0, patience_seconds=120)
    assert why == "reflector failed last time"
    assert why_not_made({"reflector"}, set(), at_work=True, quiet_seconds=900, patience_seconds=120) == ""
    assert why_not_made(set(), {"dropper"}, at_work=False, quiet_seconds=900, patience_seconds=120) == ""


def test_a_record_just_made_is_a_sign_of_life_003_105(store: Store, branch: Branch, clock: Clock) -> None:
    """What the observer recorded makes the reflector due; the dispatcher needs a moment."""
    clock.now += 1_000
    data = {"observations": []}
    now = workbook.iso_time(clock.now)
    entry = memory_entry(Entry(kind="om.observations.recorded", covers=5, since=0, data=data, time=now))
    append_memory(store, branch, [entry])
    assert status(store, branch, EAGER).due and not status(store, branch, EAGER).not_made
    clock.now += 121
    assert status(store, branch, EAGER).not_made


def test_an_idle_session_became_due_only_when_it_was_idle_for_long_003_105(
    store: Store, branch: Branch, clock: Clock
) -> None:
    lazy = replace(DEFAULTS, flush_min_tokens=5)
    clock.now += 299
    assert not status(store, branch, lazy).due
    clock.now += 2
    assert status(store, branch, lazy).due and not status(store, branch, lazy).not_made
    clock.now += 120
    assert status(store, branch, lazy).not_made


def test_an_ended_session_with_a_tail_003_105(store: Store, branch: Branch, clock: Clock) -> None:
    mark_ended(store, "neutral:s1")
    lazy = replace(DEFAULTS, flush_min_tokens=5)
    assert status(store, branch, lazy).due and not status(store, branch, lazy).not_made
    clock.now += 130
    assert status(store, branch, lazy).not_made


def test_a_worker_busy_elsewhere_gets_more_patience_003_105(store: Store, branch: Branch, clock: Clock) -> None:
    other = conversation(store, 3, "s2", agent="a")
    clock.now += 300
    claimed(store, other, "observer")
    assert status(store, branch, EAGER).due and not status(store, branch, EAGER).not_made


def test_passive_makes_nothing_due_and_so_nothing_missing_003_140(store: Store, branch: Branch, clock: Clock) -> None:
    clock.now += 9_000
    now = status(store, branch, replace(EAGER, passive=True))
    assert (now.due, now.not_made, now.passive) == ({}, False, True)


def test_a_session_id_with_an_at_sign_is_found(store: Store) -> None:
    head = SessionHead(host="neutral", session="me@host")
    accept_turns(store, Delivery(head=head, events=[reply("hello", id="x")]))
    session = load_session(store, "neutral:me@host")
    assert status(store, load_branch(store, session.branch)).session == session


def test_dropper_state_reads_the_clocks_own_state(store: Store, branch: Branch) -> None:
    assert dropper_state(read_state(store, branch), DEFAULTS) == status(store, branch).dropper
