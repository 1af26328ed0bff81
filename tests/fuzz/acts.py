"""What the actors of a fuzz do: one act is what one process of a host, a worker or a person does with a store."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from fuzz.folds import CACHES
from fuzz.minds import ROLES
from fuzz.world import OFF, World

from minutebook.errors import BadInput, CompactionOpen, NotFound, ThinkingFailed
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import Path, list_branches
from minutebook.pipeline.compaction import Composition, boundary_of, compose_memory
from minutebook.pipeline.corrections import note, retire
from minutebook.pipeline.deliveries import HostCompaction
from minutebook.pipeline.folding import fold
from minutebook.pipeline.folds import Proposal, abandon_fold, read_proposal
from minutebook.pipeline.intake import mark_ended, own_branch
from minutebook.pipeline.questions import Candidate, ask
from minutebook.pipeline.workbook import iso_time
from minutebook.records import Branch
from minutebook.store.kernel import Claim, Store
from minutebook.workers.dispatching import Dispatcher
from minutebook.workers.gaps import fill_gap, open_gaps
from minutebook.workers.leases import Held
from minutebook.workers.runner import run_job

PATIENCE = 25
"""How many times a worker's process finds nothing to do before it leaves."""


class Act(Protocol):
    """One thing that one process does; it may die at any call to the store."""

    def run(self, world: World, store: Store) -> None:
        """Do it. What goes wrong in a way that must not be is added to world.broken, or raised."""


@dataclass(frozen=True)
class Deliver:
    """A host's process takes in events start ≤ at < stop of a session's file.

    changed: those that come with another text under their id. replaced: the file is said to be another one.
    """

    session: str
    start: int
    stop: int
    changed: tuple[int, ...] = ()
    replaced: bool = False
    ended: bool = False

    def run(self, world: World, store: Store) -> None:
        events = world.story(self.session).part(self.start, self.stop, self.changed)
        world.deliver(store, self.session, events, replaced=self.replaced, ended=self.ended)


@dataclass(frozen=True)
class End:
    """A session's host says that it is over."""

    session: str

    def run(self, world: World, store: Store) -> None:
        mark_ended(store, f"neutral:{self.session}")


@dataclass(frozen=True)
class Work:
    """A worker's process: looks at the board and does jobs. mind: a key of WAYS, or mixed. nth: which ready job."""

    jobs: int
    mind: str
    nth: int = 0
    sweeps: bool = False

    def run(self, world: World, store: Store) -> None:
        dispatcher = Dispatcher(store, world.settings_for)
        if self.sweeps:
            store.rewind_times()
            dispatcher.sweep()
        done = 0
        for _ in range(self.jobs + PATIENCE):
            done += work_once(world, store, dispatcher, self.mind, self.nth)
            if done == self.jobs:
                return


@dataclass(frozen=True)
class Wipe:
    """Somebody removes the board."""

    def run(self, world: World, store: Store) -> None:
        world.wiped = True
        store.wipe_board()


@dataclass(frozen=True)
class Forget:
    """Somebody removes what is only a cache: every kind of it, or one."""

    kinds: tuple[str, ...] = CACHES

    def run(self, world: World, store: Store) -> None:
        for kind in self.kinds:
            for document in store.documents(kind):
                store.delete(kind, document.key)


@dataclass(frozen=True)
class Note:
    """A person notes something."""

    session: str
    text: str

    def run(self, world: World, store: Store) -> None:
        with _may_be_unknown():
            branch = own_branch(store, f"neutral:{self.session}")
            time = iso_time(store.now())
            note(store, branch, self.text, timestamp=time[:16].replace("T", " "), time=time)


@dataclass(frozen=True)
class Retire:
    """A person takes the nth record of a session back."""

    session: str
    nth: int

    def run(self, world: World, store: Store) -> None:
        with _may_be_unknown():
            branch = own_branch(store, f"neutral:{self.session}")
            memory = fold(ledger.read_memory(store, branch))
            ids = [*memory.observations, *memory.reflections]
            if ids:
                retire(store, branch, ids[self.nth % len(ids)], time=iso_time(store.now()))


@dataclass(frozen=True)
class FillGaps:
    """A person has the gaps of all branches tried again."""

    mind: str

    def run(self, world: World, store: Store) -> None:
        for branch in list_branches(store):
            for gap in open_gaps(store, branch):
                with _may_be_unknown():
                    mind = world.mind(self.mind)
                    fill_gap(store, branch, gap.id, mind, world.settings, now=iso_time(store.now()))


