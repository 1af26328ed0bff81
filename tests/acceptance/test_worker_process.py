"""Real worker processes: killed, stopped, woken, left alone."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from builders import deliver, memory_of, reply

from minutebook.hosts.bell import wake
from minutebook.pipeline.branches import memory_stream
from minutebook.records import Branch
from minutebook.store.kernel import Store
from minutebook.store.sqlite import SqliteStore

SCRIPT = Path(__file__).parent / "worker_process.py"
PATIENCE_SECONDS = 60.0
PATIENT = "lease=30"
"""A lease of a second is lost by a worker that stands still for as long, and its run is done again."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with closing(SqliteStore(path)) as opened:
        yield opened


@contextmanager
def worker(store: Path | str, *words: str, marks: Path | None = None) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, str(SCRIPT), str(store), str(marks or marks_of(Path(store))), *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def ended(process: subprocess.Popen[str]) -> int:
    said, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert said == ""
    return process.returncode


def marks_of(path: Path) -> Path:
    return path.with_name("marks")


def marks(path: Path) -> list[str]:
    return marks_of(path).read_text().split() if marks_of(path).exists() else []


def until(condition: Callable[[], object]) -> None:
    """Wait for something that another process does."""
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < give_up_at, "it did not happen"
        time.sleep(0.01)


def session(store: Store, count: int = 4) -> Branch:
    return deliver(store, [reply(f"entry {number}: " + "some words " * 15, id=f"e{number}") for number in range(count)])


def seen(store: Store, branch: Branch) -> list[str]:
    return [held.record.content for held in memory_of(store, branch).observations.values()]


def test_a_worker_killed_in_a_run_is_replaced_and_it_is_recorded_once_003_169_003_170(path: Path, store: Store) -> None:
    branch = session(store)
    with worker(path, "slow=1000") as first:
        until(lambda: marks(path))
        first.kill()
        first.wait()
    assert [state.state for state in store.jobs()] == ["running"]
    assert seen(store, branch) == []
    with worker(path, "until-idle", PATIENT) as second:
        assert ended(second) == 0
    assert len(set(marks(path))) == len(marks(path)) == 2
    assert seen(store, branch) == [f"saw e{number}" for number in range(4)]
    assert store.tip(memory_stream(branch.key)).length == 1
    assert (store.jobs(), store.take_dirty(9)) == ([], [])


def test_another_worker_that_runs_already_takes_over_003_169(path: Path, store: Store) -> None:
    branch = session(store)
    with worker(path, "slow=1000") as first:
        until(lambda: marks(path))
        with worker(path):
            until(lambda: any(state.lease_ends > store.now() for state in store.jobs()) or seen(store, branch))
            first.kill()
            until(lambda: seen(store, branch))
    assert store.tip(memory_stream(branch.key)).length == 1


def test_work_under_way_is_finished_when_its_host_is_gone_003_170(path: Path, store: Store) -> None:
    branch = session(store)
    with worker(path, "slow=0.5", PATIENT) as process:
        until(lambda: marks(path))
        process.send_signal(signal.SIGTERM)
        assert ended(process) == 0
    assert len(seen(store, branch)) == 4
    assert store.jobs() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_releases_what_does_not_end_in_time(path: Path, store: Store, number: int) -> None:
    session(store)
    with worker(path, "slow=1000", "stop=0.2", PATIENT) as process:
        until(lambda: marks(path))
        process.send_signal(number)
        assert ended(process) == 0
    assert [(state.state, state.error) for state in store.jobs()] == [("pending", "its worker was stopped")]


def test_an_append_of_another_process_is_seen_without_a_bell(path: Path, store: Store) -> None:
    with worker(path):
        until(lambda: wake(str(path)))
        branch = session(store)
        until(lambda: seen(store, branch))


def test_a_worker_that_is_idle_leaves_and_no_bell_finds_it(path: Path, store: Store) -> None:
    branch = session(store)
    with worker(path, "idle=0.5") as process:
        assert ended(process) == 0
    assert len(seen(store, branch)) == 4
    assert not wake(str(path))


def test_two_worker_processes_record_once_003_167(path: Path, store: Store) -> None:
    branch = session(store)
    words = ("until-idle", "slow=0.3", PATIENT)
    with worker(path, *words) as one, worker(path, *words) as other:
        assert (ended(one), ended(other)) == (0, 0)
    assert len(marks(path)) == 1
    assert store.tip(memory_stream(branch.key)).length == 1
