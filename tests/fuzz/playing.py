"""One scenario, played: actors with their acts, and the moves that interleave them. The same scenario, the same run."""

import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from fuzz.acts import Act, Compact
from fuzz.baton import Actor, Died, Pausing
from fuzz.invariants import broken_invariants
from fuzz.settling import Ledgers, at_once, settle
from fuzz.small import made_small
from fuzz.stores import NewStore, in_file
from fuzz.world import World, settings_of

from minutebook.pipeline.branches import list_branches
from minutebook.store.kernel import Store

SHOWN = 6
MOST_MOVES = 5_000
FAR = 60
"""Calls within which an actor that is to be overtaken comes to a write."""


@dataclass(frozen=True, slots=True)
class Run:
    """An actor goes on for so many calls to the store."""

    actor: str
    calls: int


@dataclass(frozen=True, slots=True)
class Die:
    """An actor's process is killed before its next call; the actor's next act is a new process."""

    actor: str


@dataclass(frozen=True, slots=True)
class Tick:
    """Time passes on the store's clock."""

    seconds: float


Move = Run | Die | Tick


@dataclass(frozen=True)
class Scenario:
    """seed: of the stories. preset: of the settings. small: of checkpoints, see small.py; 0 as they are.

    moves: in this order; then every actor that is left goes on to its end, one after another. None: the seed's dice.
    last: the mind that works off what is left at the end.
    """

    seed: int
    actors: Mapping[str, Sequence[Act]]
    moves: Sequence[Move] | None = None
    preset: int = 0
    small: int = 0
    last: str = "diligent"


@dataclass
class Played:
    """What came of a scenario. moves: those that were made. broken: what is wrong, [] when nothing is."""

    moves: list[Move] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)


def play(scenario: Scenario, new_store: NewStore = in_file) -> Played:
    """Play it on a new store."""
    with ExitStack() as stack:
        if scenario.small:
            stack.enter_context(made_small(scenario.small))
        folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
        world = World(seed=scenario.seed, folder=folder, settings=settings_of(scenario.preset), new_store=new_store)
        stack.callback(world.close)
        return _Play(scenario, world).play()


class _Play:
    """One run of a scenario."""

    def __init__(self, scenario: Scenario, world: World) -> None:
        self.scenario = scenario
        self.world = world
        self.played = Played()
        self.ledgers = Ledgers()
        self.back = Lock()
        self.back.acquire()
        self.actors = {
            name: Actor(name, acts, self._perform, self.back) for name, acts in scenario.actors.items() if acts
        }

    def play(self) -> Played:
        world = self.world
        try:
            for move in self._moves():
                self._make(move)
                if world.broken:
                    break
        finally:
            for actor in self.actors.values():
                actor.abandon()
        if not world.broken:
            self._check_whole()
        self.played.broken = world.broken[:SHOWN]
        self.played.counts = self._counts()
        return self.played

    def _perform(self, act: Act, actor: Actor) -> None:
        store: Store = Pausing(self.world.store, actor, self.world.watch)  # type: ignore[assignment]
        try:
            act.run(self.world, store)
        except Died:
            raise
        except Exception as error:
            self.world.broken.append(f"0: {actor.name}: {act} raised {type(error).__name__}: {error}")

    def _moves(self) -> Iterator[Move]:
        if self.scenario.moves is None:
            yield from dealt(self.scenario.seed, self.actors)
        else:
            yield from self.scenario.moves
        for actor in self.actors.values():
            while not actor.finished:
                yield Run(actor.name, 40)

    def _make(self, move: Move) -> None:
        self.played.moves.append(move)
        if isinstance(move, Tick):
            self.world.pass_time(move.seconds)
            return
        actor = self.actors.get(move.actor)
        if actor is None or actor.finished:
            return
        if isinstance(move, Die):
            actor.run(0, dies=True)
        else:
            actor.run(max(1, move.calls))
        if actor.failure is not None:
            raise actor.failure
        wrote, actor.wrote = actor.wrote, set()
        self.world.broken += at_once(self.world, wrote, self.ledgers)

    def _check_whole(self) -> None:
        """What holds at any moment; then everything is delivered once more, worked off, and looked at again."""
        world = self.world
        world.broken += self._broken(quiet=False)
        if not world.broken:
            world.broken += self._settled()
        if not world.broken:
            world.broken += [*self._broken(quiet=True), *self.ledgers.changed(world.store)]

    def _settled(self) -> list[str]:
        try:
            return settle(self.world, self.scenario.last)
        except Exception as error:
            return [f"0: at the end: {type(error).__name__}: {error}"]

    def _broken(self, *, quiet: bool) -> list[str]:
        world = self.world
        return broken_invariants(
            world.store, world.delivered, world.settings, sent=world.sent(), secrets=world.secrets, quiet=quiet
        )

    def _counts(self) -> dict[str, int]:
        world, actors = self.world, self.actors.values()
        commits = sum(len(world.store.read(f"m:{branch.key}")) for branch in list_branches(world.store))
        return {
            "steps": len(self.played.moves),
            "store calls": sum(actor.calls for actor in actors),
            "crashes": sum(actor.deaths for actor in actors),
            "forks": sum(branch.kind == "fork" for branch in list_branches(world.store)),
            "compactions": world.compactions,
            "commits": commits,
        }


