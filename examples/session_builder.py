"""Builds a session file in the shape of a Claude Code transcript, row by row, always the same for the same calls.

Nothing here knows what the session is about. `Session` takes what was said and done and writes the rows: the uuid chain,
one message id and one usage per reply, tool calls and their results, the metadata rows in between. Ids and pauses come
from `Dice`, a small generator of our own, so that no version of Python changes a byte of the result.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
Row = dict[str, Any]


class Dice:
    """A deterministic source of choices: the n-th draw is a hash of the seed and n."""

    def __init__(self, seed: str) -> None:
        self.seed = seed
        self.draws = 0

    def _next(self) -> bytes:
        self.draws += 1
        return sha256(f"{self.seed}:{self.draws}".encode()).digest()

    def between(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return low + int.from_bytes(self._next()[:8], "big") % (high - low + 1)

    def pick(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[self.between(0, len(items) - 1)]

    def hex(self, length: int) -> str:
        """Hexadecimal characters, at most 64."""
        return self._next().hex()[:length]

    def uuid(self) -> str:
        """The look of a version 4 UUID."""
        h = self._next().hex()
        return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:32]}"

    def token(self, length: int) -> str:
        """Letters and digits, as in the ids that a provider gives."""
        alphabet = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz123456789"
        return "".join(self.pick(alphabet) for _ in range(length))


@dataclass
class Call:
    """One tool call and what came back. extra: the host's own record of the result (`toolUseResult`)."""

    name: str
    input: dict[str, Any]
    result: str
    is_error: bool = False
    extra: Any = None
    seconds: float = 1.0


