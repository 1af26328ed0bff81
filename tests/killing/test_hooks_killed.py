"""Hooks, and the worker that takes in what they rang for, killed at any call: the ledger is the transcript at last."""

import json
import random
from contextlib import closing
from pathlib import Path

import pytest
from hookkit import Agent
from killing.family import KILLED, Nursery
from killing.homes import Files
from killing.plans import Plan, Tally, doomed, plan_of, rounds_of

from minutebook.pipeline.sessions import find_session
from minutebook.store.opening import open_store

ROUNDS = rounds_of(0.5)
STEPS = 4
OFTEN = 0.7


class Watched:
    """One agent, whose hooks and workers die. A child for each of them."""

    def __init__(self, nursery: Nursery, folder: Path, seed: int, tally: Tally) -> None:
        folder.mkdir()
        self.nursery, self.tally = nursery, tally
        self.rng = random.Random(seed)
        self.agent = Agent(folder)
        self.agent.home.mkdir()
        self.payload = folder / "payload"

    def hook(self, event: str = "Stop") -> dict[str, object]:
        self.payload.write_text(json.dumps(self.agent.payload()))
        return {"store": self.agent.store, "words": ["claude-code", event], "payload": str(self.payload)}

    def take_in(self) -> dict[str, object]:
        return {"words": ["worker", "--store", self.agent.store, "--until-idle"]}

    def does(self, act: str, arguments: dict[str, object], plan: Plan | None) -> bool:
        """Whether it came to its end."""
        if plan is not None:
            return not doomed(self.nursery, plan, self.tally, act, **arguments)
        return self.nursery.wait(self.nursery.start(act, **arguments)) != KILLED  # type: ignore[arg-type]

    def may_work(self) -> bool:
        """`om worker --store` wants a store that is there; the one that hooks start makes it."""
        with closing(open_store(self.agent.store)):
            return True


@pytest.mark.timeout(300 + 20 * ROUNDS)
def test_killed_hooks_and_workers_lose_nothing(nursery: Nursery, tmp_path: Path) -> None:
    calm = Watched(nursery, tmp_path / "usual", 0, Tally(""))
    calm.agent.say("one", "two")
    calls = {}
    for act, arguments in (("hook", calm.hook()), ("take_in", calm.take_in() if calm.may_work() else {})):
        child = nursery.run(act, **arguments)  # type: ignore[arg-type]
        calls[act] = child.calls
    assert calm.agent.is_taken_in() and {"bell.ring", "fifo.ring", "lock.hold"} <= set(calls["hook"])
    assert {"bell._take", "bell._deliver", "bell._drop", "store.append"} <= set(calls["take_in"])

    tally = Tally("hooks of a growing session, and the worker that takes it in")
    for seed in range(1, ROUNDS + 1):
        watched = Watched(nursery, tmp_path / str(seed), seed, tally)
        lives(watched, calls)
        tally.rounds += 1
        broken = at_rest(watched)
        assert not broken, f"seed {seed}: {broken}"
    tally.done()


def lives(watched: Watched, calls: dict[str, dict[str, int]]) -> None:
    """A few turns; after each a hook, and a worker, and most of them die."""
    rng, agent = watched.rng, watched.agent
    watched.may_work()
    for step in range(STEPS):
        agent.say(*(f"turn {step}, prompt {at}" for at in range(rng.randint(1, 3))))
        for act, arguments in (("hook", watched.hook()), ("take_in", watched.take_in())):
            dies = rng.random() < OFTEN
            watched.does(act, arguments, plan_of(rng, calls[act], 0.5, step) if dies else None)


def at_rest(watched: Watched) -> list[str]:
    """What does not hold after one more turn, in which nobody dies."""
    agent = watched.agent
    agent.say("the last word")
    assert watched.does("hook", watched.hook("SessionEnd"), None)
    assert watched.does("take_in", watched.take_in(), None)
    broken = []
    if agent.ledger() != agent.said:
        broken.append(f"the ledger has {agent.ledger()}, the transcript {agent.said}")
    if agent.bells:
        broken.append(f"bells are left: {sorted(agent.bells)}")
    if Files().listened(agent.store):
        broken.append("somebody seems to listen, and all are gone")
    with closing(open_store(agent.store)) as store:
        session = find_session(store, f"claude_code:{agent.session}")
        if session is None or not session.ended:
            broken.append("the session is over, and is not known to be")
    return broken
