"""Entries in pieces that a box takes: so many, so large, and none so large that nothing after it could be sent."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from minutebook.pipeline.excerpts import head_and_tail
from minutebook.pipeline.rows import Row, source_row
from minutebook.pipeline.sourcetext import entry_text
from minutebook.records import Part, SourceEntry
from minutebook.store import codec

ENTRIES_MAX = 500
READ_AT_ONCE = 25
"""Entries read from the store together: each may be megabytes."""
SMALLEST_MAX_BYTES = 20_000
"""Below this no box's limit is believed."""
EXCERPT_SHARE = 4
"""Of the limit an excerpt is made this fraction: what JSON escapes takes more bytes than characters."""


def stepwise(read: Callable[[int, int], list[Any]], start: int, stop: int) -> Iterator[Any]:
    """What `read` gives for start ≤ position < stop, a few at a time."""
    while start < stop:
        found = read(start, min(stop, start + READ_AT_ONCE))
        if not found:
            return
        yield from found
        start += len(found)


def chunks(rows: Iterable[Row], max_bytes: int) -> Iterator[list[Row]]:
    """Rows in their order, as many together as fit; one that is too large comes alone."""
    held: list[Row] = []
    size = 0
    for row in rows:
        more = len(codec.to_json(row)) + 1
        if held and (size + more > max_bytes or len(held) == ENTRIES_MAX):
            yield held
            held, size = [], 0
        held.append(row)
        size += more
    if held:
        yield held


def sendable_row(branch: str, position: int, entry: SourceEntry, max_bytes: int) -> tuple[Row, bool]:
    """The entry's row within the limit, and whether it had to be shortened: then heads and tails of its texts, marked.

    Its id and the hash of its raw text stay; the whole text stays where it is.
    """
    row = source_row(branch, position, entry)
    if sum(len(part.text) for part in entry.parts) * 2 < max_bytes and len(entry.parts) < ENTRIES_MAX:
        return row, False  # without escaping it all to see
    if len(codec.to_json(row)) <= max_bytes:
        return row, False
    room = max_bytes // EXCERPT_SHARE // max(1, len(entry.parts))
    cut = tuple(replace(part, text=head_and_tail(part.text, room)) for part in entry.parts)
    row = source_row(branch, position, replace(entry, parts=cut))
    room = max_bytes // EXCERPT_SHARE
    while len(codec.to_json(row)) > max_bytes and room:
        whole = Part(kind="text", text=head_and_tail(entry_text(entry), room))
        row = source_row(branch, position, replace(entry, parts=(whole,)))
        room //= 2
    return row, True
