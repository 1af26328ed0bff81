"""Sessions, branches, entries as JSON rows: what goes over the wire to a box, and into an export. Pure.

A row says only what means something elsewhere: no weight and no token sum (whoever takes it in counts anew), and no
place in a file of this machine, unless `here` is asked for (an export). Reading one back raises BadInput for whatever
is malformed, naming the row and its field. Described in docs/formats.md.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from minutebook.pipeline import calibration
from minutebook.pipeline.rowfields import Fields, plain_data
from minutebook.pipeline.sessions import Session
from minutebook.records import MEMORY_KINDS, ROLES, Branch, MemoryEntry, Part, RawPointer, SourceEntry, Usage

Row = dict[str, Any]

PART_KINDS = ("text", "thinking", "tool_call", "image", "other")
BRANCH_KINDS = ("main", "fork", "subagent")
PARTS_MAX = 100_000

_NAMES = ("agent", "project", "host_version", "started", "last_time", "lineage", "branch", "title", "model")
_SESSION: tuple[str, ...] = ("key", "host", "session", "zone", *_NAMES, "branches", "passed", "versions", "prompts")
_SESSION += ("compactions", "ended", "touched", "calibration")
_SESSION_HERE = ("path", "cursor", "follows", "unknown", "skipped", "broken", "broken_count", "replaced")
_BRANCH = tuple(each.name for each in fields(Branch) if each.name != "base_tokens")
_ENTRY_TEXTS = ("tool_name", "custom_type", "call_id", "version_of")
_ENTRY_FLAGS = ("is_error", "typed", "moved")


@dataclass(frozen=True, slots=True)
class Lengths:
    """What a store has of one branch: lengths of its own streams, and the id of the last entry of each, "" for none.

    marks: coverages and the like (see boxkeeping.SHARED_MARKS). boxed: its memory is a box's, and only copied here.
    parent_memory: how much of the parent's memory it inherits.
    """

    sources: int
    sources_tip: str
    memory: int
    memory_tip: str
    marks: Mapping[str, int]
    boxed: bool = False
    parent_memory: int = 0


# -- writing -------------------------------------------------------------------------------------------------------


def session_row(session: Session, *, here: bool = False) -> Row:
    """A session. here: with what only this machine can use: where its file is, how far it was read, and how."""
    names = _SESSION + (_SESSION_HERE if here else ())
    return {"row": "session", **{name: _finite(getattr(session, name)) for name in names}}


def branch_row(branch: Branch) -> Row:
    """A branch, without the tokens of what it shares."""
    return {"row": "branch", **{name: getattr(branch, name) for name in _BRANCH}}


def source_row(branch: str, position: int, entry: SourceEntry, *, here: bool = False) -> Row:
    """A source entry at a position of the branch's own stream; fields at their default are left out."""
    row: Row = {"row": "source", "branch": branch, "position": position}
    row |= {"id": entry.id, "role": entry.role, "time": entry.time, "parts": [*map(_part_row, entry.parts)]}
    optional = ("parent", *_ENTRY_TEXTS, *_ENTRY_FLAGS, "text_sha256")
    row |= {name: value for name in optional if (value := getattr(entry, name))}
    if entry.usage is not None:
        use = entry.usage
        row["usage"] = {"reply_id": use.reply_id, "model": use.model, "context_tokens": use.context_tokens}
    if here and entry.raw is not None:
        row["raw"] = {"path": entry.raw.path, "offset": entry.raw.offset, "length": entry.raw.length}
    return row


def memory_row(entry: MemoryEntry) -> Row:
    """A memory entry in its place (entry.branch, entry.index); one that has none yet has no index."""
    return {
        "row": "memory",
        "branch": entry.branch,
        **({"index": entry.index} if entry.index >= 0 else {}),
        "id": entry.id,
        "kind": entry.kind,
        "covers": entry.covers,
        "since": entry.since,
        "covers_id": entry.covers_id,
        "time": entry.time,
        "data": _finite(dict(entry.data)),
    }


def lengths_row(found: Lengths) -> Row:
    """Lengths as JSON values."""
    return {each.name: getattr(found, each.name) for each in fields(Lengths)} | {"marks": dict(found.marks)}


def _part_row(part: Part) -> Row:
    row: Row = {"kind": part.kind, "text": part.text}
    return row | {name: value for name in ("name", "call_id") if (value := getattr(part, name))}


