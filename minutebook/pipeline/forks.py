"""Opening branches: a root, a sub-agent's own, or a fork that freezes what it inherits."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from minutebook.errors import StoreBusy
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import BRANCHES, Path, branch_put, find_branch, memory_stream, still_there
from minutebook.pipeline.checkpoints import checkpoint_of
from minutebook.pipeline.folding import Memory
from minutebook.pipeline.outbox import outbox_put, read_outbox
from minutebook.pipeline.remembering import whole_memory
from minutebook.pipeline.sessions import Session, SessionMoved, session_put
from minutebook.pipeline.totals import Totals, marks_of
from minutebook.records import FOLD, Branch, MemoryEntry
from minutebook.store.kernel import Put, Stale, Store, Stored


def root_branch(session: Session) -> Branch:
    """The first branch of a session; it is written with its first entry."""
    return _branch(session, key=session.key, lineage=session.key, kind="main")


def subagent_branch(session: Session) -> Branch:
    """A sub-agent's branch, in the lineage of the session that started it."""
    return _branch(session, key=session.key, lineage=f"{session.host}:{session.session}", kind="subagent")


def fork_branch(store: Store, owner: Branch, *, fork: int, key: str, session: Session, enters: bool = False) -> Branch:
    """Open a branch that shares the first `fork` entries with `owner`, in one transaction with what it inherits.

    Opening it again returns it as it is. Its coverages are those of the inherited entries, and never move with the
    parent's afterwards. enters: the session goes on there, and is written in the same transaction; SessionMoved when
    it was written meanwhile, or the parent; NotFound when the parent was removed.
    """
    existing = find_branch(store, key)
    if existing is not None:
        return existing
    there = still_there(store, owner)  # first: its memory may be taken anew meanwhile
    pending = read_outbox(store, owner.key).entries  # before the tip: what is in neither by then was in none
    tip, path = store.tip(memory_stream(owner.key)), Path(store, owner)
    branch = _fork(store, owner, path, fork, key, session, parent_memory=tip.length)
    inherited = inherit(store, branch, tip.marks)
    branch = replace(branch, observed=inherited.marks[ledger.OBSERVER], reflected=inherited.marks[ledger.REFLECTOR])
    puts = [*inherited.puts, *_waiting(store, branch, pending), *_entering(session, branch, enters)]
    result = store.append(
        memory_stream(key),
        [],
        advance={**inherited.marks, ledger.BOX: tip.marks.get(ledger.BOX, 0)},
        dirty=key,  # it may be due by what it shares, and its first entry may never come
        puts=[branch_put(branch), there, *puts],
    )
    if not isinstance(result, Stale):
        session.version += enters
        return branch
    if enters or result.what == f"{BRANCHES}/{owner.key}":
        raise SessionMoved
    other = find_branch(store, key)
    if other is None:
        raise StoreBusy(f"branch {key} could not be opened; try again")
    return other


def fork_to_read(store: Store, owner: Branch, *, fork: int, key: str, session: Session) -> Branch:
    """The branch that fork_branch would open, for who only reads: nothing is written, and it has nothing of its own."""
    length = store.tip(memory_stream(owner.key)).length
    return _fork(store, owner, Path(store, owner), fork, key, session, parent_memory=length)


def _fork(
    store: Store, owner: Branch, path: Path, fork: int, key: str, session: Session, *, parent_memory: int
) -> Branch:
    return Branch(
        key=key,
        host=session.host,
        session=session.session,
        lineage=owner.lineage,
        parent=owner.key,
        fork=fork,
        parent_memory=parent_memory,
        base_tokens=path.tokens_before(fork),
        zone=session.zone,
        project=session.project,
        kind="fork",
        created=session.last_time,
        fork_id=id_before(path, fork),
        memory_id=memory_id_before(store, owner.key, parent_memory),
    )


def _entering(session: Session, branch: Branch, enters: bool) -> list[Put]:
    if not enters:
        return []
    session.enter(branch)
    return [session_put(session)]


def _waiting(store: Store, branch: Branch, pending: Sequence[MemoryEntry]) -> list[Put]:
    """What still waits for the box to place it on the parent holds for the new branch, too: it waits there as well."""
    stream = memory_stream(branch.parent)
    there = store.find(stream, [entry.id for entry in pending]) if pending else {}
    held = [
        entry
        for entry in pending
        if entry.kind != FOLD and entry.covers <= branch.fork and not _within(there.get(entry.id), branch)
    ]
    return [outbox_put(branch.key, read_outbox(store, branch.key), held)] if held else []


def id_before(path: Path, position: int) -> str:
    """Id of the entry before a position of a path; "" at its beginning."""
    placed = path.at(position - 1) if position else None
    return placed.entry.id if placed else ""


def memory_id_before(store: Store, branch_key: str, index: int) -> str:
    """Id of the entry before an index of a branch's own memory; "" at its beginning."""
    found = store.read(memory_stream(branch_key), index - 1, index) if index else []
    return found[0].id if found else ""


def resting_on(branches: Mapping[str, Branch], keys: Collection[str]) -> list[str]:
    """Keys of those of all branches that share something with one of these, also by way of others."""
    found, new = set[str](), set(keys)
    while new:
        new = {key for key, branch in branches.items() if branch.parent in new} - found
        found |= new
    return sorted(found)


@dataclass(frozen=True, slots=True)
class Inherited:
    """marks and puts with which a fork begins."""

    marks: Mapping[str, int]
    puts: Sequence[Put]


def inherit(store: Store, branch: Branch, parent: Mapping[str, int]) -> Inherited:
    """What a branch begins with, from the memory that it shares. parent: its parent's marks when that was shared."""
    memory = whole_memory(ledger.read_memory(store, branch), [each.key for each in ledger.chain_of(store, branch)])
    checkpoint = checkpoint_of(branch, memory, 0)
    return Inherited(_inherited_marks(branch, checkpoint.totals, memory, parent), checkpoint.puts)


def _inherited_marks(branch: Branch, totals: Totals, memory: Memory, parent: Mapping[str, int]) -> dict[str, int]:
    """Sums over what is inherited, and those of the parent's marks that lie within the shared prefix."""
    marks = marks_of(totals)
    for name in (ledger.OBSERVER, ledger.REFLECTOR):
        marks[name] = max(marks[name], _shared(branch, parent.get(name, 0)))
    compacted = max((each.boundary for each in memory.folds), default=0)
    for name in (ledger.COMPACTED_FROM, ledger.COMPACTED_AT):
        marks[name] = _shared(branch, parent.get(name, 0)) or compacted
    for name in (ledger.DROPPER, ledger.DIGESTER):
        marks[name] = min(parent.get(name, 0), marks[ledger.REFLECTIONS_RECORDED])
    marks[ledger.DIGEST_BUDGET] = parent.get(ledger.DIGEST_BUDGET, 0)
    return marks


def _shared(branch: Branch, position: int) -> int:
    return position if position <= branch.fork else 0


def _within(stored: Stored | None, branch: Branch) -> bool:
    return stored is not None and stored.position < branch.parent_memory


def _branch(session: Session, *, key: str, lineage: str, kind: str) -> Branch:
    return Branch(
        key=key,
        host=session.host,
        session=session.session,
        lineage=lineage,
        zone=session.zone,
        project=session.project,
        kind=kind,
        created=session.started,
    )
