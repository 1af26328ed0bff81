"""OpenCode's messages → steps, parts and usage. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from minutebook.hosts.fields import compact_json, image_at, list_of, object_of, other_part, text_of, text_part
from minutebook.hosts.usage import context_tokens
from minutebook.records import Part, Usage

UNSEEN = ("agent", "patch", "retry", "snapshot")
"""Parts that the model is not shown."""
_STEP_START, _STEP_END = "step-start", "step-finish"
_FINISHED = ("completed", "error")


@dataclass(slots=True)
class Step:
    """One call of the model: what it said and called, and the tools that have answered. id: "" where none is given."""

    id: str = ""
    parts: list[Part] = field(default_factory=list)
    results: list[dict[str, Any]] = field(default_factory=list)
    tokens: dict[str, Any] = field(default_factory=dict)
    other: list[str] = field(default_factory=list)


def steps_of(parts: Iterable[object]) -> list[Step]:
    """The steps of an assistant's message, at least one: older versions keep several in one message.

    other: kinds of parts that the model is not shown or that are not known.
    """
    steps = [Step()]
    for part in map(object_of, parts):
        kind = text_of(part.get("type"))
        if kind == _STEP_START:
            if steps[-1].parts or steps[-1].results:
                steps.append(Step())
            steps[-1].id = text_of(part.get("id"))
        elif kind == _STEP_END:
            steps[-1].tokens = object_of(part.get("tokens"))
        else:
            _add(steps[-1], kind, part)
    return steps


def _add(step: Step, kind: str, part: dict[str, Any]) -> None:
    if kind == "text":
        step.parts += text_part(part.get("text"))
    elif kind == "reasoning":
        thought = text_of(part.get("text"))
        step.parts += [Part(kind="thinking", text=thought)] if thought else []
    elif kind == "tool":
        step.parts.append(_call(part))
        if object_of(part.get("state")).get("status") in _FINISHED:
            step.results.append(part)
    elif kind == "file":
        step.parts.append(file_part(part))
    else:
        step.other.append(kind)


def _call(part: dict[str, Any]) -> Part:
    arguments = compact_json(object_of(part.get("state")).get("input", {}))
    return Part(kind="tool_call", name=text_of(part.get("tool")), call_id=text_of(part.get("callID")), text=arguments)


def result_parts(part: dict[str, Any]) -> tuple[Part, ...]:
    """What a tool answered: its output or its error, then a placeholder for each attachment."""
    state = object_of(part.get("state"))
    said = text_part(state.get("error") if failed(part) else state.get("output"))
    return (*said, *(file_part(object_of(attached)) for attached in list_of(state.get("attachments"))))


def failed(part: dict[str, Any]) -> bool:
    return object_of(part.get("state")).get("status") == "error"


def file_part(part: dict[str, Any]) -> Part:
    """A placeholder; a text file's content comes as a text of the program's own."""
    if text_of(part.get("mime")).startswith("image/"):
        return image_at(part.get("url"))
    return other_part(f"file {text_of(part.get('filename')) or text_of(part.get('mime'))}".strip())


def error_of(info: dict[str, Any]) -> tuple[Part, ...]:
    """A placeholder for the error that a reply ended with, if it did."""
    error = info.get("error")
    if not isinstance(error, dict):
        return ()
    said = (text_of(error.get("name")) or "error", text_of(object_of(error.get("data")).get("message")))
    return (other_part(": ".join(filter(None, said))),)


def usage_of(tokens: dict[str, Any], *, reply_id: str, info: dict[str, Any], failed: bool) -> Usage | None:
    """What a step reports; a failed reply has no usable count (003-055)."""
    if not tokens:
        return None
    cache = object_of(tokens.get("cache"))
    counted = context_tokens(
        total=tokens.get("total"),
        input=tokens.get("input"),
        output=tokens.get("output"),
        cache_read=cache.get("read"),
        cache_write=cache.get("write"),
        failed=failed,
    )
    return Usage(reply_id=reply_id, model=text_of(info.get("modelID")), context_tokens=counted)
