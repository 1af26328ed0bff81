"""commit_outcome: where what was learned is recorded, with its coverage, or not at all.

An outcome is a compare-and-append on the mark that its role read: a job that ran twice records once, and one that
read a ledger which moved meanwhile is refused and derived anew (003-167). The sums that the clocks compare are
brought up to date in the same transaction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from minutebook.errors import StoreBusy
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import memory_stream
from minutebook.pipeline.remembering import NOTHING, remember
from minutebook.records import Branch, MemoryEntry, content_id
from minutebook.store import codec
from minutebook.store.kernel import Put, Stale, Store

COMMIT_TRIES = 50
FORWARD = frozenset([*ledger.COVERAGE_OF_ROLE.values(), ledger.COMPACTED_FROM, ledger.COMPACTED_AT])
"""Marks that only move forward; a run that found nothing moves its coverage without an entry that would show it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one run of a role learned.

    read: the role's mark as its run read it. advance: the marks that the run moves, its own among them.
    entries: memory entries to append; none when there was nothing to record in words.
    unmoved: other marks that must still be as the run read them.
    """

    role: str
    branch: str
    read: int
    advance: Mapping[str, int]
    entries: tuple[MemoryEntry, ...] = ()
    unmoved: Mapping[str, int] = field(default_factory=dict)


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

    Entries of other roles that landed meanwhile are no conflict: the sums are taken again over them.
    """
    mark = ledger.COVERAGE_OF_ROLE[outcome.role]
    expect = {**outcome.unmoved, mark: outcome.read}
    return offer_memory(store, branch, outcome.entries, expect=expect, advance=outcome.advance)


def append_memory(
    store: Store,
    branch: Branch,
    entries: Sequence[MemoryEntry],
    *,
    advance: Mapping[str, int] | None = None,
    puts: Sequence[Put] = (),
) -> Committed:
    """Append entries that answer no role's run: imported ones, a person's corrections. StoreBusy if a put is stale."""
    done = offer_memory(store, branch, entries, advance=advance or {}, puts=puts)
    if isinstance(done, Refused):
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
) -> Committed | Refused:
    """Append entries, move marks and write documents in one transaction; Refused when a mark or document has moved.

    Other entries that land meanwhile are no conflict. An entry that is there already is left out.
    """
    stream = memory_stream(branch.key)
    for _ in range(COMMIT_TRIES):
        tip = store.tip(stream)
        placed = _placed(store, branch, entries, tip.length)
        beside = remember(store, branch, placed, tip) if placed else NOTHING
        done = store.append(
            stream,
            [codec.memory_item(entry) for entry in placed],
            expect=expect,
            expect_length=tip.length,
            advance=_moved({**beside.marks, **advance}, tip.marks),
            dirty=branch.key,
            puts=[*puts, *beside.puts],
        )
        if not isinstance(done, Stale):
            new = {entry.id for entry in placed}
            return Committed(tuple(placed), tuple(entry.id for entry in entries if entry.id not in new))
        if done.what != "length":
            return Refused(done)
    raise StoreBusy(f"{branch.key}: {COMMIT_TRIES} other commits came first; the work will be derived again")


def _placed(store: Store, branch: Branch, entries: Sequence[MemoryEntry], length: int) -> list[MemoryEntry]:
    """The new ones among the entries, each once, as they will stand in the branch's own stream of that length."""
    there = store.find(memory_stream(branch.key), [entry.id for entry in entries])
    new = {entry.id: entry for entry in entries if entry.id not in there}
    return [replace(entry, branch=branch.key, index=length + at) for at, entry in enumerate(new.values())]


def _moved(advance: Mapping[str, int], found: Mapping[str, int]) -> dict[str, int]:
    """The marks as they are written. Coverages never go back (003-053), also not to what entries alone say."""
    return {mark: max(value, found.get(mark, 0)) if mark in FORWARD else value for mark, value in advance.items()}
