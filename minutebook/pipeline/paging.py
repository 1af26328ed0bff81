"""Exact texts in pages of bounded size: joined again, the pieces of a text are that text. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

PAGE_LINES = 200
PAGE_CHARACTERS = 40_000


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the text at `index`. first, last: whether that text begins and ends here."""

    index: int
    text: str
    first: bool
    last: bool


def pages_of(texts: Sequence[str], *, lines: int = PAGE_LINES, characters: int = PAGE_CHARACTERS) -> list[list[Piece]]:
    """The texts in order, cut between lines (and inside of one that is longer than a page); at least one page."""
    pages: list[list[Piece]] = [[]]
    free_lines, free_characters = lines, characters
    for index, text in enumerate(texts):
        start = 0
        while start < len(text) or start == 0:
            if free_lines <= 0 or free_characters <= 0:
                pages.append([])
                free_lines, free_characters = lines, characters
            end = _cut(text, start, free_lines, free_characters)
            pages[-1].append(Piece(index, text[start:end], start == 0, end == len(text)))
            free_lines -= text.count("\n", start, end) + (end == len(text))
            free_characters -= end - start
            if end == len(text):
                break
            start = end
    return pages


def _cut(text: str, start: int, lines: int, characters: int) -> int:
    """Where the piece that begins at start ends: at most so many lines and characters on, after a line break if any."""
    limit = min(len(text), start + characters)
    end = start
    for _, end in zip(range(lines), _line_ends(text, start), strict=False):
        if end > limit:
            break
    if end <= limit:
        return end
    before = text.rfind("\n", start, limit) + 1
    return before if before > start else limit


def _line_ends(text: str, start: int) -> Iterator[int]:
    while start < len(text):
        start = text.find("\n", start) + 1 or len(text)
        yield start