@dataclass
class Session:
    """A session under construction; `rows` is what the file will hold."""

    seed: str
    cwd: str
    branch: str
    start: datetime
    version: str = "2.1.14"
    model: str = "claude-sonnet-4-5-20250929"
    base_tokens: int = 14_800
    rows: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.dice = Dice(self.seed)
        self.session_id = self.dice.uuid()
        self.slug = "quiet-sorting-heron"
        self.now = self.start
        self.last: str | None = None
        self.pending: list[Row] = []
        self.unsent = self.base_tokens  # what the provider has not seen yet
        self.cached = 0
        self.seen_bytes = 0
        self.turn_started: datetime | None = None
        self.turn_rows = 0
        self.turns = 0
        self.backups: dict[str, int] = {}

    # what happens

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(milliseconds=int(seconds * 1000))

    def say(self, text: str, *, after: float | None = None) -> str:
        """A typed prompt; closes the turn before it. after: seconds since the last row."""
        self._close_turn()
        self.wait(self.dice.between(160, 420) if after is None else after)
        self.turns += 1
        self.turn_started, self.turn_rows = self.now, len(self.rows)
        uuid = self._user(text)
        if self.turns % 3 == 1:
            self._snapshot(uuid)
        return uuid

    def think(self, text: str) -> None:
        """A thinking block of the reply that comes next."""
        signature = "Ev" + self.dice.token(58)
        self.pending.append({"type": "thinking", "thinking": text, "signature": signature})

    def note(self, text: str) -> None:
        """Text of the reply that comes next, before its tool call."""
        self.pending.append({"type": "text", "text": text})

    def reply(self, text: str) -> str:
        """The last words of a turn; returns the row's uuid."""
        self.note(text)
        return self._flush("end_turn")[-1]

    def tool(self, *calls: Call) -> list[str]:
        """One reply that makes these calls (several: in parallel), and their results; returns the results' uuids."""
        ids = []
        for call in calls:
            ids.append("toolu_01" + self.dice.token(22))
            self.pending.append({"type": "tool_use", "id": ids[-1], "name": call.name, "input": call.input})
        asked = self._flush("tool_use")[-len(calls) :]
        return [self._result(call, i, row) for call, i, row in zip(calls, ids, asked, strict=True)]

    def touched(self, path: str) -> None:
        """A file that was edited, for the snapshots that the host writes."""
        self.backups[path] = self.backups.get(path, 0) + 1

    def finish(self) -> None:
        """Close the last turn."""
        self._close_turn()

    # rows

    def _common(self, kind: str) -> Row:
        return {
            "parentUuid": self.last, "isSidechain": False, "userType": "external", "cwd": self.cwd,
            "sessionId": self.session_id, "version": self.version, "gitBranch": self.branch, "slug": self.slug,
            "type": kind,
        }  # fmt: skip

    def _put(self, row: Row, parent: str | None = None) -> str:
        row["uuid"] = self.dice.uuid()
        row["timestamp"] = self._stamp(self.now)
        if parent is not None:
            row["parentUuid"] = parent
        self.rows.append(row)
        self.last = str(row["uuid"])
        return self.last

    @staticmethod
    def _stamp(moment: datetime) -> str:
        return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"

    def _count(self, text: str) -> None:
        size = len(text.encode())
        self.seen_bytes += size
        self.unsent += size * 26 // 100  # providers count a little more than a quarter of the bytes

    def _user(self, text: str) -> str:
        self._count(text)
        row = self._common("user")
        row["message"] = {"role": "user", "content": text}
        row["thinkingMetadata"] = {"level": "high", "disabled": False, "triggers": []}
        return self._put(row)

    def _flush(self, stop_reason: str) -> list[str]:
        """The pending blocks as one reply: one row a block, the same message id and usage on each."""
        blocks, self.pending = self.pending, []
        texts = [b.get("text") or b.get("thinking") or json.dumps(b["input"], ensure_ascii=False) for b in blocks]
        usage = {
            "input_tokens": self.dice.between(6, 14), "cache_creation_input_tokens": self.unsent,
            "cache_read_input_tokens": self.cached,
            "output_tokens": sum(len(t.encode()) for t in texts) * 26 // 100 + 12, "service_tier": "standard",
        }  # fmt: skip
        self.cached, self.unsent = self.cached + self.unsent, 0
        head = {"id": "msg_01" + self.dice.token(22), "request": "req_011C" + self.dice.token(20)}
        uuids = []
        for block, text in zip(blocks, texts, strict=True):
            self.wait(1.2 + len(text) / 110 + self.dice.between(0, 900) / 1000)
            self._count(text)
            row = self._common("assistant")
            row["message"] = {
                "model": self.model, "id": head["id"], "type": "message", "role": "assistant", "content": [block],
                "stop_reason": stop_reason if block is blocks[-1] else None, "stop_sequence": None, "usage": usage,
            }  # fmt: skip
            row["requestId"] = head["request"]
            uuids.append(self._put(row))
        return uuids

    def _result(self, call: Call, call_id: str, asked: str) -> str:
        self.wait(call.seconds)
        self._count(call.result)
        block: Row = {"tool_use_id": call_id, "type": "tool_result", "content": call.result}
        if call.is_error or call.name == "Bash":
            block["is_error"] = call.is_error
        row = self._common("user")
        row["message"] = {"role": "user", "content": [block]}
        row["toolUseResult"] = f"Error: {call.result[:160]}" if call.is_error else call.extra
        row["sourceToolAssistantUUID"] = asked
        return self._put(row, parent=asked)

    def _snapshot(self, message_id: str) -> None:
        stamp = self._stamp(self.now)
        tracked = {
            path: {"backupFileName": f"{sha256(path.encode()).hexdigest()[:16]}@v{n}", "version": n, "backupTime": stamp}
            for path, n in list(self.backups.items())[-4:]
        }
        body = {"messageId": message_id, "trackedFileBackups": tracked, "timestamp": stamp}
        row = {"type": "file-history-snapshot", "messageId": message_id, "snapshot": body, "isSnapshotUpdate": False}
        self.rows.append(row)

    def _close_turn(self) -> None:
        if self.turn_started is None:
            return
        started, self.turn_started = self.turn_started, None
        self.wait(0.2)
        if self.turns % 9 == 4:
            row = self._common("system")
            row |= {
                "subtype": "stop_hook_summary", "hookCount": 1, "hookInfos": [{"command": ".claude/hooks/format.sh"}],
                "hookErrors": [], "preventedContinuation": False, "stopReason": "", "hasOutput": False,
                "level": "suggestion", "toolUseID": self.dice.uuid(),
            }  # fmt: skip
            self._put(row)
        if (self.now - started).total_seconds() > 45:
            row = self._common("system")
            duration = int((self.now - started).total_seconds() * 1000)
            row |= {"subtype": "turn_duration", "durationMs": duration, "isMeta": False}
            self._put(row)


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """One JSON value a line, UTF-8, a newline at the end of each."""
    text = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows)
    path.write_bytes(text.encode())
