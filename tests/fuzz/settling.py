"""Checks between the moves, and the end of a run: all is delivered again, and the workers come to rest."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from fuzz.acts import Compact, work_once
from fuzz.folds import WithoutCaches, different, wrong_sums
from fuzz.invariants import misnumbered_jobs, unsettled
from fuzz.minds import ROLES
from fuzz.seen import SeenBranch
from fuzz.world import World

from minutebook.pipeline import ledger
from minutebook.pipeline.branches import find_branch, list_branches, memory_stream, source_stream
from minutebook.pipeline.compaction import look_at_memory
from minutebook.pipeline.folding import fold
from minutebook.pipeline.ledger import read_memory
from minutebook.records import Branch
from minutebook.store.kernel import Store, Stored
from minutebook.workers.dispatching import Dispatcher

MOST_JOBS = 600
FORWARD = (ledger.OBSERVER, ledger.REFLECTOR, ledger.DROPPER, ledger.DIGESTER, ledger.REFLECTIONS_RECORDED)


@dataclass
class Ledgers:
    """What stood in the ledger when it was last looked at: it only grows, and coverages only go forward."""

    streams: dict[str, list[Stored]] = field(default_factory=dict)
    branches: dict[str, Branch] = field(default_factory=dict)
    marks: dict[str, Mapping[str, int]] = field(default_factory=dict)

    def changed(self, store: Store) -> Iterator[str]:
        """What was edited, removed or put back since; then remembers how it stands now."""
        for branch in list_branches(store):
            if self.branches.setdefault(branch.key, branch) != branch:
                yield f"4: {branch.key}: was {self.branches[branch.key]} and is now {branch}"
            for stream in (source_stream(branch.key), memory_stream(branch.key)):
                before, now = self.streams.get(stream, []), store.read(stream)
                if now[: len(before)] != before:
                    yield f"5: {stream}: what stood there was changed"
                self.streams[stream] = now
            yield from self.back(store, branch.key)

    def back(self, store: Store, key: str) -> Iterator[str]:
        """Marks that went back."""
        before, now = self.marks.get(key, {}), store.tip(memory_stream(key)).marks
        for name in FORWARD:
            if now.get(name, 0) < before.get(name, 0):
                yield f"5: {key}: mark {name} went back from {before[name]} to {now.get(name, 0)}"
        self.marks[key] = now


def at_once(world: World, wrote: Iterable[str], ledgers: Ledgers) -> list[str]:
    """The cheap checks: of the branches to which the last move wrote."""
    store, broken = world.store, []
    for stream in sorted(wrote):
        branch = find_branch(store, stream[2:])
        if branch is None or not stream.startswith("m:"):
            continue
        memory = tuple(read_memory(store, branch))
        length = branch.fork + store.tip(source_stream(branch.key)).length
        marks = store.tip(stream).marks
        seen = SeenBranch(branch=branch, path=(None,) * length, inherited=memory, own=(), marks=marks)  # type: ignore[arg-type]
        broken += wrong_sums(seen, fold(memory))
        broken += ledgers.back(store, branch.key)
        composed = look_at_memory(store, branch, length, world.settings)
        whole = look_at_memory(WithoutCaches(store), branch, length, world.settings)  # type: ignore[arg-type]
        broken += different(f"4: {branch.key} at its tip {length}", composed, whole)
    return [*broken, *misnumbered_jobs(store)]


def settle(world: World, mind: str) -> list[str]:
    """Hosts deliver their files once more, and workers work until there is nothing left; what keeps them from it."""
    store = world.store
    sessions = sorted({delivery.session.partition(":")[2] for delivery in world.delivered})
    for session in sessions:
        world.deliver(store, session, world.file(session))
    world.pass_time(world.settings.job_deadline_seconds + 1)
    dispatcher = Dispatcher(store, world.settings_for)
    if world.wiped:
        dispatcher.sweep()
    broken = _work_off(world, dispatcher, mind)
    broken += unsettled(store, world.settings, by_turns=True)  # the board alone leads to what turns made due
    if broken:
        return broken
    for session in sessions:  # what follows rests on a compaction that was confirmed
        Compact(session, back=world.seed % 5).run(world, store)
    world.pass_time(world.settings.flush_idle_seconds + 1)
    dispatcher = Dispatcher(store, world.settings_for)
    dispatcher.sweep()
    return _work_off(world, dispatcher, mind)


def _work_off(world: World, dispatcher: Dispatcher, mind: str) -> list[str]:
    for _ in range(MOST_JOBS):
        if work_once(world, world.store, dispatcher, mind):
            continue
        ready_at = world.store.next_ready_at(ROLES)
        if ready_at is None:
            return []
        world.pass_time(max(0.0, ready_at - world.clock) + 1)
    left = [f"{state.job.role} of {state.job.branch}: {state.error}" for state in world.store.jobs()]
    return [f"5: after {MOST_JOBS} jobs there is still work: {left}"]
