"""Several processes at once on one store: what they do and when they die comes from one seed, the rest from the OS."""

import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from fuzz.invariants import Delivery, broken_invariants
from killing.family import Child, Nursery
from killing.homes import Files, Home, opened
from killing.killed_sessions import SETTINGS, Row, assignments, session_rows, write_session
from killing.plans import Plan, Tally, plan_of

from minutebook.hosts import neutral
from minutebook.records import SourceEntry
from minutebook.store.opening import open_store

LATER_SECONDS = SETTINGS.job_deadline_seconds + 1
WAVES = 2
MOST = 4
"""Processes at once."""
HELD_UP = 0.15
"""So often a worker stands still for longer than its lease, and then goes on as if nothing had happened."""
DYING = 0.4
"""So many of them die at a planned call, or from outside."""
Calls = Mapping[str, tuple[Mapping[str, int], float]]
"""Act → what one that nothing disturbs calls, and its seconds."""


@dataclass(frozen=True)
class Member:
    """One process: its act, what it is given, and how it dies."""

    act: str
    args: dict[str, Any]
    plan: Plan | None


@dataclass
class Crowd:
    """One store, one or two sessions, and those who come to them."""

    nursery: Nursery
    folder: Path
    seed: int
    tally: Tally
    calls: Calls
    home: Home = field(default_factory=Files)
    members: list[list[Member]] = field(default_factory=list)
    logs: list[tuple[str, Path]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.folder.mkdir()
        self.store = self.home.new(self.folder / "store.db")
        rows = session_rows(self.seed, turns=self.rng.randint(3, 7), session="a")
        self.files = [write_session(self.folder / "a.jsonl", rows)]
        if self.rng.random() < 0.4:
            self.files.append(write_session(self.folder / "b.jsonl", copied(rows, self.rng)))
        open_store(self.store).close()

    def live(self) -> None:
        """Wave after wave; each process of a wave runs beside the others."""
        for number in range(WAVES):
            members = self._wave()
            self.members.append(members)
            ahead = number * self.rng.choice([0, LATER_SECONDS])
            children = [
                self.nursery.start(member.act, death=member.plan and member.plan.death, ahead=ahead, **member.args)
                for member in members
            ]
            self._kill(members, children)
            self._hold_up(children[1])
            for member, child in sorted(zip(members, children, strict=True), key=lambda pair: stays(pair[0])):
                if stays(member):
                    child.stop()
                code = self.nursery.wait(child)
                if member.plan:
                    self.tally.note(child, code)

    def _wave(self) -> list[Member]:
        others = [self._writer, self._worker, self._compactor, self._wiper]
        chosen = self.rng.sample(others, self.rng.randint(0, MOST - 2))
        return [make() for make in (self._writer, self._worker, *chosen)]

    def _kill(self, members: Sequence[Member], children: Sequence[Child]) -> None:
        """Those who die from outside, in their order."""
        began = time.monotonic()
        doomed = [
            (each.plan.seconds, child) for each, child in zip(members, children, strict=True) if from_outside(each)
        ]
        for seconds, child in sorted(doomed, key=lambda pair: pair[0]):
            time.sleep(max(0.0, began + seconds - time.monotonic()))
            child.kill()

    def _hold_up(self, worker: Child) -> None:
        if self.rng.random() < HELD_UP:
            time.sleep(self.rng.random() * 0.2)
            worker.hold()
            time.sleep(SETTINGS.lease_seconds + 0.1)
            worker.go_on()

    # -- who comes -----------------------------------------------------------------------------------------------

    def _member(self, act: str, **args: Any) -> Member:
        plan = plan_of(self.rng, *self.calls[act], life=1) if self.rng.random() < DYING else None
        return Member(act, {"store": self.store, **args} if act != "work" else args, plan)

    def _writer(self) -> Member:
        file = self.rng.choice(self.files)
        spans = spans_of(self.rng, len(neutral.read(file).events))
        return self._member("deliver", file=str(file), spans=spans, log=str(self._log(file)))

    def _worker(self) -> Member:
        leaves = self.rng.choice([["--until-idle"], []])
        return self._member("work", words=self.words(*leaves), slow_seconds=self.rng.choice([0, 0, 0.05]))

    def _compactor(self) -> Member:
        key = f"neutral:{self.rng.choice(self.files).stem}"
        return self._member("compact", session=key, times=self.rng.randint(2, 8), seed=self.rng.getrandbits(30))

    def _wiper(self) -> Member:
        return self._member("wipe", times=self.rng.randint(1, 6))

    def words(self, *more: str) -> list[str]:
        return ["worker", *assignments(SETTINGS), "--store", self.store, *more]

    def _log(self, file: Path) -> Path:
        log = self.folder / f"log-{len(self.logs)}"
        self.logs.append((f"neutral:{file.stem}", log))
        return log

    # -- at rest -------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Each host delivers all of its session once more, and is done; much later the last worker comes."""
        for file in self.files:
            whole = [(0, len(neutral.read(file).events))]
            self.nursery.run("deliver", store=self.store, file=str(file), spans=whole, log=str(self._log(file)))
        self.nursery.run("end", store=self.store, sessions=[f"neutral:{file.stem}" for file in self.files])
        self.nursery.run("om", words=self.words("--until-idle"), ahead=(WAVES + 1) * LATER_SECONDS)

    def broken(self) -> Iterator[str]:
        with opened(self.store) as store:
            yield from broken_invariants(store, self.delivered(), SETTINGS, quiet=True)
        if self.home.listened(self.store):
            yield "5: somebody seems to listen, and all are gone"

    def delivered(self) -> list[Delivery]:
        """What the logs tell of."""
        found = []
        for key, log in self.logs:
            events = neutral.read(self.folder / f"{key.partition(':')[2]}.jsonl").events
            rows = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
            for row, after in zip(rows[::2], [*rows[1::2], {}], strict=False):
                entries = tuple(each for each in events[row["start"] : row["stop"]] if isinstance(each, SourceEntry))
                found.append(Delivery(session=key, entries=entries, began=row["began"], ended=after.get("ended")))
        return found


def from_outside(member: Member) -> bool:
    return member.plan is not None and member.plan.death is None


def stays(member: Member) -> bool:
    """A worker that works until it is told to stop."""
    return member.act == "work" and "--until-idle" not in member.args["words"]


def spans_of(rng: random.Random, count: int) -> list[tuple[int, int]]:
    """The whole of a session in pieces: some late, some twice, some cut in half and begun again."""
    cuts = sorted({0, count, *(rng.randrange(count + 1) for _ in range(rng.randint(0, 6)))})
    spans = list(pairwise(cuts))
    for _ in range(rng.randint(0, 3)):
        at = rng.randrange(len(spans))
        start, stop = spans[at]
        change = rng.choice(["late", "twice", "cut"])
        if change == "late":
            spans.append(spans.pop(at))
        elif change == "twice":
            spans.insert(rng.randrange(at, len(spans) + 1), spans[at])
        else:
            spans.insert(at, (start, rng.randint(start, stop)))
    return spans


def copied(rows: Sequence[Row], rng: random.Random) -> list[Row]:
    """A session that begins with another one's entries and goes its own way."""
    shared = list(rows[: rng.randint(1, len(rows))])
    own = session_rows(rng.getrandbits(16), turns=3, session="b", forks=0)
    return [*shared, {**own[0], "parent": shared[-1]["id"]}, *own[1:]]


def usual(nursery: Nursery, folder: Path, home: Home) -> dict[str, tuple[Mapping[str, int], float]]:
    """What each act calls when nothing disturbs it."""
    calls = dict.fromkeys(("deliver", "work", "compact", "wipe"), ({"": 1}, 0.0))
    crowd = Crowd(nursery, folder, 1, Tally(""), calls, home)
    known = {}
    for make in (crowd._writer, crowd._worker, crowd._compactor, crowd._wiper):
        member, began = make(), time.perf_counter()
        member.args.update({"words": crowd.words("--until-idle")} if member.act == "work" else {})
        child = nursery.run(member.act, **member.args)
        known[member.act] = child.calls, time.perf_counter() - began
    return known
