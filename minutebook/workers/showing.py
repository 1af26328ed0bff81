"""The text forms in which a mind sees sources and records. Pure."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TypeVar

from minutebook.pipeline.excerpts import head_and_tail
from minutebook.pipeline.questions import Candidate
from minutebook.pipeline.shapes import TIMESTAMP, one_line
from minutebook.pipeline.wording import UNREADABLE_TIME, local_minute, zone_of
from minutebook.records import Observation, Reflection, SourceEntry
from minutebook.workers.contract import Shown, Weighed

__all__ = [
    "NONE_YET",
    "SEPARATOR",
    "UNREADABLE_TIME",
    "candidate_line",
    "fitting",
    "header_of",
    "is_minute",
    "line_cost",
    "lines_or_none",
    "local_minute",
    "newest_first",
    "shown_text",
    "weighed_line",
    "zone_of",
]

SEPARATOR = "\n\n"
"""Between two source blocks; counted in the chunk cap."""
NONE_YET = "(none yet)"
MINUTE = "%Y-%m-%d %H:%M"
NAME_CHARACTERS = 80

T = TypeVar("T")


def shown_text(shown: Shown) -> str:
    """A source as the block that is sent: a header line with alias, role and time, then its text."""
    return header_of(shown.alias, shown.placed.entry, shown.time, excerpted=shown.excerpted) + shown.text


def header_of(alias: str, entry: SourceEntry, time: str, *, excerpted: bool = False) -> str:
    """A block's header line, its line break included."""
    name = one_line(head_and_tail(entry.tool_name or entry.custom_type, NAME_CHARACTERS))
    role = " ".join(filter(None, (entry.role, name, "(error)" if entry.is_error else "")))
    return f"[{alias}] {role}, {time}{', excerpt' if excerpted else ''}\n"


def weighed_line(weighed: Weighed) -> str:
    """An observation with its coverage tier, as reflector and dropper are sent it (003-020)."""
    record = weighed.observation
    return f"[{record.id}] {record.timestamp} [{record.relevance}] [coverage: {weighed.tier}] {record.content}"


def candidate_line(record: Candidate) -> str:
    """A record or a turn as the judge is sent it."""
    head = ", ".join(filter(None, (record.kind.replace("_", " "), record.relevance, record.state)))
    return " ".join(filter(None, (f"[{record.id}]", record.time, f"[{head}]", record.text)))


def lines_or_none(lines: Iterable[str]) -> str:
    """The lines of a list, or the words for an empty one."""
    return "\n".join(lines) or NONE_YET


def is_minute(text: str) -> bool:
    """Whether a text is YYYY-MM-DD HH:MM and such a minute exists."""
    if not TIMESTAMP.fullmatch(text) or not text.isascii():
        return False
    try:
        datetime.strptime(text, MINUTE)
    except ValueError:
        return False
    return True


def fitting(items: Sequence[T], max_tokens: int, *, cost: Callable[[T], int], tried: Iterable[int]) -> tuple[T, ...]:
    """The items that fit together, tried in the order of the indexes `tried`, given back in their own order."""
    kept, free = set(), max_tokens
    for index in tried:
        price = cost(items[index])
        if price <= free:
            kept.add(index)
            free -= price
    return tuple(item for index, item in enumerate(items) if index in kept)


def newest_first(items: Sequence[object]) -> range:
    """The indexes of a list that is in ledger order, from its end."""
    return range(len(items) - 1, -1, -1)


def line_cost(record: Observation | Reflection) -> int:
    """Tokens of a record's rendered line and its line break."""
    return record.tokens + 1
