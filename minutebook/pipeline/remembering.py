"""What a commit writes beside its entries: the checkpoint that they lead to, and the ids that they name.

The former checkpoint goes on with the new entries alone, so that a commit costs the same however long a session is.
Where that could give another memory than the whole fold (an entry names a record that the checkpoint does not hold),
everything is folded. `mentions` says which ids were ever named on a branch.
"""

from collections.abc import Collection, Iterable, Sequence

from minutebook.pipeline import ledger
from minutebook.pipeline.branches import memory_stream
from minutebook.pipeline.checkpoints import Checkpoint, checkpoint_of, read_reduced
from minutebook.pipeline.folding import BeyondCheckpoint, Memory, apply, fold
from minutebook.pipeline.pages import page_of
from minutebook.pipeline.projection import UNLIMITED, project, valid_digests, visible_projection
from minutebook.pipeline.reducing import holds, is_thin, may_apply, mentions, shown_of
from minutebook.records import FOLD, Branch, MemoryEntry, content_id
from minutebook.store.kernel import Put, Store

MENTIONS = "mentions"


def remember(store: Store, branch: Branch, entries: Sequence[MemoryEntry], length: int) -> tuple[Checkpoint, list[Put]]:
    """The checkpoint after these entries, which follow the first `length` of the branch's own, and all its writes."""
    kept = read_reduced(store, branch, length)
    if kept is None:
        before, after = _whole(store, branch, entries)
        names = _mentioned(entry for entry in before if entry.branch == branch.key)
        return _with_names(branch, after, names | _mentioned(entries), length + len(entries))
    unheld = {mention for mention in _mentioned(entries) if not holds(kept, mention)}
    known = {mention for mention in unheld if _is_known(store, branch, mention)}
    memory = _next(kept, entries, known, length)
    if memory is None or not _says_its_digest(memory):
        memory = _whole(store, branch, entries)[1]
    return _with_names(branch, memory, unheld - known, length + len(entries))


def working_memory(store: Store, branch: Branch) -> Memory:
    """What a role works with: every active observation and current reflection, without the sources of the former.

    From the checkpoint where that leaves none of them out; what was dropped or retired for good may be missing.
    """
    kept = read_reduced(store, branch, store.tip(memory_stream(branch.key)).length)
    if kept is None or kept.beyond.observations or kept.beyond.reflections or kept.beyond.digests:
        return fold(ledger.read_memory(store, branch))
    return kept


def whole_memory(entries: Sequence[MemoryEntry], branches: Sequence[str]) -> Memory:
    """The memory of all entries of a path, with what its last confirmed compaction showed."""
    memory = fold(entries)
    if memory.folds:
        memory.shown = shown_of(memory, visible_projection(entries, branches, digest_tokens=UNLIMITED))
    return memory


def _next(kept: Memory, entries: Sequence[MemoryEntry], known: Collection[str], length: int) -> Memory | None:
    """The reduced memory with the entries applied; None when only the whole fold can say."""
    named = {mention for entry in entries for mention in mentions(entry)[0]}
    if is_thin(kept) or not may_apply(kept, entries, named & set(known), length):
        return None
    for entry in entries:
        apply(kept, entry)
    if entries[-1].kind == FOLD:
        return _folded(kept)
    return kept


def _says_its_digest(memory: Memory) -> bool:
    """Whether the digest of the tip is among those that a reduced memory holds."""
    current = [at for at, key in enumerate(memory.reflections) if key not in memory.retirements]
    return not memory.beyond.digests_at_tip or bool(valid_digests(page_of(memory), current))


def _folded(memory: Memory) -> Memory | None:
    """With what the compaction showed that has just been confirmed."""
    last = memory.folds[-1]
    try:
        visible = project(page_of(memory), last.boundary, reference=last.reference, digest_tokens=UNLIMITED)
    except BeyondCheckpoint:
        return None
    memory.shown = shown_of(memory, visible)
    return memory


def _whole(store: Store, branch: Branch, entries: Sequence[MemoryEntry]) -> tuple[list[MemoryEntry], Memory]:
    before = ledger.read_memory(store, branch)
    branches = [each.key for each in ledger.chain_of(store, branch)]
    return before, whole_memory([*before, *entries], branches)


def _with_names(branch: Branch, memory: Memory, names: Iterable[str], length: int) -> tuple[Checkpoint, list[Put]]:
    checkpoint = checkpoint_of(branch, memory, length)
    if not checkpoint.puts:
        return checkpoint, []
    return checkpoint, [*checkpoint.puts, *(Put(MENTIONS, _key(branch, name), '{"v":1}') for name in sorted(names))]


def _mentioned(entries: Iterable[MemoryEntry]) -> set[str]:
    found: set[str] = set()
    for entry in entries:
        found.update(*mentions(entry))
    return found


def _is_known(store: Store, branch: Branch, mention: str) -> bool:
    return any(store.get(MENTIONS, _key(each, mention)) for each in ledger.chain_of(store, branch))


def _key(branch: Branch, mention: str) -> str:
    return f"{branch.key}|{content_id(mention)}"