def _finite(value: Any) -> Any:
    """Without NaN and infinities, which are no JSON: null stands for them."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    return [*map(_finite, value)] if isinstance(value, list | tuple) else value


# -- reading -------------------------------------------------------------------------------------------------------


def session_of_row(row: Any) -> Session:
    """The session of a row; BadInput."""
    given = Fields(row, "session")
    return Session(
        key=given.name("key"),
        host=given.name("host"),
        session=given.name("session"),
        **_each(given.name, _NAMES, ""),
        **_each(given.count, ("versions", "prompts", "broken_count", "replaced"), 0),
        unknown=_counts_of(given, "unknown"),
        skipped=_counts_of(given, "skipped"),
        zone=given.name("zone", "UTC"),
        path=given.name("path", ""),
        branches=[*given.names("branches")],
        compactions=[*given.names("compactions")],
        follows=_place_of(given, "follows", given.items("follows")) if given.items("follows") else [],
        passed=[_place_of(given, "passed", place) for place in given.items("passed")],
        cursor=plain_data(given, "cursor"),
        broken=[given.whole("broken", each) for each in given.items("broken")],
        ended=given.flag("ended"),
        touched=given.seconds("touched"),
        calibration=_calibration_of(given),
    )


def branch_of_row(row: Any) -> Branch:
    """The branch of a row, with base_tokens 0; BadInput."""
    given = Fields(row, "branch")
    return Branch(
        key=given.name("key"),
        host=given.name("host"),
        session=given.name("session"),
        lineage=given.name("lineage"),
        **_each(given.name, ("parent", "project", "created", "fork_id", "memory_id"), ""),
        **_each(given.count, ("fork", "parent_memory", "observed", "reflected", "given"), 0),
        zone=given.name("zone", "UTC"),
        kind=given.one_of("kind", BRANCH_KINDS),
    )


def source_of_row(row: Any) -> SourceEntry:
    """The source entry of a row; BadInput."""
    given = Fields(row, "source")
    parts = given.items("parts")
    if len(parts) > PARTS_MAX:
        raise given.wrong("parts", f"at most {PARTS_MAX:,}")
    return SourceEntry(
        id=given.name("id"),
        role=given.one_of("role", ROLES),
        parts=tuple(_part_of(part, given) for part in parts),
        **{name: _ENTRY_MORE[name](given, name) for name in given.row if name in _ENTRY_MORE},
    )


def source_place(row: Any) -> tuple[str, int]:
    """Branch and position that a source row names; BadInput."""
    given = Fields(row, "source")
    return given.name("branch"), given.count("position")


def memory_of_row(row: Any) -> MemoryEntry:
    """The memory entry of a row, in its place; BadInput. Its records are read as leniently as always: one by one."""
    given = Fields(row, "memory")
    covers, since = given.count("covers"), given.count("since")
    if since > covers:
        raise given.wrong("since", f"at most covers, which is {covers}")
    return MemoryEntry(
        id=given.name("id"),
        kind=given.one_of("kind", MEMORY_KINDS),
        covers=covers,
        since=since,
        covers_id=given.name("covers_id", ""),
        time=given.name("time", ""),
        data=plain_data(given, "data"),
        branch=given.name("branch", ""),
        index=given.count("index", -1),
    )


def lengths_of_row(row: Any) -> Lengths:
    """Lengths of JSON values; BadInput."""
    given = Fields(row, "lengths", named=False)
    return Lengths(
        sources=given.count("sources"),
        sources_tip=given.name("sources_tip", ""),
        memory=given.count("memory"),
        memory_tip=given.name("memory_tip", ""),
        marks=_counts_of(given, "marks"),
        boxed=given.flag("boxed"),
        parent_memory=given.count("parent_memory", 0),
    )


def _each(read: Callable[..., Any], names: Sequence[str], *default: Any) -> dict[str, Any]:
    return {name: read(name, *default) for name in names}


def _part_of(value: Any, entry: Fields) -> Part:
    given = Fields(value, "source", named=False, within="parts")
    kind: Any = given.one_of("kind", PART_KINDS)
    more = {name: given.name(name, "") for name in ("name", "call_id") if name in given.row}
    return Part(kind=kind, text=given.text("text"), **more)


def _usage_of(given: Fields, name: str) -> Usage | None:
    use = given.within(name)
    if use is None:
        return None
    tokens = None if use.missing("context_tokens") else use.count("context_tokens")
    return Usage(reply_id=use.name("reply_id", ""), model=use.name("model", ""), context_tokens=tokens)


def _raw_of(given: Fields, name: str) -> RawPointer | None:
    raw = given.within(name)
    if raw is None:
        return None
    return RawPointer(path=raw.name("path", ""), offset=raw.count("offset", 0), length=raw.count("length", 0))


def _text_of(given: Fields, name: str) -> str:
    return given.name(name, "")


_ENTRY_MORE: Mapping[str, Callable[[Fields, str], Any]] = {
    "parent": lambda given, name: given.name(name, "") or None,
    "usage": _usage_of,
    "raw": _raw_of,
    "text_sha256": Fields.digest,
    **dict.fromkeys(("time", *_ENTRY_TEXTS), _text_of),
    **dict.fromkeys(_ENTRY_FLAGS, Fields.flag),
}
"""What a source row may have besides; most have little of it, and a box reads many."""


def _counts_of(given: Fields, name: str) -> dict[str, int]:
    return {given.checked(name, key): given.whole(name, count) for key, count in plain_data(given, name).items()}


def _place_of(given: Fields, name: str, place: Any) -> list[Any]:
    """A branch and how many entries of it."""
    if not isinstance(place, list) or len(place) != 2:
        raise given.wrong(name, "a branch and a count")
    return [given.checked(name, place[0]), given.whole(name, place[1])]


def _calibration_of(given: Fields) -> dict[str, Any]:
    found = given.within("calibration")
    if found is None or not found.row:
        return {}
    state = calibration.Calibration(
        **_each(found.name, ("reply", "model"), ""),
        **_each(found.count, ("reported", "estimated"), 0),
        before=_growth_of(found, "before", found.row.get("before", ["", 0, 0])),
        growth=tuple(_growth_of(found, "growth", each) for each in found.items("growth")),
    )
    return calibration.to_data(state)


def _growth_of(given: Fields, name: str, value: Any) -> tuple[str, int, int]:
    """A model and two sums of tokens."""
    if not isinstance(value, list) or len(value) != 3:
        raise given.wrong(name, "a model and two counts")
    return given.checked(name, value[0]), given.whole(name, value[1]), given.whole(name, value[2])
