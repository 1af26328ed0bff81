"""When a box takes a branch over, and when the two part again."""

from collections.abc import Iterator
from dataclasses import replace

from minutebook.errors import BoxDiverged, StoreBusy
from minutebook.pipeline import ledger
from minutebook.pipeline.boxkeys import owner_of
from minutebook.pipeline.branches import BRANCHES, list_branches, load_branch, memory_stream, still_there
from minutebook.pipeline.checkpoints import checkpoint_of, forgotten
from minutebook.pipeline.forks import memory_id_before, resting_on
from minutebook.pipeline.notices import tell
from minutebook.pipeline.outbox import outbox_put, read_outbox
from minutebook.pipeline.outcomes import as_read, moved_forward, place_memory
from minutebook.pipeline.readings import session_of
from minutebook.pipeline.remembering import NOTHING, remember, whole_memory
from minutebook.pipeline.rows import Lengths
from minutebook.pipeline.sessions import Session
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
    return branch if there is None else adopted(store, branch, there)


def rejoin_box(store: Store, session: Session) -> int:
    """Take back that the session parted from the box, with all that it rests on; how many branches had.

    What is here and what is there are brought together by the next pass, or part again where their sources differ.
    """
    sessions, waiting, count = {session.key}, [session], 0
    while waiting:
        for branch in _with_ancestors(store, waiting.pop()):
            count += _rejoined(store, branch)
            owner = session_of(store, branch)
            if owner is not None and owner.key not in sessions:
                sessions.add(owner.key)
                waiting.append(owner)
    return count


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
            expect=as_read(tip),
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


def adopted(store: Store, branch: Branch, there: Lengths) -> Branch:
    """The branch, sharing as much of its parent's memory as it does on the box.

    Here it may have been made anew, from a file, or before the box lost something. As it is while that is not here.
    """
    length = there.parent_memory
    if not branch.parent or length == branch.parent_memory:
        return branch
    stream, parent = memory_stream(branch.key), load_branch(store, branch.parent)
    if store.tip(memory_stream(parent.key)).length < length:
        return branch
    for _ in range(PART_TRIES):
        document, tip = store.get(BRANCHES, branch.key), store.tip(stream)
        if document is None:
            break
        made = replace(
            codec.branch_of(document.body),
            parent_memory=length,
            memory_id=memory_id_before(store, parent.key, length),
        )
        chain = [each.key for each in ledger.chain_of(store, made)]
        checkpoint = checkpoint_of(made, whole_memory(ledger.read_memory(store, made), chain), tip.length)
        done = store.append(
            stream,
            [],
            expect=as_read(tip),
            expect_length=tip.length,
            advance=moved_forward(marks_of(checkpoint.totals), tip.marks),
            puts=[
                Put(BRANCHES, made.key, codec.branch_json(made), document.version),
                *(checkpoint.puts or forgotten(made.key)),
                *_forgotten_below(store, made),
            ],
        )
        if not isinstance(done, Stale):
            return made
    return branch


def _forgotten_below(store: Store, branch: Branch) -> Iterator[Put]:
    """Of the branches that share this one's memory; what they need is folded anew."""
    for key in resting_on({each.key: each for each in list_branches(store)}, [branch.key]):
        yield from forgotten(key)


def _with_ancestors(store: Store, session: Session) -> list[Branch]:
    found = [each for key in session.branches for each in ledger.chain_of(store, load_branch(store, key))]
    return list({branch.key: branch for branch in found if not owner_of(branch.key)}.values())


def _rejoined(store: Store, branch: Branch) -> bool:
    done = store.append(
        memory_stream(branch.key),
        [],
        expect={ledger.BOX: ledger.PARTED},
        advance={ledger.BOX: ledger.BOXED},
        puts=[still_there(store, branch)],
    )
    return not isinstance(done, Stale)
