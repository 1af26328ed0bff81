"""Bytes of one JSON document, in; the objects of a list in it with their exact place, out. Nothing here knows a host.

The document is passed over piece by piece: what is held is one element of the list, never the whole.
"""

import json
import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import BinaryIO

from minutebook.hosts.lines import Row, object_in

_CHUNK_BYTES = 256 * 1024
_FILLER = re.compile(rb"(?:[\s\x00]++|\xef\xbb\xbf)*+")
_STRING = re.compile(rb'"(?:[^"\\\x00-\x1f]++|\\[^\x00-\x1f])*+"')
_SCALAR = re.compile(rb'[^\s,:"\[\]{}]++')
_UP_TO_A_BRACKET = re.compile(rb'(?:[^"\[\]{}]++|"(?:[^"\\\x00-\x1f]++|\\[^\x00-\x1f])*+")*+')
_BEGUN_STRING = re.compile(rb'"(?:[^"\\\x00-\x1f]++|\\[^\x00-\x1f])*+\\?')
"""A string ends where a control sign stands (JSON escapes those): a quote that is missing does not swallow the rest."""
_OPENING = {b"}": ord("{"), b"]": ord("[")}
_KEY_MAX_BYTES = 200

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Outline:
    """Where the values of a document's outermost object stand (end -1: it was not passed over).

    fault: byte offset at which it ceases to be one whole JSON object; None where it is one.
    """

    spans: dict[str, Span]
    fault: int | None


def outline(file: BinaryIO, end: int, keys: Set[str], *, enough: str = "") -> Outline:
    """Pass over the outermost object and note these keys. enough: the key at whose value it may stop."""
    scanner = Scanner(file, 0, end)
    spans: dict[str, Span] = {}
    whole = scanner.take(b"{") and _note_members(scanner, spans, keys, enough)
    stopped = bool(enough) and enough in spans
    return Outline(spans, None if whole and (stopped or not scanner.peek()) else scanner.at)


def _note_members(scanner: "Scanner", spans: dict[str, Span], keys: Set[str], enough: str) -> bool:
    """Whether the object goes on as one to its closing bracket."""
    if scanner.take(b"}"):
        return True
    while scanner.peek() == b'"':
        key = _name(scanner)
        if key is None or not scanner.take(b":") or not scanner.peek():
            return False
        if key in keys:
            spans[key] = (scanner.at, -1)
            if key == enough:
                return True
        span = scanner.value()
        if span is None:
            return False
        if key in keys:
            spans[key] = span
        if not scanner.take(b","):
            return scanner.take(b"}")
    return False


def _name(scanner: "Scanner") -> str | None:
    """The key that begins here; "" for one that is longer than any that is looked for."""
    scanner.mark = scanner.at
    span = scanner.value()
    if span is None:
        return None
    written = scanner.bytes_of(span) if span[1] - span[0] <= _KEY_MAX_BYTES else b'""'
    scanner.mark = None
    try:
        return str(json.loads(written))
    except ValueError:
        return ""