def composes(actor: Actor) -> bool:
    """It stands before the write of a composition."""
    return actor.next_call == "put" and isinstance(actor.left[0], Compact)


def writes(actor: Actor) -> bool:
    """It stands before a write that compares what it read before."""
    return actor.next_call in ("append", "settle_dirty") or composes(actor)


def going_on(actor: Actor, until: Callable[[Actor], bool], most: int) -> Iterator[Move]:
    """Turns of one call until it stands there, or is finished."""
    for _ in range(most):
        if actor.finished or (actor.next_call and until(actor)):
            return
        yield Run(actor.name, 1)


def overtaken(dice: random.Random, actor: Actor, others: Sequence[Actor]) -> Iterator[Move]:
    """An actor goes on to its next write, and stands there while a rival does much, often until its lease has ended.

    A rival has the same kind of act before it, where there is one. Before a branch is settled, it is a host: that is
    what a worker must not miss then. Before a composition is written, it writes one of its own.
    """
    yield from going_on(actor, writes, FAR)
    if actor.finished:
        return
    if actor.next_call == "settle_dirty":
        rivals = [each for each in others if "host" in each.name]
    else:
        rivals = [each for each in others if any(type(act) is type(actor.left[0]) for act in each.left)]
    rival = dice.choice(rivals or others)
    if composes(actor):
        yield from going_on(rival, composes, 8 * FAR)
        yield Run(rival.name, 1)
    else:
        if dice.random() < 0.6:
            yield Tick(dice.choice([61, 61, 601]))
        yield Run(rival.name, dice.randint(60, 300))
    yield Run(actor.name, dice.randint(1, 10))


def dealt(seed: int, actors: Mapping[str, Actor]) -> Iterator[Move]:
    """Moves by the dice of a seed until no actor is left: short turns and long ones, deaths, and time that passes."""
    dice = random.Random(f"{seed} moves")
    deadly = dice.choice([0.0, 0.01, 0.03])
    ambushes = dice.choice([0.0, 0.05, 0.2])
    long = dice.choice([2, 5, 20, 60])
    for _ in range(MOST_MOVES):
        left = [actor for actor in actors.values() if not actor.finished]
        if not left:
            return
        actor = dice.choice(left)
        throw = dice.random()
        if len(left) > 1 and dice.random() < ambushes:
            yield from overtaken(dice, actor, [each for each in left if each is not actor])
        elif throw < deadly:
            yield Die(actor.name)
        elif throw < deadly + 0.04:
            yield Tick(dice.choice([1, 5, 20, 61, 61, 301, 601, -40, -4_000]))
        else:
            yield Run(actor.name, dice.randint(1, long))
