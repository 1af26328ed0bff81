"""Reads the neutral JSONL that any program can write (docs/formats.md)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from minutebook.hosts.fields import compact_json, iso_time, list_of, object_of, other_part, text_of, text_part
from minutebook.hosts.lines import Row
from minutebook.hosts.reading import HostCompaction, Reading, SessionHead
from minutebook.hosts.usage import context_tokens
from minutebook.hosts.walking import Walk, remember, walk_file
from minutebook.records import INJECTED, ROLES, Part, SourceEntry, Usage

HOST = "neutral"
HEADER = "minutebook.session"
COMPACTION = "minutebook.compaction"
END = "minutebook.end"
OWN_BLOCK = "<minutebook"
VERSION = 1

_ALIASES = {"tool": "tool_result"}
_PartKind = Literal["text", "thinking", "tool_call", "image", "other"]


def recognises(first_rows: list[dict[str, Any]]) -> bool:
    """Whether these rows are neutral: the header, or rows with a known role and a text or parts, and no type."""
    return any(
        row.get("type") == HEADER or ("type" not in row and _role(row) in ROLES and ("text" in row or "parts" in row))
        for row in first_rows
    )


def read(path: Path, cursor: Mapping[str, Any] | None = None, *, stop: int | None = None) -> Reading:
    """Read from the cursor to the last complete record (or to the byte offset `stop`)."""
    return walk_file(_NeutralWalk, path, cursor, stop=stop)


class _NeutralWalk(Walk):
    host: ClassVar[str] = HOST

    def take(self, row: Row) -> None:
        kind = text_of(row.data.get("type"))
        if kind == HEADER:
            self._header(row.data)
        elif kind == COMPACTION:
            self._compaction(row.data)
        elif kind == END:
            self.skip(kind)
            self.ended = True
        elif kind:
            self.count_unknown(kind)
        elif _role(row.data) in ROLES:
            self._entry(row, _role(row.data))
        else:
            self.count_unknown(f"role {_role(row.data) or 'missing'}")

    def _header(self, data: dict[str, Any]) -> None:
        if data.get("version", VERSION) != VERSION:
            self.count_unknown(f"{HEADER} of another version")
            return
        self.skip(HEADER)
        self.head = SessionHead(
            host=HOST,
            session=text_of(data.get("session")) or Path(self.path).stem,
            agent=text_of(data.get("agent")),
            project=text_of(data.get("project")),
            zone=text_of(data.get("zone")),
            forked_from=text_of(data.get("forked_from")),
            started=iso_time(data.get("time")),
        )

    def _entry(self, row: Row, role: str) -> None:
        data = row.data
        self.head = self.head or SessionHead(host=HOST, session=Path(self.path).stem)
        parts = _parts(data)
        for part in parts:
            if part.kind == "tool_call" and part.call_id:
                remember(self.calls, part.call_id, part.name)
        time, call_id = iso_time(data.get("time")), text_of(data.get("call_id"))
        said = (part.text for part in parts)
        entry_id = text_of(data.get("id")) or self.derived_id(role, time, call_id, *said)
        typed = role == "user" and bool(parts) and data.get("typed") is not False
        entry = SourceEntry(
            id=entry_id,
            parent=text_of(data.get("parent")) or None,
            role=role,
            time=time,
            parts=parts,
            tool_name=text_of(data.get("tool_name")) or self.calls.get(call_id, ""),
            custom_type=INJECTED if _is_ours(role, typed, parts) else text_of(data.get("custom_type")),
            call_id=call_id,
            is_error=data.get("is_error") is True,
            typed=typed,
            moved=data.get("moved") is True,
            usage=_usage(data.get("usage"), entry_id) if parts else None,
            raw=self.pointer(row),
        )
        self.emit(entry)

    def _compaction(self, data: dict[str, Any]) -> None:
        time, first_kept = iso_time(data.get("time")), text_of(data.get("first_kept"))
        compaction_id = text_of(data.get("id")) or self.derived_id("compaction", time, first_kept)
        self.events.append(HostCompaction(id=compaction_id, first_kept=first_kept, after=self.last, time=time))


def _is_ours(role: str, typed: bool, parts: tuple[Part, ...]) -> bool:
    """A memory text that the program put into its context: nobody typed it, and it is never observed."""
    return role in ("custom", "user") and not typed and any(part.text.lstrip().startswith(OWN_BLOCK) for part in parts)


def _role(row: dict[str, Any]) -> str:
    role = text_of(row.get("role"))
    return _ALIASES.get(role, role)


def _parts(data: dict[str, Any]) -> tuple[Part, ...]:
    return (*text_part(data.get("text")), *map(_part, list_of(data.get("parts"))))


def _part(value: object) -> Part:
    fields = object_of(value)
    kind = text_of(fields.get("kind"))
    for known in get_args(_PartKind):
        if kind == known:
            text = text_of(fields.get("text")) or (
                "" if kind != "tool_call" else compact_json(fields.get("arguments", {}))
            )
            return Part(kind=known, text=text, name=text_of(fields.get("name")), call_id=text_of(fields.get("call_id")))
    return other_part(kind)


def _usage(value: object, entry_id: str) -> Usage | None:
    """{"reply_id"?, "model"?, "total"? or "input", "output", "cache_read", "cache_write", "failed"?}."""
    if not isinstance(value, dict):
        return None
    tokens = context_tokens(
        total=value.get("total"),
        input=value.get("input"),
        output=value.get("output"),
        cache_read=value.get("cache_read"),
        cache_write=value.get("cache_write"),
        failed=value.get("failed") is True,
    )
    reply_id = text_of(value.get("reply_id")) or entry_id
    return Usage(reply_id=reply_id, model=text_of(value.get("model")), context_tokens=tokens)
