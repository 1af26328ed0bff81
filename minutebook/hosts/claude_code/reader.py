"""Reads Claude Code's session files (seen: 2.0.76 to 2.1.332), the sub-agents' too."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from minutebook.hosts.claude_code.blocks import grouped, parts_of
from minutebook.hosts.claude_code.kinds import METADATA, SYSTEM_METADATA
from minutebook.hosts.claude_code.prompts import OWN_BLOCK, custom_type_of, is_interruption, is_own_note
from minutebook.hosts.fields import compact_json, iso_time, list_of, object_of, text_of
from minutebook.hosts.lines import Row
from minutebook.hosts.reading import HostCompaction, Reading, SessionHead
from minutebook.hosts.usage import context_tokens
from minutebook.hosts.walking import Walk, numbered, remember, walk_file
from minutebook.private_spans import without_private
from minutebook.records import HOST_SUMMARY, INJECTED, Part, SourceEntry, Usage, content_id

HOST = "claude_code"

_HOOK_OUTPUTS = ("hook_success", "hook_additional_context", "hook_blocking_error", "async_hook_response")
_PLAIN_OUTPUT_EVENTS = ("SessionStart", "UserPromptSubmit")
"""The events whose hooks' plain output the model is shown."""
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
NAME_CHARACTERS = 60
_NO_WORDS = content_id("")[:2]
RECENT_ROWS = 100
"""More than our plugin keeps at a compaction."""
_ORIGINS_OF_THE_PROGRAM = ("task-notification", "coordinator", "hook", "auto-continuation")


def recognises(first_rows: list[dict[str, Any]]) -> bool:
    """Whether these rows are Claude Code's: rows with uuid and sessionId, or its own kinds of metadata."""
    return any(
        ("uuid" in row and "sessionId" in row and "type" in row)
        or ("leafUuid" in row and row.get("type") == "summary")
        or ("snapshot" in row and row.get("type") == "file-history-snapshot")
        or ("sessionId" in row and text_of(row.get("type")) in METADATA)
        for row in first_rows
    )


def read(path: Path, cursor: Mapping[str, Any] | None = None, *, stop: int | None = None) -> Reading:
    """Read from the cursor to the last complete record (or to the byte offset `stop`)."""
    return walk_file(_ClaudeWalk, path, cursor, stop=stop)


