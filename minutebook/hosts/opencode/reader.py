"""Reads the sessions that `opencode export` writes (seen: 1.2.5 and 1.18.33): one JSON document each."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from minutebook.errors import BadTranscript
from minutebook.hosts.documents import Elements, Outline, outline
from minutebook.hosts.fields import iso_time, list_of, object_of, text_of, text_part
from minutebook.hosts.lines import Row, object_in
from minutebook.hosts.opencode.messages import (
    UNSEEN,
    Step,
    error_of,
    failed,
    file_part,
    result_parts,
    steps_of,
    usage_of,
)
from minutebook.hosts.reading import HostCompaction, Reading, SessionHead
from minutebook.hosts.walking import Walk, remember, walk_file
from minutebook.records import INJECTED, Part, SourceEntry

HOST = "opencode"
OWN_BLOCK = "<minutebook"
INFO, MESSAGES = "info", "messages"

_SYNTHETIC = "synthetic"
_SUBTASK = "subtask"
_COMPACTION = "compaction"


def recognises(first_rows: list[dict[str, Any]]) -> bool:
    """Never by rows: an export is no file of lines (see holds_export)."""
    return False


def holds_export(file: BinaryIO, end: int) -> bool:
    """Whether the file begins as an export does, also if it is cut off: info about a session, a list of messages."""
    found = outline(file, end, {INFO, MESSAGES}, enough=MESSAGES).spans
    if INFO not in found or MESSAGES not in found or "id" not in _object_at(file, found[INFO]):
        return False
    file.seek(found[MESSAGES][0])
    return file.read(1) == b"["


def read(path: Path, cursor: Mapping[str, Any] | None = None, *, stop: int | None = None) -> Reading:
    """Read from the cursor to the last finished message (no message that begins at the byte offset `stop` or later).

    Raises BadTranscript, and gives nothing, where the document is not whole.
    """
    return walk_file(_OpenCodeWalk, path, cursor, stop=stop)


class _OpenCodeWalk(Walk):
    """The list of messages is the path that the session took: each entry follows the one before it.

    asked: id of a message that asks for a compaction → the first message that stays ("" for none).
    """

    host: ClassVar[str] = HOST

    def __init__(self, path: str, head: SessionHead | None, memory: Mapping[str, Any]) -> None:
        super().__init__(path, head, memory)
        self.asked: dict[str, str] = dict(memory.get("asked", {}))
        self.span: list[int] = list(memory.get("span", ()))
        self.size: int = memory.get("size", 0)

    def memory(self) -> dict[str, Any]:
        return {**super().memory(), "asked": self.asked, "span": self.span, "size": self.size}

    def continues(self, size: int) -> bool:
        return size == self.size

    def rows(self, file: BinaryIO, offset: int, line: int, stop: int) -> Elements:
        if not self.span:
            self._open(file)
        first, last = self.span
        self.elements = Elements(file, offset, line, span=(first, last), size=self.size, stop=stop)
        return self.elements

    def _open(self, file: BinaryIO) -> None:
        self.size = file.seek(0, 2)
        found = outline(file, self.size, {INFO, MESSAGES})
        info = _object_at(file, found.spans[INFO]) if INFO in found.spans else {}
        if found.fault is not None or MESSAGES not in found.spans:
            raise BadTranscript(_what_is_wrong(self.path, found, self.size, text_of(info.get("id"))))
        self.head = _head(info, self.path)
        self.span = list(found.spans[MESSAGES])

    def take(self, row: Row) -> None:
        info, parts = object_of(row.data.get("info")), list_of(row.data.get("parts"))
        role, before = text_of(info.get("role")), self.last
        if role == "user":
            self._user(row, info, parts)
        elif role != "assistant":
            self.count_unknown(f"role {role or 'missing'}")
        elif info.get("summary") is True:
            self._summary(info)
        elif self.elements.last and not _is_finished(info):
            self.skip("unfinished message")  # it waits, as a half-written line does
        else:
            self._assistant(row, info, parts)
        if self.last == before:
            self.link(text_of(info.get("id")), self.last or None)

    # -- what a person or the program said -----------------------------------------------------------------------

    def _user(self, row: Row, info: dict[str, Any], parts: list[Any]) -> None:
        said: list[Part] = []
        added: list[Part] = []
        custom = _SYNTHETIC
        for part in map(object_of, parts):
            kind = text_of(part.get("type"))
            if kind == "text" and part.get("ignored") is not True:
                (added if part.get("synthetic") is True else said).extend(text_part(part.get("text")))
            elif kind == "file":
                said.append(file_part(part))
            elif kind == _SUBTASK:
                custom = _SUBTASK
                added += text_part(part.get("prompt"))
            elif kind == _COMPACTION:
                remember(self.asked, text_of(info.get("id")), text_of(part.get("tail_start_id")))
                self.skip(_COMPACTION)
            else:
                self._left_out("text/ignored" if kind == "text" else kind)
        self._user_entries(row, info, said, added, custom)

    def _user_entries(self, row: Row, info: dict[str, Any], said: list[Part], added: list[Part], custom: str) -> None:
        own = text_of(info.get("id"))
        if said:
            self._emit(row, info, own, role="user", parts=said, typed=not (self.head and self.head.agent))
        if added:
            ours = any(OWN_BLOCK in part.text for part in added)
            added_id = f"{own}#1" if said and own else own
            self._emit(row, info, added_id, role="custom", custom_type=INJECTED if ours else custom, parts=added)

    # -- what the model said, and its tools ----------------------------------------------------------------------

    def _assistant(self, row: Row, info: dict[str, Any], parts: list[Any]) -> None:
        steps = steps_of(parts)
        steps[-1].tokens = steps[-1].tokens or object_of(info.get("tokens"))
        steps[-1].parts += error_of(info)
        own, has_error = text_of(info.get("id")), isinstance(info.get("error"), dict)
        for number, step in enumerate(steps):
            step.id = (step.id or (own and f"{own}#{number}")) if number else own
            self._step(row, info, step, is_error=has_error and step is steps[-1])

    def _step(self, row: Row, info: dict[str, Any], step: Step, *, is_error: bool) -> None:
        for kind in step.other:
            self._left_out(kind)
        if step.parts:
            usage = usage_of(step.tokens, reply_id=step.id, info=info, failed=is_error)
            self._emit(row, info, step.id, role="assistant", parts=step.parts, usage=usage, is_error=is_error)
        for result in step.results:
            self._result(row, info, result)

    def _result(self, row: Row, info: dict[str, Any], part: dict[str, Any]) -> None:
        self._emit(
            row,
            {"time": {"created": object_of(object_of(part.get("state")).get("time")).get("end")}},
            text_of(part.get("id")),
            role="tool_result",
            parts=list(result_parts(part)),
            tool_name=text_of(part.get("tool")),
            call_id=text_of(part.get("callID")),
            is_error=failed(part),
        )

    def _left_out(self, kind: str) -> None:
        if kind in UNSEEN or kind == "text/ignored":
            self.skip(f"part/{kind}")
        else:
            self.count_unknown(f"part/{kind}")

    def _emit(self, row: Row, info: dict[str, Any], own: str, *, role: str, parts: list[Part], **fields: Any) -> None:
        time = iso_time(object_of(info.get("time")).get("created"))
        entry_id = own or self.derived_id(role, time, fields.get("call_id", ""), *(part.text for part in parts))
        entry = SourceEntry(
            id=entry_id,
            parent=self.last or None,
            role=role,
            time=time,
            parts=tuple(parts),
            raw=self.pointer(row),
            **fields,
        )
        self.emit(entry)

    # -- compactions ---------------------------------------------------------------------------------------------

    def _summary(self, info: dict[str, Any]) -> None:
        """The program's summary; it took the place of what came before, unless it failed."""
        self.skip("compact_summary")
        asked = text_of(info.get("parentID"))
        if not _is_finished(info) or isinstance(info.get("error"), dict) or asked not in self.asked:
            return
        time = iso_time(object_of(info.get("time")).get("created"))
        own = text_of(info.get("id")) or self.derived_id(_COMPACTION, time)
        self.events.append(
            HostCompaction(id=own, first_kept=self.first_source(self.asked[asked]), after=self.last, time=time)
        )


def _is_finished(info: dict[str, Any]) -> bool:
    return isinstance(info.get("error"), dict) or object_of(info.get("time")).get("completed") is not None


def _object_at(file: BinaryIO, span: tuple[int, int]) -> dict[str, Any]:
    file.seek(span[0])
    return object_in(file.read(max(0, span[1] - span[0]))) or {}


def _head(info: dict[str, Any], path: str) -> SessionHead:
    """A sub-agent's session belongs to its parent's, under its own id as the agent's."""
    own, parent = text_of(info.get("id")) or Path(path).stem, text_of(info.get("parentID"))
    return SessionHead(
        host=HOST,
        session=parent or own,
        agent=own if parent else "",
        project=text_of(info.get("directory")),
        started=iso_time(object_of(info.get("time")).get("created")),
        host_version=text_of(info.get("version")),
    )


def _what_is_wrong(path: str, found: Outline, size: int, session: str) -> str:
    at = size if found.fault is None else found.fault
    what = "the export is cut off" if at >= size else f"the export is no whole JSON document from byte {at:,} on"
    again = f"opencode export {session or 'SESSION'} > {Path(path).name}"
    return f"{path}: {what}; nothing of it was taken in. Write it again: {again}"
