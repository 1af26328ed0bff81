"""A session whose file grows while it is taken in and worked on by processes that are killed, until all is at rest."""

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from fuzz.invariants import Delivery, broken_invariants
from killing.family import KILLED, Child, Nursery
from killing.homes import Files, Home, opened
from killing.killed_sessions import SETTINGS, assignments, session_rows, write_session
from killing.plans import Plan, Tally

from minutebook.hosts import neutral
from minutebook.records import SourceEntry

SESSION = "neutral:whole"
SETS = assignments(SETTINGS)
LATER_SECONDS = SETTINGS.job_deadline_seconds + 1


Usual = Mapping[str, tuple[Mapping[str, int], float]]


@dataclass
class Scene:
    """One store, one session file that its host writes, and who was told to read it. sets: more words of settings.

    home: where the store is.
    """

    nursery: Nursery
    folder: Path
    seed: int
    tally: Tally
    delivered: list[Delivery] = field(default_factory=list)
    ahead: float = 0.0
    forks: int = 2
    sets: Sequence[str] = ()
    home: Home = field(default_factory=Files)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.folder.mkdir()
        self.store = self.home.new(self.folder / "store.db")
        self.whole = write_session(
            self.folder / "whole.jsonl", session_rows(self.seed, turns=8, session="s", forks=self.forks)
        )
        self.content = self.whole.read_bytes()
        self.file = self.folder / "growing.jsonl"
        self.file.touch()

    def copy(self, folder: Path) -> Self:
        """The same in another folder, store and all; kills are counted together."""
        other = replace(self, folder=folder, delivered=list(self.delivered))
        other.grow(1)
        other.store = self.home.copied(self.store, folder / "store.db")
        return other

    def grow(self, share: float) -> None:
        """The host has written so much of it by now, to the middle of a line or of a character."""
        with self.file.open("ab") as file:
            file.write(self.content[file.tell() : int(share * len(self.content))])

    def entries(self) -> tuple[SourceEntry, ...]:
        events = neutral.read(self.file).events if self.file.stat().st_size else []
        return tuple(event for event in events if isinstance(event, SourceEntry))

    def take_in(self, command: str, plan: Plan | None = None) -> None:
        """`om ingest` or `om replay`, by a process that may die of it."""
        began, entries = time.monotonic(), self.entries()
        if entries:
            ended = self.end(self.start(plan, self.words(command)), plan)
            self.delivered.append(
                Delivery(session=SESSION, entries=entries, began=began, ended=time.monotonic() if ended else None)
            )

    def words(self, command: str) -> list[str]:
        """The command line of `ingest`, `replay` or `worker`."""
        rest = ["--until-idle"] if command == "worker" else ["--json", str(self.file)]
        return [command, *SETS, *self.sets, "--store", self.store, *rest]

    def start(self, plan: Plan | None, words: list[str]) -> Child:
        return self.nursery.start("om", death=plan.death if plan else None, ahead=self.ahead, words=words)

    def end(self, child: Child, plan: Plan | None) -> bool:
        """Wait for a process, or kill it when its time has come."""
        if plan is not None and plan.death is None:
            time.sleep(plan.seconds)
            child.kill()
        code = self.nursery.wait(child)
        if plan is not None:
            self.tally.note(child, code)
        return code != KILLED

    def finish(self) -> None:
        """The rest of the file, and nobody dies any more; much later, so that no lease of the dead holds."""
        self.grow(1)
        self.ahead += LATER_SECONDS
        self.take_in("ingest")
        assert self.end(self.start(None, self.words("worker")), None)

    def broken(self) -> Iterator[str]:
        """What does not hold, now that all is at rest."""
        with opened(self.store) as store:
            yield from broken_invariants(store, self.delivered, SETTINGS, quiet=True)
        if self.home.listened(self.store):
            yield "5: somebody seems to listen, and all are gone"


def usual(scene: Scene, *commands: str) -> Usual:
    """What these commands call, and the seconds they take, when nothing disturbs them."""
    known = {}
    scene.grow(1)
    for command in commands:
        began = time.perf_counter()
        child = scene.start(None, scene.words(command))
        assert scene.end(child, None)
        known[command] = child.calls, time.perf_counter() - began
    return known
