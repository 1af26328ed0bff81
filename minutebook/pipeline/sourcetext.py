"""A source entry as text: the one form in which the observer is sent it and recall shows it. Pure."""

import re
from dataclasses import replace

from minutebook.records import RECALLED, UNOBSERVED, Part, SourceEntry
from minutebook.tokens import IMAGE_TOKENS, estimate_tokens

_OWN_TOOL = re.compile(
    r"(?:mcp__(?:plugin_om_)?om(?:__|\.))?(?:recall|memory_search|memory_status|memory_view)|om_recall"
)
"""Our tools as hosts name them: in Pi and in programs as they are, in Claude Code and Codex by server and plugin.

om_recall is ours in Pi, where another extension has a tool `recall`: what that one tells is memory, too.
"""


def with_own_type(entry: SourceEntry) -> SourceEntry:
    """The entry, marked where it is the answer of one of our tools: memory is not made of memory."""
    if entry.role == "tool_result" and _OWN_TOOL.fullmatch(entry.tool_name):
        return replace(entry, custom_type=RECALLED)
    return entry


def entry_text(entry: SourceEntry) -> str:
    """Text as it is, thinking, tool calls with their JSON arguments, placeholders for the rest; one part a line."""
    if len(entry.parts) == 1:  # most have one, and all are asked as they come in
        return part_text(entry.parts[0])
    return "\n".join([text for text in map(part_text, entry.parts) if text])


def part_text(part: Part) -> str:
    """One part; "" for one that holds nothing."""
    match part.kind:
        case "text":
            return part.text
        case "thinking":
            return f"[thinking]\n{part.text}" if part.text else ""
        case "tool_call":
            return f"[call {' '.join(filter(None, (part.name, part.text)))}]"
        case "image":
            return part.text if part.text.startswith("[") else f"[{f'image {part.text}'.rstrip()}]"
        case _:
            return part.text


def entry_tokens(entry: SourceEntry) -> int:
    """The estimate of an entry's text, and the stated constant for each image."""
    images = [part for part in entry.parts if part.kind == "image"]
    return estimate_tokens(entry_text(entry)) + len(images) * IMAGE_TOKENS


def weight_of(entry: SourceEntry) -> int:
    """An entry's weight in the log: nothing for what is never observed."""
    return 0 if entry.custom_type in UNOBSERVED else entry_tokens(entry)


def renders_to_nothing(entry: SourceEntry) -> bool:
    """Whether there is nothing to observe in it (003-003)."""
    return not entry_text(entry).strip()
