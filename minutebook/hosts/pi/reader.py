"""Reads Pi's session files, versions 1 to 3.

Version 1 is a plain list: its entries have no ids, and a compaction names the first kept entry by its place in the
file. Pi rewrites such a file with new ids when it opens it. A file that was read before that keeps the derived ids, so
nothing in it comes twice.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from minutebook.hosts.fields import iso_time, object_of, text_of
from minutebook.hosts.lines import Lines, Row
from minutebook.hosts.pi.messages import bash_failed, bash_part, parts_of, usage_of
from minutebook.hosts.reading import HostCompaction, ImportedMemory, Reading, SessionHead
from minutebook.hosts.walking import Walk, remember, walk_file
from minutebook.records import FOLD, INJECTED, MEMORY_KINDS, MemoryEntry, Part, SourceEntry

HOST = "pi"
OWN_BLOCK = "<minutebook"

_METADATA = ("context_edit", "label", "model_change", "session_info", "thinking_level_change", "usage")
_ENTRIES = (*_METADATA, "branch_summary", "compaction", "custom", "custom_message", "message")
_CUSTOM_ROLES = ("custom", "hookMessage")


def recognises(first_rows: list[dict[str, Any]]) -> bool:
    """Whether these rows are Pi's: its header, or (where that is cut off) entries with id and parentId."""
    return any(
        (row.get("type") == "session" and "cwd" in row and "id" in row)
        or (row.get("type") in _ENTRIES and "id" in row and "parentId" in row)
        for row in first_rows
    )


def read(path: Path, cursor: Mapping[str, Any] | None = None, *, stop: int | None = None) -> Reading:
    """Read from the cursor to the last complete record (or to the byte offset `stop`)."""
    return walk_file(PiWalk, path, cursor, stop=stop)


