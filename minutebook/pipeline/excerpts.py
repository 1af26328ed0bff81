"""Model-free extracts of source entries. Pure.

An extract is cut only between a tool call's result and the next call, so that no call stands without its result.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache

from minutebook.pipeline.quoting import harmless
from minutebook.pipeline.sourcetext import entry_text
from minutebook.records import UNOBSERVED, Placed, SourceEntry
from minutebook.tokens import estimate_tokens

LINE_CHARACTERS = {"user": 1_200, "assistant": 600, "tool_result": 240, "custom": 240, "branch_summary": 600}
MARK = " […{cut:,} characters…] "
COMMANDS_OF_A_HOST = ("local_command", "meta")
_ECHO = re.compile(r"<(command-[a-z]+|local-command-[a-z]+)>(.*?)</\1>\s*", re.DOTALL)
TYPED_SHARE = 3 / 4
"""What typed prompts may take of an extract before the newest other entries are served."""


def head_and_tail(text: str, max_characters: int) -> str:
    """The text, or its head and tail with a mark that says how many characters are missing, all within the limit."""
    if len(text) <= max_characters:
        return text
    max_characters = max(0, max_characters)
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


def is_unobserved(placed: Placed) -> bool:
    """A note, a block that we put into the context, a summary of the host's own: never observed, never extracted."""
    return placed.entry.custom_type in UNOBSERVED


@dataclass(slots=True)
class _Exchange:
    """Entries that are shown together or not at all: a tool call with its results, or a single other entry."""

    at: list[int]
    open_calls: set[str] = field(default_factory=set)
    typed: bool = False


def extract_lines(entries: Sequence[Placed], max_tokens: int, *, unread: int = 0) -> list[str]:
    """Entries as one harmless line each, oldest first, and before them how many are not shown (003-075).

    Typed prompts come first, from the newest on, then the newest other exchanges. No call stands without its result.
    unread: entries before these that nobody looked at. All lines together have at most max_tokens.
    """
    shown = [placed for placed in entries if _says_something(placed)]
    free = max_tokens - _tokens([_hidden_line(10**9)])
    if free < 0:
        return []
    line = cache(lambda at: _line(shown[at], max_tokens))  # few of them are ever looked at
    chosen = _choose(_exchanges(shown), line, free)
    hidden = unread + len(shown) - len(chosen)
    return ([_hidden_line(hidden)] if hidden else []) + [line(at) for at in sorted(chosen)]


def _says_something(placed: Placed) -> bool:
    entry = placed.entry
    if is_unobserved(placed):
        return False
    if entry.role == "tool_result":
        return True
    text = entry_text(entry)
    return bool(text.strip()) and not is_command_echo(entry, text)


def is_command_echo(entry: SourceEntry, text: str) -> bool:
    """Whether it is only what Claude Code writes down of its own commands, such as /compact, and what they printed.

    A command's arguments may be a person's words, so it is not where there are any.
    """
    if entry.role != "custom" or entry.custom_type not in COMMANDS_OF_A_HOST:
        return False
    at = len(text) - len(text.lstrip())
    while at < len(text):
        found = _ECHO.match(text, at)
        if not found or (found[1] == "command-args" and found[2].strip()):
            return False
        at = found.end()
    return True


def _hidden_line(count: int) -> str:
    return "(1 more entry is not shown.)" if count == 1 else f"({count:,} more entries are not shown.)"


def _exchanges(shown: Sequence[Placed]) -> list[_Exchange]:
    """The whole exchanges, by their last entry; a call that has no result here, and a result without its call, are out.

    A result that names no call belongs to the call before it.
    """
    found: list[_Exchange] = []
    of_call: dict[str, _Exchange] = {}
    for at, placed in enumerate(shown):
        entry = placed.entry
        calls = {part.call_id for part in entry.parts if part.kind == "tool_call"}
        exchange = of_call.get(entry.call_id) if entry.role == "tool_result" else _Exchange([at], calls, entry.typed)
        if exchange is None:
            continue
        if entry.role == "tool_result":
            exchange.at.append(at)
            exchange.open_calls -= {entry.call_id} if entry.call_id else exchange.open_calls
        else:
            found.append(exchange)
            of_call.update(dict.fromkeys(calls | ({""} if calls else set()), exchange))
    return sorted((each for each in found if not each.open_calls), key=lambda each: each.at[-1])


def _choose(exchanges: Sequence[_Exchange], line: Callable[[int], str], free: int) -> set[int]:
    """Indices of the lines to show."""
    chosen: set[int] = set()
    typed = [each for each in reversed(exchanges) if each.typed]
    others = [each for each in reversed(exchanges) if not each.typed]
    reserved = free - int(free * TYPED_SHARE)
    free = reserved + _take(typed, line, free - reserved, chosen)
    free = _take(others, line, free, chosen)
    _take([each for each in typed if each.at[0] not in chosen], line, free, chosen)
    return chosen


def _take(exchanges: Iterable[_Exchange], line: Callable[[int], str], free: int, chosen: set[int]) -> int:
    """Take until one does not fit; what is left of the tokens. Those too long before the first are passed over."""
    taken = False
    for exchange in exchanges:
        size = _tokens(map(line, exchange.at))
        if size <= free:
            chosen.update(exchange.at)
            free -= size
            taken = True
        elif taken:
            break
    return free


def _line(placed: Placed, max_tokens: int) -> str:
    entry = placed.entry
    role = entry.role if not entry.tool_name else f"{entry.role} {entry.tool_name}"
    flag = " (error)" if entry.is_error else ""
    longest = min(LINE_CHARACTERS[entry.role], max(40, max_tokens * 2 // 3))
    text = head_and_tail(entry_text(entry).strip(), longest)
    return harmless(f"- {role}{flag} ({entry.id}): {text or '(no text)'}")


def _tokens(lines: Iterable[str]) -> int:
    return sum(estimate_tokens(line + "\n") for line in lines)
