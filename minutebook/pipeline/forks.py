"""Opening branches: a root, a sub-agent's own, or a fork that freezes what it inherits."""

from collections.abc import Mapping

from minutebook.errors import StoreBusy
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import BRANCHES, Path, branch_put, find_branch, memory_stream, still_there
from minutebook.pipeline.checkpoints import checkpoint_of
from minutebook.pipeline.folding import Memory
from minutebook.pipeline.remembering import whole_memory
from minutebook.pipeline.sessions import Session, SessionMoved, session_put
from minutebook.pipeline.totals import Totals, marks_of
from minutebook.records import Branch
from minutebook.store.kernel import Put, Stale, Store


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
    tip = store.tip(memory_stream(owner.key))
    branch = Branch(
        key=key,
        host=session.host,
        session=session.session,
        lineage=owner.lineage,
        parent=owner.key,
        fork=fork,
        parent_memory=tip.length,
        base_tokens=Path(store, owner).tokens_before(fork),
        zone=session.zone,
        project=session.project,
        kind="fork",
        created=session.last_time,
    )
    memory = whole_memory(ledger.read_memory(store, branch), [each.key for each in ledger.chain_of(store, branch)])
    checkpoint = checkpoint_of(branch, memory, 0)
    marks = _inherited_marks(branch, checkpoint.totals, memory, tip.marks)
    result = store.append(
        memory_stream(key),
        [],
        advance=marks,
        dirty=key,  # it may be due by what it shares, and its first entry may never come
        puts=[branch_put(branch), still_there(store, owner), *checkpoint.puts, *_entering(session, branch, enters)],
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


def _entering(session: Session, branch: Branch, enters: bool) -> list[Put]:
    if not enters:
        return []
    session.enter(branch)
    return [session_put(session)]


def _inherited_marks(branch: Branch, totals: Totals, memory: Memory, parent: Mapping[str, int]) -> dict[str, int]:
    """Sums over what is inherited, and those of the parent's marks that lie within the shared prefix."""
    marks = marks_of(totals)
    for name in (ledger.OBSERVER, ledger.REFLECTOR):
        marks[name] = max(marks[name], _within(branch, parent.get(name, 0)))
    compacted = max((each.boundary for each in memory.folds), default=0)
    for name in (ledger.COMPACTED_FROM, ledger.COMPACTED_AT):
        marks[name] = _within(branch, parent.get(name, 0)) or compacted
    for name in (ledger.DROPPER, ledger.DIGESTER):
        marks[name] = min(parent.get(name, 0), marks[ledger.REFLECTIONS_RECORDED])
    marks[ledger.DIGEST_BUDGET] = parent.get(ledger.DIGEST_BUDGET, 0)
    return marks


def _within(branch: Branch, position: int) -> int:
    return position if position <= branch.fork else 0


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
