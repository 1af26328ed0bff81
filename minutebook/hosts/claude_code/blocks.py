"""Content of Claude's messages → parts. Pure; any JSON type anywhere is survived."""

from collections.abc import Iterator
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
from minutebook.records import Part

CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
RESULT = "tool_result"


def blocks_of(content: object) -> list[Any]:
    """A message's content as a list of blocks: a plain string is one text block."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else list_of(content)


def parts_of(content: object) -> tuple[Part, ...]:
    """The parts of a content in their order. Redacted and empty thinking is left out (003-003)."""
    blocks = blocks_of(content)
    if len(blocks) == 1:  # as in nearly every row
        return _parts_of_block(blocks[0])
    return tuple([part for block in blocks for part in _parts_of_block(block)])


def _parts_of_block(block: object) -> tuple[Part, ...]:
    if isinstance(block, str):
        return text_part(block)
    fields = object_of(block)
    kind = text_of(fields.get("type"))
    match kind:
        case "text":
            return text_part(fields.get("text"))
        case "thinking":
            thought = text_of(fields.get("thinking"))
            return (Part("thinking", thought),) if thought else ()
        case "redacted_thinking":
            return ()
        case "image":
            return (_image(object_of(fields.get("source"))),)
        case _ if kind in CALLS:
            return (_call(fields),)
        case _:
            return (other_part(kind),)


def _image(source: dict[str, Any]) -> Part:
    if source.get("type") == "url":
        return image_at(source.get("url"))
    return image_part(source.get("media_type"), source.get("data"))


def _call(fields: dict[str, Any]) -> Part:
    name, call_id = text_of(fields.get("name")), text_of(fields.get("id"))
    return Part("tool_call", compact_json(fields.get("input", {})), name, call_id)


def grouped(content: object) -> Iterator[tuple[dict[str, Any] | None, list[Any]]]:
    """A user row's blocks in order: each tool result alone, (result, []), other neighbours together, (None, blocks)."""
    said: list[Any] = []
    for block in blocks_of(content):
        if isinstance(block, dict) and block.get("type") == RESULT:
            if said:
                yield None, said
                said = []
            yield block, []
        else:
            said.append(block)
    if said:
        yield None, said
