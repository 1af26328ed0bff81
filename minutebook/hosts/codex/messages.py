"""Codex's messages: who wrote them, what parts they have, whether a tool's output says that it failed. Pure."""

import json
import re
from typing import Any

from minutebook.hosts.fields import compact_json, image_at, list_of, object_of, other_part, text_of, text_part
from minutebook.records import INJECTED, Part

OWN_BLOCK = "<minutebook"

_WRITTEN_BY_THE_PROGRAM = (
    ("# AGENTS.md instructions", "instructions"),
    ("<user_instructions>", "instructions"),
    ("<INSTRUCTIONS>", "instructions"),
    ("<environment_context>", "environment_context"),
    ("<permissions instructions>", "instructions"),
    ("<collaboration_mode>", "instructions"),
    ("<apps_instructions>", "instructions"),
    ("<plugins_instructions>", "instructions"),
    ("<skills_instructions>", "instructions"),
    ("<recommended_plugins>", "instructions"),
    ("<multi_agent_mode>", "instructions"),
    ("<skill>", "skill"),
    ("<hook_prompt", "hook"),
    ("<turn_aborted>", "turn_aborted"),
    ("<subagent_notification>", "agent_message"),
    ("<user_shell_command>", "local_command"),
    ("<user_action>", "user_action"),
    ("You are performing a CONTEXT CHECKPOINT COMPACTION", "compaction_prompt"),
)
SUMMARY_PREFIX = "Another language model started to solve this problem"

_ANSWER_BODY = "\nOutput:\n"
_HEADER_CHARACTERS = 600
_EXIT_CODE = re.compile(r"^.{0,60}?(?:exited with code|exit code:?)\s+(-?\d+)", re.IGNORECASE | re.MULTILINE)


def parts_of(content: object) -> tuple[Part, ...]:
    """Parts of a message's or an output's content: a string, or a list of typed items."""
    if isinstance(content, str):
        return text_part(content)
    return tuple(part for item in list_of(content) for part in _parts_of_item(item))


def _parts_of_item(item: object) -> tuple[Part, ...]:
    fields = object_of(item)
    kind = text_of(fields.get("type"))
    if kind in ("input_text", "output_text", "text", "refusal", "summary_text", "reasoning_text"):
        return text_part(fields.get("text") or fields.get("refusal"))
    if kind in ("input_image", "output_image", "image"):
        url = fields.get("image_url")
        return (image_at(object_of(url).get("url") if isinstance(url, dict) else url),)
    return (other_part(kind.replace("_", " ")),)


def thoughts_of(payload: dict[str, Any]) -> list[str]:
    """The readable texts of a reasoning item; its encrypted content is none."""
    items = [*list_of(payload.get("summary")), *list_of(payload.get("content"))]
    return [text for item in items if (text := text_of(object_of(item).get("text")))]


def custom_type_of(payload: dict[str, Any], parts: tuple[Part, ...]) -> str:
    """What the program wrote in a developer's or user's name; "" for a person's words.

    Newer files state the kind of each item; for the others the known openings decide.
    """
    role = text_of(payload.get("role"))
    passed = object_of(payload.get("internal_chat_message_metadata_passthrough"))
    kinds = [text_of(kind) for kind in list_of(passed.get("content_item_kinds"))]
    text = "\n".join(part.text for part in parts if part.kind == "text")
    if role == "user" and any(kind.startswith("user.") for kind in kinds):
        return ""
    known = _known_opening(text)
    if any(kind.startswith("hooks.") for kind in kinds) or role != "user" or (known and OWN_BLOCK in text):
        hook = "hook" if any(kind.startswith("hooks.") for kind in kinds) else known or "developer"
        return INJECTED if OWN_BLOCK in text else hook
    return known or ("instructions" if kinds else "")


def _known_opening(text: str) -> str:
    start = text.lstrip()
    return next((custom for prefix, custom in _WRITTEN_BY_THE_PROGRAM if start.startswith(prefix)), "")


def call_part(payload: dict[str, Any]) -> Part:
    """The tool call of a *_call item, with its arguments as compact JSON, or as they are where they are no JSON."""
    kind = text_of(payload.get("type"))
    name = text_of(payload.get("name")) or kind.removesuffix("_call")
    namespace = text_of(payload.get("namespace"))
    given: object = payload.get("arguments")
    if given is None:
        given = next((payload[key] for key in ("input", "action") if payload.get(key) is not None), {})
    text = _arguments(given) if isinstance(given, str) else compact_json(given)
    return Part("tool_call", text, f"{namespace}.{name}" if namespace else name, call_id_of(payload))


def call_id_of(payload: dict[str, Any]) -> str:
    return text_of(payload.get("call_id")) or text_of(payload.get("id"))


def _arguments(text: str) -> str:
    try:
        return compact_json(json.loads(text)) or text
    except (ValueError, RecursionError):
        return text


def output_parts(output: object) -> tuple[Part, ...]:
    """The parts of a tool's output: a text, a list of items, or {"content": …}."""
    if isinstance(output, dict):
        content = output.get("content")
        return parts_of(content if content is not None else output.get("output"))
    return parts_of(output)


def has_failed(output: object, parts: tuple[Part, ...]) -> bool:
    """Whether an output says so: success false, a failed script, or an exit code that is not 0 in its header."""
    if isinstance(output, dict) and isinstance(output.get("success"), bool):
        return not output["success"]
    texts = [part.text for part in parts if part.kind == "text"]
    text = texts[0] if texts else ""
    stated = _stated_exit_code(text)
    if stated is not None:
        return stated != 0
    header = text[: _HEADER_CHARACTERS + len(_ANSWER_BODY)].partition(_ANSWER_BODY)[0][:_HEADER_CHARACTERS]
    match = _EXIT_CODE.search(header) if "exit" in header.lower() else None
    return header.startswith("Script failed") or (match is not None and int(match[1]) != 0)


def _stated_exit_code(text: str) -> int | None:
    """Of an output in the form {"output": …, "metadata": {"exit_code": n}}."""
    if not (text.startswith("{") and '"exit_code"' in text):
        return None
    try:
        code = object_of(object_of(json.loads(text)).get("metadata")).get("exit_code")
    except (ValueError, RecursionError):
        return None
    return code if isinstance(code, int) else None
