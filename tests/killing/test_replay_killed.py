"""`om replay --step`, killed at any call and run again, ends equal to the undisturbed run."""

import random
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from killing.family import Nursery
from killing.homes import Home
from killing.killed_sessions import SETTINGS, assignments, session_rows, write_session
from killing.plans import LIVES, Tally, doomed, plan_of, rounds_of
from killing.results import differences, result_of
from killing.scripted import answer_about, model_words
from scripted_server import ScriptedServer

SESSIONS = 4
ROUNDS = rounds_of(0.4)
MODEL_ROUNDS = rounds_of(0.05)
LATER_SECONDS = SETTINGS.job_deadline_seconds + 1
"""When what a dead process held is free again; half of the time the next one comes at once, and waits for it."""


@dataclass(frozen=True)
class Undisturbed:
    """A session, the words that replay it, and what comes of it."""

    path: Path
    words: list[str]
    result: Any
    calls: dict[str, int]
    seconds: float

    def command(self, store: str) -> list[str]:
        return [*self.words, "--store", store, str(self.path)]


def undisturbed(nursery: Nursery, home: Home, folder: Path, path: Path, *more: str) -> Undisturbed:
    """Replayed once without harm."""
    words = ["replay", "--step", "--json", *assignments(SETTINGS), *more]
    made, store = Undisturbed(path, words, None, {}, 0.0), home.new(folder / f"{path.stem}.db")
    began = time.perf_counter()
    child = nursery.run("om", words=made.command(store))
    return replace(made, result=result_of(store), calls=dict(child.calls), seconds=time.perf_counter() - began)


def kill_often(nursery: Nursery, home: Home, wanted: list[Undisturbed], folder: Path, kind: str, rounds: int) -> None:
    """Each round kills a replay up to LIVES times before it may end."""
    tally = Tally(kind + home.told)
    for number in range(rounds):
        rng, session = random.Random(number), wanted[number % len(wanted)]
        store = home.new(folder / f"{number}.db")
        lives, later = rng.randint(1, LIVES), rng.choice([0, LATER_SECONDS])
        plans = [plan_of(rng, session.calls, session.seconds, life) for life in range(lives)]
        for life, plan in enumerate(plans):
            doomed(nursery, plan, tally, "om", words=session.command(store), ahead=life * later)
        nursery.run("om", words=session.command(store), ahead=lives * later)
        tally.rounds += 1
        different = list(differences(session.result, result_of(store)))
        assert not different, f"round {number}: {plans}: {different}"
    tally.done()


@pytest.mark.timeout(300 + 5 * ROUNDS)
def test_a_killed_replay_ends_equal(nursery: Nursery, home: Home, tmp_path: Path) -> None:
    files = [
        write_session(tmp_path / f"s{seed}.jsonl", session_rows(seed, turns=5 + 2 * seed))
        for seed in range(min(SESSIONS, ROUNDS))
    ]
    wanted = [undisturbed(nursery, home, tmp_path, file) for file in files]
    kill_often(nursery, home, wanted, tmp_path, "replay --step", ROUNDS)


@pytest.mark.timeout(300 + 10 * MODEL_ROUNDS)
def test_a_killed_replay_with_a_model_ends_equal(
    model_nursery: Nursery, home: Home, server: ScriptedServer, tmp_path: Path
) -> None:
    rows = session_rows(1, turns=4 if MODEL_ROUNDS < 10 else 8)
    file = write_session(tmp_path / "s1.jsonl", rows)
    answer_about(server, file)
    wanted = undisturbed(model_nursery, home, tmp_path, file, *model_words(server))
    kill_often(model_nursery, home, [wanted], tmp_path, "replay --step, a model over HTTP", MODEL_ROUNDS)
