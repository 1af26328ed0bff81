"""Which worker of a store on a Redis server looks at all branches, and when none has to."""

from contextlib import closing
from pathlib import Path

import pytest
from builders import memory_of
from jobs import WAIT, Clock, contents, engine, observing_mind, session_of_entries

from minutebook.store.kernel import Store
from minutebook.store.sqlite import SqliteStore
from minutebook.workers.sweeping import Sweeps


@pytest.fixture
def backend() -> str:
    return "redis"


def test_one_of_several_workers_sweeps_and_another_when_it_is_gone(clocked: Store, clock: Clock) -> None:
    one, other = (Sweeps(clocked, name, 60) for name in ("one", "other"))
    assert one.due(0) and other.due(0), "each at its start"
    swept = []
    for _ in range(6):
        clock.now += 30
        session_of_entries(clocked, 1, f"s{clock.now}")
        for name, sweeps in (("one", one), ("other", other)):
            if sweeps.due(0):
                swept.append(name)
    assert set(swept) == {"one"}, "it was the first to start, and goes on"
    for _ in range(3):
        clock.now += 60
        session_of_entries(clocked, 1, f"s{clock.now}")
    assert other.due(0)


def test_where_nothing_is_written_nobody_sweeps(clocked: Store, clock: Clock) -> None:
    workers = [Sweeps(clocked, name, 60) for name in ("one", "other", "third")]
    for _ in range(4):
        due = [sweeps.due(0) for sweeps in workers]
        clock.now += 61
    assert due == [False] * 3
    clocked.ask("SET", "by hand", 1)  # type: ignore[attr-defined]
    clock.now += 61
    assert [sweeps.due(0) for sweeps in workers].count(True) == 1


def test_a_file_is_swept_whenever_something_was_written(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "s.db")) as store:
        sweeps = Sweeps(store, "one", 60)
        assert [sweeps.due(1), sweeps.due(1), sweeps.due(2), sweeps.due(None), sweeps.due(None)] == [
            True,
            False,
            True,
            True,
            True,
        ]


def test_an_engine_that_comes_later_sweeps_at_its_start(store: Store) -> None:
    with engine(store, observing_mind()) as working:
        assert working.run_until_idle(WAIT)
        branch = session_of_entries(store, 3)
        assert working.run_until_idle(WAIT)
    store.wipe_board()
    branch = session_of_entries(store, 6)
    store.wipe_board()
    with engine(store, observing_mind()) as working:
        assert working.run_until_idle(WAIT)
    assert len(contents(memory_of(store, branch))) == 6
