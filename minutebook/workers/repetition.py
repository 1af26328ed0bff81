"""Whether a text repeats itself without end, as small models do. Pure, and linear in the text's length."""

REPEATS = 20
RUN_CHARACTERS = 4_000
"""Endless: at least 20 equal pieces in a row, together at least 4,000 characters and half of the text.

A log that is honestly quoted, even with a period of 21 lines, repeats itself a few times or is short.
"""


def repeats_without_end(text: str) -> bool:
    """Whether one piece, of any length, makes up half of the text by repetition."""
    if len(text) < RUN_CHARACTERS:
        return False
    quarter = len(text) // 4
    # a run of half the text holds its second quarter or its third
    return any(_endless(text, start, start + quarter) for start in (quarter, 2 * quarter))


def _endless(text: str, start: int, end: int) -> bool:
    period = _period(text[start:end])
    if not period:
        return False
    length = _run(text, start, end, period)
    return length >= max(RUN_CHARACTERS, REPEATS * period, len(text) // 2)


def _period(window: str) -> int:
    """The smallest period of a window, of at most half of it; 0 without one."""
    period = window.find(window[: (len(window) + 1) // 2], 1)
    return period if period > 0 and window[period:] == window[:-period] else 0


def _run(text: str, start: int, end: int, period: int) -> int:
    """How far the period goes on to both sides."""
    while start and text[start - 1] == text[start - 1 + period]:
        start -= 1
    while end < len(text) and text[end] == text[end - period]:
        end += 1
    return end - start
