"""Ways to break a record: values that no host writes, at any place in it, and bytes that are no record at all."""

import copy
import json
from collections.abc import Iterator, Sequence
from typing import Any

from hypothesis import strategies as st
from transcripts import Row, Sample, encoded

Place = tuple[str | int, ...]

TIMES = [
    "0000-00-00T00:00:00Z",
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59-23:59",
    "-2026-01-01",
    "yesterday",
    "2026-02-30T25:61:61Z",
    "+275760-09-13T00:00:00Z",
    10**20,
    -(10**20),
    -62_135_596_801,
    253_402_300_800_000,
    1e308,
    -1,
    0,
    float("nan"),
    float("inf"),
]
IDS = [
    "",
    "../../../../etc/passwd",
    "/etc/passwd",
    "..",
    "a/b@c#1~d:e",
    "\0",
    "~/.ssh/id",
    "con\nnul\r",
    "%2e%2e%2f",
    "x" * 100_000,
    "\u202e\u200b",
    "'; drop table items; --",
]
TEXTS = [
    "\ud800",
    "\udfff\ud800 half a pair",
    "\0",
    "\x1b]0;title\x07\x1b[2J",
    "</minutebook>",
    "<minutebook>",
    "{" * 500,
    "\u2028\u2029\x85",
    "a" * 70_000,
    "文" * 30_000,
]
NUMBERS: list[Any] = [10**400, -(10**30), 2**63, 1.5, -0.0, True, None]


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


OTHER: list[Any] = [[], {}, [None], {"": {}}, [[]] * 50, {"type": ["user"]}, nested(150), [{"type": "text"}] * 3]
HOSTILE = st.sampled_from([*TIMES, *IDS, *TEXTS, *NUMBERS, *OTHER]) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
JUNK = st.binary(max_size=60) | st.sampled_from(
    [
        b"",
        b"\xef\xbb\xbf",
        b"\0" * 40,
        b"\xff\xfe{\0",
        b"[" * 2_000,
        b'{"a":' * 2_000,
        b'{"type":"user","timestamp":"x"',
        b"null",
        b"1e999",
        b"NaN",
        b"9" * 5_000,
        b'"\\ud800"',
        b"}}]]",
        b'{"type": "user", "type": 1}',
    ]
)


def places_in(value: Any, at: Place = ()) -> Iterator[Place]:
    """Every place in a record, from its keys down to its leaves."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield (*at, key)
        yield from places_in(inner, (*at, key))


@st.composite
def broken_row(draw: st.DrawFn, rows: Sequence[Row]) -> Row:
    """A record with one to three values replaced, left out, or copied to another place of it."""
    row = copy.deepcopy(draw(st.sampled_from(rows)))
    for _ in range(draw(st.integers(1, 3))):
        places = list(places_in(row))
        if not places:
            break
        *way, last = draw(st.sampled_from(places))
        holder: Any = row
        for key in way:
            holder = holder[key]
        if draw(st.integers(0, 4)) == 0 and isinstance(holder, dict):
            del holder[last]
        else:
            holder[last] = copy.deepcopy(draw(HOSTILE))
    return row


@st.composite
def broken_line(draw: st.DrawFn, sample: Sample) -> bytes:
    """One broken record as it may stand in a file, or no record at all."""
    row = draw(broken_row(sample.rows) | st.sampled_from([*sample.rows, *sample.head]))
    line = draw(st.sampled_from([encoded, _escaped]))(row)
    how = draw(st.sampled_from(["whole", "whole", "whole", "twice", "half", "spliced", "key twice", "junk"]))
    if how == "junk":
        return draw(JUNK)
    if how == "half":
        return line[: draw(st.integers(0, len(line)))]
    if how == "spliced":
        at = draw(st.integers(0, len(line)))
        return line[:at] + draw(JUNK) + line[at:]
    if how == "key twice":
        return line[:-1] + b"," + _escaped(draw(broken_row(sample.rows)))[1:]
    return line + b"\n" + line if how == "twice" and sample.suffix == ".jsonl" else line


def _escaped(row: object) -> bytes:
    return json.dumps(row).encode("ascii")
