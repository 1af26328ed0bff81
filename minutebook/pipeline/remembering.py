"""What a commit writes beside its entries: the checkpoint and sums that they lead to, and the ids that they name.

The former checkpoint goes on with the new entries alone, so that a commit costs the same however long a session is.
Where that could give another memory than the whole fold (an entry names a record that the checkpoint does not hold),
everything is folded.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from minutebook.pipeline import ledger
from minutebook.pipeline.branches import memory_stream
from minutebook.pipeline.checkpoints import checkpoint_of, read_reduced
from minutebook.pipeline.checksums import CHECKSUM, next_checksum
from minutebook.pipeline.folding import BeyondCheckpoint, Memory, apply, fold
from minutebook.pipeline.mentions import MENTIONED, known_among, mention_puts
from minutebook.pipeline.outbox import waiting_after
from minutebook.pipeline.pages import page_of
from minutebook.pipeline.projection import UNLIMITED, project, valid_digests, visible_projection
from minutebook.pipeline.reducing import holds, is_thin, may_apply, mentions, shown_of
from minutebook.pipeline.totals import marks_of
from minutebook.records import FOLD, Branch, MemoryEntry
from minutebook.store.kernel import Put, Store, Tip


@dataclass(frozen=True, slots=True)
class Remembered:
    """marks and puts to write with the entries."""

    marks: Mapping[str, int]
    puts: Sequence[Put]


NOTHING = Remembered({}, ())


def remember(store: Store, branch: Branch, entries: Sequence[MemoryEntry], tip: Tip) -> Remembered:
    """What goes with these new entries at that tip of the branch's own stream."""
    length = tip.length + len(entries)
    checkpoint = checkpoint_of(branch, memory_after(store, branch, entries, tip.length), length)
    return Remembered(
        marks={
            **marks_of(checkpoint.totals),
            MENTIONED: length,
            CHECKSUM: next_checksum(store, branch, tip, entries),
        },
        puts=[*checkpoint.puts, *mention_puts(store, branch, tip, entries)],
    )


def memory_after(store: Store, branch: Branch, entries: Sequence[MemoryEntry], length: int) -> Memory:
    """The memory with these entries behind that length of the branch's own: from the checkpoint, where that can say."""
    kept = read_reduced(store, branch, length)
    if kept is not None:
        named = {mention for entry in entries for mention in mentions(entry)[0]}
        known = known_among(store, branch, [each for each in named if not holds(kept, each)])
        memory = _next(kept, entries, known, length)
        if memory is not None and _says_its_digest(memory):
            return memory
    before = ledger.read_memory(store, branch)
    return whole_memory([*before, *entries], [each.key for each in ledger.chain_of(store, branch)])


def seen_memory(store: Store, branch: Branch) -> list[MemoryEntry]:
    """Every memory entry that this branch sees, in merge order, and behind them what waits for a box to place it."""
    length = store.tip(memory_stream(branch.key)).length
    return [*ledger.read_memory(store, branch), *waiting_after(store, branch, length)]


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
    if is_thin(kept) or not may_apply(kept, entries, known, length):
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
