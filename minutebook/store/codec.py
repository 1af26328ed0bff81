"""Record <-> JSON text, with a version. Old payloads are upgraded here, on read; nobody else knows the stored form.

Escaped to ASCII, so that lone surrogates survive every backend.
"""

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from minutebook.errors import StoreCorrupt, StoreTooNew
from minutebook.records import Branch, MemoryEntry, Part, RawPointer, SourceEntry, Usage
from minutebook.store.kernel import Item, Stored

VERSION = 1
SOURCE_KIND = "source"
_BRANCH_FIELDS = frozenset(field.name for field in fields(Branch))


def to_json(value: Any) -> str:
    """Compact ASCII JSON with sorted keys: the same value, the same bytes."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), sort_keys=True)


def from_json(text: str) -> dict[str, Any]:
    """A stored body as an object; StoreCorrupt when it is none, StoreTooNew when a newer version wrote it."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise StoreCorrupt(f"a stored record is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise StoreCorrupt("a stored record is no JSON object")
    version = value.get("v", VERSION)
    if not isinstance(version, int):
        raise StoreCorrupt(f"a stored record has the version {version!r}")
    if version > VERSION:
        raise StoreTooNew(f"a record of version {version} was written by a newer Minutebook; upgrade minutebook")
    return value


_SHORT = {
    "parent": "p",
    "time": "t",
    "tool_name": "tool",
    "custom_type": "custom",
    "call_id": "call",
    "is_error": "err",
    "typed": "typed",
    "moved": "moved",
    "text_sha256": "sha",
    "version_of": "of",
}


def source_item(entry: SourceEntry, weight: int) -> Item:
    """A source entry as an item of the log; fields at their default are left out."""
    body: dict[str, Any] = {"v": VERSION, "role": entry.role}
    for name, short in _SHORT.items():
        value = getattr(entry, name)
        if value:
            body[short] = value
    body["parts"] = [_part_out(part) for part in entry.parts]
    if entry.usage:
        body["use"] = [entry.usage.reply_id, entry.usage.model, entry.usage.context_tokens]
    if entry.raw:
        body["raw"] = [entry.raw.path, entry.raw.offset, entry.raw.length]
    return Item(entry.id, SOURCE_KIND, weight, to_json(body))


def source_entry(stored: Stored) -> SourceEntry:
    """The source entry of an item."""
    body = from_json(stored.body)
    use, raw = body.get("use"), body.get("raw")
    return SourceEntry(
        id=stored.id,
        parent=body.get("p"),
        role=_field(body, "role"),
        time=body.get("t", ""),
        parts=tuple(_part_in(row) for row in _field(body, "parts")),
        tool_name=body.get("tool", ""),
        custom_type=body.get("custom", ""),
        call_id=body.get("call", ""),
        is_error=body.get("err", False),
        typed=body.get("typed", False),
        moved=body.get("moved", False),
        usage=Usage(reply_id=use[0], model=use[1], context_tokens=use[2]) if use else None,
        raw=RawPointer(path=raw[0], offset=raw[1], length=raw[2]) if raw else None,
        text_sha256=body.get("sha", ""),
        version_of=body.get("of", ""),
    )


def _part_out(part: Part) -> list[str]:
    row = [part.kind, part.text, part.name, part.call_id]
    while row[-1] == "" and len(row) > 2:
        row.pop()
    return row


def _part_in(row: list[Any]) -> Part:
    kind, text, name, call_id = [*row, "", "", ""][:4]
    return Part(kind=kind, text=text, name=name, call_id=call_id)


def memory_item(entry: MemoryEntry) -> Item:
    """A memory entry as an item of the log; memory has no weight (003-048)."""
    body = {
        "v": VERSION,
        "covers": entry.covers,
        "since": entry.since,
        "covers_id": entry.covers_id,
        "time": entry.time,
        "data": dict(entry.data),
    }
    return Item(entry.id, entry.kind, 0, to_json(body))


def memory_entry(branch: str, stored: Stored) -> MemoryEntry:
    """The memory entry of an item of a branch's memory stream."""
    body = from_json(stored.body)
    return MemoryEntry(
        id=stored.id,
        kind=stored.kind,
        covers=_field(body, "covers"),
        since=_field(body, "since"),
        covers_id=_field(body, "covers_id"),
        time=_field(body, "time"),
        data=_field(body, "data"),
        branch=branch,
        index=stored.position,
    )


def branch_json(branch: Branch) -> str:
    """A branch as a document."""
    return to_json({"v": VERSION, **{field.name: getattr(branch, field.name) for field in fields(branch)}})


def branch_of(text: str) -> Branch:
    """The branch of a document; unknown fields of a later minor version are ignored."""
    body = from_json(text)
    try:
        return Branch(**{key: value for key, value in body.items() if key in _BRANCH_FIELDS})
    except TypeError as error:
        raise StoreCorrupt(f"a stored branch is not whole: {error}") from error


def _field(body: Mapping[str, Any], name: str) -> Any:
    if name not in body:
        raise StoreCorrupt(f"a stored record lacks {name!r}")
    return body[name]
