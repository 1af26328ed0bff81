"""When Pi is asked to compact."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from builders import observed, remember
from pi_sessions import Talk, branch_of

from minutebook.hosts import bell
from minutebook.hosts.pi.trigger import Trigger
from minutebook.hosts.pi.unmade import Unmade
from minutebook.pipeline.clocks import Reading
from minutebook.store.kernel import Job


@pytest.fixture
def at_threshold(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> Talk:
    monkeypatch.setenv("MINUTEBOOK_COMPACT_AFTER_TOKENS", "200")
    monkeypatch.setenv("MINUTEBOOK_OBSERVE_AFTER_TOKENS", "150")
    monkeypatch.setenv("MINUTEBOOK_JOB_DEADLINE_SECONDS", "600")
    talk.session.turns(3)
    return talk


def look(talk: Talk, **fields: Any) -> tuple[bool, bool, list[str]]:
    result = talk.ask("look", **fields)
    return result["look_again"], result["compact"], [notice["text"] for notice in result["notices"]]


def test_it_asks_after_two_looks_and_tells_003_060_061_137(at_threshold: Talk) -> None:
    again, compact, notices = look(at_threshold)
    assert (again, compact, len(notices)) == (True, False, 1)
    assert "reached the threshold of 200" in notices[0]
    assert "~318 tokens" in notices[0]
    assert look(at_threshold, second=True) == (False, True, [])
    done = at_threshold.ask("asked", how="complete")
    assert [notice["text"] for notice in done["notices"]] == ["Minutebook: compaction complete"]


def test_below_the_threshold_it_says_nothing_003_060_061(talk: Talk) -> None:
    talk.session.turns(3)
    assert look(talk) == (False, False, [])


def test_busy_by_the_second_look_it_defers_003_061_137(at_threshold: Talk) -> None:
    look(at_threshold)
    again, compact, notices = look(at_threshold, second=True, busy=True)
    assert (again, compact) == (False, False)
    assert "deferred" in notices[0]
    assert look(at_threshold)[0] is True  # nothing is pending: the next pause decides anew


def test_done_meanwhile_it_skips_003_061_137(at_threshold: Talk) -> None:
    look(at_threshold)
    at_threshold.session.compact(at_threshold.session.rows[-1]["id"])
    again, compact, notices = look(at_threshold, second=True)
    assert (again, compact) == (False, False)
    assert "skipped" in notices[0]


def test_one_request_at_a_time_003_062(at_threshold: Talk) -> None:
    look(at_threshold)
    look(at_threshold, second=True)
    assert look(at_threshold) == (False, False, [])
    assert look(at_threshold, second=True) == (False, False, [])


def test_an_answer_that_never_comes_ends_with_the_deadline_003_062() -> None:
    trigger, reading = Trigger(), Reading(300, 200)
    assert trigger.second_look(True, 1_000.0, 600, busy=False).compact
    assert not trigger.first_look(True, reading, 1_599.0, 600).look_again
    assert trigger.first_look(True, reading, 1_600.0, 600).look_again
    assert trigger.second_look(True, 1_600.0, 600, busy=False).compact


@pytest.mark.parametrize("how", ["complete", "failed", "busy"])
def test_the_state_ends_however_it_ended_003_062(at_threshold: Talk, how: str) -> None:
    look(at_threshold)
    look(at_threshold, second=True)
    at_threshold.ask("asked", how=how)
    assert look(at_threshold)[0] is True


def test_a_failure_is_told_with_its_cause_003_137(at_threshold: Talk) -> None:
    look(at_threshold)
    look(at_threshold, second=True)
    told = at_threshold.ask("asked", how="failed", cause="quota")["notices"]
    assert told == [{"level": "warning", "text": "Minutebook: the compaction failed: quota"}]


def test_one_that_we_refused_is_not_reported_a_second_time_003_079(at_threshold: Talk, tmp_path: Path) -> None:
    with closing(at_threshold.store()) as store:
        made = [row["id"] for row in at_threshold.session.rows]
        at_threshold.turn()
        remember(store, branch_of(store), observations=[observed("A fact.", sources=(made[0],))])
    at_threshold.compact(made[4])
    look(at_threshold)
    look(at_threshold, second=True)
    assert len(at_threshold.compact(made[2])["notices"]) == 1
    assert at_threshold.ask("asked", how="failed", cause="Compaction cancelled")["notices"] == []
    look(at_threshold)
    look(at_threshold, second=True)  # one that a person cancels is told
    assert len(at_threshold.ask("asked", how="failed", cause="Compaction cancelled")["notices"]) == 1


def test_kept_entries_over_the_threshold_do_not_compact_after_every_turn_003_063(at_threshold: Talk) -> None:
    at_threshold.turn()
    at_threshold.session.compact(at_threshold.session.rows[0]["id"])
    at_threshold.session.turns(1)
    assert look(at_threshold)[0] is False
    at_threshold.session.turns(1)
    assert look(at_threshold)[0] is True


def test_the_ratio_mode_goes_by_the_window_of_the_session(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINUTEBOOK_COMPACT_AFTER_TOKENS_MODE", "ratio")
    talk.session.turns(3)
    assert look(talk)[0] is False
    assert look(talk, window=400)[0] is True
    talk.child.handle({"type": "model", "model": {"provider": "p", "id": "m", "window": 400}})
    assert look(talk)[0] is True


def test_passive_mode_asks_for_nothing(at_threshold: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINUTEBOOK_PASSIVE", "true")
    assert look(at_threshold) == (False, False, [])


def test_it_looks_although_a_worker_holds_the_branch_003_064(at_threshold: Talk) -> None:
    """A worker in the middle of its job, which never ends."""
    at_threshold.turn()
    with closing(at_threshold.store()) as store:
        branch = branch_of(store)
        job = Job(role="observer", lineage=branch.lineage, branch=branch.key)
        store.queue(job)
        assert store.claim(job, "hanging", lease_seconds=60, deadline_seconds=600)
    assert look(at_threshold)[0] is True
    assert look(at_threshold, second=True)[1] is True


# -- nobody makes it ---------------------------------------------------------------------------------------------------


def test_memory_that_is_due_and_that_nobody_makes_is_told_once(
    at_threshold: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No worker listens although one is started after each turn."""
    monkeypatch.setattr("minutebook.hosts.pi.unmade.SECONDS", 0.0)
    told = [notice for _ in range(6) for notice in look(at_threshold)[2] if "no worker comes" in notice]
    assert len(told) == 1


def test_a_worker_that_listens_or_comes_to_it_is_waited_for() -> None:
    def looks(*changes: dict[str, Any]) -> list[bool]:
        unmade = Unmade()
        plain: dict[str, Any] = {"due": True, "observed": 4, "listening": False}
        return [unmade.look(**{**plain, "now": 100.0 * at, **change}) for at, change in enumerate(changes)]

    assert looks({}, {}, {}, {}, {}) == [False, False, False, True, False]
    assert not any(looks({}, {}, {}, {"listening": True}, {}, {}))
    assert not any(looks({}, {}, {}, {"observed": 9}, {"observed": 9}, {"observed": 9}))
    assert not any(looks({}, {}, {}, {"due": False}, {}, {}))
    assert not any(looks(*({"now": float(at)} for at in range(9))))


def test_a_worker_that_cannot_be_started_spoils_no_answer(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(bell, "start_worker", refused)
    talk.session.turns(1)
    assert talk.turn()["moved"] is True
    assert "no worker can be started" in (talk.store_path.parent / "hook.log").read_text()