class _ClaudeWalk(Walk):
    host: ClassVar[str] = HOST

    def __init__(self, path: str, head: SessionHead | None, memory: Mapping[str, Any]) -> None:
        super().__init__(path, head, memory)
        self.compacted_by = text_of(memory.get("compacted_by"))
        """Id of a compaction boundary whose summary has not been seen yet."""
        self.recent: dict[str, str] = dict(memory.get("recent", {}))
        """The last rows of the conversation, by who said it and when; never by their words."""
        self.keeping = memory.get("keeping") is True
        """Nothing new came since the last boundary: what is there already comes once more where a plugin compacted."""

    def memory(self) -> dict[str, Any]:
        kept = {"recent": self.recent, "keeping": self.keeping}
        return {**super().memory(), "compacted_by": self.compacted_by, **kept}

    def take(self, row: Row) -> None:
        data = row.data
        self.head = self.head or _head(data, self.path)
        kind = text_of(data.get("type"))
        if data.get("isSidechain") is True and not (self.head and self.head.agent):
            self._pass_over(data, "sidechain")
        elif kind in ("user", "assistant") and self._comes_again(data, kind):
            self.skip("kept_again")
            self.link(text_of(data.get("uuid")), self.last or None)
        elif kind == "user":
            self._user(row)
        elif kind == "assistant":
            self._assistant(row)
        elif kind == "attachment":
            self._attachment(row)
        elif kind == "system":
            self._system(data)
        elif kind in METADATA:
            self._pass_over(data, kind)
        else:
            self.count_unknown(kind or "no type")
            self._link(data)

    def _comes_again(self, data: dict[str, Any], kind: str) -> bool:
        """Whether it is a row of before the compaction, under another id."""
        if data.get("isCompactSummary") is True or is_own_note(data):
            return False
        time = text_of(data.get("timestamp"))
        key = f"{kind} {time} {_names(object_of(data.get('message')))}"
        if self.keeping and time and key in self.recent:
            return True
        self.keeping = False
        self.recent[key] = ""
        if len(self.recent) > RECENT_ROWS:
            del self.recent[next(iter(self.recent))]
        return False

    def _pass_over(self, data: dict[str, Any], kind: str) -> None:
        self.skip(kind)
        self._link(data)

    def _link(self, data: dict[str, Any]) -> None:
        self.link(text_of(data.get("uuid")), self._parent(data))

    def _parent(self, data: dict[str, Any]) -> str | None:
        return self.source_of(text_of(data.get("parentUuid")))

    def _user(self, row: Row) -> None:
        data = row.data
        if data.get("isCompactSummary") is True or is_own_note(data):
            self._summary(row)
        elif data.get("isVisibleInTranscriptOnly") is True:
            self._pass_over(data, "transcript_only")
        elif not isinstance(data.get("message"), dict):
            self.count_unknown("user without a message")
            self._link(data)
        else:
            self._user_entries(row, data["message"].get("content"))

    def _user_entries(self, row: Row, content: object) -> None:
        groups = list(grouped(content)) or [(None, [])]
        first_id, previous = _row_id(row.data), self._parent(row.data)
        for index, (result, said) in enumerate(groups):
            entry_id = numbered(first_id, index)
            if result is not None:
                self._result(row, result, entry_id, previous)
            else:
                self._said(row, said, entry_id, previous)
            previous = entry_id
        if len(groups) > 1:
            self.alias(first_id, str(previous))

    def _result(self, row: Row, result: dict[str, Any], entry_id: str, parent: str | None) -> None:
        call_id = text_of(result.get("tool_use_id"))
        self._emit(
            row,
            id=entry_id,
            parent=parent,
            role="tool_result",
            parts=parts_of(result.get("content")),
            tool_name=self.calls.get(call_id, ""),
            call_id=call_id,
            is_error=result.get("is_error") is True,
        )

    def _said(self, row: Row, said: list[Any], entry_id: str, parent: str | None) -> None:
        parts = parts_of(said)
        custom = "meta" if row.data.get("isMeta") is True else _custom_type(parts)
        self._emit(
            row,
            id=entry_id,
            parent=parent,
            role="custom" if custom else "user",
            custom_type=custom,
            parts=parts,
            typed=not custom and bool(parts) and _by_a_person(row.data, parts),
        )

    def _emit(
        self,
        row: Row,
        *,
        id: str,
        parent: str | None,
        role: str,
        parts: tuple[Part, ...],
        tool_name: str = "",
        custom_type: str = "",
        call_id: str = "",
        is_error: bool = False,
        typed: bool = False,
        usage: Usage | None = None,
    ) -> None:
        self.compacted_by = ""
        time, raw = iso_time(row.data.get("timestamp")), self.pointer(row)
        self.emit(
            SourceEntry(
                id, role, parent, time, parts, tool_name, custom_type, call_id, is_error, typed, False, usage, raw
            )
        )

    def _assistant(self, row: Row) -> None:
        data = row.data
        message = object_of(data.get("message"))
        parts = parts_of(message.get("content"))
        for part in parts:
            if part.kind == "tool_call" and part.call_id:
                remember(self.calls, part.call_id, part.name)
        synthetic = message.get("model") == "<synthetic>" or data.get("isApiErrorMessage") is True
        self._emit(
            row,
            id=_row_id(data),
            parent=self._parent(data),
            role="assistant",
            parts=parts,
            usage=None if synthetic or not parts else _usage(message),
        )

    def _attachment(self, row: Row) -> None:
        attachment = object_of(row.data.get("attachment"))
        kind = text_of(attachment.get("type"))
        if kind == "queued_command":
            self._queued(row, attachment)
        elif kind in _HOOK_OUTPUTS and (text := _hook_text(row.data, attachment)):
            parts = (Part(kind="text", text=text),)
            custom = INJECTED if OWN_BLOCK in text else "hook"
            self._emit(
                row, id=_row_id(row.data), parent=self._parent(row.data), role="custom", custom_type=custom, parts=parts
            )
        else:
            self._pass_over(row.data, f"attachment/{kind}")

    def _queued(self, row: Row, attachment: dict[str, Any]) -> None:
        """What a person typed while the agent was at work (or a background task's notification)."""
        parts = parts_of(attachment.get("prompt"))
        notified = attachment.get("commandMode") == "task-notification"
        custom = "task_notification" if notified else _custom_type(parts)
        meta = attachment.get("isMeta") is True
        self._emit(
            row,
            id=_row_id(row.data),
            parent=self._parent(row.data),
            role="custom" if custom or meta else "user",
            custom_type=custom or ("meta" if meta else ""),
            parts=parts,
            typed=bool(parts) and not custom and not meta and _by_a_person({**row.data, **attachment}, parts),
        )

    def _system(self, data: dict[str, Any]) -> None:
        subtype = text_of(data.get("subtype"))
        if subtype == "compact_boundary":
            self._boundary(data)
        elif subtype in SYSTEM_METADATA:
            self._pass_over(data, f"system/{subtype}")
        else:
            self.count_unknown(f"system/{subtype}")
            self._link(data)

    def _boundary(self, data: dict[str, Any]) -> None:
        """A compaction goes on where the file stands: its logical parent is often not in the file."""
        self.compacted_by = _row_id(data)
        self.keeping = True
        self.link(text_of(data.get("uuid")), self.last or None)
        self._compaction(data, first_kept=self._first_kept(object_of(data.get("compactMetadata"))))

    def _summary(self, row: Row) -> None:
        """What Claude Code wrote in place of the old turns; without a boundary before it, the compaction as well."""
        if not self.compacted_by:
            self._compaction(row.data)
        parts = parts_of(object_of(row.data.get("message")).get("content"))
        self._emit(
            row,
            id=_row_id(row.data),
            parent=self.last or None,
            role="custom",
            custom_type=HOST_SUMMARY,
            parts=parts,
        )

    def _compaction(self, data: dict[str, Any], first_kept: str = "") -> None:
        if not self.last:  # of the session that this one copied from there on
            self.skip("compact_boundary")
            return
        time = iso_time(data.get("timestamp"))
        self.events.append(HostCompaction(id=_row_id(data), first_kept=first_kept, after=self.last, time=time))

    def _first_kept(self, metadata: dict[str, Any]) -> str:
        """The first preserved source entry."""
        head = text_of(object_of(metadata.get("preservedSegment")).get("headUuid"))
        kept = list_of(object_of(metadata.get("preservedMessages")).get("uuids"))
        return next((first for row_id in (head, *map(text_of, kept)) if (first := self.first_source(row_id))), "")


