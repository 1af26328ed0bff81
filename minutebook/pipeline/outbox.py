"""Memory that was made here for a branch whose memory is a box's: it waits until the box has placed it.

One document a branch, in order. What came back with the box's memory is taken out in the transaction that appends it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from minutebook.pipeline.branches import memory_stream
from minutebook.records import FOLD, Branch, MemoryEntry
from minutebook.store import codec
from minutebook.store.kernel import Put, Store, Stored

OUTBOX = "outbox"


@dataclass(frozen=True, slots=True)
class Outbox:
    """The entries that wait, oldest first, and the document's version."""

    entries: tuple[MemoryEntry, ...] = ()
    version: int = 0

    @property
    def ids(self) -> frozenset[str]:
        """Ids of the entries."""
        return frozenset(entry.id for entry in self.entries)


def outbox(store: Store, branch: Branch) -> list[MemoryEntry]:
    """What is still to be offered to the box, oldest first."""
    entries = read_outbox(store, branch.key).entries
    there = store.find(memory_stream(branch.key), [entry.id for entry in entries]) if entries else {}
    return [entry for entry in entries if entry.id not in there]


def waiting_after(store: Store, branch: Branch, length: int) -> list[MemoryEntry]:
    """What waits and holds here already, as if it stood behind that length of the branch's own memory.

    Not the folds: what a compaction showed is settled when the box has it.
    """
    held = [entry for entry in outbox(store, branch) if entry.kind != FOLD]
    return [replace(entry, index=length + at) for at, entry in enumerate(held)]


def read_outbox(store: Store, branch_key: str) -> Outbox:
    """The outbox as it is stored."""
    document = store.get(OUTBOX, branch_key)
    if document is None:
        return Outbox()
    rows = codec.from_json(document.body)["entries"]
    entries = (codec.memory_entry(branch_key, Stored(-1, id_, kind, 0, 0, body)) for id_, kind, body in rows)
    return Outbox(tuple(entries), document.version)


def outbox_put(
    branch_key: str, held: Outbox, more: Sequence[MemoryEntry] = (), *, without: Collection[str] = ()
) -> Put:
    """The write of an outbox with more entries, or without some, that fails when another came first."""
    items = [codec.memory_item(entry) for entry in (*held.entries, *more) if entry.id not in without]
    body = {"v": codec.VERSION, "entries": [[item.id, item.kind, item.body] for item in items]}
    return Put(OUTBOX, branch_key, codec.to_json(body), if_version=held.version)
