"""Calls that a model wrote as text, for want of tool calling. Pure."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from minutebook.workers.salvaging import NotJson, read_json

NAMED = ("tool", "name", "function")
GIVEN = ("arguments", "parameters", "args")


def calls_in_text(text: str, required: Mapping[str, Collection[str]], *, expected: bool) -> list[tuple[str, str]]:
    """Name and arguments (JSON text) of each call; none in prose. required: each tool's required arguments.

    expected: the model has no other way to call. Raises NotJson where a call was tried and cannot be read.
    """
    try:
        value = read_json(text)
    except NotJson:
        if "{" in text and (expected or _is_try(text, required)):
            raise
        return []
    calls = [_call(each, required) for each in (value if _is_list_of_calls(value) else [value])]
    if expected and "{" in text and None in calls:
        raise NotJson(f'it is no call; write {{"tool": …, "arguments": {{…}}}} with one of {", ".join(required)}')
    return [call for call in calls if call]


def json_mode(tools: Sequence[tuple[str, str, Mapping[str, Any]]]) -> str:
    """How to call without tool calling, for the end of a system prompt. tools: name, description and schema of each."""
    lines = "\n".join(
        f"- {name}: {description}\n  arguments: {json.dumps(schema, separators=(',', ':'), ensure_ascii=False)}"
        for name, description, schema in tools
    )
    return (
        "# How to answer\n"
        "You cannot call tools here. Answer with exactly one JSON object and nothing before or after it:\n"
        '{"tool": "<name>", "arguments": {...}}\n'
        f"Put everything into this one answer. The tools and the schemas of their arguments:\n{lines}\n"
    )


def _is_try(text: str, required: Mapping[str, Collection[str]]) -> bool:
    return text.lstrip().startswith(("{", "[", "```", "<")) or any(f'"{name}"' in text for name in required)


def _is_list_of_calls(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)


def _call(value: Any, required: Mapping[str, Collection[str]]) -> tuple[str, str] | None:
    if not isinstance(value, dict):
        return None
    name = next((value[key] for key in NAMED if isinstance(value.get(key), str)), None)
    if name is not None:
        return name, _text(next((value[key] for key in GIVEN if key in value), {}))
    if len(value) == 1 and next(iter(value)) in required:
        name, arguments = next(iter(value.items()))
        return name, _text(arguments)
    fitting = [tool for tool, fields in required.items() if fields and set(fields) <= value.keys()]
    return (fitting[0], _text(value)) if len(fitting) == 1 else None


def _text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)
