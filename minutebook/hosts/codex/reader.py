"""Reads Codex's rollout files (seen: 0.104 to 0.171), the sub-agents' too."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from minutebook.hosts.codex.history import GoingOn, last_shared
from minutebook.hosts.codex.kinds import EVENTS, ITEMS, ROWS
from minutebook.hosts.codex.messages import (
    SUMMARY_PREFIX,
    call_id_of,
    call_part,
    custom_type_of,
    has_failed,
    output_parts,
    parts_of,
    thoughts_of,
)
from minutebook.hosts.fields import compact_json, iso_time, object_of, text_of, text_part
from minutebook.hosts.lines import Row
from minutebook.hosts.reading import HostCompaction, Reading, SessionHead
from minutebook.hosts.usage import context_tokens
from minutebook.hosts.walking import remember, walk_file
from minutebook.private_spans import without_private
from minutebook.records import HOST_SUMMARY, Part, SourceEntry, Usage, content_id

HOST = "codex"
UNDONE_MAX = 50
"""How many turns back it is known what stood before them."""

_KNOWN_ROWS = ROWS | {"response_item", "event_msg", "compacted", "world_state", "token_usage_record"}


def recognises(first_rows: list[dict[str, Any]]) -> bool:
    """Whether these rows are Codex's: a known type around a payload."""
    return any(text_of(row.get("type")) in _KNOWN_ROWS and isinstance(row.get("payload"), dict) for row in first_rows)


def read(path: Path, cursor: Mapping[str, Any] | None = None, *, stop: int | None = None) -> Reading:
    """Read from the cursor to the last complete record (or to the byte offset `stop`)."""
    return walk_file(_CodexWalk, path, cursor, stop=stop)


