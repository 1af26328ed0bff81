"""Pi's messages → parts and usage. Pure."""

from typing import Any

from minutebook.hosts.fields import (
    compact_json,
    image_at,
    image_part,
    list_of,
    object_of,
    other_part,
    text_of,
    text_part,
)
from minutebook.hosts.usage import context_tokens
from minutebook.records import Part, Usage

FAILED = ("error", "aborted")


def parts_of(content: object) -> tuple[Part, ...]:
    """Parts of a content: a string or a list of blocks; redacted and empty thinking is left out (003-003)."""
    if isinstance(content, str):
        return text_part(content)
    return tuple([part for block in list_of(content) for part in _parts_of_block(object_of(block))])


def _parts_of_block(block: dict[str, Any]) -> tuple[Part, ...]:
    kind = text_of(block.get("type"))
    match kind:
        case "text":
            return text_part(block.get("text"))
        case "thinking":
            thought = text_of(block.get("thinking"))
            return (Part("thinking", thought),) if thought and block.get("redacted") is not True else ()
        case "toolCall":
            name, call_id = text_of(block.get("name")), text_of(block.get("id"))
            return (Part("tool_call", compact_json(block.get("arguments", {})), name, call_id),)
        case "image":
            if "data" not in block and "url" in block:
                return (image_at(block["url"]),)
            return (image_part(block.get("mimeType"), block.get("data")),)
        case _:
            return (other_part(kind),)


def bash_part(message: dict[str, Any]) -> tuple[Part, ...]:
    """A command that a person ran with "!": the command, its output, and how it ended if not well."""
    lines = [f"$ {text_of(message.get('command'))}", text_of(message.get("output"))]
    code = message.get("exitCode")
    if message.get("cancelled") is True:
        lines.append("(cancelled)")
    elif isinstance(code, int) and code != 0:
        lines.append(f"(exit code {code})")
    return text_part("\n".join(line for line in lines if line))


def bash_failed(message: dict[str, Any]) -> bool:
    code = message.get("exitCode")
    return message.get("cancelled") is True or (isinstance(code, int) and code != 0)


def usage_of(message: dict[str, Any], entry_id: str) -> Usage | None:
    """What an assistant message reports; a failed or aborted reply has no usable count (003-055)."""
    usage = message.get("usage")
    if not isinstance(usage, dict):
        return None
    tokens = context_tokens(
        total=usage.get("totalTokens"),
        input=usage.get("input"),
        output=usage.get("output"),
        cache_read=usage.get("cacheRead"),
        cache_write=usage.get("cacheWrite"),
        failed=message.get("stopReason") in FAILED,
    )
    reply_id = text_of(message.get("responseId")) or entry_id
    return Usage(reply_id, text_of(message.get("model")), tokens)
