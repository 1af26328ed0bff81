"""Rows: what is written is read back as it was, and whatever is malformed is refused with its row and field."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.errors import BadInput
from minutebook.pipeline.rows import (
    PART_KINDS,
    Lengths,
    branch_of_row,
    branch_row,
    lengths_of_row,
    lengths_row,
    memory_of_row,
    memory_row,
    session_of_row,
    session_row,
    source_of_row,
    source_place,
    source_row,
)
from minutebook.pipeline.sessions import Session
from minutebook.records import MEMORY_KINDS, ROLES, Branch, MemoryEntry, Part, RawPointer, SourceEntry, Usage
from minutebook.store import codec

TEXTS = st.text(max_size=12) | st.sampled_from(["\ud800", "\x00", "é\u2028", ""])
NAMES = st.text(min_size=1, max_size=12)
COUNTS = st.integers(0, 2**53)
NUMBERS = st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
DATA = st.dictionaries(
    TEXTS,
    st.recursive(
        st.none() | st.booleans() | NUMBERS | TEXTS,
        lambda each: st.lists(each, max_size=3) | st.dictionaries(TEXTS, each, max_size=3),
        max_leaves=6,
    ),
    max_size=3,
)
PARTS = st.builds(Part, kind=st.sampled_from(PART_KINDS), text=TEXTS, name=TEXTS, call_id=TEXTS)
SOURCES = st.builds(
    SourceEntry,
    id=NAMES,
    parent=st.none() | NAMES,
    role=st.sampled_from(ROLES),
    time=TEXTS,
    parts=st.lists(PARTS, max_size=3).map(tuple),
    tool_name=TEXTS,
    custom_type=TEXTS,
    call_id=TEXTS,
    is_error=st.booleans(),
    typed=st.booleans(),
    moved=st.booleans(),
    usage=st.none() | st.builds(Usage, reply_id=TEXTS, model=TEXTS, context_tokens=st.none() | COUNTS),
    raw=st.none() | st.builds(RawPointer, path=TEXTS, offset=COUNTS, length=COUNTS),
    text_sha256=st.sampled_from(["", "0f" * 32]),
    version_of=TEXTS,
)
MEMORIES = st.builds(
    MemoryEntry,
    id=NAMES,
    kind=st.sampled_from(MEMORY_KINDS),
    covers=COUNTS,
    since=st.just(0),
    covers_id=TEXTS,
    time=TEXTS,
    data=DATA,
    branch=NAMES,
    index=COUNTS,
)
GROWTH = st.tuples(TEXTS, COUNTS, COUNTS).map(list)
SESSIONS = st.builds(
    Session,
    key=NAMES,
    host=NAMES,
    session=NAMES,
    agent=TEXTS,
    project=TEXTS,
    path=TEXTS,
    title=TEXTS,
    branches=st.lists(TEXTS, max_size=3),
    follows=st.just([]) | st.tuples(TEXTS, COUNTS).map(list),
    passed=st.lists(st.tuples(TEXTS, COUNTS).map(list), max_size=2),
    cursor=DATA,
    unknown=st.dictionaries(TEXTS, COUNTS, max_size=2),
    broken=st.lists(COUNTS, max_size=2),
    prompts=COUNTS,
    compactions=st.lists(TEXTS, max_size=2),
    ended=st.booleans(),
    touched=st.floats(0, 2e9),
    calibration=st.just({})
    | st.fixed_dictionaries(
        {
            "reply": TEXTS,
            "model": TEXTS,
            "reported": COUNTS,
            "estimated": COUNTS,
            "before": GROWTH,
            "growth": st.lists(GROWTH, max_size=2),
        }
    ),
)
BRANCHES = st.builds(
    Branch,
    key=NAMES,
    host=NAMES,
    session=NAMES,
    lineage=NAMES,
    parent=TEXTS,
    fork=COUNTS,
    parent_memory=COUNTS,
    project=TEXTS,
    kind=st.sampled_from(["main", "fork", "subagent"]),
    fork_id=TEXTS,
    memory_id=TEXTS,
    observed=COUNTS,
    reflected=COUNTS,
    given=COUNTS,
)


def wired(row: Any) -> Any:
    return json.loads(codec.to_json(row))


@given(SOURCES, COUNTS)
@settings(max_examples=100, deadline=None)
def test_a_source_entry_is_read_back(entry: SourceEntry, position: int) -> None:
    row = wired(source_row("k", position, entry, here=True))
    assert source_of_row(row) == entry and source_place(row) == ("k", position)
    assert source_of_row(wired(source_row("k", position, entry))) == replace(entry, raw=None)


@given(MEMORIES)
@settings(max_examples=60, deadline=None)
def test_a_memory_entry_is_read_back(entry: MemoryEntry) -> None:
    assert memory_of_row(wired(memory_row(entry))) == entry


@given(SESSIONS)
@settings(max_examples=60, deadline=None)
def test_a_session_is_read_back(session: Session) -> None:
    assert session_of_row(wired(session_row(session, here=True))) == session
    away = session_of_row(wired(session_row(session)))
    assert (away.path, away.cursor, away.follows, away.broken) == ("", {}, [], [])
    assert (away.key, away.branches, away.passed, away.calibration) == (
        session.key,
        session.branches,
        session.passed,
        session.calibration,
    )


@given(BRANCHES)
@settings(max_examples=40, deadline=None)
def test_a_branch_is_read_back(branch: Branch) -> None:
    assert branch_of_row(wired(branch_row(branch))) == branch


def test_lengths_are_read_back() -> None:
    found = Lengths(3, "e2", 2, "m1", {"observer": 3}, True, 1)
    assert lengths_of_row(wired(lengths_row(found))) == found


def test_no_number_that_json_lacks_is_written() -> None:
    entry = MemoryEntry(id="m", kind=MEMORY_KINDS[0], covers=0, since=0, data={"x": [float("nan"), float("inf"), 1.5]})
    assert memory_row(entry)["data"] == {"x": [None, None, 1.5]}


ENTRY = SourceEntry(
    id="e",
    role="user",
    parts=(Part(kind="text", text="x"),),
    usage=Usage(reply_id="r", model="m", context_tokens=1),
    raw=RawPointer(path="/x", offset=0, length=1),
)
MEMORY = MemoryEntry(id="m", kind=MEMORY_KINDS[0], covers=1, since=0, branch="k", index=0)
GOOD: dict[str, tuple[Any, Any]] = {
    "source": (source_of_row, source_row("k", 0, ENTRY, here=True)),
    "memory": (memory_of_row, memory_row(MEMORY)),
    "session": (session_of_row, session_row(Session(key="h:s", host="h", session="s"), here=True)),
    "branch": (branch_of_row, branch_row(Branch(key="h:s", host="h", session="s", lineage="h:s"))),
}
WRONG = (-1, 1.5, "\x00" * 100_001, [[]], {"x": object}, object())
FINE = {
    ("source", "branch"): WRONG,  # source_place reads these two
    ("source", "position"): WRONG,
    ("source", "usage"): (WRONG[4],),  # an object, of which unknown fields are nobody's business
    ("source", "raw"): (WRONG[4],),
    ("session", "calibration"): (WRONG[4],),
    ("session", "touched"): WRONG[:2],
}
"""What may stand in a field all the same."""


@pytest.mark.parametrize("kind", GOOD)
def test_each_field_of_another_type_is_named(kind: str) -> None:
    read, row = GOOD[kind]
    read(row)
    for field in row:
        for value in WRONG:
            if value not in FINE.get((kind, field), ()):
                with pytest.raises(BadInput, match=rf"a {kind} row") as error:
                    read({**row, field: value})
                assert field in str(error.value) or field == "row"


@pytest.mark.parametrize(
    ("kind", "changes", "words"),
    [
        ("source", {"role": "system"}, "role: one of user"),
        ("source", {"id": ""}, "id: a text"),
        ("source", {"text_sha256": "xyz"}, "64 lowercase hex"),
        ("source", {"parts": [{"kind": "video"}]}, "parts: kind: one of text"),
        ("source", {"usage": {"context_tokens": -1}}, "usage: context_tokens"),
        ("source", {"is_error": 1}, "is_error: true or false"),
        ("memory", {"kind": "om.other"}, "kind: one of"),
        ("memory", {"since": 2}, "since: at most covers"),
        ("memory", {"covers": True}, "covers: a whole number"),
        ("memory", {"covers": 2**60}, "covers: a whole number"),
        ("memory", {"data": {"x": float("nan")}}, "data: plain JSON"),
        ("session", {"calibration": {"growth": [["m", "1", 2]]}}, "growth: a whole number"),
        ("session", {"passed": [["k"]]}, "passed: a branch and a count"),
        ("branch", {"kind": "twig"}, "kind: one of main"),
        ("branch", {"row": "session"}, "a branch row is wanted"),
    ],
)
def test_what_is_wrong_is_said(kind: str, changes: dict[str, Any], words: str) -> None:
    read, row = GOOD[kind]
    with pytest.raises(BadInput, match=words):
        read({**row, **changes})


def test_nesting_without_end_is_refused() -> None:
    read, row = GOOD["memory"]
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(BadInput, match="nested"):
        read({**row, "data": {"x": deep}})
    for rubbish in (None, 3, "x", [row]):
        with pytest.raises(BadInput, match="no JSON object"):
            read(rubbish)
