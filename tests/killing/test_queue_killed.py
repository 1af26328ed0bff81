"""The queues and what wakes a worker: a worker killed at each of their calls leaves nothing that stops the next one."""

import random
from pathlib import Path

import pytest
from killing.deaths import FIFO_CALLS, FUNCTIONS, QUEUE_CALLS, Death
from killing.family import Nursery
from killing.free_running import LATER_SECONDS, Scene
from killing.homes import Home, opened
from killing.plans import STATEMENTS, WRITES, Plan, Tally, rounds_of

from minutebook.hosts.bell import wake, wake_path

CALLS = [*(f"queue.{name}" for name in QUEUE_CALLS), *(f"fifo.{name}" for name in FIFO_CALLS), FUNCTIONS[0][2]]
INSTANTS = [(call, "before", 0) for call in CALLS] + [(call, "after", 0) for call in CALLS]
INSTANTS += [(call, "within", at) for call in CALLS if call in WRITES for at in range(1, STATEMENTS)]
ROUNDS = rounds_of(0.3)
OCCURRENCES = 6
"""The first calls of a worker are where its files are made, and its first jobs sent and taken."""


@pytest.fixture
def scene(nursery: Nursery, home: Home, tmp_path: Path) -> Scene:
    """A session that was taken in, and nobody who worked on it."""
    tally = Tally(f"om worker, killed in its queue or ear{home.told}")
    scene = Scene(nursery, tmp_path / "prepared", 3, tally, home=home)
    scene.grow(1)
    scene.take_in("ingest")
    return scene


@pytest.mark.timeout(300 + 5 * ROUNDS)
def test_a_worker_killed_in_its_queue_or_its_fifo(nursery: Nursery, scene: Scene, tmp_path: Path) -> None:
    rng = random.Random(5)
    for number in range(ROUNDS):
        call, when, statement = INSTANTS[number] if ROUNDS >= len(INSTANTS) > number else rng.choice(INSTANTS)
        plan = Plan(Death(call, rng.randint(1, OCCURRENCES), when, statement))  # type: ignore[arg-type]
        again = scene.copy(tmp_path / str(number))
        again.end(again.start(plan, again.words("worker")), plan)
        assert not again.home.listened(again.store), f"{plan}: a bell finds the dead"
        again.finish()
        scene.tally.rounds += 1
        assert not (broken := list(again.broken())), f"{plan}: {broken}"
    scene.tally.done()


@pytest.mark.parametrize("home", ["sqlite"], indirect=True)
@pytest.mark.parametrize("left", [b"", b"SQLite format 3\0", b"\0" * 4096])
def test_a_queue_file_left_in_the_making(scene: Scene, tmp_path: Path, left: bytes) -> None:
    """Killed between making the file and SQLite's first page; a torn page is what a machine leaves that went down."""
    Path(f"{scene.store}.queue").write_bytes(left)
    scene.finish()
    assert list(scene.broken()) == []


@pytest.mark.parametrize("home", ["sqlite"], indirect=True)
def test_a_fifo_that_a_dead_worker_left_is_used_again(scene: Scene) -> None:
    plan = Plan(Death("store.claim", 1, "after"))
    assert not scene.end(scene.start(plan, scene.words("worker")), plan)
    assert Path(wake_path(scene.store)).is_fifo()
    assert not wake(scene.store)
    scene.finish()
    assert list(scene.broken()) == []


def test_messages_of_a_dead_worker_are_not_done_twice(nursery: Nursery, scene: Scene) -> None:
    """It sent a job, took it, or took it and claimed it: the board tells who works, and the lease of the dead ends."""
    for call, when in (("queue.enqueue", "after"), ("queue.dequeue", "after"), ("store.claim", "after")):
        plan = Plan(Death(call, 1, when))  # type: ignore[arg-type]
        assert not scene.end(scene.start(plan, scene.words("worker")), plan)
        with opened(scene.store) as store:
            assert {state.job.role for state in store.jobs()} == {"observer"}
        scene.ahead += LATER_SECONDS
    scene.finish()
    assert list(scene.broken()) == []
