"""Where a process is to die, chosen by seed from what an undisturbed one called; and a count of how they died."""

import os
import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from killing.deaths import Death
from killing.family import KILLED, Child, Nursery

WRITES = frozenset(
    [
        f"store.{name}"
        for name in ("open", "append", "put", "delete", "mark_dirty", "settle_dirty", "rewind_times", "wipe_board")
    ]
    + [f"store.{name}" for name in ("queue", "claim", "beat", "finish", "fail")]
    + [f"queue.{name}" for name in ("initialize_schema", "enqueue", "dequeue")]
)
STATEMENTS = 6
LIVES = 3
ROUNDS = int(os.environ.get("MINUTEBOOK_KILL_ROUNDS", "12"))
ANY_INSTANT = 0.15
"""So many of the kills come from outside, at whatever the process is just doing."""


@dataclass(frozen=True)
class Plan:
    """death: at a counted call; else seconds after which it is killed from outside."""

    death: Death | None
    seconds: float = 0.0


def plan_of(rng: random.Random, calls: Mapping[str, int], seconds: float, life: int = 0) -> Plan:
    """Each name of a call is as likely as any other, however often it is called.

    calls, seconds: of a run from the beginning. life: how often it was killed before; it has less and less left to do.
    """
    if rng.random() < ANY_INSTANT:
        return Plan(None, rng.random() * seconds / (life + 1))
    call = rng.choice(sorted(calls))
    when = rng.choice(["before", "after", "within"] if call in WRITES else ["before", "after"])
    nth = rng.randint(1, max(1, calls[call] // (life + 1)))
    return Plan(Death(call, nth, when, rng.randint(1, STATEMENTS)))


@dataclass
class Tally:
    """What was killed how, in one kind of round."""

    kind: str
    rounds: int = 0
    lived: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    began: float = field(default_factory=time.perf_counter)
    seconds: float = 0.0

    def note(self, child: Child, code: int) -> None:
        """A child that was to die has ended."""
        if code != KILLED:
            self.lived += 1
            return
        death = child.death
        self.kills[death.when if death else "any instant"] += 1
        self.calls[death.call if death else "any instant"] += 1

    def done(self) -> None:
        """All its rounds passed: it is told at the end of the run."""
        self.seconds = time.perf_counter() - self.began
        DONE.append(self)

    def __str__(self) -> str:
        kills = ", ".join(f"{when} {count}" for when, count in sorted(self.kills.items()))
        return (
            f"{self.kind}: {self.rounds:,} rounds, {self.kills.total():,} kills ({kills}), {self.lived:,} ended before,"
            f" {self.seconds:,.0f} s, 0 failures"
        )


DONE: list[Tally] = []


def summary(tallies: Sequence[Tally]) -> list[str]:
    """A line for each kind, one for all, and one for the calls at which they died."""
    if not tallies:
        return []
    whole = Tally("all")
    for tally in tallies:
        whole.rounds += tally.rounds
        whole.lived += tally.lived
        whole.seconds += tally.seconds
        whole.kills += tally.kills
        whole.calls += tally.calls
    calls = ", ".join(f"{call} {count}" for call, count in sorted(whole.calls.items()))
    return [*map(str, tallies), str(whole), f"killed at {calls}"]


def doomed(nursery: Nursery, plan: Plan, tally: Tally, act: str, *, ahead: float = 0.0, **args: object) -> bool:
    """Run a child that dies by the plan; whether it did."""
    child = nursery.start(act, death=plan.death, ahead=ahead, **args)
    if plan.death is None:
        time.sleep(plan.seconds)
        child.kill()
    code = nursery.wait(child)
    tally.note(child, code)
    return code == KILLED


def rounds_of(share: float) -> int:
    """A test's share of all rounds, at least one."""
    return max(1, round(share * ROUNDS))
