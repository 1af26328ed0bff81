"""The laptop's side of a box: what is to be sent, and what comes back. Pure of any network.

For each branch, parents first: `hand_over` once what the box has is known; then what `memory_to_send` and
`sources_to_send` give, until they give nothing; then what `outbox` holds; then pull with `take_sources` (another
machine of this user may have gone on) and `take_memory`. A pull begins one entry before the end of what is here: so the
copy is seen to be the beginning of the box's. Where BoxDiverged is raised, `part_from_box` keeps what is here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from minutebook.errors import BoxDiverged, NotFound, StoreBusy
from minutebook.pipeline import ledger
from minutebook.pipeline.boxkeys import owner_of
from minutebook.pipeline.branches import (
    Path,
    branch_put,
    find_branch,
    load_branch,
    memory_stream,
    source_stream,
    still_there,
)
from minutebook.pipeline.checkpoints import read_page
from minutebook.pipeline.copies import OWN_SIDE, SHARED_MARKS, id_at, known_of, lengths_of
from minutebook.pipeline.extending import extend_memory, unique_ids
from minutebook.pipeline.following import origin_put
from minutebook.pipeline.forks import id_before, inherit, memory_id_before
from minutebook.pipeline.outbox import outbox_put, read_outbox
from minutebook.pipeline.rows import Lengths
from minutebook.pipeline.sourcetext import weight_of
from minutebook.records import Branch, MemoryEntry, SourceEntry
from minutebook.store import codec
from minutebook.store.kernel import Put, Stale, Store

TAKE_TRIES = 50


@dataclass(frozen=True, slots=True)
class Page:
    """Entries to send: they stand at `at` of the branch's own stream, behind the id `before`."""

    at: int
    before: str
    entries: Sequence[SourceEntry] | Sequence[MemoryEntry]


# -- sending -------------------------------------------------------------------------------------------------------


def branch_to_send(store: Store, branch: Branch) -> Branch:
    """The branch for the box: with how much memory is to follow, its coverages, and what it shares, by ids."""
    tip = store.tip(memory_stream(branch.key))
    return replace(
        branch,
        given=tip.length,
        observed=max(branch.observed, tip.marks.get(ledger.OBSERVER, 0)),
        reflected=max(branch.reflected, tip.marks.get(ledger.REFLECTOR, 0)),
        fork_id=branch.fork_id or id_before(Path(store, branch), branch.fork),
        memory_id=branch.memory_id or memory_id_before(store, branch.parent, branch.parent_memory),
    )


def sources_to_send(store: Store, branch: Branch, there: Lengths | None, limit: int) -> Page | None:
    """The next source entries that the box lacks; None when it has them all. BoxDiverged when it has others.

    there: what the box has, None when it does not know the branch: then there is a page, empty if need be.
    """
    stream = source_stream(branch.key)
    at, before = _beginning(store, stream, branch, there.sources if there else 0, there.sources_tip if there else "")
    stored = store.read(stream, at, limit=limit)
    return Page(at, before, [codec.source_entry(each) for each in stored]) if stored or there is None else None


def memory_to_send(store: Store, branch: Branch, there: Lengths, limit: int) -> Page | None:
    """The next memory entries that are here and not on the box; None without any. BoxDiverged when it has others.

    That is what was made before the hand-over, or what a box lost that was put back from a backup. To be sent before
    new sources, which set the box's workers to work.
    """
    at, before = _beginning(store, memory_stream(branch.key), branch, there.memory, there.memory_tip)
    entries = ledger.read_own(store, branch, at + limit, start=at)
    return Page(at, before, entries) if entries else None


def _beginning(store: Store, stream: str, branch: Branch, length: int, tip_id: str) -> tuple[int, str]:
    """Where what the other side lacks begins, and the id before it."""
    here = id_at(store, stream, length - 1)
    if here and here != tip_id:
        raise BoxDiverged(f"{branch.key}: entry {length - 1} is {here!r} on this machine and {tip_id!r} on the box")
    return length, tip_id


# -- pulling -------------------------------------------------------------------------------------------------------


