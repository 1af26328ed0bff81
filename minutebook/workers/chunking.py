"""Which source entries one observer run is sent: oldest first, whole, within the chunk cap."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import tzinfo

from minutebook.pipeline.branches import Path
from minutebook.pipeline.excerpts import head_and_tail_tokens, is_unobserved
from minutebook.pipeline.sourcetext import entry_text, renders_to_nothing
from minutebook.records import Placed
from minutebook.settings import OBSERVER_CHUNK_SMALLEST_TOKENS
from minutebook.tokens import estimate_tokens
from minutebook.workers.contract import Shown
from minutebook.workers.showing import SEPARATOR, header_of, local_minute, shown_text

CHUNK_TOKENS = 60_000
"""The cap when neither a setting nor the model's window says otherwise."""
WINDOW_PARTS = 5
READ_STEP = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """What one run is sent, and the coverage that it reaches: up to the first entry that waits for the next run.

    start: position of the first entry sent (where nothing is sent, of the first read). covers_id: id of the last
    entry covered, "" when there is none.
    """

    shown: tuple[Shown, ...]
    start: int
    covers: int
    covers_id: str


def chunk_cap(chunk_max_tokens: int | None, window: int | None) -> int:
    """The setting; else a fifth of the window, at least 256; else 60,000 (003-004)."""
    if chunk_max_tokens is not None:
        return chunk_max_tokens
    if window is None or window <= 0:
        return CHUNK_TOKENS
    return max(OBSERVER_CHUNK_SMALLEST_TOKENS, window // WINDOW_PARTS)


def take_chunk(path: Path, start: int, *, cap_tokens: int, zone: tzinfo, max_entries: int | None = None) -> Chunk:
    """Whole entries from `start` on until one does not fit; a lone one over the cap as an excerpt within it.

    What is never sent (ours, or rendered to nothing) is passed. The text sent is estimated with headers and separators.
    """
    shown: list[Shown] = []
    used, last = 0, None
    for placed in _walk(path, start):
        if is_sendable(placed):
            block = _block(placed, f"s{len(shown) + 1}", zone)
            price = _price(block, first=not shown)
            if shown and (used + price > cap_tokens or len(shown) == max_entries):
                break
            if price > cap_tokens:
                block, price = _excerpt(block, cap_tokens), cap_tokens
            shown.append(block)
            used += price
        last = placed
    return Chunk(
        shown=tuple(shown),
        start=shown[0].placed.position if shown else start,
        covers=last.position + 1 if last else start,
        covers_id=last.entry.id if last else "",
    )


def is_sendable(placed: Placed) -> bool:
    """Whether the observer is sent it: not ours, and not rendered to nothing (003-001, 003-003)."""
    return not is_unobserved(placed) and not renders_to_nothing(placed.entry)


def _walk(path: Path, start: int) -> Iterator[Placed]:
    while step := path.read(start, limit=READ_STEP):
        yield from step
        start = step[-1].position + 1


def _block(placed: Placed, alias: str, zone: tzinfo) -> Shown:
    return Shown(alias=alias, placed=placed, time=local_minute(placed.entry.time, zone), text=entry_text(placed.entry))


def _price(block: Shown, *, first: bool) -> int:
    return estimate_tokens(("" if first else SEPARATOR) + shown_text(block))


def _excerpt(block: Shown, cap_tokens: int) -> Shown:
    header = header_of(block.alias, block.placed.entry, block.time, excerpted=True)
    text = head_and_tail_tokens(block.text, max(1, cap_tokens - estimate_tokens(header)))
    return Shown(alias=block.alias, placed=block.placed, time=block.time, text=text, excerpted=True)
