"""Promises 10 and 11 of the store: the board. Part of contract_suite.StoreContract."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from contract_values import JOB, ODD_TEXTS, Behind, claimed, items, take

from minutebook.store.kernel import Claim, Dirty, Document, Job, Put, Store, Tip


class DirtyContract:
    """Promise 11."""

    def test_dirty_keys_come_oldest_first_and_stay(self, store: Store, another: Store, behind: Behind) -> None:
        for key in ("b", "a", "c"):
            store.mark_dirty(key)
        assert [dirty.key for dirty in another.take_dirty(2)] == ["b", "a"]
        assert [dirty.key for dirty in store.take_dirty(9)] == ["b", "a", "c"]
        assert behind.dirty_keys() == {"a", "b", "c"}

    def test_a_settled_key_is_gone(self, store: Store, another: Store, behind: Behind) -> None:
        store.mark_dirty("a")
        (taken,) = another.take_dirty(9)
        assert store.settle_dirty(taken)
        assert not another.settle_dirty(taken)
        assert store.take_dirty(9) == []
        assert behind.dirty_keys() == set()

    def test_a_mark_that_came_between_survives(self, store: Store, another: Store, behind: Behind) -> None:
        store.mark_dirty("a")
        (taken,) = store.take_dirty(9)
        another.append("s", items("x"), dirty="a")
        assert not store.settle_dirty(taken)
        (again,) = store.take_dirty(9)
        assert again.key == "a"
        assert again.revision != taken.revision
        assert store.settle_dirty(again)
        assert behind.dirty_keys() == set()

    def test_what_is_due_is_queued_as_its_keys_are_settled(self, store: Store, another: Store, behind: Behind) -> None:
        for key in ("a", "b", "c"):
            store.mark_dirty(key)
        other, pending = replace(JOB, role="other"), replace(JOB, role="pending")
        store.queue(JOB)
        claimed(take(store))
        store.queue(pending)
        taken = another.take_dirty(9)
        store.mark_dirty("b")
        assert another.settle_dirty(*taken, jobs=[JOB, other, pending, other]) == 2
        assert behind.dirty_keys() == {"b"}
        states = {(job.job.role, job.state) for job in store.jobs()}
        assert states == {("observer", "running"), ("other", "pending"), ("pending", "pending")}

    def test_a_revision_is_never_used_again(self, store: Store) -> None:
        """A slow dispatcher that still holds an old revision cannot settle a later mark."""
        old: list[Dirty] = []
        for _ in range(3):
            store.mark_dirty("a")
            (taken,) = store.take_dirty(9)
            assert not any(store.settle_dirty(dirty) for dirty in old)
            assert store.settle_dirty(taken)
            old.append(taken)
        store.wipe_board()
        store.mark_dirty("a")
        assert not any(store.settle_dirty(dirty) for dirty in old)


class JobsContract:
    """Promise 10."""

    def test_a_job_is_pending_at_most_once(self, store: Store, another: Store, behind: Behind) -> None:
        assert store.queue(JOB)
        assert not another.queue(JOB, delay_seconds=60)
        assert [state.job for state in store.ready(["observer"], 9)] == [JOB]
        claimed(take(store))
        assert not another.queue(JOB)
        assert behind.jobs() == {("observer", "lineage", "branch", "running", 1)}

    def test_jobs_can_be_told_by_their_state(self, store: Store, another: Store) -> None:
        other = replace(JOB, role="other")
        for job in (JOB, other):
            store.queue(job)
        claimed(take(store))
        assert [state.job for state in another.jobs(state="running")] == [JOB]
        assert [state.job for state in another.jobs(state="pending")] == [other]
        assert [state.job for state in another.jobs()] == [JOB, other]

    def test_a_claim_has_one_owner(self, store: Store, another: Store) -> None:
        assert take(store) is None
        store.queue(JOB)
        claim = claimed(store.claim(JOB, "me", lease_seconds=60, deadline_seconds=600))
        assert (claim.job, claim.owner, claim.tries) == (JOB, "me", 1)
        assert claim.deadline_at == pytest.approx(store.now() + 600, abs=5)
        assert take(another) is None
        assert store.ready(["observer"], 9) == []
        (state,) = another.jobs()
        assert (state.state, state.owner) == ("running", "me")
        assert state.lease_ends == pytest.approx(store.now() + 60, abs=5)

    def test_a_delayed_job_waits(self, store: Store, pass_seconds: Callable[[float], None]) -> None:
        store.queue(JOB, delay_seconds=30)
        assert take(store) is None
        assert store.ready(["observer"], 9) == []
        assert store.next_ready_at(["observer"]) == pytest.approx(store.now() + 30, abs=5)
        pass_seconds(31)
        assert len(store.ready(["observer"], 9)) == 1
        assert take(store)

    def test_a_finished_job_is_gone(self, store: Store, another: Store, behind: Behind) -> None:
        store.queue(JOB)
        claim = claimed(take(store))
        assert another.finish(claim)
        assert not store.finish(claim)
        assert store.jobs() == []
        assert behind.jobs() == set()
        assert store.queue(JOB)
        assert claimed(take(store)).tries == 1

    def test_a_failed_job_waits_and_keeps_its_tries(
        self, store: Store, behind: Behind, pass_seconds: Callable[[float], None]
    ) -> None:
        store.queue(JOB)
        assert store.fail(claimed(take(store)), retry_seconds=30, error="no\ud800answer")
        (state,) = store.jobs()
        assert (state.state, state.owner, state.tries, state.error) == ("pending", "", 1, "no\ud800answer")
        assert state.not_before == pytest.approx(store.now() + 30, abs=5)
        assert state.failed_at == pytest.approx(store.now(), abs=5)
        assert behind.jobs() == {("observer", "lineage", "branch", "pending", 1)}
        assert not store.queue(JOB)
        assert take(store) is None
        pass_seconds(31)
        assert claimed(take(store)).tries == 2

    def test_an_expired_lease_frees_the_job(
        self, store: Store, another: Store, pass_seconds: Callable[[float], None]
    ) -> None:
        store.queue(JOB)
        old = claimed(take(store, lease_seconds=10))
        assert store.next_ready_at(["observer"]) == pytest.approx(store.now() + 10, abs=5)
        pass_seconds(11)
        assert not store.queue(JOB)
        assert [state.job for state in store.ready(["observer"], 9)] == [JOB]
        new = claimed(take(another))
        assert new.token > old.token
        assert new.tries == 2
        assert not store.beat(old, lease_seconds=60)
        assert not store.finish(old)
        assert not store.fail(old, retry_seconds=0, error="late")
        (state,) = store.jobs()
        assert (state.state, state.error) == ("running", "")
        assert another.finish(new)

    def test_a_claim_ends_with_its_lease_though_nobody_else_came(
        self, store: Store, pass_seconds: Callable[[float], None]
    ) -> None:
        store.queue(JOB)
        claim = claimed(take(store, lease_seconds=10))
        pass_seconds(11)
        assert not store.beat(claim, lease_seconds=10)
        assert not store.fail(claim, retry_seconds=0, error="late")
        assert not store.finish(claim)
        assert len(store.ready(["observer"], 9)) == 1

    def test_a_beat_extends_the_lease(self, store: Store, pass_seconds: Callable[[float], None]) -> None:
        store.queue(JOB)
        claim = claimed(take(store, lease_seconds=10))
        for _ in range(4):
            pass_seconds(6)
            assert store.beat(claim, lease_seconds=10)
            assert take(store) is None
        assert store.finish(claim)

    def test_no_beat_passes_the_deadline(
        self, store: Store, another: Store, pass_seconds: Callable[[float], None]
    ) -> None:
        store.queue(JOB)
        claim = claimed(take(store, lease_seconds=60, deadline_seconds=20))
        assert store.jobs()[0].lease_ends == pytest.approx(claim.deadline_at)
        pass_seconds(15)
        assert store.beat(claim, lease_seconds=60)
        assert store.jobs()[0].lease_ends == pytest.approx(claim.deadline_at)
        assert take(another) is None
        pass_seconds(6)
        assert not store.beat(claim, lease_seconds=60)
        assert take(another)

    def test_a_dead_owner_is_released(self, store: Store, another: Store) -> None:
        store.queue(JOB)
        assert not another.release(JOB, "worker")
        old = claimed(take(store))
        assert not another.release(JOB, "somebody else")
        assert not another.release(replace(JOB, branch="other"), "worker")
        assert another.release(JOB, "worker") and not another.release(JOB, "worker")
        assert not store.beat(old, lease_seconds=60) and not store.finish(old)
        assert claimed(take(another)).tries == 2

    def test_a_clock_that_went_back_delays_nothing(
        self, store: Store, another: Store, pass_seconds: Callable[[float], None]
    ) -> None:
        """What was to last a minute lasts a minute from then on, whoever looks, and however often."""
        jobs = [replace(JOB, branch=name) for name in ("running", "failed", "new")]
        for job in jobs:
            store.queue(job)
        claim, failed = claimed(take(store, jobs[0])), claimed(take(store, jobs[1]))
        store.fail(failed, retry_seconds=60, error="why")
        pass_seconds(-86_400)
        assert [take(another, job) for job in jobs] == [None] * 3
        assert another.rewind_times() and not store.rewind_times() and not another.rewind_times()
        assert [state.job for state in store.ready(["observer"], 9)] == [jobs[2]]
        assert store.next_ready_at(["observer"]) == pytest.approx(store.now(), abs=5)
        assert max(state.failed_at for state in store.jobs()) <= store.now()
        assert store.beat(claim, lease_seconds=60)
        pass_seconds(59)
        assert [take(another, job) for job in jobs[:2]] == [None] * 2
        pass_seconds(2)
        assert [claimed(take(another, job)).tries for job in jobs[:2]] == [2, 2]
        assert not store.finish(claim)

    def test_a_beat_after_the_clock_went_back_keeps_the_deadline_as_far_away(
        self, store: Store, pass_seconds: Callable[[float], None]
    ) -> None:
        store.queue(JOB)
        claim = claimed(take(store, lease_seconds=60, deadline_seconds=100))
        pass_seconds(-86_400)
        for _ in range(3):
            assert store.beat(claim, lease_seconds=60)
            assert not store.rewind_times()
            pass_seconds(40)
        assert not store.beat(claim, lease_seconds=60)

    def test_a_clock_that_went_on_ends_a_lease_and_no_more(
        self, store: Store, another: Store, pass_seconds: Callable[[float], None]
    ) -> None:
        store.queue(JOB)
        old = claimed(take(store))
        pass_seconds(86_400)
        assert not another.rewind_times()
        assert claimed(take(another)).token > old.token
        assert not store.finish(old)

    def test_a_token_is_never_used_again(self, store: Store) -> None:
        """A worker that slept through finish, wipe and queue cannot finish the job of another."""
        old: list[Claim] = []
        for wipe in (False, True, False):
            store.queue(JOB)
            claim = claimed(take(store))
            assert not any(store.beat(late, lease_seconds=1) or store.finish(late) for late in old)
            old.append(claim)
            if wipe:
                store.wipe_board()
            else:
                assert store.finish(claim)
        assert len({claim.token for claim in old}) == 3

    def test_a_token_belongs_to_its_job(self, store: Store) -> None:
        other = replace(JOB, branch="other")
        store.queue(JOB)
        store.queue(other)
        claim = claimed(take(store))
        claimed(take(store, other))
        assert not store.finish(replace(claim, job=other))
        assert store.finish(claim)

    def test_ready_is_by_role_oldest_first(self, store: Store, pass_seconds: Callable[[float], None]) -> None:
        for place, (role, branch) in enumerate([("b", "3"), ("a", "1"), ("b", "2"), ("c", "9"), ("b", "1")]):
            store.queue(Job(role, "l", branch))
            pass_seconds(place + 1)
        assert [(state.job.role, state.job.branch) for state in store.ready(["a", "b"], 3)] == [
            ("b", "3"),
            ("a", "1"),
            ("b", "2"),
        ]
        assert [state.job.role for state in store.ready(["c"], 9)] == ["c"]
        assert store.ready([], 9) == []

    def test_when_the_next_job_is_ready(self, store: Store) -> None:
        assert store.next_ready_at(["a", "b"]) is None
        store.queue(Job("a", "l", "x"), delay_seconds=90)
        store.queue(Job("b", "l", "x"), delay_seconds=40)
        assert store.next_ready_at(["a"]) == pytest.approx(store.now() + 90, abs=5)
        assert store.next_ready_at(["a", "b"]) == pytest.approx(store.now() + 40, abs=5)
        assert store.next_ready_at(["c"]) is None
        assert store.next_ready_at([]) is None

    def test_jobs_by_role_and_branch(self, store: Store) -> None:
        for role, branch in [("b", "1"), ("a", "2"), ("a", "1")]:
            store.queue(Job(role, "l", branch))
        assert [(state.job.role, state.job.branch) for state in store.jobs()] == [("a", "1"), ("a", "2"), ("b", "1")]

    def test_wiping_the_board_leaves_log_and_documents(self, store: Store, behind: Behind) -> None:
        store.append("s", items("a"), advance={"m": 1}, dirty="d", puts=[Put("c", "k", "1")])
        store.queue(JOB)
        claim = claimed(take(store))
        store.wipe_board()
        assert store.jobs() == []
        assert store.take_dirty(9) == []
        assert behind.jobs() == set()
        assert behind.dirty_keys() == set()
        assert not store.finish(claim)
        assert store.queue(JOB)
        assert store.tip("s") == Tip(1, 1, {"m": 1})
        assert store.get("c", "k") == Document("k", 1, "1")

    def test_any_text_names_a_job(self, store: Store, behind: Behind) -> None:
        for text in ODD_TEXTS:
            job = Job(text, text, text)
            assert store.queue(job)
            assert claimed(store.claim(job, text, lease_seconds=9, deadline_seconds=9)).job == job
        assert {(state.job.role, state.owner) for state in store.jobs()} == {(text, text) for text in ODD_TEXTS}
        assert behind.jobs() == {(text, text, text, "running", 1) for text in ODD_TEXTS}
