"""commit_outcome: where what was learned is recorded, with its coverage, or not at all.

An outcome is a compare-and-append on the mark that its role read: a job that ran twice records once, and one that
read a ledger which moved meanwhile is refused and derived anew (003-167). The sums that the clocks compare are
brought up to date in the same transaction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from minutebook.errors import NotFound, StoreBusy
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import BRANCHES, memory_stream, still_there
from minutebook.pipeline.checksums import CHECKSUM
from minutebook.pipeline.outbox import OUTBOX, outbox_put, read_outbox
from minutebook.pipeline.remembering import NOTHING, remember
from minutebook.records import Branch, MemoryEntry, content_id
from minutebook.store import codec
from minutebook.store.kernel import Put, Stale, Store, Tip

COMMIT_TRIES = 50
GIVEN = "given"
"""What is stale when a box does not have the entries yet that the branch's laptop made before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one run of a role learned.

    read: the role's mark as its run read it. advance: the marks that the run moves, its own among them.
    entries: memory entries to append; none when there was nothing to record in words.
    unmoved: other marks that must still be as the run read them. remark: what its session's user is to be warned of.
    """

    role: str
    branch: str
    read: int
    advance: Mapping[str, int]
    entries: tuple[MemoryEntry, ...] = ()
    unmoved: Mapping[str, int] = field(default_factory=dict)
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Committed:
    """entries: as appended. duplicates: ids of those that were there already."""

    entries: tuple[MemoryEntry, ...]
    duplicates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was written: another run of this role came first."""

    stale: Stale


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What makes a memory entry, before it has an id."""

    kind: str
    covers: int
    since: int
    data: Mapping[str, Any] = field(default_factory=dict)
    covers_id: str = ""
    time: str = ""


def memory_entry(entry: Entry) -> MemoryEntry:
    """The entry with its id, a hash of what it says: the same outcome committed twice is one."""
    said = {"covers": entry.covers, "since": entry.since, "data": dict(entry.data)}
    return MemoryEntry(
        id=content_id(entry.kind, codec.to_json(said)),
        kind=entry.kind,
        covers=entry.covers,
        since=entry.since,
        covers_id=entry.covers_id,
        time=entry.time,
        data=entry.data,
    )


def commit_outcome(store: Store, branch: Branch, outcome: Outcome) -> Committed | Refused:
    """Append the outcome's entries and move its marks in one transaction, or write nothing and return Refused.

    Entries of other roles that landed meanwhile are no conflict: the sums are taken again over them. Refused, too,
    where the branch's memory is a box's.
    """
    mark = ledger.COVERAGE_OF_ROLE[outcome.role]
    expect = {**outcome.unmoved, mark: outcome.read}
    return offer_memory(store, branch, outcome.entries, expect=expect, advance=outcome.advance, by_role=True)


def append_memory(
    store: Store,
    branch: Branch,
    entries: Sequence[MemoryEntry],
    *,
    advance: Mapping[str, int] | None = None,
    puts: Sequence[Put] = (),
) -> Committed:
    """Append entries that answer no role's run: imported ones, a person's corrections. StoreBusy if a put is stale.

    NotFound when the branch was removed.
    """
    done = offer_memory(store, branch, entries, advance=advance or {}, puts=puts)
    if isinstance(done, Refused):
        if done.stale == _removed(branch):
            raise NotFound(f"branch {branch.key!r} was removed meanwhile")
        raise StoreBusy(f"{branch.key}: {done.stale.what} moved while it was written; try again")
    return done


def offer_memory(
    store: Store,
    branch: Branch,
    entries: Sequence[MemoryEntry],
    *,
    expect: Mapping[str, int] | None = None,
    advance: Mapping[str, int],
    puts: Sequence[Put] = (),
    by_role: bool = False,
) -> Committed | Refused:
    """Append entries, move marks and write documents in one transaction; Refused when a mark or document has moved.

    Refused, too, when the branch was removed: a stream that is empty again never passes for one that is empty still.
    Other entries that land meanwhile are no conflict. An entry that is there already is left out. Where the branch's
    memory is a box's, they wait in the outbox instead, until they come back from there; by_role: refused there.
    """
    for _ in range(COMMIT_TRIES):
        tip = store.tip(memory_stream(branch.key))
        if by_role and (elsewhere := _thought_elsewhere(branch, tip)):
            return Refused(elsewhere)
        if tip.marks.get(ledger.BOX, 0) == ledger.BOXED:
            done = _divert(store, branch, entries, tip, expect=expect or {}, advance=advance, puts=puts)
        else:
            done = _append(store, branch, entries, tip, expect=expect or {}, advance=advance, puts=puts)
        if isinstance(done, Committed):
            return done
        if done.stale.what not in _retried(branch) or done.stale == _removed(branch) or _asked(expect, done.stale):
            return done
    raise StoreBusy(f"{branch.key}: {COMMIT_TRIES} other commits came first; the work will be derived again")


def _thought_elsewhere(branch: Branch, tip: Tip) -> Stale | None:
    """Whether no role of this store may record anything on the branch, now."""
    if tip.marks.get(ledger.BOX, 0) == ledger.BOXED:
        return Stale(ledger.BOX, 0, ledger.BOXED)
    return Stale(GIVEN, branch.given, tip.length) if tip.length < branch.given else None


def _append(
    store: Store,
    branch: Branch,
    entries: Sequence[MemoryEntry],
    tip: Tip,
    *,
    expect: Mapping[str, int],
    advance: Mapping[str, int],
    puts: Sequence[Put],
) -> Committed | Refused:
    """Append them at this very tip."""
    if tip.length < branch.given:
        raise StoreBusy(f"{branch.key}: the memory that its own machine made is still on its way; try again")
    try:
        there = [still_there(store, branch)] if tip.length == 0 else []
    except NotFound:
        return Refused(_removed(branch))
    placed = place_memory(store, branch, entries, tip.length)
    beside = remember(store, branch, placed, tip) if placed else NOTHING
    done = store.append(
        memory_stream(branch.key),
        [codec.memory_item(entry) for entry in placed],
        expect={**as_read(tip), **expect},
        expect_length=tip.length,
        advance=moved_forward({**beside.marks, **advance}, tip.marks),
        dirty=branch.key,
        puts=[*puts, *there, *beside.puts],
    )
    return Refused(done) if isinstance(done, Stale) else _committed(placed, entries)


def _divert(
    store: Store,
    branch: Branch,
    entries: Sequence[MemoryEntry],
    tip: Tip,
    *,
    expect: Mapping[str, int],
    advance: Mapping[str, int],
    puts: Sequence[Put],
) -> Committed | Refused:
    """Where the memory is a box's: into the outbox, from which it comes back in the box's order. Marks move here."""
    pending = read_outbox(store, branch.key)
    offered = [entry for entry in place_memory(store, branch, entries, tip.length) if entry.id not in pending.ids]
    done = store.append(
        memory_stream(branch.key),
        [],
        expect={ledger.BOX: ledger.BOXED, **expect},
        expect_length=tip.length,
        advance=moved_forward(advance, tip.marks),
        puts=[*puts, *([outbox_put(branch.key, pending, offered)] if offered else [])],
    )
    return Refused(done) if isinstance(done, Stale) else _committed(offered, entries)


def _committed(new: Sequence[MemoryEntry], entries: Sequence[MemoryEntry]) -> Committed:
    ids = {entry.id for entry in new}
    return Committed(tuple(new), tuple(entry.id for entry in entries if entry.id not in ids))


def _retried(branch: Branch) -> tuple[str, ...]:
    """What may move at any time without meaning anything for those who append."""
    return "length", ledger.BOX, CHECKSUM, f"{OUTBOX}/{branch.key}", _removed(branch).what


def _asked(expect: Mapping[str, int] | None, stale: Stale) -> bool:
    """Whether whoever appends said himself what was to stand still."""
    return stale.what in (expect or {})


def _removed(branch: Branch) -> Stale:
    return Stale(f"{BRANCHES}/{branch.key}", 1, 0)


def as_read(tip: Tip) -> dict[str, int]:
    """What must still be so when entries are written: of the same length a memory may be another one by then."""
    return {name: tip.marks.get(name, 0) for name in (ledger.BOX, CHECKSUM)}


def place_memory(store: Store, branch: Branch, entries: Sequence[MemoryEntry], length: int) -> list[MemoryEntry]:
    """The new ones among the entries, each once, as they will stand in the branch's own stream of that length."""
    there = store.find(memory_stream(branch.key), [entry.id for entry in entries])
    new = {entry.id: entry for entry in entries if entry.id not in there}
    return [replace(entry, branch=branch.key, index=length + at) for at, entry in enumerate(new.values())]


def moved_forward(advance: Mapping[str, int], found: Mapping[str, int]) -> dict[str, int]:
    """The marks as they are written. Coverages never go back (003-053), also not to what entries alone say."""
    return {
        mark: max(value, found.get(mark, 0)) if mark in ledger.COVERED else value for mark, value in advance.items()
    }
