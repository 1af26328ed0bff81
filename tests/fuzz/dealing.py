"""From a seed, a scenario: who is there, and what each of them does."""

import os
import random

from fuzz.acts import Act, Ask, Compact, Deliver, End, FillGaps, Forget, Note, Retire, Wipe, Work
from fuzz.folds import CACHES
from fuzz.minds import WAYS
from fuzz.playing import Scenario
from fuzz.story import story_of

SEEDS = int(os.environ.get("MINUTEBOOK_FUZZ_SEEDS", "30"))
REDIS_SEEDS = int(os.environ.get("MINUTEBOOK_FUZZ_REDIS_SEEDS", "6"))
FIRST = int(os.environ.get("MINUTEBOOK_FUZZ_FROM", "0"))
"""How many seeds the tests play, how many of them on a Redis server too, and which is the first."""
GOOD = ("diligent", "extractive", "diligent", "mixed")


def scenario_of(seed: int) -> Scenario:
    """The scenario of a seed; its moves are dealt while it is played."""
    dice = random.Random(f"{seed} scenario")
    if seed % 6 == 5:
        return crowd(dice, seed)
    sessions = ["a", *dice.sample(["b", "c", "a/sub"], dice.choice([0, 0, 1, 1, 2]))]
    actors: dict[str, list[Act]] = {f"host of {session}": host(dice, seed, session) for session in sessions}
    if dice.random() < 0.5:
        again = dice.choice(sessions)
        actors[f"second host of {again}"] = host(dice, seed, again)
        if dice.random() < 0.7:  # both compact at the end, when there is memory
            for name in (f"host of {again}", f"second host of {again}"):
                actors[name] += [compact(dice, again) for _ in range(3)]
    for number in range(dice.randint(1, 3)):
        actors[f"worker {number}"] = worker(dice)
    if dice.random() < 0.6:
        actors["person"] = person(dice, sessions)
    return Scenario(
        seed=seed,
        actors=actors,
        preset=dice.randrange(12),
        small=dice.choice([0, 0, 1, 2]),
        last=dice.choice(["diligent", "extractive"]),
    )


def crowd(dice: random.Random, seed: int) -> Scenario:
    """Two hosts of one session who compact again and again, at several places, with what two workers recorded."""
    session = dice.choice(["a", "c"])
    length = len(story_of(seed, session).events)
    actors: dict[str, list[Act]] = {}
    for name in ("host", "second host"):
        acts = actors[name] = [Deliver(session, 0, length), Work(dice.randint(1, 4), dice.choice(GOOD))]
        for _ in range(6):
            acts += [compact(dice, session), Work(dice.randint(1, 2), dice.choice(GOOD), sweeps=dice.random() < 0.3)]
    return Scenario(seed=seed, actors=actors, preset=dice.randrange(12), small=dice.choice([0, 1, 2]))


def host(dice: random.Random, seed: int, session: str) -> list[Act]:
    """Deliveries of one file: in pieces, some twice, some late, some of a file that was rewritten; and compactions."""
    length = len(story_of(seed, session).events)
    acts: list[Act] = []
    at = 0
    while at < length:
        stop = min(length, at + dice.randint(1, 9))
        changed = tuple(sorted(dice.sample(range(length), min(length, 2)))) if dice.random() < 0.15 else ()
        acts.append(Deliver(session, max(0, at - dice.choice([0, 0, 0, 1, 5])), stop, changed))
        at = stop
        if dice.random() < 0.4:
            acts.append(compact(dice, session))
    for _ in range(dice.choice([0, 0, 1, 2])):  # late: a piece changes its place
        acts.insert(dice.randrange(len(acts) + 1), acts.pop(dice.randrange(len(acts))))
    if dice.random() < 0.3:
        acts.insert(dice.randrange(len(acts) + 1), Deliver(session, 0, dice.randint(1, length), replaced=True))
    if dice.random() < 0.2:
        acts.append(Deliver(session, length, length, ended=True) if dice.random() < 0.5 else End(session))
    return acts


def compact(dice: random.Random, session: str) -> Compact:
    """A compaction of some kind."""
    then = dice.choice(["confirmed", "confirmed", "confirmed without details", "failed", "silence"])
    back = dice.choice([0, 0, 1, 2, 4, 8])
    return Compact(session, back, then, again=dice.random() < 0.3, elsewhere=dice.random() < 0.2)


def worker(dice: random.Random) -> list[Act]:
    """Processes of a worker, one after another."""
    acts: list[Act] = []
    for _ in range(dice.randint(2, 8)):
        if dice.random() < 0.06:
            acts.append(Wipe())
        if dice.random() < 0.05:
            acts.append(Forget((dice.choice(CACHES),) if dice.random() < 0.5 else CACHES))
        mind = dice.choice(GOOD) if dice.random() < 0.8 else dice.choice(list(WAYS))
        acts.append(Work(dice.randint(1, 5), mind, nth=dice.randrange(4), sweeps=dice.random() < 0.3))
    return acts


def person(dice: random.Random, sessions: list[str]) -> list[Act]:
    """Corrections, gaps tried again, questions, and compactions that the host knows nothing of."""
    made: list[Act] = []
    for number in range(dice.randint(1, 6)):
        session = dice.choice(sessions)
        made.append(
            dice.choice(
                [
                    Note(session, f"note {number}: never deploy on a Friday"),
                    Retire(session, dice.randrange(40)),
                    FillGaps(dice.choice(["diligent", "extractive", "silent"])),
                    Ask(session),
                    compact(dice, session),
                ]
            )
        )
    return made
