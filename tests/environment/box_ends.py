"""Both ends of the rounds compared: box and laptops have the same sources and the same memory, and it is sound."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace

from environment.box_laptop import Laptop
from fuzz.invariants import Delivery, broken_invariants
from killing.killed_sessions import SETTINGS

from minutebook.box.stepping import has_parted
from minutebook.errors import StoreError
from minutebook.pipeline.boxing import box_key, own_key
from minutebook.pipeline.branches import list_branches, load_branch, source_stream
from minutebook.pipeline.clocks import due_roles
from minutebook.pipeline.ledger import read_own
from minutebook.pipeline.outbox import outbox
from minutebook.pipeline.readings import read_state, session_key_of
from minutebook.pipeline.sessions import Session, list_sessions, load_session
from minutebook.pipeline.shapes import observations_of
from minutebook.records import OBSERVATIONS, Branch, MemoryEntry
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
        alone = self.alone()
        left = self._left_by_its_laptop(alone)
        with closing(open_store(self.url)) as box:
            yield from self._apart(box)
            on_box = [replace(each, session=box_key(ALICE, each.session)) for each in self._delivered(left)]
            for line in broken_invariants(box, on_box, SETTINGS, quiet=True):
                yield f"box: {line}"
        for number, laptop in enumerate(self.laptops):
            with closing(laptop.store()) as store:
                here = self._delivered((left | alone[number]) - {laptop.key})
                for line in broken_invariants(store, here, SETTINGS):
                    yield f"laptop {number}: {line}"

    def alone(self) -> list[set[str]]:
        """Of each laptop the sessions that parted from the box: after a power cut both may have made other memory."""
        found = []
        for laptop in self.laptops:
            with closing(laptop.store()) as store:
                parted = [each for each in list_branches(store) if has_parted(store, each.key)]
                found.append({session_key_of(branch) for branch in parted})
        return found

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

    def _left_by_its_laptop(self, alone: Sequence[set[str]]) -> set[str]:
        return {laptop.key for laptop, keys in zip(self.laptops, alone, strict=True) if laptop.key in keys}

    def _delivered(self, without: set[str]) -> list[Delivery]:
        return [each for laptop in self.laptops for each in laptop.delivered if each.session not in without]

    def _apart(self, box: Store) -> Iterator[str]:
        """Branches that differ or are missing, what waits in an outbox, notes that are lost."""
        alone = self.alone()
        for number, laptop in enumerate(self.laptops):
            with closing(laptop.store()) as store:
                yield from self._compared(box, store, f"laptop {number}", alone[number])
        yield from self._notes(box, self._left_by_its_laptop(alone))

    def _compared(self, box: Store, store: Store, where: str, alone: set[str]) -> Iterator[str]:
        on_box = [own_key(ALICE, each.key) for each in list_branches(box) if _session_of(each) not in alone]
        own = [each.key for each in list_branches(store) if _session_of(each) not in alone]
        if set(own) != set(on_box):
            yield f"{where} has {sorted(own)}, the box {sorted(on_box)}"
        else:
            for key in sorted(own):
                yield from self._differ(box, store, box_key(ALICE, key), where)
            for session in list_sessions(store):
                there = load_session(box, box_key(ALICE, session.key))
                if session.key not in alone and stands(session) != stands(there):
                    yield f"{where}: {session.key} stands at {stands(session)}, on the box at {stands(there)}"

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

    def _notes(self, box: Store, left: set[str]) -> Iterator[str]:
        """A note that waited when its branch forked stands on both; that no branch sees it twice is an invariant."""
        entries = [entry for branch in list_branches(box) for entry in read_own(box, branch)]
        there = {id_ for entry in entries for id_ in recorded(entry)}
        for laptop in self.laptops:
            if laptop.key not in left and (lost := set(laptop.notes) - there):
                yield f"{len(lost)} notes of {laptop.name} are not on the box, such as {min(lost)}"


def _session_of(branch: Branch) -> str:
    return own_key(ALICE, session_key_of(branch))


def _entries_of(store: Store, session: str) -> int:
    return sum(store.tip(source_stream(branch.key)).length for branch in list_branches(store, session))


def stands(session: Session) -> Told:
    """What is said of a session that changes as it goes on."""
    return session.prompts, session.last_time, session.ended


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
