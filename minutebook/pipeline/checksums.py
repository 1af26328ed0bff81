"""One number for all ids of a branch's own memory in their order: whether two copies of one length hold the same.

A mark, brought forward by every write of entries. Lengths and last ids alone may agree by chance where a box lost
entries: what its workers record twice may get the same id in the same place.
"""

from collections.abc import Iterable, Sequence

from minutebook.pipeline.branches import memory_stream
from minutebook.records import Branch, MemoryEntry, content_id
from minutebook.store.kernel import Store, Tip

CHECKSUM = "checksum"
LENGTH_BITS = 20
"""The mark ends in so many bits of the length that it is of: whoever does not know it leaves it behind."""


def next_checksum(store: Store, branch: Branch, tip: Tip, entries: Sequence[MemoryEntry]) -> int:
    """The mark with these new entries behind that tip; from all ids where those before have none yet."""
    before = checksum_of(tip)
    old = store.read(memory_stream(branch.key), 0, tip.length) if tip.length and not before else []
    ids = [*(stored.id for stored in old), *(entry.id for entry in entries)]
    return _checksum(before >> LENGTH_BITS, ids) << LENGTH_BITS | _end_of(tip.length + len(entries))


def checksum_of(tip: Tip) -> int:
    """As the mark says; 0 where it does not reach the end, and of no entries."""
    value = tip.marks.get(CHECKSUM, 0)
    return value if value and _end_of(value) == _end_of(tip.length) else 0


def _end_of(length: int) -> int:
    return length % (1 << LENGTH_BITS)


def _checksum(value: int, ids: Iterable[str]) -> int:
    """Of 32 bits: with the length it is a number that every reader of JSON keeps."""
    for id_ in ids:
        value = int(content_id(str(value), id_)[:8], 16)
    return value