class _CodexWalk(GoingOn):
    """What a row says twice is emitted once: `told` holds, by hash, texts that were emitted from one of the two rows
    ("item" or "event") and whose other row has not come yet. `given` holds the program's own texts, to skip repeats.

    What follows another entry than the last one, because turns were undone or the file goes on from another one, waits
    in `after`: the id of that entry. `before` holds, for the last prompts, the id of the entry before each.

    Usage is written after the reply that it is about, often after the tool's output: it waits in `usage` for the next
    assistant entry, because a reply that was already handed out cannot be changed.
    """

    host: ClassVar[str] = HOST

    def __init__(self, path: str, head: SessionHead | None, memory: Mapping[str, Any]) -> None:
        super().__init__(path, head, memory)
        self.told: dict[str, str] = dict(memory.get("told", {}))
        self.given: dict[str, bool] = dict(memory.get("given", {}))
        self.model = text_of(memory.get("model"))
        self.usage: dict[str, Any] = dict(memory.get("usage", {}))
        self.counted: str = text_of(memory.get("counted"))
        self.records: bool = memory.get("records") is True
        self.after = text_of(memory.get("after"))
        self.before: list[str] = list(memory.get("before", []))

    def memory(self) -> dict[str, Any]:
        return {
            **super().memory(),
            "told": self.told,
            "given": self.given,
            "model": self.model,
            "usage": self.usage,
            "counted": self.counted,
            "records": self.records,
            "after": self.after,
            "before": self.before,
        }

    def take(self, row: Row) -> None:
        kind, payload = text_of(row.data.get("type")), object_of(row.data.get("payload"))
        match kind:
            case "response_item":
                self._item(row, payload)
            case "event_msg":
                self._event(row, payload)
            case "compacted":
                self._compacted(row, payload)
            case "token_usage_record":
                self.skip(kind)
                self.records = True
                self._use(payload.get("usage"), text_of(payload.get("response_id")))
            case "world_state":
                self.skip(kind)
                state = object_of(payload.get("state"))
                self._set_zone(object_of(state.get("environments")).get("timezone"))
            case _ if kind in ROWS:
                self.skip(kind)
                self._about_the_session(kind, payload)
            case _:
                self.count_unknown(kind or "no type")

    def _about_the_session(self, kind: str, payload: dict[str, Any]) -> None:
        if kind == "session_meta" and self.head is None:
            self.head = _head(payload)
            if base := object_of(payload.get("history_base")):
                self._go_on_from(base)
        elif kind == "turn_context":
            self.model = text_of(payload.get("model")) or self.model
            self._set_zone(payload.get("timezone"))

    def _go_on_from(self, base: dict[str, Any]) -> None:
        shared = last_shared(Path(self.path), base, lambda file: _CodexWalk(str(file), None, {}))
        self.after = shared.entry
        if self.head and self.after and not self.head.agent:
            forked_from = shared.thread if self.head.forked_from else ""
            self.head = replace(self.head, rests_on=shared.file, forked_from=forked_from)

    def _set_zone(self, zone: object) -> None:
        if self.head and not self.head.zone and text_of(zone):
            self.head = replace(self.head, zone=text_of(zone))

    def _item(self, row: Row, payload: dict[str, Any]) -> None:
        kind = text_of(payload.get("type"))
        if kind == "message":
            self._message(row, payload)
        elif kind == "reasoning":
            self._reasoning(row, payload)
        elif kind == "agent_message":
            self._emit(row, payload, role="custom", custom_type=kind, parts=parts_of(payload.get("content")))
        elif kind in ITEMS:
            self.skip(f"response_item/{kind}")
        elif kind.endswith("_call"):
            self._call(row, payload)
        elif kind.endswith("_output"):
            self._output(row, payload)
        else:
            self.count_unknown(f"response_item/{kind}")

    def _message(self, row: Row, payload: dict[str, Any]) -> None:
        parts = parts_of(payload.get("content"))
        if _is_summary(row.data, parts):
            self.skip("compact_summary")
        elif payload.get("role") == "assistant":
            self._emit(row, payload, role="assistant", parts=parts)
        elif custom := custom_type_of(payload, parts):
            self._from_the_program(row, payload, custom, parts)
        else:
            self._prompt(row, payload, parts)

    def _from_the_program(self, row: Row, payload: dict[str, Any], custom: str, parts: tuple[Part, ...]) -> None:
        """Instructions are repeated in full at every turn: the first of each is enough."""
        key = content_id(custom, *(without_private(part.text) for part in parts))
        if key in self.given:
            self.skip("repeated instructions")
        else:
            self._emit(row, payload, role="custom", custom_type=custom, parts=parts)
        remember(self.given, key, True)

    def _prompt(self, row: Row, payload: dict[str, Any], parts: tuple[Part, ...]) -> None:
        texts = [part.text for part in parts if part.kind == "text"]
        keys = {_key("prompt", text) for text in (*texts, "\n".join(texts))}
        if any(self.told.get(key) == "event" for key in keys):
            self.skip("response_item/message told by its event")
            for key in keys:
                self.told.pop(key, None)
            return
        for key in sorted(keys):
            remember(self.told, key, "item")
        self._prompted(row, payload, parts, typed=bool(parts) and not (self.head and self.head.agent))

    def _prompted(self, row: Row, payload: dict[str, Any], parts: tuple[Part, ...], *, typed: bool) -> None:
        self.before = [*self.before, self.after or self.last][-UNDONE_MAX:]
        self._emit(row, payload, role="user", parts=parts, typed=typed)

    def _undone(self, turns: object) -> None:
        """The next entry follows the one before the first turn that was undone."""
        if isinstance(turns, int) and 0 < turns <= len(self.before):
            self.after = self.before[-turns]
            del self.before[-turns:]

    def _reasoning(self, row: Row, payload: dict[str, Any]) -> None:
        thoughts = [text for text in thoughts_of(payload) if self._tell("thought", text, "item")]
        if thoughts:
            parts = tuple(Part(kind="thinking", text=text) for text in thoughts)
            self._emit(row, payload, role="assistant", parts=parts)
        else:
            self.skip("response_item/reasoning without new text")

    def _tell(self, kind: str, text: str, by: str) -> bool:
        """Whether this text is new, and not the other row of one that was told already."""
        key = _key(kind, text)
        if self.told.get(key, by) != by:
            del self.told[key]
            return False
        remember(self.told, key, by)
        return True

    def _call(self, row: Row, payload: dict[str, Any]) -> None:
        part = call_part(payload)
        if part.call_id:
            remember(self.calls, part.call_id, part.name)
        self._emit(row, payload, role="assistant", parts=(part,))

    def _output(self, row: Row, payload: dict[str, Any]) -> None:
        output, call_id = payload.get("output"), call_id_of(payload)
        parts = output_parts(output)
        self._emit(
            row,
            payload,
            role="tool_result",
            parts=parts,
            tool_name=self.calls.get(call_id, ""),
            call_id=call_id,
            is_error=has_failed(output, parts),
        )

    def _event(self, row: Row, payload: dict[str, Any]) -> None:
        kind = text_of(payload.get("type"))
        if kind == "agent_reasoning":
            self._thought_event(row, text_of(payload.get("text")))
        elif kind == "user_message":
            self._prompt_event(row, text_of(payload.get("message")))
        elif kind == "token_count":
            self.skip("event_msg/token_count")
            if not self.records:
                self._count(object_of(payload.get("info")))
        elif kind in EVENTS:
            self.skip(f"event_msg/{kind}")
            if kind == "thread_rolled_back":
                self._undone(payload.get("num_turns"))
        else:
            self.count_unknown(f"event_msg/{kind}")

    def _thought_event(self, row: Row, text: str) -> None:
        if text and self._tell("thought", text, "event"):
            self._emit(row, {}, role="assistant", parts=(Part(kind="thinking", text=text),))
        else:
            self.skip("event_msg/agent_reasoning")

    def _prompt_event(self, row: Row, text: str) -> None:
        """Usually the second row of a prompt; where the first is missing, the prompt itself."""
        if text.strip() and self._tell("prompt", text, "event"):
            self._prompted(row, {}, (Part(kind="text", text=text),), typed=True)
        else:
            self.skip("event_msg/user_message")

    def _count(self, info: dict[str, Any]) -> None:
        """token_count comes again unchanged at the start of a turn and after a compaction."""
        total = compact_json(info.get("total_token_usage"))
        if object_of(info.get("total_token_usage")) and total != self.counted:
            self.counted = total
            self._use(info.get("last_token_usage"), content_id("token_count", total))

    def _use(self, usage: object, reply_id: str) -> None:
        """Codex's input count holds the cached ones, so only its total can be used."""
        tokens = context_tokens(
            total=object_of(usage).get("total_tokens"), input=None, output=None, cache_read=None, cache_write=None
        )
        if tokens is not None:
            self.usage = {"reply_id": reply_id, "model": self.model, "context_tokens": tokens}

    def _compacted(self, row: Row, payload: dict[str, Any]) -> None:
        """The compaction, and then the summary as the agent is shown it from there on."""
        self.usage = {}
        time = iso_time(row.data.get("timestamp"))
        self.events.append(HostCompaction(id=self.derived_id("compacted", time), after=self.last, time=time))
        if summary := text_part(payload.get("message")):
            self._emit(row, {}, role="custom", custom_type=HOST_SUMMARY, parts=summary)

    def _emit(
        self,
        row: Row,
        payload: dict[str, Any],
        *,
        role: str,
        parts: tuple[Part, ...],
        tool_name: str = "",
        custom_type: str = "",
        call_id: str = "",
        is_error: bool = False,
        typed: bool = False,
    ) -> None:
        time, usage = iso_time(row.data.get("timestamp")), None
        if self.usage and role == "assistant" and parts:
            usage, self.usage = Usage(**self.usage), {}
        entry_id = text_of(payload.get("id")) or self.derived_id(
            role, time, call_id_of(payload), *[part.text for part in parts]
        )
        raw = self.pointer(row)
        entry = SourceEntry(
            entry_id, role, None, time, parts, tool_name, custom_type, call_id, is_error, typed, False, usage, raw
        )
        if self.after:
            entry = replace(entry, parent=self.after, moved=True)
            self.after = ""
        self.emit(entry)


