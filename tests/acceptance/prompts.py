"""Typed prompts of a real session file, found without our readers: rules of thumb that hold for the files at hand."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BY_THE_PROGRAM = (
    "<command-",
    "<local-command-",
    "<bash-",
    "<task-notification>",
    "<system-reminder>",
    "[Request interr",
)


def typed_prompts(path: Path) -> list[str]:
    """The texts in file order. A row may repeat another one's id; it counts once."""
    rows = {row.get("uuid") or row.get("id") or f"#{number}": row for number, row in enumerate(rows_of(path))}
    found = (prompt for row in rows.values() for prompt in _prompts(path.name.partition("-")[0], row))
    return [text for text in found if text.strip()]


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    """Every JSON object, also where two stand on one line; of a document that was exported, its messages."""
    if path.suffix == ".json":
        yield from json.loads(path.read_bytes())["messages"]
        return
    decoder = json.JSONDecoder()
    for line in path.read_text(encoding="utf-8").splitlines():
        rest = line.strip()
        while rest:
            value, end = decoder.raw_decode(rest)
            rest = rest[end:].lstrip()
            if isinstance(value, dict):
                yield value


def _prompts(host: str, row: dict[str, Any]) -> Iterator[str]:
    if host == "codex":
        payload = row.get("payload", {})
        if row.get("type") == "event_msg" and payload.get("type") == "user_message":
            yield payload["message"]
        return
    if host == "opencode":
        texts = [part for part in row["parts"] if part["type"] == "text" and not part.get("synthetic")]
        if row["info"]["role"] == "user":
            yield _text(texts)
        return
    if host == "pi":
        message = row.get("message", {})
        if row.get("type") == "message" and message.get("role") == "user":
            yield _text(message["content"])
        return
    if row.get("type") != "user" or any(row.get(flag) for flag in ("isMeta", "isSidechain", "isCompactSummary")):
        return
    content = row["message"]["content"]
    if isinstance(content, list) and any(block.get("type") == "tool_result" for block in content):
        return
    text = _text(content)
    if not text.lstrip().startswith(BY_THE_PROGRAM):
        yield text


def _text(content: str | list[dict[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block.get("type") == "text")
