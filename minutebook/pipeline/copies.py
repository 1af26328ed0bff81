"""What a store has of a branch, and pages of it: what both sides of a box tell each other. Reads only."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from minutebook.errors import BoxDiverged
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import BRANCHES, load_branch, memory_stream, source_stream
from minutebook.pipeline.checksums import CHECKSUM, checksum_of
from minutebook.pipeline.rows import Lengths
from minutebook.records import Branch, MemoryEntry, SourceEntry
from minutebook.store import codec
from minutebook.store.kernel import Store, Tip

SHARED_MARKS = (*ledger.COVERED, ledger.DIGEST_BUDGET)
"""Marks of which a copy must be told; the others follow from the entries."""


def lengths(store: Store, keys: Iterable[str]) -> dict[str, Lengths | None]:
    """What the store has of these branches; None of those that it does not know."""
    wanted = list(dict.fromkeys(keys))
    found = store.get_among(BRANCHES, wanted)
    return {key: lengths_of(store, codec.branch_of(found[key].body)) if key in found else None for key in wanted}


def lengths_of(store: Store, branch: Branch) -> Lengths:
    """What the store has of a branch. The marks are those of that very length of its memory, with its checksum."""
    tip, sources = store.tip(memory_stream(branch.key)), store.tip(source_stream(branch.key)).length
    return Lengths(
        sources=sources,
        sources_tip=id_at(store, source_stream(branch.key), sources - 1),
        memory=tip.length,
        memory_tip=id_at(store, memory_stream(branch.key), tip.length - 1),
        marks=_shared(tip),
        boxed=tip.marks.get(ledger.BOX, 0) == ledger.BOXED,
        parent_memory=branch.parent_memory,
    )


def sources_after(store: Store, key: str, start: int, limit: int) -> tuple[list[SourceEntry], Lengths]:
    """At most `limit` source entries of the branch's own stream from `start` on, and its lengths; NotFound."""
    found = lengths_of(store, load_branch(store, key))
    stored = store.read(source_stream(key), start, found.sources, limit=limit)
    return [codec.source_entry(each) for each in stored], found


def memory_after(store: Store, key: str, start: int, limit: int) -> tuple[list[MemoryEntry], Lengths]:
    """At most `limit` memory entries of the branch's own stream from `start` on, and its lengths; NotFound.

    The marks come with the last page alone: before it they would say more than the entries that they stand on.
    """
    branch = load_branch(store, key)
    found = lengths_of(store, branch)
    entries = ledger.read_own(store, branch, min(found.memory, start + limit), start=start)
    return entries, found if start + len(entries) >= found.memory else replace(found, marks={})


def id_at(store: Store, stream: str, position: int) -> str:
    """Id of the item at a position of a stream; "" where there is none."""
    found = store.read(stream, position, position + 1) if position >= 0 else []
    return found[0].id if found else ""


def is_same_memory(here: Lengths, there: Lengths) -> bool:
    """Whether two copies of a memory of one length are of the same entries, as far as both tell."""
    sums = {found.marks[CHECKSUM] for found in (here, there) if CHECKSUM in found.marks}
    return here.memory_tip == there.memory_tip and len(sums) < 2


@dataclass(frozen=True, slots=True)
class Sides:
    """How an error calls this store and the one that entries come from."""

    here: str
    there: str


BOX_SIDE = Sides("on the box", "on the machine that sent it")
OWN_SIDE = Sides("on this machine", "on the box")


def known_of(store: Store, stream: str, at: int, before: str | None, ids: Sequence[str], sides: Sides) -> int:
    """How many of these ids, which stand at `at` behind the id `before` elsewhere, the stream has in the same places.

    before: None where that is not known. BoxDiverged where it has others there, where it ends before `at`, or where it
    has a later one at another place.
    """
    key = stream[2:]
    length = store.tip(stream).length
    if at > length:
        raise BoxDiverged(
            f"{key}: {length} entries {sides.here}, and what came begins at {at}: some are missing between"
        )
    wanted = [before, *ids] if at and before is not None else ids
    first = at - (len(wanted) - len(ids))
    here = store.read(stream, first, at + len(ids))
    for position, (stored, id_) in enumerate(zip(here, wanted, strict=False), start=first):
        if stored.id != id_:
            raise BoxDiverged(f"{key}: entry {position} is {stored.id!r} {sides.here} and {id_!r} {sides.there}")
    known = len(here) - (at - first)
    later = store.find(stream, ids[known:])
    for position, id_ in enumerate(ids[known:], start=at + known):
        if id_ in later and later[id_].position != position:  # in its place it was written just now
            found = later[id_].position
            raise BoxDiverged(f"{key}: entry {id_!r} is at {found} {sides.here} and at {position} {sides.there}")
    return known


def _shared(tip: Tip) -> dict[str, int]:
    told = {name: value for name in SHARED_MARKS if (value := tip.marks.get(name, 0))}
    return {**told, **({CHECKSUM: checksum} if (checksum := checksum_of(tip)) else {})}
