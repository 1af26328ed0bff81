"""Intake, workers and free-running replays, killed at any call: nothing is lost, doubled or stuck."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from killing.family import Nursery
from killing.free_running import LATER_SECONDS, Scene, usual
from killing.plans import LIVES, Plan, Tally, plan_of, rounds_of

ROUNDS = rounds_of(0.3)
REPLAY_ROUNDS = rounds_of(0.2)


def scenes(nursery: Nursery, folder: Path, tally: Tally, rounds: int) -> Iterable[Scene]:
    """One a round; what was done in it is finished, and checked."""
    for seed in range(1, rounds + 1):
        scene = Scene(nursery, folder / str(seed), seed, tally)
        yield scene
        scene.finish()
        tally.rounds += 1
        broken = list(scene.broken())
        assert not broken, f"seed {seed}: {broken}"
    print(tally.line())  # noqa: T201


@pytest.mark.timeout(120 + 10 * ROUNDS)
def test_killed_intake_and_workers_lose_nothing(nursery: Nursery, tmp_path: Path) -> None:
    """The file grows in three pieces; beside each intake works a worker, and most of them die."""
    known = usual(nursery, tmp_path / "usual", "ingest", "worker")
    for scene in scenes(nursery, tmp_path, Tally("om ingest of a growing file, and om worker"), ROUNDS):

        def dying(command: str, often: float, scene: Scene = scene) -> Plan | None:
            return plan_of(scene.rng, *known[command], life=1) if scene.rng.random() < often else None

        for share in sorted(scene.rng.random() for _ in range(3)):
            scene.grow(share)
            plan = dying("worker", 0.8)
            worker = scene.start(plan, scene.words("worker")) if scene.store.exists() else None
            scene.take_in("ingest", dying("ingest", 0.6))
            if worker:
                scene.end(worker, plan)
            scene.ahead += scene.rng.choice([0, 0, LATER_SECONDS])


@pytest.mark.timeout(120 + 10 * REPLAY_ROUNDS)
def test_killed_replays_beside_their_workers_lose_nothing(nursery: Nursery, tmp_path: Path) -> None:
    known = usual(nursery, tmp_path / "usual", "replay")
    for scene in scenes(nursery, tmp_path, Tally("om replay, workers beside it"), REPLAY_ROUNDS):
        scene.grow(1)
        for life in range(scene.rng.randint(1, LIVES)):
            scene.take_in("replay", plan_of(scene.rng, *known["replay"], life))
            scene.ahead += scene.rng.choice([0, LATER_SECONDS])
        scene.take_in("replay")
