"""A store as plain data for the invariants, read without the code whose answers they judge where that is possible."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from minutebook.pipeline.branches import Path, list_branches, memory_stream
from minutebook.pipeline.ledger import read_own
from minutebook.pipeline.sessions import Session, list_sessions
from minutebook.pipeline.shapes import observations_of, reflections_of
from minutebook.records import GAP, OBSERVATIONS, REFLECTIONS, Branch, MemoryEntry, Placed, SourceEntry
from minutebook.store.kernel import Store

PRODUCER = "minutebook"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What a host handed to intake in one call.

    session: its key, host:session or host:session/agent. began, ended: numbers of one clock; ended is None where the
    call did not return (its process died, or it raised).
    """

    session: str
    entries: tuple[SourceEntry, ...]
    began: float
    ended: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenBranch:
    """One branch. path: its source entries from the root. inherited, own: its memory entries. marks: of its memory."""

    branch: Branch
    path: tuple[Placed, ...]
    inherited: tuple[MemoryEntry, ...]
    own: tuple[MemoryEntry, ...]
    marks: Mapping[str, int]

    @property
    def memory(self) -> tuple[MemoryEntry, ...]:
        """All that it sees, in merge order."""
        return self.inherited + self.own


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """All branches and sessions of a store, by key."""

    branches: Mapping[str, SeenBranch]
    sessions: Mapping[str, Session]

    def places(self, session: Session) -> dict[tuple[str, int], Placed]:
        """(branch that owns it, position) → entry, of all that a session's own branches reach, shared parts once."""
        found: dict[tuple[str, int], Placed] = {}
        stops: list[tuple[str, int | None]] = [(key, None) for key in session.branches]
        stops += [(key, stop) for key, stop in [*session.passed, *filter(None, [session.follows])]]
        for key, stop in stops:
            if key in self.branches:
                for placed in self.branches[key].path[:stop]:
                    found[self.owner(key, placed.position), placed.position] = placed
        return found

    def owner(self, key: str, position: int) -> str:
        """The branch in whose own stream a position of this path stands."""
        branch = self.branches[key].branch
        while position < branch.fork:
            branch = self.branches[branch.parent].branch
        return branch.key


def look(store: Store) -> Seen:
    """Everything, at a moment when nobody writes."""
    branches = {branch.key: branch for branch in list_branches(store)}
    own = {key: tuple(read_own(store, branch)) for key, branch in branches.items()}
    return Seen(
        branches={
            key: SeenBranch(
                branch=branch,
                path=tuple(Path(store, branch).walk()),
                inherited=inherited(branch, branches, own),
                own=own[key],
                marks=dict(store.tip(memory_stream(key)).marks),
            )
            for key, branch in branches.items()
        },
        sessions={session.key: session for session in list_sessions(store)},
    )


def inherited(
    branch: Branch, branches: Mapping[str, Branch], own: Mapping[str, tuple[MemoryEntry, ...]]
) -> tuple[MemoryEntry, ...]:
    """Exactly the parent's memory entries before M whose coverage is within the shared prefix."""
    if not branch.parent:
        return ()
    parent = branches[branch.parent]
    then = inherited(parent, branches, own) + own[parent.key][: branch.parent_memory]
    return tuple(entry for entry in then if entry.covers <= branch.fork)


def is_ours(entry: MemoryEntry) -> bool:
    """Recorded here, not imported."""
    return entry.data.get("producer") == PRODUCER


def is_work(entry: MemoryEntry) -> bool:
    """An observer's batch or gap: it moved the coverage. Filling a gap and a person's note move none."""
    return entry.kind in (OBSERVATIONS, GAP) and is_ours(entry) and "fills" not in entry.data and entry.covers > 0


def records_of(entries: tuple[MemoryEntry, ...]) -> Iterator[tuple[MemoryEntry, str]]:
    """Each recorded observation and reflection as (entry, its id), as often as it was recorded."""
    for entry in entries:
        if entry.kind == OBSERVATIONS:
            yield from ((entry, row.id) for row in observations_of(entry.data)[0])
        if entry.kind == REFLECTIONS:
            yield from ((entry, row.id) for row in reflections_of(entry.data)[0])
