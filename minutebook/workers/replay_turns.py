"""A recorded session cut into turns, a turn into deliveries, and a path at the place from which entries stay. Pure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from minutebook.pipeline.deliveries import HostCompaction, ImportedMemory
from minutebook.pipeline.sourcetext import entry_tokens
from minutebook.records import Placed, SourceEntry

Event = SourceEntry | HostCompaction | ImportedMemory


@dataclass(frozen=True, slots=True)
class Turn:
    """number: of its typed prompt, from 1; 0 for what stands before the first."""

    number: int
    events: tuple[Event, ...]


def turns_of(events: Iterable[Event]) -> list[Turn]:
    """From each typed prompt up to before the next."""
    turns: list[list[Event]] = [[]]
    for event in events:
        if isinstance(event, SourceEntry) and event.typed:
            turns.append([])
        turns[-1].append(event)
    return [Turn(number, tuple(held)) for number, held in enumerate(turns) if held]


def without_compactions(events: Iterable[Event]) -> tuple[list[Event], int]:
    """The events but the host's own compactions, and how many those were."""
    kept: list[Event] = []
    left_out = 0
    for event in events:
        if isinstance(event, HostCompaction):
            left_out += 1
        else:
            kept.append(event)
    return kept, left_out


def deliveries_of(events: Sequence[Event], max_tokens: int) -> list[tuple[Event, ...]]:
    """A turn in pieces, as a host reports it while it runs: about max_tokens each, no call cut from its result.

    A turn may be longer than a whole context; between two pieces is where a host compacts in the midst of it.
    """
    pieces: list[list[Event]] = [[]]
    tokens = 0
    waiting: set[str] = set()
    for event in events:
        if isinstance(event, SourceEntry):
            if tokens >= max_tokens and not waiting and event.role != "tool_result":
                pieces.append([])
                tokens = 0
            tokens += entry_tokens(event)
            waiting = (waiting | _calls_of(event)) - {event.call_id}
        pieces[-1].append(event)
    return [tuple(piece) for piece in pieces if piece]


def last_known(pieces: Iterable[Iterable[Event]], known: Callable[[SourceEntry], bool]) -> int:
    """Index of the last piece of which an entry is known already, 0 when none is.

    An entry counts for the piece in which it comes first: a host may write it again later.
    """
    last, seen = 0, set()
    for index, piece in enumerate(pieces):
        for event in piece:
            if isinstance(event, SourceEntry) and (event.id, event.text_sha256) not in seen:
                seen.add((event.id, event.text_sha256))
                last = index if known(event) else last
    return last


def kept_from(entries: Sequence[Placed], keep_tokens: int) -> int:
    """Index of the first entry that stays: the newest ones of at most keep_tokens, and the calls that they answer.

    At least one entry stays. Where a result stays, everything from its call on does, so it may be somewhat more.
    """
    start, used = len(entries), 0
    while start and (used + entries[start - 1].tokens <= keep_tokens or start == len(entries)):
        start -= 1
        used += entries[start].tokens
    called = {call: index for index, placed in enumerate(entries) for call in _calls_of(placed.entry)}
    index = len(entries) - 1
    while index >= start:
        entry = entries[index].entry
        if entry.role == "tool_result":
            start = min(start, called.get(entry.call_id, start))
        index -= 1
    return start


def _calls_of(entry: SourceEntry) -> set[str]:
    return {part.call_id for part in entry.parts if part.kind == "tool_call" and part.call_id}