class PiWalk(Walk):
    """Pi's rows, wherever they come from. derived: the file's own ids are not used. named: it has some that are.

    places: index of a compaction's event → place of its first kept entry.
    """

    host: ClassVar[str] = HOST

    def __init__(self, path: str, head: SessionHead | None, memory: Mapping[str, Any]) -> None:
        super().__init__(path, head, memory)
        self.derived = memory.get("derived") is True
        self.named = memory.get("named") is True
        self.places: dict[int, int] = {}

    def memory(self) -> dict[str, Any]:
        return {**super().memory(), "derived": self.derived, "named": self.named}

    @classmethod
    def inherited(cls, cursor: Mapping[str, Any]) -> dict[str, Any]:
        memory = object_of(cursor.get("memory"))
        return {"derived": memory.get("derived") is True or bool(memory.get("last") and not memory.get("named"))}

    def settle(self, file: BinaryIO) -> None:
        """Read again up to the places that compactions name, which is once however many they are."""
        sources = _sources_at(set(self.places.values()), self.path, file, derived=self.derived) if self.places else {}
        for index, place in self.places.items():
            event = self.events[index]
            if isinstance(event, HostCompaction):
                self.events[index] = replace(event, first_kept=sources.get(place, ""))

    def take(self, row: Row) -> None:
        data = row.data
        kind = text_of(data.get("type"))
        match kind:
            case "session":
                self.skip(kind)
                self.head = self.head or _head(data)
            case "message":
                self._message(row, object_of(data.get("message")))
            case "custom_message":
                self._custom_message(row, data)
            case "branch_summary":
                self._emit(row, role=kind, parts=parts_of(data.get("summary")))
            case "compaction":
                self._compaction(data)
            case "custom":
                self._custom(data)
            case _ if kind in _METADATA:
                self._pass_over(data, kind)
            case _:
                self._count(data, kind or "no type")

    def _pass_over(self, data: dict[str, Any], kind: str) -> None:
        self.skip(kind)
        self._link(data)

    def _count(self, data: dict[str, Any], kind: str) -> None:
        self.count_unknown(kind)
        self._link(data)

    def _link(self, data: dict[str, Any]) -> None:
        """An entry without weight; where it names no parent it stands where the file stands."""
        parent = self._parent(data) if "parentId" in data else self.last or None
        self.link(text_of(data.get("id")), parent)

    def _parent(self, data: dict[str, Any]) -> str | None:
        return self.source_of(text_of(data.get("parentId")))

    def _message(self, row: Row, message: dict[str, Any]) -> None:
        role = text_of(message.get("role"))
        if role == "user":
            parts = parts_of(message.get("content"))
            self._emit(row, role="user", parts=parts, typed=bool(parts))
        elif role == "assistant":
            self._assistant(row, message)
        elif role == "toolResult":
            self._tool_result(row, message)
        elif role == "bashExecution":
            self._bash(row, message)
        elif role in _CUSTOM_ROLES:
            self._custom_message(row, message)
        elif role == "system":
            self._pass_over(row.data, "message/system")
        else:
            self._count(row.data, f"message/{role}")

    def _assistant(self, row: Row, message: dict[str, Any]) -> None:
        parts = parts_of(message.get("content"))
        for part in parts:
            if part.kind == "tool_call" and part.call_id:
                remember(self.calls, part.call_id, part.name)
        self._emit(row, role="assistant", parts=parts, message=message)

    def _tool_result(self, row: Row, message: dict[str, Any]) -> None:
        call_id = text_of(message.get("toolCallId"))
        self._emit(
            row,
            role="tool_result",
            parts=parts_of(message.get("content")),
            tool_name=text_of(message.get("toolName")) or self.calls.get(call_id, ""),
            call_id=call_id,
            is_error=message.get("isError") is True,
        )

    def _bash(self, row: Row, message: dict[str, Any]) -> None:
        """What a person ran with "!" is shown to the model; with "!!" it is not."""
        if message.get("excludeFromContext") is True:
            self._pass_over(row.data, "message/bashExecution not shown to the model")
        else:
            failed = bash_failed(message)
            self._emit(row, role="custom", custom_type="bash_execution", parts=bash_part(message), is_error=failed)

    def _custom_message(self, row: Row, fields: dict[str, Any]) -> None:
        parts = parts_of(fields.get("content"))
        ours = any(part.kind == "text" and OWN_BLOCK in part.text for part in parts)
        custom = INJECTED if ours else text_of(fields.get("customType"))
        self._emit(row, role="custom", custom_type=custom or "custom", parts=parts)

    def _emit(
        self,
        row: Row,
        *,
        role: str,
        parts: tuple[Part, ...],
        message: dict[str, Any] | None = None,
        tool_name: str = "",
        custom_type: str = "",
        call_id: str = "",
        is_error: bool = False,
        typed: bool = False,
    ) -> None:
        data = row.data
        time = iso_time(data.get("timestamp"))
        entry_id = self._own_id(data) or self.derived_id(role, time, call_id, *[part.text for part in parts])
        parent = self._parent(data)
        if self.derived:
            self.alias(text_of(data.get("id")), entry_id)
        moved = "parentId" in data and parent != (self.last or None)
        usage = usage_of(message, entry_id) if message and parts else None
        time = time or iso_time(object_of(data.get("message")).get("timestamp"))
        raw = self.pointer(row)
        self.emit(
            SourceEntry(
                entry_id, role, parent, time, parts, tool_name, custom_type, call_id, is_error, typed, moved, usage, raw
            )
        )

    def _own_id(self, data: dict[str, Any]) -> str:
        own = "" if self.derived else text_of(data.get("id"))
        self.named = self.named or bool(own)
        return own

    def _compaction(self, data: dict[str, Any]) -> None:
        details = object_of(data.get("details"))
        time = iso_time(data.get("timestamp"))
        place = data.get("firstKeptEntryIndex")
        if isinstance(place, int) and not isinstance(place, bool):
            self.places[len(self.events)] = place
        self.events.append(
            HostCompaction(
                id=self._own_id(data) or self.derived_id("compaction", time, text_of(data.get("summary"))),
                first_kept=self.first_source(text_of(data.get("firstKeptEntryId"))),
                after=self._before(data),
                time=time,
                fold=details if details.get("type") == FOLD else {},
            )
        )
        self._link(data)

    def _before(self, data: dict[str, Any]) -> str:
        """The source that a compaction follows in the tree; the file may stand on another branch of it."""
        return (self._parent(data) if "parentId" in data else None) or self.last

    def _custom(self, data: dict[str, Any]) -> None:
        """Memory that an extension kept in the session; state of any other extension is passed over."""
        kind, content = text_of(data.get("customType")), data.get("data")
        if not kind.startswith("om."):
            self._pass_over(data, "custom")
        elif kind == FOLD:
            self._pass_over(data, f"custom/{kind}")
        elif kind not in MEMORY_KINDS or not isinstance(content, dict):
            self._count(data, f"custom/{kind}")
        else:
            self._memory(data, kind, content)

    def _memory(self, data: dict[str, Any], kind: str, content: dict[str, Any]) -> None:
        time = iso_time(data.get("timestamp"))
        entry_id = text_of(data.get("id")) or self.derived_id(kind, time)
        covers_id = text_of(content.get("coversUpToId"))
        entry = MemoryEntry(id=entry_id, kind=kind, covers=0, since=0, covers_id=covers_id, time=time, data=content)
        self.events.append(ImportedMemory(entry=entry, covers_id=covers_id, after=self.last))
        self._link(data)


def _sources_at(places: set[int], path: str, file: BinaryIO, *, derived: bool) -> dict[int, str]:
    """By place in the file (the header's is 0): the source entry there, or the next one where it is none."""
    found: dict[int, str] = {}
    waiting: set[int] = set()
    again, last_place = PiWalk(path, None, {"derived": derived}), max(places)
    for place, row in enumerate(Lines(file, 0, 0, file.seek(0, 2))):
        if place > last_place and not waiting:
            break
        if place in places and row.data.get("type") != "session":
            waiting.add(place)
        if again.takes(row) and any(isinstance(event, SourceEntry) for event in again.events):
            found.update(dict.fromkeys(waiting, again.last))
            waiting.clear()
        again.events.clear()
    return found


def _head(data: dict[str, Any]) -> SessionHead:
    version = data.get("version")
    return SessionHead(
        host=HOST,
        session=text_of(data.get("id")),
        project=text_of(data.get("cwd")),
        forked_from=text_of(data.get("parentSession")) or text_of(data.get("branchedFrom")),
        started=iso_time(data.get("timestamp")),
        host_version=f"v{version if isinstance(version, int) else 1}",
    )
