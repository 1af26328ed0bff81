"""Record <-> stored text, with a version. Old payloads are upgraded here, on read; nobody else knows the stored form.

Everything is JSON, escaped to ASCII, but long texts (of source entries, compositions and checkpoints): they stand as
they are behind the JSON, because escaping a text takes longer than all else that is done to it.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from json.encoder import encode_basestring_ascii as _quoted
from typing import Any

from minutebook.errors import StoreCorrupt, StoreTooNew
from minutebook.records import Branch, MemoryEntry, Part, RawPointer, SourceEntry, Usage
from minutebook.store.kernel import Item, Stored

VERSION = 1
SOURCE_VERSION = 2
"""Of source entries: since 2 their texts stand after the JSON, not in it."""
SOURCE_KIND = "source"
_BRANCH_FIELDS = frozenset(field.name for field in fields(Branch))

to_json = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), sort_keys=True).encode
"""Compact ASCII JSON with sorted keys: the same value, the same bytes."""


def from_json(text: str, *, newest: int = VERSION) -> dict[str, Any]:
    """A stored body as an object; StoreCorrupt when it is none, StoreTooNew when a version after `newest` wrote it."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise StoreCorrupt(f"a stored record is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise StoreCorrupt("a stored record is no JSON object")
    version = value.get("v", VERSION)
    if not isinstance(version, int):
        raise StoreCorrupt(f"a stored record has the version {version!r}")
    if version > newest:
        raise StoreTooNew(f"a record of version {version} was written by a newer Minutebook; upgrade minutebook")
    return value


def text_to_store(header: Mapping[str, Any], text: str) -> str:
    """JSON values and a long text as one stored body."""
    return f"{to_json(header)}\n{text}"


def text_from_store(body: str) -> tuple[dict[str, Any], str]:
    """The values and the text of such a body."""
    header, _, text = body.partition("\n")
    return from_json(header), text


def source_item(entry: SourceEntry, weight: int) -> Item:
    """A source entry as an item of the log: a header in JSON on one line, without fields at their default, then the
    texts of its parts one after the other, as they are.
    """
    parts = ",".join([_part_out(part) for part in entry.parts])
    texts = "".join([part.text for part in entry.parts])
    header = f'{{"v":{SOURCE_VERSION},"role":{_quoted(entry.role)},"parts":[{parts}]{_optional_out(entry)}}}'
    return Item(entry.id, SOURCE_KIND, weight, f"{header}\n{texts}")


def _optional_out(entry: SourceEntry) -> str:
    """The fields that are not at their default, each behind a comma. Unrolled: it is done for every entry."""
    out = f',"p":{_quoted(entry.parent)}' if entry.parent else ""
    if entry.time:
        out += f',"t":{_quoted(entry.time)}'
    if entry.tool_name:
        out += f',"tool":{_quoted(entry.tool_name)}'
    if entry.custom_type:
        out += f',"custom":{_quoted(entry.custom_type)}'
    if entry.call_id:
        out += f',"call":{_quoted(entry.call_id)}'
    if entry.is_error:
        out += ',"err":true'
    if entry.typed:
        out += ',"typed":true'
    if entry.moved:
        out += ',"moved":true'
    if entry.text_sha256:
        out += f',"sha":{_quoted(entry.text_sha256)}'
    if entry.version_of:
        out += f',"of":{_quoted(entry.version_of)}'
    if use := entry.usage:
        tokens = "null" if use.context_tokens is None else use.context_tokens
        out += f',"use":[{_quoted(use.reply_id)},{_quoted(use.model)},{tokens}]'
    if raw := entry.raw:
        out += f',"raw":[{_quoted(raw.path)},{raw.offset},{raw.length}]'
    return out


def source_entry(stored: Stored) -> SourceEntry:
    """The source entry of an item."""
    header, _, texts = stored.body.partition("\n")
    body = from_json(header, newest=SOURCE_VERSION)
    use, raw = body.get("use"), body.get("raw")
    return SourceEntry(
        id=stored.id,
        parent=body.get("p"),
        role=_field(body, "role"),
        time=body.get("t", ""),
        parts=tuple(_parts_in(_field(body, "parts"), texts)),
        tool_name=body.get("tool", ""),
        custom_type=body.get("custom", ""),
        call_id=body.get("call", ""),
        is_error=body.get("err", False),
        typed=body.get("typed", False),
        moved=body.get("moved", False),
        usage=Usage(use[0], use[1], use[2]) if use else None,
        raw=RawPointer(raw[0], raw[1], raw[2]) if raw else None,
        text_sha256=body.get("sha", ""),
        version_of=body.get("of", ""),
    )


def _part_out(part: Part) -> str:
    """Kind, length of the text, then name and call id if there are any."""
    if part.name or part.call_id:
        return f"[{_quoted(part.kind)},{len(part.text)},{_quoted(part.name)},{_quoted(part.call_id)}]"
    return f"[{_quoted(part.kind)},{len(part.text)}]"


def _parts_in(rows: list[list[Any]], texts: str) -> Iterator[Part]:
    at = 0
    for row in rows:
        kind, text, name, call_id = [*row, "", ""][:4]
        if isinstance(text, int):  # in version 1 the text itself stands here
            start, at = at, at + text
            text = texts[start:at]
        yield Part(kind, text, name, call_id)
    if at != len(texts):
        raise StoreCorrupt("a stored record lacks a part of its text")


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
