"""Model-free extracts of source entries. Pure.

An extract is cut only between a tool call's result and the next call, so that no call stands without its result.
"""

from collections.abc import Sequence

from minutebook.pipeline.shapes import one_line
from minutebook.pipeline.sourcetext import entry_text
from minutebook.records import INJECTED, NOTE, Placed
from minutebook.tokens import estimate_tokens

LINE_CHARACTERS = {"user": 1_200, "assistant": 600, "tool_result": 240, "custom": 240, "branch_summary": 600}
MARK = " […{cut:,} characters…] "


def head_and_tail(text: str, max_characters: int) -> str:
    """The text, or its head and tail with a mark that says how many characters are missing, all within the limit."""
    if len(text) <= max_characters:
        return text
    mark = MARK.format(cut=len(text))
    room = max_characters - len(mark)
    if room <= 0:
        return text[:max_characters]
    tail = room // 3
    return text[: room - tail] + MARK.format(cut=len(text) - room) + (text[-tail:] if tail else "")


def head_and_tail_tokens(text: str, max_tokens: int) -> str:
    """Like head_and_tail, by the token estimate: the longest such excerpt of at most max_tokens."""
    if estimate_tokens(text) <= max_tokens:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_tokens(head_and_tail(text, middle)) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    return head_and_tail(text, low)


def is_ours(placed: Placed) -> bool:
    """A note, or a block that we put into the context: never observed, never extracted."""
    return placed.entry.custom_type in (NOTE, INJECTED)


def extract_lines(entries: Sequence[Placed], max_tokens: int) -> list[str]:
    """The newest entries that fit, one line each, oldest first, cut at a tool-call boundary (003-075).

    A typed prompt among those left out is kept before other entries are: nothing that a person said is passed over
    while there is room.
    """
    shown = [placed for placed in entries if not is_ours(placed) and entry_text(placed.entry).strip()]
    lines = [_line(placed) for placed in shown]
    start = _whole_exchanges(shown, _cut(lines, max_tokens))
    kept = lines[start:]
    free = max_tokens - _tokens(kept)
    earlier: list[str] = []
    for placed, line in zip(reversed(shown[:start]), reversed(lines[:start]), strict=True):
        if placed.entry.typed and _tokens([line]) <= free:
            free -= _tokens([line])
            earlier.append(line)
    return earlier[::-1] + kept


def _cut(lines: Sequence[str], max_tokens: int) -> int:
    """The earliest start from which all lines fit."""
    start, used = len(lines), 0
    while start and used + _tokens([lines[start - 1]]) <= max_tokens:
        start -= 1
        used += _tokens([lines[start]])
    return start


def _whole_exchanges(shown: Sequence[Placed], start: int) -> int:
    """The start moved on until no result after it answers a call before it."""
    if start == 0:
        return 0
    called_after: set[str] = set()
    for index in range(start, len(shown)):
        entry = shown[index].entry
        called_after.update(part.call_id for part in entry.parts if part.kind == "tool_call")
        if entry.role == "tool_result" and entry.call_id not in called_after:
            start = index + 1
    return start


def _line(placed: Placed) -> str:
    entry = placed.entry
    role = entry.role if not entry.tool_name else f"{entry.role} {entry.tool_name}"
    flag = " (error)" if entry.is_error else ""
    text = one_line(head_and_tail(entry_text(entry), LINE_CHARACTERS[entry.role]))
    return f"- {role}{flag} ({entry.id}): {text}"


def _tokens(lines: Sequence[str]) -> int:
    return sum(estimate_tokens(line + "\n") for line in lines)
