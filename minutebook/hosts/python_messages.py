"""Messages of a program (OpenAI's chat and responses, Anthropic's, litellm's) → what the ledger keeps. Pure.

Any of them may be a dict or an object of the library that made it. What a message says is read leniently: a part of an
unknown kind is a placeholder. Only something that is no message at all is refused.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from minutebook.errors import BadInput
from minutebook.hosts.claude_code.blocks import CALLS, RESULT
from minutebook.hosts.claude_code.blocks import parts_of as blocks_parts
from minutebook.hosts.fields import compact_json, image_at, list_of, object_of, other_part, text_of, text_part
from minutebook.pipeline.quoting import CLOSING, OPENING
from minutebook.pipeline.sourcetext import entry_tokens
from minutebook.records import Part, SourceEntry, content_id

SYSTEM = ("system", "developer")
TOOL = ("tool", "function")
RESULT_ITEMS = ("function_call_output", "custom_tool_call_output", "computer_call_output", "local_shell_call_output")
CALL_ITEMS = ("function_call", "custom_tool_call", "computer_call", "local_shell_call", "web_search_call")
DEEPEST = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One piece of a message, as a source entry will say it. key: of what it says, whoever says it where."""

    role: str
    parts: tuple[Part, ...]
    tool_name: str = ""
    custom_type: str = ""
    call_id: str = ""
    is_error: bool = False

    @property
    def key(self) -> str:
        said = (text for part in self.parts for text in (part.kind, part.name, part.call_id, part.text))
        return content_id(self.role, self.custom_type, self.call_id, *said)

    @property
    def typed(self) -> bool:
        return self.role == "user"

    @property
    def tokens(self) -> int:
        return entry_tokens(SourceEntry(id="", role=self.role, parts=self.parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message and what of it is kept. leads: it belongs to the item after it (a reasoning before its call)."""

    said: tuple[Said, ...] = ()
    system: bool = False
    leads: bool = False

    @property
    def calls(self) -> set[str]:
        return {part.call_id for each in self.said for part in each.parts if part.kind == "tool_call" and part.call_id}

    @property
    def answers(self) -> set[str]:
        return {each.call_id for each in self.said if each.role == "tool_result" and each.call_id}

    @property
    def tokens(self) -> int:
        return sum(each.tokens for each in self.said)


def read_messages(messages: Sequence[Any], names: Mapping[str, str] | None = None) -> list[Message]:
    """The messages in their order. names: of tools by call ids that were seen before. Raises BadInput."""
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Sequence):
        raise BadInput(f"messages: give a list of messages, not {type(messages).__name__}")
    known = dict(names or {})
    found = []
    for index, message in enumerate(messages):
        read = _read(_fields(message, index), known)
        known |= {part.call_id: part.name for each in read.said for part in each.parts if part.kind == "tool_call"}
        found.append(read)
    return found


def _fields(message: object, index: int) -> dict[str, Any]:
    fields = _plain(message)
    if not isinstance(fields, dict) or not ("role" in fields or "type" in fields):
        kind = type(message).__name__
        raise BadInput(f"message {index}: a {kind} is no message; give dicts with a role, or a library's own objects")
    return fields


def _plain(value: object, depth: int = 0) -> Any:
    """A value without objects of libraries; what is nested without end ends."""
    if depth > DEEPEST or value is None or isinstance(value, (str, int, float, bool)):
        return value if depth <= DEEPEST else None
    dump = getattr(value, "model_dump", None) or getattr(value, "dict", None)
    if callable(dump) and not isinstance(value, type):
        value = dump()
    if isinstance(value, Mapping):
        return {str(key): _plain(each, depth + 1) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each, depth + 1) for each in value]
    return f"[{type(value).__name__}]"


def _read(fields: dict[str, Any], names: Mapping[str, str]) -> Message:
    role, kind = text_of(fields.get("role")), text_of(fields.get("type"))
    if not role and kind not in ("", "message"):
        return _item(fields, kind, names)
    if role in SYSTEM:
        return Message(system=True)
    if role in TOOL:
        call_id = text_of(fields.get("tool_call_id"))
        name = text_of(fields.get("name")) or names.get(call_id, "")
        return _message(
            Said(role="tool_result", parts=result_parts(fields.get("content")), tool_name=name, call_id=call_id)
        )
    if role == "assistant":
        return _message(Said(role="assistant", parts=_assistant(fields)))
    if role == "user":
        return _message(*_user(fields.get("content"), names))
    return _message(Said(role="custom", custom_type=role[:80], parts=parts_of(fields.get("content"))))


def _message(*said: Said) -> Message:
    kept = (
        replace(each, parts=_without_ours(each.parts)) if each.role in ("user", "custom") else each for each in said
    )
    return Message(said=tuple(each for each in kept if each.parts))


def _without_ours(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Without a memory that compact() put there, which is never recorded; what a program wrote behind it stays."""
    return tuple(part for each in parts for part in (_behind(each) if _is_ours(each) else (each,)))


def _is_ours(part: Part) -> bool:
    return part.kind == "text" and part.text.lstrip().startswith(OPENING)


def _behind(part: Part) -> tuple[Part, ...]:
    return text_part(part.text.partition(CLOSING)[2].strip())


def _user(content: object, names: Mapping[str, str]) -> Iterator[Said]:
    """Anthropic's results of tools come in a user's message: each is one of its own, the rest between them another."""
    rest: list[Any] = []
    for block in _blocks(content):
        if object_of(block).get("type") != RESULT:
            rest.append(block)
            continue
        if rest:
            yield Said(role="user", parts=parts_of(rest))
            rest = []
        call_id = text_of(block.get("tool_use_id"))
        yield Said(
            role="tool_result",
            parts=result_parts(block.get("content")),
            tool_name=names.get(call_id, ""),
            call_id=call_id,
            is_error=block.get("is_error") is True,
        )
    if rest:
        yield Said(role="user", parts=parts_of(rest))


def _assistant(fields: dict[str, Any]) -> tuple[Part, ...]:
    content = parts_of(fields.get("content"))
    thought = text_of(fields.get("reasoning_content"))
    thinking = () if not thought or any(part.kind == "thinking" for part in content) else (_thinking(thought),)
    calls = tuple(_call(object_of(each)) for each in list_of(fields.get("tool_calls")))
    old = object_of(fields.get("function_call"))
    known = {part.call_id for part in content if part.kind == "tool_call"}
    calls = tuple(part for part in calls if part.call_id not in known or not part.call_id)
    refusal = text_part(fields.get("refusal"))
    return (*thinking, *content, *refusal, *calls, *((_call({"function": old}),) if old else ()))


def _thinking(text: str) -> Part:
    return Part(kind="thinking", text=text)


def _call(fields: dict[str, Any]) -> Part:
    function = object_of(fields.get("function")) or object_of(fields.get("custom")) or fields
    given = function.get("arguments", function.get("input", {}))
    call_id = text_of(fields.get("call_id")) or text_of(fields.get("id"))
    return Part(kind="tool_call", name=text_of(function.get("name")), call_id=call_id, text=_arguments(given))


def _arguments(given: object) -> str:
    if not isinstance(given, str):
        return compact_json(given)
    try:
        return compact_json(json.loads(given)) or given
    except (ValueError, RecursionError):
        return given


def _item(fields: dict[str, Any], kind: str, names: Mapping[str, str]) -> Message:
    """An item of OpenAI's responses that is no message."""
    if kind in RESULT_ITEMS:
        call_id, output = text_of(fields.get("call_id")), fields.get("output")
        return _message(
            Said(role="tool_result", parts=result_parts(output), tool_name=names.get(call_id, ""), call_id=call_id)
        )
    if kind in CALL_ITEMS:
        call = _call(fields if fields.get("name") else {**fields, "name": kind.removesuffix("_call")})
        return _message(Said(role="assistant", parts=(call,)))
    if kind == "reasoning":
        items = [*list_of(fields.get("summary")), *list_of(fields.get("content"))]
        thoughts = (text_of(object_of(item).get("text")) for item in items)
        parts = tuple(_thinking(text) for text in thoughts if text)
        return Message(said=(Said(role="assistant", parts=parts),) if parts else (), leads=True)
    return _message(Said(role="custom", custom_type=kind[:80], parts=(other_part(kind),)))


def result_parts(content: object) -> tuple[Part, ...]:
    """A result's parts; one that holds nothing says so, as its call was answered by it."""
    return parts_of(content) or (other_part("no output"),)


def parts_of(content: object) -> tuple[Part, ...]:
    """A content's parts: a text, or a list of any library's blocks."""
    return tuple(part for block in _blocks(content) for part in _parts_of_block(block))


def _blocks(content: object) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return content if isinstance(content, list) else [] if content is None else [content]


def _parts_of_block(block: object) -> tuple[Part, ...]:
    fields = object_of(block)
    kind = text_of(fields.get("type"))
    if kind in ("input_text", "output_text", "text"):
        return _text_part(fields.get("text"))
    if kind == "refusal":
        return text_part(fields.get("refusal"))
    if kind in ("image_url", "input_image", "output_image"):
        url = fields.get("image_url")
        return (image_at(object_of(url).get("url") if isinstance(url, dict) else url),)
    if isinstance(block, str) or kind in (*CALLS, "thinking", "redacted_thinking", "image"):
        return blocks_parts([block])
    if not kind:
        return _text_part(fields.get("text", block))
    return (other_part(kind.replace("_", " ")),)


def _text_part(text: object) -> tuple[Part, ...]:
    """A text; a placeholder for something else that stands in its place, so that what was said is not left out."""
    return text_part(text) if text is None or isinstance(text, str) else (other_part(""),)