@dataclass(frozen=True)
class Ask:
    """A person asks the judge, and does not wait."""

    session: str

    def run(self, world: World, store: Store) -> None:
        with _may_be_unknown():
            branch = own_branch(store, f"neutral:{self.session}")
            shown = [Candidate(id=f"{number:012x}", kind="observation", text=f"saw {number}") for number in range(3)]
            ask(store, branch, "what did it see?", shown, limit=2, deadline_seconds=20)


@dataclass(frozen=True)
class Compact:
    """A host compacts: composes, perhaps again and at another boundary, and then goes on as `then` says.

    back: how many entries before the tip are kept. then: confirmed, confirmed without details, failed, or silence.
    """

    session: str
    back: int
    then: str = "confirmed"
    again: bool = False
    elsewhere: bool = False

    def run(self, world: World, store: Store) -> None:
        with _may_be_unknown():
            branch = own_branch(store, f"neutral:{self.session}")
            path = Path(store, branch)
            length = path.length()
            kept = path.at(length - self.back) if self.back else None
            first_kept = kept.entry.id if kept else ""
            last = path.at(length - 1)
            try:
                made = self._compose(world, store, branch, boundary_of(store, branch, first_kept))
            except CompactionOpen:
                return
            after = last.entry.id if last else ""
            self._goes_on(world, store, branch, made, first_kept, after)

    def _compose(self, world: World, store: Store, branch: Branch, boundary: int) -> Composition | None:
        made = compose_memory(store, branch, boundary, world.settings)
        world.compactions += made is not None
        held = read_proposal(store, branch)
        if made is None or held is None or held.composed.get("id") != made.id:
            return made
        if self.again:
            again = compose_memory(store, branch, boundary, world.settings)
            if still_open(world, store, branch, held) and (again is None or again.text != made.text):
                world.broken.append(f"4: {branch.key}: asked again at {boundary}, the composition is another one")
        if self.elsewhere:
            try:
                compose_memory(store, branch, max(0, boundary - 1), world.settings)
            except CompactionOpen:
                return made
            if still_open(world, store, branch, held) and boundary:
                world.broken.append(f"4: {branch.key}: composed at {boundary - 1} while {boundary} is open")
        return made

    def _goes_on(
        self, world: World, store: Store, branch: Branch, made: Composition | None, first_kept: str, after: str
    ) -> None:
        if self.then == "failed":
            abandon_fold(store, branch)
        if not self.then.startswith("confirmed"):
            return
        details = made.details if made is not None and self.then == "confirmed" else {}
        records = world.records.setdefault(self.session, [])
        record = HostCompaction(
            id=f"{self.session}-compaction{len(records)}", first_kept=first_kept, after=after, fold=details
        )
        records.append(record)
        world.deliver(store, self.session, [record])


def still_open(world: World, store: Store, branch: Branch, held: Proposal) -> bool:
    """Whether this very proposal stands open now, so that it stood open all the time since it was read."""
    now = read_proposal(store, branch)
    expires = held.opened_at + world.settings.lease_seconds
    return now == held and held.open and store.now() < expires and not world.went_back


def work_once(world: World, store: Store, dispatcher: Dispatcher, mind: str, nth: int = 0) -> bool:
    """Look at the board as an engine's dispatcher does, and do one ready job; False when there is none."""
    dispatcher.take_idle()
    while dispatcher.take_dirty():
        pass
    ready = store.ready(ROLES, 8)
    if not ready:
        return False
    run_job(
        store,
        ready[nth % len(ready)].job,
        minds=lambda role, settings, branch: world.mind(mind),
        settings_for=world.settings_for,
        owner="worker",
        log=OFF,
        leases=Unbeaten(store),  # type: ignore[arg-type]
    )
    return True


class Unbeaten:
    """Leases without a heartbeat of their own: a claim lasts as long as the clock of the fuzz lets it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @contextmanager
    def keeping(self, claim: Claim, lease_seconds: float) -> Iterator[Held]:
        """Like Leases.keeping."""
        yield Held(self._store, claim, lease_seconds)


@contextmanager
def _may_be_unknown() -> Iterator[None]:
    """Nothing of that session has arrived yet, a gap was filled meanwhile, a mind failed: no fault of anybody."""
    try:
        yield
    except (NotFound, BadInput, ThinkingFailed, ZeroDivisionError):
        return
