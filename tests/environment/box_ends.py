"""Both ends of the rounds compared: box and laptops have the same sources and the same memory, and it is sound."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace

from environment.box_laptop import Laptop
from fuzz.invariants import Delivery, broken_invariants
from killing.killed_sessions import SETTINGS

from minutebook.errors import StoreError
from minutebook.pipeline.boxing import box_key, own_key
from minutebook.pipeline.branches import list_branches, load_branch, source_stream
from minutebook.pipeline.clocks import due_roles
from minutebook.pipeline.ledger import read_own
from minutebook.pipeline.outbox import outbox
from minutebook.pipeline.readings import read_state
from minutebook.pipeline.shapes import observations_of
from minutebook.records import OBSERVATIONS, MemoryEntry
from minutebook.store import codec
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store

ALICE = "alice"
Told = tuple[object, ...]


class Ends:
    """The box's store and the laptops'."""

    def __init__(self, url: str, laptops: Sequence[Laptop]) -> None:
        self.url, self.laptops = url, laptops

    def taken(self) -> dict[str, int]:
        """How many source entries the box has of each laptop's session; 0 of both while it cannot be asked."""
        try:
            with closing(open_store(self.url)) as box:
                return {laptop.name: _entries_of(box, box_key(ALICE, laptop.key)) for laptop in self.laptops}
        except StoreError:
            return dict.fromkeys((laptop.name for laptop in self.laptops), 0)

    def unsettled(self) -> str:
        """What is still to come, "" when nothing is; only reads, while everybody works."""
        with closing(open_store(self.url)) as box:
            if jobs := box.jobs():
                return f"{len(jobs)} jobs, such as {jobs[0]}"
            for branch in list_branches(box):
                if due := due_roles(read_state(box, branch), SETTINGS):
                    return f"{branch.key}: {due}"
            return next(self._apart(box), "")

    def broken(self) -> Iterator[str]:
        """All that is wrong now that nobody works any more."""
        with closing(open_store(self.url)) as box:
            yield from self._apart(box)
            on_box = [replace(each, session=box_key(ALICE, each.session)) for each in self._delivered()]
            for line in broken_invariants(box, on_box, SETTINGS, quiet=True):
                yield f"box: {line}"
        for number, laptop in enumerate(self.laptops):
            with closing(laptop.store()) as store:
                for line in broken_invariants(store, self._delivered(), SETTINGS):
                    yield f"laptop {number}: {line}"

    def counts(self) -> Counter[str]:
        """How much there is on the box."""
        with closing(open_store(self.url)) as box:
            branches = list_branches(box)
            return Counter(
                {
                    "branches": len(branches),
                    "source entries": sum(box.tip(source_stream(branch.key)).length for branch in branches),
                    "memory entries": sum(len(read_own(box, branch)) for branch in branches),
                }
            )

    def _delivered(self) -> list[Delivery]:
        return [delivery for laptop in self.laptops for delivery in laptop.delivered]

    def _apart(self, box: Store) -> Iterator[str]:
        """Branches that differ or are missing, what waits in an outbox, notes that are lost."""
        keys = [branch.key for branch in list_branches(box)]
        for number, laptop in enumerate(self.laptops):
            with closing(laptop.store()) as store:
                own = {branch.key for branch in list_branches(store)}
                if own != {own_key(ALICE, key) for key in keys}:
                    yield f"laptop {number} has {sorted(own)}, the box {sorted(keys)}"
                    continue
                for key in keys:
                    yield from self._differ(box, store, key, f"laptop {number}")
        yield from self._notes(box, keys)

    def _differ(self, box: Store, store: Store, key: str, where: str) -> Iterator[str]:
        here = own_key(ALICE, key)
        for what, tell in (("sources", sources), ("memory", memory)):
            there, mine = tell(box, key), tell(store, here)
            if there != mine:
                apart = next(
                    (at for at, pair in enumerate(zip(there, mine, strict=False)) if pair[0] != pair[1]), "the end"
                )
                yield f"{where}: {here}: {len(mine)} of {what}, the box has {len(there)}; they part at {apart}"
        if waiting := outbox(store, load_branch(store, here)):
            yield f"{where}: {here}: {len(waiting)} entries wait in the outbox"

    def _notes(self, box: Store, keys: Sequence[str]) -> Iterator[str]:
        """A note that waited when its branch forked stands on both; that no branch sees it twice is an invariant."""
        entries = [entry for key in keys for entry in read_own(box, load_branch(box, key))]
        there = {id_ for entry in entries for id_ in recorded(entry)}
        for laptop in self.laptops:
            if lost := set(laptop.notes) - there:
                yield f"{len(lost)} notes of {laptop.name} are not on the box, such as {min(lost)}"


def _entries_of(store: Store, session: str) -> int:
    return sum(store.tip(source_stream(branch.key)).length for branch in list_branches(store, session))


def sources(store: Store, key: str) -> list[Told]:
    """The own sources of a branch: all that is sent of them."""
    entries = [codec.source_entry(stored) for stored in store.read(source_stream(key))]
    return [(entry.id, entry.role, entry.time, entry.text_sha256, entry.parts) for entry in entries]


def memory(store: Store, key: str) -> list[Told]:
    """The own memory of a branch."""
    entries = read_own(store, load_branch(store, key))
    return [(entry.id, entry.kind, entry.covers, entry.since, dict(entry.data)) for entry in entries]


def recorded(entry: MemoryEntry) -> list[str]:
    """Ids of the observations that an entry records."""
    return [each.id for each in observations_of(entry.data)[0]] if entry.kind == OBSERVATIONS else []
