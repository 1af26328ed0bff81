"""The bell that wakes an engine, and its queues: what arrives on them is never trusted."""

import json
import os
import pickle
import threading
from pathlib import Path
from typing import Any

import pytest
from builders import ScriptedMind, memory_of
from jobs import WAIT, Gate, contents, engine, messages, observing_mind, session_of_entries, store_path, until

from minutebook.hosts.bell import wake, wake_path
from minutebook.store.kernel import Job, Store
from minutebook.workers import foreground, queues, waking
from minutebook.workers.queues import FileQueues, JsonSerializer, Lane, open_queue

# -- the bell ------------------------------------------------------------------------------------------------------


def test_a_bell_wakes_a_worker_and_knows_that_there_is_none(store: Store) -> None:
    path = str(store_path(store))
    assert not wake(path)
    with engine(store, observing_mind()) as working:
        working.look()
        assert wake(path)
        assert Path(wake_path(path)).stat().st_mode & 0o777 == 0o600
        working.listen(False)
        working.look()
        assert not wake(path)
        working.listen(True)
        working.look()
        assert wake(path)
    assert not wake(path)


def test_only_the_bell_is_needed_to_wake_a_worker(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waking, "POLL_BESIDE_FIFO_SECONDS", 3_600.0)
    with engine(store, observing_mind()) as working:
        assert working.run_until_idle(WAIT)
        branch = session_of_entries(store, 3)
        until(lambda: wake(str(store_path(store))))
        until(lambda: contents(memory_of(store, branch)))


def test_without_a_bell_the_store_is_looked_at(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waking, "POLL_SECONDS", 0.01)
    with engine(store, observing_mind(), wake_path=str(store_path(store).with_name("no folder") / "bell")) as working:
        assert working.run_until_idle(WAIT)
        branch = session_of_entries(store, 3)
        until(lambda: contents(memory_of(store, branch)))


def test_a_bell_that_was_heard_is_over(tmp_path: Path) -> None:
    waker = waking.Waker(lambda: waking._fifo_at(wake_path(str(tmp_path / "store"))))
    waker.listen()
    assert not waker.wait(0)
    assert wake(str(tmp_path / "store"))
    assert [waker.wait(WAIT), waker.wait(0)] == [True, False]
    waker.wake()
    assert [waker.wait(WAIT), waker.wait(0)] == [True, False]
    waker.close()


def test_a_worker_that_leaves_is_not_found_any_more(store: Store) -> None:
    path = str(store_path(store))
    with engine(store, observing_mind()) as working:
        assert working.run_until_idle(WAIT)
        assert wake(path)
        assert foreground.leaves(working)
        assert not wake(path)


def test_a_worker_stays_for_what_it_is_left_at_the_last_moment(store: Store) -> None:
    deaf: list[bool] = []

    def intake() -> None:
        deaf.append(not wake(str(store_path(store))))
        if deaf[-1]:  # the last look: no hook finds a worker by now
            session_of_entries(store, 3)

    with engine(store, ScriptedMind(gate := Gate()), intake=intake) as working:
        assert working.run_until_idle(WAIT)
        assert not foreground.leaves(working)
        gate.open.set()
        assert working.run_until_idle(WAIT)
        assert wake(str(store_path(store)))


def test_a_bell_never_blocks_and_writes_into_no_other_file(store: Store) -> None:
    path = store_path(store)
    other = Path(wake_path(str(path)))
    other.write_text("notes")
    assert not wake(str(path))
    with engine(store, observing_mind()) as working:
        assert working.run_until_idle(WAIT)
        assert not wake(str(path))
    assert other.read_text() == "notes"
    other.unlink()
    os.mkfifo(other)
    reader = os.open(other, os.O_RDONLY | os.O_NONBLOCK)
    assert all(wake(str(path)) for _ in range(70_000))
    os.close(reader)


# -- the queue -----------------------------------------------------------------------------------------------------


