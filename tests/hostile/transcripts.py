"""A short session in each host's format, shaped like real ones: what the hostile tests break."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import exports

Row = dict[str, Any]
TIME = "2026-05-02T10:30:00.000Z"


@dataclass(frozen=True)
class Sample:
    """host: what the file must be recognised as. head: rows that come first. rows: one of each kind.

    prompt: a prompt that a person typed, with an id of its own: what must survive beside anything.
    """

    name: str
    host: str
    head: Sequence[Row]
    rows: Sequence[Row]
    prompt: Callable[[int, str], Row]
    suffix: str = ".jsonl"

    def file(self, lines: Sequence[bytes]) -> bytes:
        """The records as the host writes them into one file."""
        if self.suffix == ".jsonl":
            return b"".join(line + b"\n" for line in lines)
        info = json.dumps(exports.info()).encode()
        return b'{"info": ' + info + b', "messages": [' + b",\n".join(lines) + b"]}\n"


def encoded(row: object) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _claude(kind: str, own: str, parent: str | None, **fields: Any) -> Row:
    return {
        "type": kind,
        "uuid": own,
        "parentUuid": parent,
        "sessionId": "11111111-2222-4333-8444-555555555555",
        "cwd": "/srv/app",
        "version": "2.1.14",
        "isSidechain": False,
        "timestamp": TIME,
        **fields,
    }


def _claude_says(own: str, parent: str, *content: Row) -> Row:
    usage = {"input_tokens": 10, "output_tokens": 3, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 0}
    message = {"id": f"msg_{own}", "role": "assistant", "model": "claude", "content": list(content), "usage": usage}
    return _claude("assistant", own, parent, message=message)


def _claude_user(own: str, parent: str | None, content: Any, **fields: Any) -> Row:
    return _claude("user", own, parent, message={"role": "user", "content": content}, **fields)


CLAUDE = Sample(
    name="claude_code",
    host="claude_code",
    head=[_claude_user("c-head", None, "begin")],
    rows=[
        {"type": "summary", "summary": "A title", "leafUuid": "c1"},
        _claude_user("c1", "c-head", "list the files"),
        _claude_says("c2", "c1", {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "I look."}),
        _claude_says("c3", "c2", {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}),
        _claude_user("c4", "c3", [{"type": "tool_result", "tool_use_id": "t1", "content": "a.txt", "is_error": False}]),
        _claude_user("c5", "c4", [{"type": "text", "text": "see"}, {"type": "image", "source": {"data": "AAAA"}}]),
        _claude("attachment", "c6", "c5", attachment={"type": "queued_command", "prompt": "and then"}),
        _claude("attachment", "c7", "c6", attachment={"type": "hook_additional_context", "content": ["ctx"]}),
        _claude("system", "c8", "c7", subtype="turn_duration", durationMs=5),
        _claude(
            "system",
            "c9",
            None,
            subtype="compact_boundary",
            compactMetadata={"trigger": "auto", "preservedSegment": {"headUuid": "c5", "tailUuid": "c7"}},
        ),
        _claude_user("c10", "c9", "Summary: …", isCompactSummary=True),
        {"type": "progress", "uuid": "c11", "parentUuid": "c10", "sessionId": "s", "data": {"type": "hook_progress"}},
    ],
    prompt=lambda number, text: _claude_user(f"good-{number}", None, text),
)


def _codex(kind: str, **payload: Any) -> Row:
    return {"timestamp": TIME, "type": kind, "payload": payload}


def _codex_message(role: str, text: str, own: str) -> Row:
    kind = "output_text" if role == "assistant" else "input_text"
    return _codex("response_item", type="message", id=own, role=role, content=[{"type": kind, "text": text}])


CODEX = Sample(
    name="codex",
    host="codex",
    head=[_codex("session_meta", id="019c-main", cwd="/srv/app", cli_version="0.146.0", timestamp=TIME, source="cli")],
    rows=[
        _codex("turn_context", model="gpt", timezone="Europe/Zurich", cwd="/srv/app"),
        _codex_message("developer", "# AGENTS.md instructions", "m1"),
        _codex_message("user", "list the files", "m2"),
        _codex("event_msg", type="user_message", message="list the files"),
        _codex("response_item", type="reasoning", id="r1", summary=[{"type": "summary_text", "text": "hm"}]),
        _codex("event_msg", type="agent_reasoning", text="hm"),
        _codex(
            "response_item", type="function_call", id="f1", name="shell", arguments='{"command":"ls"}', call_id="k1"
        ),
        _codex(
            "response_item", type="function_call_output", call_id="k1", output="Process exited with code 1\nOutput:\na"
        ),
        _codex("response_item", type="custom_tool_call", id="f2", name="apply_patch", input="*** Begin", call_id="k2"),
        _codex(
            "response_item", type="custom_tool_call_output", call_id="k2", output={"content": "ok", "success": True}
        ),
        _codex(
            "event_msg",
            type="token_count",
            info={"total_token_usage": {"total_tokens": 90}, "last_token_usage": {"total_tokens": 40}},
        ),
        _codex_message("assistant", "Done.", "m3"),
        _codex("world_state", full=True, state={"environments": {"timezone": "UTC"}}),
        _codex("token_usage_record", response_id="resp", usage={"total_tokens": 12}),
        _codex("compacted", message="", replacement_history=[]),
    ],
    prompt=lambda number, text: _codex_message("user", text, f"good-{number}"),
)


def _pi(kind: str, own: str, parent: str | None, **fields: Any) -> Row:
    return {"type": kind, "id": own, "parentId": parent, "timestamp": TIME, **fields}


def _pi_message(own: str, parent: str | None, role: str, *content: Row, **fields: Any) -> Row:
    message = {"role": role, "content": list(content), "timestamp": 1_771_000_000_000, **fields}
    return _pi("message", own, parent, message=message)


def _words(text: str) -> Row:
    return {"type": "text", "text": text}


_PI_USAGE = {"input": 10, "output": 3, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 13}
_PI_ROWS = [
    _pi("model_change", "p0", None, provider="x", modelId="m"),
    _pi_message("p1", "p0", "user", _words("list the files")),
    _pi_message(
        "p2",
        "p1",
        "assistant",
        {"type": "thinking", "thinking": "hm"},
        {"type": "toolCall", "id": "t1", "name": "ls", "arguments": {"path": "."}},
        model="m",
        usage=_PI_USAGE,
        stopReason="toolUse",
    ),
    _pi_message("p3", "p2", "toolResult", _words("a.txt"), toolCallId="t1", toolName="ls", isError=False),
    _pi_message("p4", "p3", "bashExecution", command="ls", output="a\n", exitCode=0, cancelled=False),
    _pi("custom_message", "p5", "p4", customType="todo", content="x", display=True),
    _pi("branch_summary", "p6", "p5", fromId="p1", summary="They tried."),
    _pi("label", "p7", "p6", targetId="p6", label="here"),
    _pi(
        "custom",
        "p8",
        "p7",
        customType="om.observations.recorded",
        data={
            "observations": [
                {
                    "id": "0123456789ab",
                    "content": "x",
                    "timestamp": "2026-05-02 10:30",
                    "relevance": "low",
                    "sourceEntryIds": ["p1"],
                    "tokenCount": 5,
                }
            ],
            "coversUpToId": "p3",
        },
    ),
    _pi(
        "custom",
        "p8b",
        "p8",
        customType="om.observations.dropped",
        data={"observationIds": ["0123456789ab"], "coversUpToId": "p3"},
    ),
    _pi(
        "compaction",
        "p9",
        "p8b",
        summary="s",
        firstKeptEntryId="p4",
        details={"type": "om.folded", "version": 1, "observations": [], "reflections": []},
    ),
    _pi_message("p10", "p9", "hookMessage", _words("hook"), customType="h"),
]


def _pi_sample(version: int) -> Sample:
    head = {"type": "session", "version": version, "id": "pi-session", "timestamp": TIME, "cwd": "/srv/app"}
    return Sample(
        name=f"pi v{version}",
        host="pi",
        head=[head],
        rows=_PI_ROWS,
        prompt=lambda number, text: _pi_message(f"good-{number}", None, "user", _words(text)),
    )


def _without_ids(row: Row) -> Row:
    return {key: value for key, value in row.items() if key not in ("id", "parentId", "firstKeptEntryId")}


PI_V1 = Sample(
    name="pi v1",
    host="pi",
    head=[
        {"type": "session", "id": "pi-session", "timestamp": TIME, "cwd": "/srv/app", "provider": "x", "modelId": "m"}
    ],
    rows=[_without_ids(row) | ({"firstKeptEntryIndex": 3} if row["type"] == "compaction" else {}) for row in _PI_ROWS],
    prompt=lambda number, text: _without_ids(_pi_message("", None, "user", _words(text))),
)

NEUTRAL = Sample(
    name="neutral",
    host="neutral",
    head=[{"type": "minutebook.session", "version": 1, "session": "chat-7", "project": "/srv/app", "zone": "UTC"}],
    rows=[
        {"id": "n1", "role": "user", "time": TIME, "text": "list the files"},
        {
            "id": "n2",
            "parent": "n1",
            "role": "assistant",
            "time": 1_771_000_000,
            "text": "I look.",
            "parts": [{"kind": "tool_call", "name": "ls", "call_id": "c1", "arguments": {"path": "."}}],
            "usage": {"total": 20, "model": "m", "reply_id": "r"},
        },
        {"id": "n3", "parent": "n2", "role": "tool", "call_id": "c1", "text": "a.txt", "is_error": True},
        {"id": "n4", "parent": "n1", "role": "user", "moved": True, "text": "or this way"},
        {"id": "n5", "role": "custom", "custom_type": "note", "parts": [{"kind": "image", "text": "[image]"}]},
        {"type": "minutebook.compaction", "id": "k1", "first_kept": "n3", "time": TIME},
        {"role": "branch_summary", "text": "They tried."},
    ],
    prompt=lambda number, text: {"id": f"good-{number}", "role": "user", "text": text},
)

OPENCODE = Sample(
    name="opencode",
    host="opencode",
    head=[],
    rows=[
        exports.user("o1", exports.text("list the files"), {"type": "file", "mime": "image/png", "url": "data:,x"}),
        exports.assistant(
            "o2",
            {"type": "step-start", "id": "s1"},
            {"type": "reasoning", "text": "hm"},
            exports.tool("ls", "a.txt", "p1", attachments=[{"type": "file", "mime": "a/b", "filename": "f"}]),
            exports.tool("rm", "denied", "p2", status="error"),
            {"type": "step-start", "id": "s2"},
            exports.text("Done."),
            {"type": "step-finish", "tokens": {"input": 3, "output": 1, "cache": {"read": 0, "write": 0}}},
            {"type": "patch", "files": ["a"], "hash": "h"},
        ),
        exports.user("o3", exports.text("added", synthetic=True), {"type": "subtask", "prompt": "p", "agent": "x"}),
        *exports.compaction("o4", tail="o3"),
        exports.assistant("o5", error={"name": "APIError", "data": {"message": "no"}}, completed=None),
    ],
    prompt=lambda number, text: exports.user(f"good-{number}", exports.text(text)),
    suffix=".json",
)

PI_V3 = _pi_sample(3)
SAMPLES = [CLAUDE, CODEX, PI_V1, _pi_sample(2), PI_V3, NEUTRAL, OPENCODE]