def take_sources(store: Store, branch: Branch, at: int, entries: Sequence[SourceEntry]) -> int:
    """Append source entries of the box, which stand at `at` there; how many of the branch's own are here then.

    The branch is made if it is new here; NotFound when what it shares is not here yet. BoxDiverged where others are in
    their places: this machine went on by itself.
    """
    branch = find_branch(store, branch.key) or _taken(store, branch)
    ids, stream = unique_ids(entries), source_stream(branch.key)
    for _ in range(TAKE_TRIES):
        start = at + known_of(store, stream, at, None, ids, OWN_SIDE)
        new = entries[start - at :]
        if not new:
            return max(start, store.tip(stream).length)
        done = store.append(
            stream,
            [codec.source_item(entry, weight_of(entry)) for entry in new],
            expect_length=start,
            puts=[still_there(store, branch), *(_origin(store, branch, new[0]) if start == 0 else ())],
        )
        if not isinstance(done, Stale):
            return done.tip.length
    raise StoreBusy(f"{branch.key}: {TAKE_TRIES} others wrote to it first; try again")


def take_memory(
    store: Store, branch: Branch, at: int, entries: Sequence[MemoryEntry], marks: Mapping[str, int]
) -> Lengths:
    """Append memory of the box, which stands at `at` there; what is here of the branch then.

    marks: those that the box told with these entries. What came back is taken out of the outbox. NotFound while an
    ancestor's shared memory is not here; BoxDiverged where others are in their places, or the memory is not a box's.
    """
    branch = load_branch(store, branch.key)
    check_shared(store, branch)
    told = {name: value for name, value in marks.items() if name in SHARED_MARKS}
    ids = {entry.id for entry in entries}

    def beside() -> Sequence[Put]:
        held = read_outbox(store, branch.key)
        back = [outbox_put(branch.key, held, without=ids)] if held.ids & ids else []
        return [*back, *_first_checkpoint(store, branch, bool(entries))]

    done = extend_memory(
        store, branch, at, None, entries, sides=OWN_SIDE, expect={ledger.BOX: ledger.BOXED}, marks=told, puts=beside
    )
    if not done:
        raise BoxDiverged(f"{branch.key}: its memory is this machine's own")
    return lengths_of(store, branch)


def _taken(store: Store, branch: Branch) -> Branch:
    """A branch that another machine made, with the box's memory."""
    made = replace(branch, given=0, base_tokens=0)
    if branch.parent:
        parent = Path(store, load_branch(store, branch.parent))
        if parent.length() < branch.fork:
            raise NotFound(f"{branch.key}: what it shares of {branch.parent!r} is not here yet")
        made = replace(made, base_tokens=parent.tokens_before(branch.fork))
    marks = {ledger.BOX: ledger.BOXED, ledger.TAKEN: 1}
    done = store.append(memory_stream(made.key), [], advance=marks, puts=[branch_put(made)])
    return load_branch(store, made.key) if isinstance(done, Stale) else made


def _origin(store: Store, branch: Branch, first: SourceEntry) -> list[Put]:
    """So that a copy of this session on this machine finds it."""
    return [] if owner_of(branch.key) else origin_put(store, branch, first)


def check_shared(store: Store, branch: Branch) -> None:
    """NotFound while the memory that a branch shares with its ancestors is not here, or another one is."""
    while branch.parent:
        parent, length = load_branch(store, branch.parent), branch.parent_memory
        if store.tip(memory_stream(parent.key)).length < length or (
            branch.memory_id and memory_id_before(store, parent.key, length) != branch.memory_id
        ):
            raise NotFound(f"{branch.key}: the memory that it shares of {parent.key!r} is not here yet")
        branch = parent


def _first_checkpoint(store: Store, branch: Branch, grows: bool) -> Sequence[Put]:
    """Of a fork that was taken and has no memory of its own yet: what it shares, folded in advance."""
    if grows or not branch.parent or read_page(store, branch, 0) is not None:
        return ()
    return inherit(store, branch, {}).puts if store.tip(memory_stream(branch.key)).length == 0 else ()
