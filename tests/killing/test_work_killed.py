"""Intake, workers and free-running replays, killed at any call: nothing is lost, doubled or stuck."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from killing.family import Nursery
from killing.free_running import LATER_SECONDS, Scene, Usual, usual
from killing.homes import Home, is_there
from killing.plans import LIVES, Plan, Tally, plan_of, rounds_of
from killing.scripted import answer_about, model_words
from scripted_server import ScriptedServer

ROUNDS = rounds_of(0.2)
MODEL_ROUNDS = rounds_of(0.05)
REPLAY_ROUNDS = rounds_of(0.2)


def scenes(
    nursery: Nursery, folder: Path, home: Home, kind: str, rounds: int, sets: Sequence[str] = ()
) -> Iterator[Scene]:
    """One a round; what was done in it is finished, and checked."""
    tally = Tally(kind + home.told)
    for seed in range(1, rounds + 1):
        scene = Scene(nursery, folder / str(seed), seed, tally, sets=sets, home=home)
        yield scene
        scene.finish()
        tally.rounds += 1
        broken = list(scene.broken())
        assert not broken, f"seed {seed}: {broken}"
    tally.done()


def grow_under(scene: Scene, known: Usual) -> None:
    """The file grows in three pieces; beside each intake works a worker, and most of them die."""

    def dying(command: str, often: float) -> Plan | None:
        return plan_of(scene.rng, *known[command], life=1) if scene.rng.random() < often else None

    for share in sorted(scene.rng.random() for _ in range(3)):
        scene.grow(share)
        plan = dying("worker", 0.8)
        worker = scene.start(plan, scene.words("worker")) if is_there(scene.store) else None
        scene.take_in("ingest", dying("ingest", 0.6))
        if worker:
            scene.end(worker, plan)
        scene.ahead += scene.rng.choice([0, 0, LATER_SECONDS])


@pytest.mark.timeout(300 + 10 * ROUNDS)
def test_killed_intake_and_workers_lose_nothing(nursery: Nursery, home: Home, tmp_path: Path) -> None:
    known = usual(Scene(nursery, tmp_path / "usual", 0, Tally(""), home=home), "ingest", "worker")
    for scene in scenes(nursery, tmp_path, home, "om ingest of a growing file, and om worker", ROUNDS):
        grow_under(scene, known)


@pytest.mark.timeout(300 + 20 * MODEL_ROUNDS)
def test_killed_workers_that_ask_a_model_lose_nothing(
    model_nursery: Nursery, home: Home, server: ScriptedServer, tmp_path: Path
) -> None:
    sets = model_words(server)
    calm = Scene(model_nursery, tmp_path / "usual", 0, Tally(""), sets=sets, home=home)
    answer_about(server, calm.whole)
    known = usual(calm, "ingest", "worker")
    kind = "om ingest of a growing file, and om worker with a model over HTTP"
    for scene in scenes(model_nursery, tmp_path, home, kind, MODEL_ROUNDS, sets):
        answer_about(server, scene.whole)
        grow_under(scene, known)


@pytest.mark.timeout(300 + 10 * REPLAY_ROUNDS)
def test_killed_replays_beside_their_workers_lose_nothing(nursery: Nursery, home: Home, tmp_path: Path) -> None:
    known = usual(Scene(nursery, tmp_path / "usual", 0, Tally(""), home=home), "replay")
    for scene in scenes(nursery, tmp_path, home, "om replay, workers beside it", REPLAY_ROUNDS):
        scene.grow(1)
        for life in range(scene.rng.randint(1, LIVES)):
            scene.take_in("replay", plan_of(scene.rng, *known["replay"], life))
            scene.ahead += scene.rng.choice([0, LATER_SECONDS])
        scene.take_in("replay")
