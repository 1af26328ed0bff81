"""What a box takes in from a laptop: sources in the laptop's order, memory that the box itself puts in order.

Everything may come twice, late, or cut in half; what is there already changes nothing, and what contradicts it raises
BoxDiverged. Nothing of it is trusted: it is redacted again, counted anew, and bound to the user who sent it.
"""

from collections.abc import Mapping, Sequence

from minutebook.errors import NotFound, StoreBusy
from minutebook.pipeline import ledger
from minutebook.pipeline.admitting import admitted, merged, opened
from minutebook.pipeline.branches import Path, load_branch, source_stream, still_there
from minutebook.pipeline.copies import BOX_SIDE, known_of, lengths_of
from minutebook.pipeline.extending import extend_memory, unique_ids
from minutebook.pipeline.folding import fold
from minutebook.pipeline.intake import redactor_of
from minutebook.pipeline.offers import by_person, check_offered, cleaned, without_records
from minutebook.pipeline.outcomes import append_memory
from minutebook.pipeline.purged import is_purged
from minutebook.pipeline.readings import session_key_of
from minutebook.pipeline.rows import Lengths
from minutebook.pipeline.sessions import Session, find_session, session_put
from minutebook.pipeline.sourcetext import weight_of
from minutebook.records import FOLD, Branch, MemoryEntry, SourceEntry
from minutebook.store import codec
from minutebook.store.kernel import Item, Stale, Store

RECEIVE_TRIES = 50


def receive_sources(
    store: Store,
    user: str,
    session: Session,
    branch: Branch,
    at: int,
    before: str,
    entries: Sequence[SourceEntry],
) -> Lengths:
    """Append what is new of a laptop's source entries, which stand at `at` there, behind the id `before` ("" at 0).

    session, branch: as rows of that laptop say; their keys may lack the user's prefix. Both are written with the first
    entries; a fork needs its parent here as far as it is shared. Returns what the box has then.
    Raises BadInput, NotFound (an ancestor is not here that far, a key is another user's, the session was purged) and
    BoxDiverged (other entries are in their places, or what is before them is missing).
    """
    session, branch = admitted(user, session, branch)
    ids = unique_ids(entries)
    for _ in range(RECEIVE_TRIES):
        stored = find_session(store, session.key)
        check_welcome(store, session.key, session.agent)  # after the reading: a purge since then makes the write stale
        there = opened(store, stored, session, branch)
        if there is None:
            continue
        known = known_of(store, source_stream(branch.key), at, before, ids, BOX_SIDE)
        stored = find_session(store, session.key)
        if stored is not None and _written(store, stored, session, there, at + known, entries[known:]):
            return lengths_of(store, there)
    raise StoreBusy(f"{branch.key}: {RECEIVE_TRIES} others wrote to it first; try again")


def receive_memory(
    store: Store,
    key: str,
    at: int | None,
    before: str,
    entries: Sequence[MemoryEntry],
    *,
    marks: Mapping[str, int] | None = None,
) -> Lengths:
    """Append memory of a laptop. key: the branch's, with its owner.

    at: the entries stand there in the laptop's own stream, behind the id `before`: its memory from before it was handed
    over, or what a box that was put back from a backup has lost. Nothing of the box's own may be in their places.
    None: they are offered, and get the next places; those that are here already are left out. marks: coverages that
    moved without an entry. Returns what the box has then. Raises BadInput, NotFound, BoxDiverged, StoreBusy.
    """
    branch = load_welcome(store, key)
    redactor = redactor_of(store)
    safe = [cleaned(redactor, entry) for entry in entries]
    told = {name: value for name, value in (marks or {}).items() if name in ledger.COVERED}
    if at is None:
        unique_ids(safe)
        _offer(store, branch, safe, told)
    else:
        extend_memory(store, branch, at, before, safe, sides=BOX_SIDE, expect={}, marks=told, dirty=branch.key)
    return lengths_of(store, branch)


def load_welcome(store: Store, key: str) -> Branch:
    """A branch that may take something in; NotFound."""
    branch = load_branch(store, key)
    session = find_session(store, session_key_of(branch))
    check_welcome(store, session_key_of(branch), session.agent if session else "")
    return branch


def check_welcome(store: Store, session_key: str, agent: str) -> None:
    """NotFound when the session was removed here on purpose."""
    if is_purged(store, session_key, agent):
        raise NotFound(f"purged: session {session_key!r} was removed here and is not taken in again")


def _written(
    store: Store, stored: Session, session: Session, branch: Branch, start: int, new: Sequence[SourceEntry]
) -> bool:
    """Write the new entries with the session; False when others wrote meanwhile."""
    redactor = redactor_of(store)
    after = merged(store, stored, session, branch, grew=bool(new), now=store.now())
    if new:
        done = store.append(
            source_stream(branch.key),
            [_item(redactor.redact_entry(entry)) for entry in new],
            expect_length=start,
            dirty=branch.key,
            puts=[session_put(after), still_there(store, branch)],
        )
        if isinstance(done, Stale):
            return False
    elif after != stored and isinstance(store.put(session_put(after)), Stale):
        return False
    if after.ended and not stored.ended:
        for key in after.branches:
            store.mark_dirty(key)
    return True


def _item(entry: SourceEntry) -> Item:
    return codec.source_item(entry, weight_of(entry))


def _offer(store: Store, branch: Branch, entries: Sequence[MemoryEntry], marks: Mapping[str, int]) -> None:
    reach = Path(store, branch).length()
    for entry in entries:
        check_offered(entry, reach)
    boundaries = [entry.covers for entry in entries if entry.kind == FOLD]
    compacted = {ledger.COMPACTED_FROM: max(boundaries), ledger.COMPACTED_AT: max(boundaries)} if boundaries else {}
    append_memory(store, branch, _lost_alone(store, branch, entries), advance={**compacted, **marks})


def _lost_alone(store: Store, branch: Branch, entries: Sequence[MemoryEntry]) -> list[MemoryEntry]:
    """Without what roles recorded on the laptop's copy and have recorded here again, to the word, since it was lost."""
    if all(by_person(entry) for entry in entries):
        return [*entries]
    memory = fold(ledger.read_memory(store, branch))
    recorded = {*memory.observations, *memory.reflections}
    return [new for entry in entries if (new := without_records(entry, recorded)) is not None]