class Trap:
    """Unpickled, it leaves a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def test_a_pickle_on_the_queue_is_not_loaded_and_does_no_harm(store: Store, tmp_path: Path) -> None:
    trap = pickle.dumps(Trap(tmp_path / "sprung"))
    queue = open_queue(store_path(store).with_name("store.db.queue"), "observer")
    for message in (
        trap,
        b"\x1f\x8b",
        b"[]",
        b"{}",
        b'{"message":{"name":"os.system","args":["true"]}}',
        b'{"message":3}',
    ):
        queue.storage.enqueue(message)
    queue.storage.close()
    branch = session_of_entries(store, 3)
    with engine(store, observing_mind(), concurrency=1) as working:
        assert working.run_until_idle(WAIT)
    assert len(contents(memory_of(store, branch))) == 3
    assert not (tmp_path / "sprung").exists()
    pickle.loads(trap)
    assert (tmp_path / "sprung").exists()


def test_messages_are_json_and_fields_may_come_and_go(tmp_path: Path) -> None:
    done: list[Job] = []
    lane = Lane("observer", FileQueues(tmp_path / "q"), threads=1, run=done.append, done=lambda: None)
    job = Job("observer", "lineage", "branch \ud800")
    assert lane.send([job]) == 1
    (raw,) = messages(tmp_path / "q")
    fields = json.loads(raw)["message"]
    assert fields["args"] == ["observer", "lineage", "branch \ud800"]
    message = JsonSerializer().deserialize(json.dumps({"message": {**fields, "from_the_future": 1}}).encode())
    assert message.args == fields["args"] and message.timeout is None
    assert (tmp_path / "q").stat().st_mode & 0o777 == 0o600
    lane.start()
    lane.stop()
    assert lane.join(WAIT)


def test_a_job_is_not_sent_again_while_it_waits_or_runs(tmp_path: Path) -> None:
    entered, leave = threading.Event(), threading.Event()

    def run(job: Job) -> None:
        entered.set()
        assert leave.wait(WAIT)

    lane = Lane("observer", FileQueues(tmp_path / "q"), threads=3, run=run, done=lambda: None)
    jobs = [Job("observer", "l", f"b{number}") for number in range(5)]
    assert [lane.send(jobs[:1]), lane.send(jobs[:1])] == [1, 0]
    lane.start()
    assert entered.wait(WAIT)
    assert lane.send(jobs[:1]) == 0
    assert lane.send(jobs) == 2
    leave.set()
    lane.stop()
    assert lane.join(WAIT)


def test_a_job_that_another_process_took_and_lost_is_sent_again(tmp_path: Path) -> None:
    lane = Lane("observer", FileQueues(tmp_path / "q"), threads=1, run=lambda job: None, done=lambda: None)
    job = Job("observer", "l", "b")
    assert [lane.send([job]), lane.send([job])] == [1, 0]
    other = open_queue(tmp_path / "q", "observer")
    assert other.storage.dequeue() is not None
    assert lane.send([job]) == 1
    other.storage.close()
    lane.stop()
    assert lane.join(WAIT)


def test_a_queue_s_file_that_is_no_queue_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "q").write_bytes(b"something else" * 100)
    lane = Lane("observer", FileQueues(tmp_path / "q"), threads=1, run=lambda job: None, done=lambda: None)
    assert lane.send([Job("observer", "l", "b")]) == 1
    lane.stop()
    assert lane.join(WAIT)


def test_a_queue_s_file_that_is_gone_again_and_again_costs_only_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, job = tmp_path / "q", Job("observer", "l", "b")

    def removed(path: Path, role: str) -> Any:
        """Somebody removed the file when it was just made: a new one of that name has no tables."""
        queue = open_queue(path, role)
        path.unlink()
        return queue

    monkeypatch.setattr(queues, "open_queue", removed)
    lane = Lane("observer", FileQueues(path), threads=1, run=lambda job: None, done=lambda: None)
    assert lane.send([job]) == 0
    monkeypatch.setattr(queues, "open_queue", open_queue)
    assert lane.send([job]) == 1
    lane.stop()
    assert lane.join(WAIT)
