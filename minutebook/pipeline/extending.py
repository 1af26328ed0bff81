"""Memory that is copied from elsewhere: put behind what is there, in its order, or not at all."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from minutebook.errors import BadInput, StoreBusy
from minutebook.pipeline.branches import memory_stream, still_there
from minutebook.pipeline.copies import Sides, known_of
from minutebook.pipeline.outcomes import as_read, moved_forward
from minutebook.pipeline.remembering import NOTHING, remember
from minutebook.records import Branch, MemoryEntry, SourceEntry
from minutebook.store import codec
from minutebook.store.kernel import Put, Stale, Store, Tip

EXTEND_TRIES = 50


def extend_memory(
    store: Store,
    branch: Branch,
    at: int,
    before: str | None,
    entries: Sequence[MemoryEntry],
    *,
    sides: Sides,
    expect: Mapping[str, int],
    marks: Mapping[str, int],
    dirty: str | None = None,
    puts: Callable[[], Sequence[Put]] = tuple,
) -> bool:
    """Append those of the entries, which stand at `at` elsewhere, that are not there yet, with their checkpoint.

    marks: written as well; coverages never go back. puts: other writes, asked for at each try. False when a mark is not
    as expected: nothing was written. BoxDiverged where other entries are in their places; NotFound without the branch.
    """
    ids = unique_ids(entries)
    stream = memory_stream(branch.key)
    for _ in range(EXTEND_TRIES):
        known = known_of(store, stream, at, before, ids, sides)
        tip, beside = store.tip(stream), puts()
        if any(tip.marks.get(name, 0) != value for name, value in expect.items()):
            return False
        new = [replace(e, branch=branch.key, index=at + n) for n, e in enumerate(entries[known:], start=known)]
        if new and tip.length != at + known:
            continue  # another copied the same meanwhile
        done = _append(store, branch, new, tip, expect=expect, marks=marks, dirty=dirty, puts=beside)
        if done:
            return True
    raise StoreBusy(f"{branch.key}: {EXTEND_TRIES} others wrote to it first; try again")


def unique_ids(entries: Sequence[MemoryEntry] | Sequence[SourceEntry]) -> list[str]:
    """The ids; BadInput when one comes twice."""
    ids = [entry.id for entry in entries]
    if len(set(ids)) != len(ids):
        raise BadInput("an id comes twice among the entries")
    return ids


def _append(
    store: Store,
    branch: Branch,
    new: Sequence[MemoryEntry],
    tip: Tip,
    *,
    expect: Mapping[str, int],
    marks: Mapping[str, int],
    dirty: str | None,
    puts: Sequence[Put],
) -> bool:
    beside = remember(store, branch, new, tip) if new else NOTHING
    advance = moved_forward({**beside.marks, **marks}, tip.marks)
    if not new and not puts and all(tip.marks.get(name, 0) == value for name, value in advance.items()):
        return True
    done = store.append(
        memory_stream(branch.key),
        [codec.memory_item(entry) for entry in new],
        expect={**as_read(tip), **expect},
        expect_length=tip.length,
        advance=advance,
        dirty=dirty,
        puts=[still_there(store, branch), *puts, *beside.puts],
    )
    return not isinstance(done, Stale)
