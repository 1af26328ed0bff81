"""Worker processes on a real Redis server, as on several machines: killed, with wrong clocks, told apart."""

import signal
from pathlib import Path

import pytest
from builders import memory_of
from jobs import contents, session_of_entries
from test_worker_process import ended, until, worker

from minutebook.pipeline.branches import memory_stream
from minutebook.store.kernel import Store

HOUR = 3_600


@pytest.fixture
def backend() -> str:
    return "redis"


def marks(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def test_a_worker_killed_in_a_job_is_replaced_and_it_is_recorded_once(
    store: Store, redis_url: str, tmp_path: Path
) -> None:
    branch = session_of_entries(store, 4)
    told = tmp_path / "marks"
    with worker(redis_url, "slow=1000", marks=told) as first:
        until(lambda: marks(told))
        with worker(redis_url, "lease=30", marks=told) as second:
            first.send_signal(signal.SIGKILL)
            until(lambda: contents(memory_of(store, branch)))
            until(lambda: not store.jobs() and not store.take_dirty(1))
            second.send_signal(signal.SIGTERM)
            assert ended(second) == 0
    assert len(marks(told)) == 2
    assert store.tip(memory_stream(branch.key)).length == 1


def test_machines_whose_clocks_are_two_hours_apart_keep_each_others_leases(
    store: Store, redis_url: str, tmp_path: Path
) -> None:
    """A lease of four seconds is kept for six: by the server's clock alone."""
    branch = session_of_entries(store, 4)
    told = tmp_path / "marks"
    with worker(redis_url, "slow=6", "lease=4", f"ahead={HOUR}", marks=told) as ahead:
        until(lambda: marks(told))
        with worker(redis_url, f"ahead=-{HOUR}", marks=told) as behind:
            until(lambda: contents(memory_of(store, branch)))
            assert marks(told) == [str(ahead.pid)]
            later = session_of_entries(store, 8)
            until(lambda: len(contents(memory_of(store, later))) == 8)
            behind.send_signal(signal.SIGTERM)
            ahead.send_signal(signal.SIGTERM)
            assert [ended(behind), ended(ahead)] == [0, 0]
    assert [state for state in store.jobs() if state.not_before > store.now() + 60] == []


def test_what_a_worker_of_a_machine_with_a_wrong_clock_held_is_free_when_its_lease_ends(
    store: Store, redis_url: str, tmp_path: Path
) -> None:
    branch = session_of_entries(store, 4)
    told = tmp_path / "marks"
    with worker(redis_url, "slow=1000", f"ahead={HOUR}", marks=told) as ahead:
        until(lambda: marks(told))
        # Of this moment by the server's clock, and renewed; on a busy machine sometimes late.
        until(lambda: 0 < store.jobs()[0].lease_ends - store.now() <= 1.0)
        ahead.send_signal(signal.SIGKILL)
        ahead.wait()
    with worker(redis_url, "until-idle", f"ahead=-{HOUR}", marks=told) as behind:
        until(lambda: contents(memory_of(store, branch)))
        assert behind.wait() in (0, 1)
