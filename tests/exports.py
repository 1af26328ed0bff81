"""OpenCode exports, shaped like real ones: a session's info and its messages, each with parts."""

import json
from pathlib import Path
from typing import Any

STARTED = 1_771_216_037_742


def info(own: str = "ses_one", **more: Any) -> dict[str, Any]:
    times = {"created": STARTED, "updated": STARTED + 1}
    return {"id": own, "directory": "/srv/app", "version": "1.2.5", "title": "A title", "time": times, **more}


def text(words: str, own: str = "", **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, "id": own or f"prt_{words}", **more}


def tool(name: str, answer: str, own: str, *, status: str = "completed", **more: Any) -> dict[str, Any]:
    answered = {"error": answer} if status == "error" else {"output": answer, "title": name, "metadata": {}}
    state = {
        "status": status,
        "input": {"path": "a"},
        "time": {"start": STARTED, "end": STARTED + 5},
        **answered,
        **more,
    }
    return {"type": "tool", "callID": f"call_{own}", "tool": name, "state": state, "id": own}


def user(own: str, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    said = {"role": "user", "time": {"created": STARTED}, "agent": "build", "id": own, **more}
    return {"info": said, "parts": list(parts or [text(f"words of {own}")])}


def assistant(own: str, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A finished reply; completed=None for one that is not."""
    completed = more.pop("completed", STARTED + 9)
    times = {"created": STARTED, **({"completed": completed} if completed else {})}
    counts = {"total": 100, "input": 60, "output": 40, "reasoning": 0, "cache": {"read": 0, "write": 0}}
    said = {"role": "assistant", "time": times, "modelID": "gpt", "tokens": counts, "id": own, **more}
    return {"info": said, "parts": list(parts or [text(f"reply of {own}")])}


def compaction(own: str, *, tail: str = "") -> list[dict[str, Any]]:
    """The request for one, and the summary that came of it."""
    part = {"type": "compaction", "auto": True, "id": f"prt_{own}", **({"tail_start_id": tail} if tail else {})}
    summary = assistant(f"{own}_summary", text("Goal: …"), summary=True, finish="stop", parentID=own, mode="compaction")
    return [user(own, part), summary]


def document(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"info": info(**more), "messages": list(messages)}


def write(path: Path, data: object, *, indent: int | None = 2) -> Path:
    path.write_text(
        json.dumps(data, indent=indent, ensure_ascii=False) + "\n", encoding="utf-8", errors="surrogatepass"
    )
    return path