class Scanner:
    """A place in a JSON document that moves over its brackets, names and values, without decoding them.

    at: byte offset. mark: what was passed since then is kept for bytes_of; None keeps nothing.
    """

    def __init__(self, file: BinaryIO, at: int, end: int) -> None:
        self.mark: int | None = None
        self._file, self._end = file, end
        self._buffer, self._base, self._index = b"", at, 0

    @property
    def at(self) -> int:
        return self._base + self._index

    def peek(self) -> bytes:
        """The next byte that is no white space, which is where the place is then; b"" at the end."""
        while True:
            self._index = _end_of(_FILLER, self._buffer, self._index)
            near_end = len(self._buffer) - self._index < len(b"\xef\xbb\xbf")
            if not (near_end and self._more(self._index)):
                return self._buffer[self._index : self._index + 1]

    def take(self, bracket: bytes) -> bool:
        """Pass over this byte; False where another one stands."""
        found = self.peek() == bracket
        self._index += found
        return found

    def step(self) -> int:
        """Pass over the next byte, whatever it is; how many were passed."""
        found = bool(self.peek())
        self._index += found
        return int(found)

    def value(self) -> Span | None:
        """Pass over the value that begins here: its place; None where it is cut off or none."""
        first = self.peek()
        start = self.at
        flat = _STRING if first == b'"' else _SCALAR
        whole = self._nested() if first in (b"{", b"[") else self._matched(flat)
        return (start, self.at) if whole else None

    def bytes_of(self, span: Span) -> bytes:
        """What stands there; it must not begin before the mark."""
        return self._buffer[span[0] - self._base : span[1] - self._base]

    def _nested(self) -> bool:
        open_brackets = bytearray()
        while True:
            self._index = _end_of(_UP_TO_A_BRACKET, self._buffer, self._index)
            bracket = self._buffer[self._index : self._index + 1]
            if bracket in (b"", b'"'):  # the end of what was read, perhaps within a string
                if not self._goes_on():
                    return False
            elif bracket in b"{[":
                open_brackets += bracket
                self._index += 1
            elif open_brackets.pop() != _OPENING[bracket]:
                return False
            else:
                self._index += 1
                if not open_brackets:
                    return True

    def _matched(self, pattern: re.Pattern[bytes]) -> bool:
        """Pass over a string or a number; a number that reaches the end of what was read may go on."""
        while True:
            end = _end_of(pattern, self._buffer, self._index)
            found = end > self._index
            if found and (pattern is _STRING or end < len(self._buffer)):
                break
            if not self._goes_on():
                return found and pattern is _SCALAR
        self._index = end
        return found

    def _goes_on(self) -> bool:
        """Read on, if what stands here may only be incomplete; else go to where it ceases to be anything."""
        end = max(_end_of(_BEGUN_STRING, self._buffer, self._index), _end_of(_SCALAR, self._buffer, self._index))
        if end == len(self._buffer) and self._more(self._index):
            return True
        self._index = end
        return False

    def _more(self, needed: int) -> bool:
        """Read on, as much again as is kept, so that a long value is not gone over again and again."""
        keep = needed if self.mark is None else min(needed, self.mark - self._base)
        there = self._base + len(self._buffer)
        self._file.seek(there)
        more = self._file.read(min(max(_CHUNK_BYTES, len(self._buffer) - keep), self._end - there))
        if not more:
            return False
        self._buffer = self._buffer[keep:] + more
        self._base, self._index = self._base + keep, self._index - keep
        return True


def _end_of(pattern: re.Pattern[bytes], buffer: bytes, index: int) -> int:
    match = pattern.match(buffer, index)
    return match.end() if match else index


def _commas(scanner: Scanner) -> int:
    passed = 0
    while scanner.take(b","):
        passed += 1
    return passed


class Elements:
    """The objects of a list, the next one from a byte offset on; `offset`, `line` and `broken` move as with Lines.

    span: of the list in a document that is whole. size: of the file, which is where the offset is at the end.
    stop: no element that begins there or later is taken. last: whether the object just given is the list's last.
    """

    def __init__(self, file: BinaryIO, offset: int, line: int, *, span: Span, size: int, stop: int) -> None:
        self.offset, self.line = offset, line
        self.broken: list[int] = []
        self.last = False
        self._file, self._span, self._size, self._stop = file, span, size, stop

    def __iter__(self) -> Iterator[Row]:
        if self.offset >= self._size:
            return
        if self.offset < self._span[0]:
            self._go_to_the_list()
        scanner = Scanner(self._file, self.offset, self._span[1])
        while True:
            scanner.mark = self.offset
            commas = _commas(scanner)
            if scanner.peek() in (b"", b"]"):
                self.offset = self._size
                return
            if scanner.at >= self._stop:
                return
            yield from self._element(scanner, alone=commas == (self.offset > self._span[0] + 1))

    def _element(self, scanner: "Scanner", *, alone: bool) -> Iterator[Row]:
        """The one that begins here. alone: a comma parts it from the one before it, and nothing else does."""
        start = scanner.at
        end = scanner.value() and scanner.at
        if not end:  # a stray sign
            end = start + scanner.step()
        found = scanner.bytes_of((start, end))
        self.line += scanner.bytes_of((self.offset, start)).count(b"\n")
        row_line = self.line + 1
        self.offset, self.line = end, self.line + found.count(b"\n")
        self.last = scanner.peek() != b","
        data = object_in(found)
        if (data is None or not alone) and self.broken[-1:] != [row_line]:
            self.broken.append(row_line)
        if data is not None:
            yield Row(row_line, start, len(found), data)

    def _go_to_the_list(self) -> None:
        """Behind its opening bracket; the lines before it are counted."""
        self._file.seek(self.offset)
        while self.offset <= self._span[0]:
            passed = self._file.read(min(_CHUNK_BYTES, self._span[0] + 1 - self.offset))
            if not passed:
                return
            self.offset, self.line = self.offset + len(passed), self.line + passed.count(b"\n")