def _head(data: dict[str, Any], path: str) -> SessionHead | None:
    """From the first row of the conversation. A file named by a session id is that session's, whatever it copied."""
    session = text_of(data.get("sessionId"))
    if not session or "uuid" not in data:
        return None
    agent = text_of(data.get("agentId")) if data.get("isSidechain") is True else ""
    named = session if agent else _session_named(path) or session
    return SessionHead(
        host=HOST,
        session=named,
        agent=agent,
        project=text_of(data.get("cwd")),
        forked_from=session if named != session else "",
        started=iso_time(data.get("timestamp")),
        host_version=text_of(data.get("version")),
    )


def _session_named(path: str) -> str:
    stem = Path(path).stem
    return stem if _UUID.fullmatch(stem) else ""


def _row_id(data: dict[str, Any]) -> str:
    return text_of(data.get("uuid")) or content_id(compact_json(data))


def _names(message: dict[str, Any]) -> str:
    """What tells a row from others of the same millisecond: its reply, its call, and one byte of a hash of its words.

    The words themselves may be private, paused or ignored, and this is kept.
    """
    content = message.get("content")
    first = object_of(content[0]) if isinstance(content, list) and content else {"text": content}
    reply, answered, call = text_of(message.get("id")), text_of(first.get("tool_use_id")), text_of(first.get("id"))
    said = text_of(first.get("text"))
    words = content_id(without_private(said))[:2] if said else _NO_WORDS
    return f"{reply[:NAME_CHARACTERS]} {answered[:NAME_CHARACTERS]} {call[:NAME_CHARACTERS]} {words}"


def _custom_type(parts: tuple[Part, ...]) -> str:
    """ "" as soon as one part is a person's."""
    texts = [part.text for part in parts if part.kind == "text"]
    customs = [custom_type_of(text) for text in texts]
    return customs[0] if customs and all(customs) and len(texts) == len(parts) else ""


def _by_a_person(data: dict[str, Any], parts: tuple[Part, ...]) -> bool:
    if data.get("isSidechain") is True:
        return False
    if text_of(object_of(data.get("origin")).get("kind")) in _ORIGINS_OF_THE_PROGRAM:
        return False
    return not all(is_interruption(part.text) for part in parts)


def _usage(message: dict[str, Any]) -> Usage | None:
    usage = message.get("usage")
    if not isinstance(usage, dict):
        return None
    tokens = context_tokens(
        total=None,
        input=usage.get("input_tokens"),
        output=usage.get("output_tokens"),
        cache_read=usage.get("cache_read_input_tokens"),
        cache_write=usage.get("cache_creation_input_tokens"),
    )
    return Usage(text_of(message.get("id")), text_of(message.get("model")), tokens)


def _hook_text(data: dict[str, Any], attachment: dict[str, Any]) -> str:
    """A hook's output as it reached the model; "" if it did not. Newer files keep what was rendered, older do not."""
    own = attachment.get("content")
    text = "\n".join(map(text_of, own)) if isinstance(own, list) else text_of(own)
    if "rendered" in data:
        shown = "\n".join(text_of(object_of(item).get("content")) for item in list_of(data["rendered"]))
        return (text or shown) if shown.strip() else ""
    if attachment.get("type") == "hook_additional_context":
        return text
    plain = attachment.get("type") == "hook_success" and attachment.get("hookEvent") in _PLAIN_OUTPUT_EVENTS
    return text if plain and text.strip() else ""
