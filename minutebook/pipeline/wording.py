"""How numbers, times and texts are worded for a person, wherever they are shown. Pure."""

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

UNKNOWN_TIME = "Unknown time"
UNREADABLE_TIME = "????-??-?? ??:??"


def harmless(text: str) -> str:
    """The text with control characters (but line breaks and tabs) and invisible direction marks written out."""
    if text.isprintable():
        return text
    return "".join(_shown(c) for c in text)


def one_line(text: str) -> str:
    """The text on one line, harmless."""
    return harmless(" ".join(text.split()))


def _shown(c: str) -> str:
    if c in "\n\t" or c.isprintable() or not (ord(c) < 32 or 127 <= ord(c) < 160 or c in _DIRECTIONS):
        return c
    return f"\\x{ord(c):02x}" if ord(c) < 256 else f"\\u{ord(c):04x}"


_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def tokens(count: int) -> str:
    """Tokens for people: grouped by thousands, marked as an estimate (003-103)."""
    return f"~{count:,}"


def counted(count: int, one: str, many: str = "") -> str:
    """`1 entry`, `2 entries`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def minute(time: str, zone: str) -> str:
    """A time to the minute in the session's zone, or `Unknown time`."""
    shown = local_minute(time, zone_of(zone))
    return UNKNOWN_TIME if shown == UNREADABLE_TIME else shown


def seconds(count: float) -> str:
    """A span of time for people: 45 s, 3 min, 2 h, 5 d."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if count >= 2 * size:
            return f"{count / size:.0f} {unit}"
    return f"{count:.0f} s"


def zone_of(name: str) -> tzinfo:
    """The time zone of an IANA name; UTC for one that is not known."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return UTC


def local_minute(time: str, zone: tzinfo) -> str:
    """An ISO time (UTC where it names no offset) as YYYY-MM-DD HH:MM in the zone; question marks if unreadable."""
    try:
        read = datetime.fromisoformat(time)
        moment = read if read.tzinfo else read.replace(tzinfo=UTC)
        return format_minute(moment.astimezone(zone))
    except (ValueError, OverflowError):
        return UNREADABLE_TIME


def format_minute(moment: datetime) -> str:
    """YYYY-MM-DD HH:MM, the year with four digits on every platform."""
    return f"{moment.year:04}-{moment:%m-%d %H:%M}"
