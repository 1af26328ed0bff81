"""When a box takes a branch over, and when the two part again."""

from dataclasses import replace

from minutebook.errors import BoxDiverged, StoreBusy
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import BRANCHES, list_branches, load_branch, memory_stream, still_there
from minutebook.pipeline.checkpoints import LINKS, PAGES, TOTALS, checkpoint_of
from minutebook.pipeline.forks import memory_id_before
from minutebook.pipeline.notices import tell
from minutebook.pipeline.outbox import outbox_put, read_outbox
from minutebook.pipeline.outcomes import moved_forward, place_memory
from minutebook.pipeline.remembering import NOTHING, remember, whole_memory
from minutebook.pipeline.rows import Lengths
from minutebook.pipeline.totals import marks_of
from minutebook.records import Branch
from minutebook.store import codec
from minutebook.store.kernel import Put, Stale, Store

PART_TRIES = 50


def give_to_box(store: Store, branch: Branch) -> int:
    """From now on a box orders this branch's memory, and no role of this store works on it; how much it has so far.

    That is to be sent. Doing it again changes nothing. BoxDiverged for a branch that parted from the box.
    """
    stream = memory_stream(branch.key)
    for _ in range(PART_TRIES):
        tip = store.tip(stream)
        mark = tip.marks.get(ledger.BOX, 0)
        if mark == ledger.PARTED:
            raise BoxDiverged(f"{branch.key}: it parted from the box and goes on here")
        if mark == ledger.BOXED:
            return tip.length
        done = store.append(
            stream,
            [],
            expect={ledger.BOX: mark},
            expect_length=tip.length,
            advance={ledger.BOX: ledger.BOXED},
            puts=[still_there(store, branch)],
        )
        if not isinstance(done, Stale):
            return tip.length
    raise StoreBusy(f"{branch.key}: {PART_TRIES} others wrote to it first; try again")


def hand_over(store: Store, branch: Branch, there: Lengths | None) -> Branch:
    """Give the branch to the box, which has this of it; the branch as it is from then on. BoxDiverged if it parted."""
    give_to_box(store, branch)
    if there is not None and branch.parent and there.parent_memory != branch.parent_memory:
        return _adopted(store, branch, there.parent_memory)
    return branch


def part_from_box(store: Store, branch: Branch, why: str) -> None:
    """Nothing of this branch goes to the box any more, or comes from there; a person is told.

    What is here stays, what waits in the outbox goes into its memory, and the roles of this store work on it again.
    """
    stream = memory_stream(branch.key)
    for _ in range(PART_TRIES):
        tip, held = store.tip(stream), read_outbox(store, branch.key)
        mark = tip.marks.get(ledger.BOX, 0)
        if mark == ledger.PARTED:
            return
        placed = place_memory(store, branch, held.entries, tip.length)
        beside = remember(store, branch, placed, tip) if placed else NOTHING
        done = store.append(
            stream,
            [codec.memory_item(entry) for entry in placed],
            expect={ledger.BOX: mark},
            expect_length=tip.length,
            advance={**moved_forward(beside.marks, tip.marks), ledger.BOX: ledger.PARTED},
            dirty=branch.key,
            puts=[
                still_there(store, branch),
                *beside.puts,
                *([outbox_put(branch.key, held, without=held.ids)] if held.entries else []),
            ],
        )
        if not isinstance(done, Stale):
            tell(store, f"parted {branch.key}", f"{branch.key} goes on on this machine alone: {why}")
            return
    raise StoreBusy(f"{branch.key}: {PART_TRIES} others wrote to it first; try again")


def _adopted(store: Store, branch: Branch, parent_memory: int) -> Branch:
    """The branch, sharing as much of its parent's memory as it does on the box; here it was made anew, from a file."""
    stream, parent = memory_stream(branch.key), load_branch(store, branch.parent)
    if store.tip(memory_stream(parent.key)).length < parent_memory:
        return branch  # once the parent's memory is here
    for _ in range(PART_TRIES):
        document, tip = store.get(BRANCHES, branch.key), store.tip(stream)
        if document is None:
            break
        adopted = replace(
            codec.branch_of(document.body),
            parent_memory=parent_memory,
            memory_id=memory_id_before(store, parent.key, parent_memory),
        )
        chain = [each.key for each in ledger.chain_of(store, adopted)]
        checkpoint = checkpoint_of(adopted, whole_memory(ledger.read_memory(store, adopted), chain), tip.length)
        done = store.append(
            stream,
            [],
            expect_length=tip.length,
            advance=moved_forward(marks_of(checkpoint.totals), tip.marks),
            puts=[Put(BRANCHES, adopted.key, codec.branch_json(adopted), document.version), *checkpoint.puts],
        )
        if not isinstance(done, Stale):
            _forget_checkpoints(store, adopted)
            return adopted
    return branch


def _forget_checkpoints(store: Store, branch: Branch) -> None:
    """Of the branches that share this one's memory; what they need is folded anew."""
    for other in list_branches(store, branch.lineage):
        if other.key != branch.key and branch in ledger.chain_of(store, other):
            for collection in (PAGES, TOTALS, LINKS):
                store.delete(collection, other.key)
