"""The laptop takes its copy of a branch's memory anew, where the box's is not the same one any more.

A box may lose what it had recorded last, when its machine dies or a backup is put back. Where its workers have recorded
something else by then, it is first offered what is here (`memory_to_offer`: ids stay, the box finds the places), and
then its memory takes the place of the copy, in one transaction: before it everything is as it was, after it everything
is in step. What forks inherit of the branch is found again by ids.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from minutebook.errors import BoxDiverged, StoreBusy
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import BRANCHES, memory_stream, still_there
from minutebook.pipeline.checkpoints import checkpoint_of, forgotten
from minutebook.pipeline.checksums import CHECKSUM, next_checksum
from minutebook.pipeline.copies import SHARED_MARKS, lengths_of
from minutebook.pipeline.extending import unique_ids
from minutebook.pipeline.forks import resting_on
from minutebook.pipeline.mentions import MENTIONED, mentions_anew
from minutebook.pipeline.offers import may_offer
from minutebook.pipeline.outbox import outbox_put, read_outbox
from minutebook.pipeline.outcomes import moved_forward
from minutebook.pipeline.remembering import whole_memory
from minutebook.pipeline.rows import Lengths
from minutebook.pipeline.taking import check_shared
from minutebook.pipeline.totals import marks_of
from minutebook.records import DIGEST, Branch, MemoryEntry
from minutebook.store import codec
from minutebook.store.kernel import Put, Stale, Store, Tip

RETAKE_TRIES = 50
EMPTY = Tip(0, 0, {})
KEPT_MARKS = (ledger.BOX, ledger.TAKEN, ledger.COMPACTED_FROM, ledger.COMPACTED_AT)
"""What this machine knows by itself, whatever the memory says."""
OFFERED_MARKS = (ledger.OBSERVER, ledger.REFLECTOR, ledger.COMPACTED_FROM, ledger.COMPACTED_AT)
"""Positions in the sources, which are the same ones there. The others are counts of reflections that were here."""


def memory_to_offer(store: Store, branch: Branch) -> list[MemoryEntry]:
    """What is here of the branch's own memory and may be lost on the box, which leaves out what it has.

    No digests: each says that it covers all reflections before one of them, and there may be others there.
    """
    return [entry for entry in ledger.read_own(store, branch) if may_offer(entry) and entry.kind != DIGEST]


def marks_to_offer(store: Store, branch: Branch) -> dict[str, int]:
    """The coverages that go with the last of it."""
    marks = store.tip(memory_stream(branch.key)).marks
    return {name: value for name in OFFERED_MARKS if (value := marks.get(name, 0))}


def is_in_line(store: Store, branch: Branch, entries: Sequence[MemoryEntry]) -> bool:
    """Whether of what is here of the branch's own memory and these entries, all of a box's, one begins the other."""
    here = store.read(memory_stream(branch.key))
    return all(stored.id == entry.id for stored, entry in zip(here, entries, strict=False))


def retake_memory(store: Store, branch: Branch, entries: Sequence[MemoryEntry], marks: Mapping[str, int]) -> Lengths:
    """Put all of a box's memory of the branch in the place of what is here, in one transaction; what is here then.

    marks: those that the box told with the last entry. What waits in the outbox stays, but for what is among the
    entries. NotFound without the branch, or while an ancestor's shared memory is not here; BoxDiverged where the
    memory is not a box's.
    """
    stream, ids = memory_stream(branch.key), unique_ids(entries)
    for _ in range(RETAKE_TRIES):
        there = still_there(store, branch)  # first: whoever forks meanwhile makes this stale, or is made stale by it
        branch = codec.branch_of(there.body)
        check_shared(store, branch)
        tip, held = store.tip(stream), read_outbox(store, branch.key)
        new = [replace(entry, branch=branch.key, index=at) for at, entry in enumerate(entries)]
        remembered, puts = _remembered(store, branch, new)
        told = {name: value for name, value in marks.items() if name in SHARED_MARKS}
        done = store.append(
            stream,
            [codec.memory_item(entry) for entry in new],
            anew=True,
            expect={ledger.BOX: ledger.BOXED, CHECKSUM: tip.marks.get(CHECKSUM, 0)},
            expect_length=tip.length,
            advance=_marks(tip, {**remembered, **moved_forward(told, remembered)}),
            puts=[
                there,
                *puts,
                *([outbox_put(branch.key, held, without=ids)] if held.entries else []),
                *_forks_found_again(store, branch, [each.id for each in store.read(stream, 0, tip.length)], ids),
            ],
        )
        if not isinstance(done, Stale):
            return lengths_of(store, branch)
        if done.what == ledger.BOX:
            raise BoxDiverged(f"{branch.key}: its memory is this machine's own")
    raise StoreBusy(f"{branch.key}: {RETAKE_TRIES} others wrote to it first; try again")


def _remembered(store: Store, branch: Branch, new: Sequence[MemoryEntry]) -> tuple[dict[str, int], list[Put]]:
    """Marks and writes beside the entries, when there are no others."""
    chain = [each.key for each in ledger.chain_of(store, branch)]
    memory = whole_memory([*ledger.read_inherited(store, branch), *new], chain)
    checkpoint = checkpoint_of(branch, memory, len(new))
    marks = {MENTIONED: len(new), CHECKSUM: next_checksum(store, branch, EMPTY, new)}
    puts = [*(checkpoint.puts or forgotten(branch.key)), *mentions_anew(store, branch, new)]
    return {**marks_of(checkpoint.totals), **marks}, puts


def _marks(tip: Tip, told: Mapping[str, int]) -> dict[str, int]:
    kept = {name: value for name in KEPT_MARKS if (value := tip.marks.get(name, 0))}
    return {**told, **{name: max(value, told.get(name, 0)) for name, value in kept.items()}}


def _forks_found_again(store: Store, branch: Branch, old: Sequence[str], new: Sequence[str]) -> Iterator[Put]:
    """The writes of forks whose share of the memory stands elsewhere now, without what was folded of it in advance."""
    documents = {document.key: document for document in store.documents(BRANCHES)}
    branches = {key: codec.branch_of(document.body) for key, document in documents.items()}
    moved = set[str]()
    for key, fork in branches.items():
        if fork.parent == branch.key and not _is_same(fork, old, new):
            length = _length_with(old[: fork.parent_memory], new)
            again = replace(fork, parent_memory=length, memory_id=new[length - 1] if length else "")
            yield Put(BRANCHES, key, codec.branch_json(again), documents[key].version)
            moved.add(key)
    for key in {*moved, *resting_on(branches, moved)}:
        yield from forgotten(key)


def _is_same(fork: Branch, old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether what the fork shares stands where it stood, or another machine shared it of the new memory."""
    length = fork.parent_memory
    by_id = bool(length and fork.memory_id) and new[length - 1 : length] == [fork.memory_id]
    return by_id or length > len(old) or list(old[:length]) == list(new[:length])


def _length_with(shared: Sequence[str], new: Sequence[str]) -> int:
    """The least length of the new memory that has all of the shared entries that it has at all."""
    places = {id_: at for at, id_ in enumerate(new, start=1)}
    return max((places.get(id_, 0) for id_ in shared), default=0)