def _key(kind: str, text: str) -> str:
    return content_id(kind, " ".join(without_private(text).split()))


def _is_summary(data: dict[str, Any], parts: tuple[Part, ...]) -> bool:
    if object_of(data.get("metadata")).get("compaction_output") is True:
        return True
    return bool(parts) and parts[0].text.startswith(SUMMARY_PREFIX)


def _head(payload: dict[str, Any]) -> SessionHead:
    """A sub-agent's file belongs to its parent's session, under its own id as the agent's."""
    own = text_of(payload.get("id")) or text_of(payload.get("session_id"))
    source = payload.get("source")
    spawned = object_of(object_of(object_of(source).get("subagent")).get("thread_spawn"))
    is_agent = "subagent" in object_of(source) or payload.get("thread_source") == "subagent"
    parent = text_of(spawned.get("parent_thread_id")) or text_of(payload.get("parent_thread_id"))
    return SessionHead(
        host=HOST,
        session=(parent or text_of(payload.get("session_id")) or own) if is_agent else own,
        agent=own if is_agent else "",
        project=text_of(payload.get("cwd")),
        zone=text_of(payload.get("timezone")),
        forked_from=text_of(payload.get("forked_from_id")),
        started=iso_time(payload.get("timestamp")),
        host_version=text_of(payload.get("cli_version")),
    )
