"""Bytes of a JSONL file, in; JSON objects with their exact place, out. Nothing here knows a host.

Real files hold two records on one line, half-written last lines, lines that a crash cut and the next record continued,
NUL padding, bytes that are no UTF-8, and lone surrogates. None of that raises.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from minutebook.records import record

_DECODER = json.JSONDecoder(strict=False)
_FILLER = re.compile("[\\s\0\ufeff]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(rb"\\u[dD]")
_SALVAGE_TRIES = 64
"""How many places of a broken line are tried as the start of a whole record: a bound on work, not on what is kept."""


@record(kw_only=False)
class Row:
    """One JSON object. line: from 1. The record is exactly the file's bytes[offset : offset + length]."""

    line: int
    offset: int
    length: int
    data: dict[str, Any]


class Lines:
    """The objects of a file from a byte offset to `end`; `offset`, `line` and `broken` move on while it is iterated.

    An unterminated last line is consumed only up to its last complete object (a complete object cannot grow), so what
    is half-written waits; reading in pieces therefore gives the same rows as reading at once.
    offset: first byte not consumed. line: whole lines consumed. broken: numbers of lines with undecodable content.
    """

    def __init__(self, file: BinaryIO, offset: int, line: int, end: int) -> None:
        self.offset, self.line, self.end = offset, line, end
        self.broken: list[int] = []
        self._file = file

    def __iter__(self) -> Iterator[Row]:
        self._file.seek(self.offset)
        while self.offset < self.end:
            start = self.offset
            chunk = self._file.readline(self.end - start)
            if not chunk:
                return
            if (value := _only_object(chunk)) is not None:
                yield Row(self.line + 1, start, len(chunk) - 1, value)
            else:
                whole = chunk.endswith(b"\n")
                yield from self._objects(chunk, start, whole)
                if not whole:
                    return
            self.offset, self.line = start + len(chunk), self.line + 1

    def _objects(self, chunk: bytes, start: int, whole: bool) -> Iterator[Row]:
        text, clean = _decode(chunk)
        index, place = 0, _Places(text)
        while (index := _skip_filler(text, index)) < len(text):
            value, end = _value_at(text, index, clean)
            if end < 0:
                if whole:
                    self._count_broken()
                    yield from self._salvage(text, index, start, place, clean)
                return
            if isinstance(value, dict):
                first, last = place.byte(index), place.byte(end)
                self.offset = start + last
                yield Row(self.line + 1, start + first, last - first, value)
            elif not whole:
                return  # a number at the end may still grow
            else:
                self._count_broken()
            index = end

    def _salvage(self, text: str, index: int, start: int, place: "_Places", clean: bool) -> Iterator[Row]:
        """The whole record that was appended to a line which a crash had cut."""
        for _ in range(_SALVAGE_TRIES):
            index = text.find('{"', index + 1)
            if index < 0:
                return
            value, end = _value_at(text, index, clean)
            if end >= 0 and _is_record(value) and _skip_filler(text, end) == len(text):
                first, last = place.byte(index), place.byte(end)
                yield Row(self.line + 1, start + first, last - first, value)
                return

    def _count_broken(self) -> None:
        if not self.broken or self.broken[-1] != self.line + 1:
            self.broken.append(self.line + 1)


def object_in(chunk: bytes) -> dict[str, Any] | None:
    """The one JSON object that these bytes are; None where they are not one."""
    text, clean = _decode(chunk)
    value, end = _value_at(text, 0, clean)
    return value if isinstance(value, dict) and end == len(text) else None


class _Places:
    """Byte positions of growing character positions in one line."""

    def __init__(self, text: str) -> None:
        self._text, self._ascii = text, text.isascii()
        self._index = self._byte = 0

    def byte(self, index: int) -> int:
        if self._ascii:
            return index
        self._byte += len(self._text[self._index : index].encode("utf-8", "surrogateescape"))
        self._index = index
        return self._byte


def _only_object(chunk: bytes) -> dict[str, Any] | None:
    """The value of a whole line that is one JSON object and nothing else, as nearly every line is; else None."""
    if not (chunk.startswith(b"{") and chunk.endswith(b"}\n")):
        return None
    value: dict[str, Any]
    try:
        text = chunk.decode()
        value, end = _DECODER.raw_decode(text)
        if end != len(text) - 1:
            return None
        if _ESCAPED_SURROGATE.search(chunk):
            value = _without_surrogates(value)
        return value
    except (ValueError, RecursionError):
        return None


def _decode(chunk: bytes) -> tuple[str, bool]:
    """The text, and whether nothing in it can yield a lone surrogate."""
    try:
        text = chunk.decode("utf-8")
    except UnicodeDecodeError:
        return chunk.decode("utf-8", "surrogateescape"), False
    return text, _ESCAPED_SURROGATE.search(chunk) is None


def _skip_filler(text: str, index: int) -> int:
    match = _FILLER.match(text, index)
    return match.end() if match else index


def _value_at(text: str, index: int, clean: bool) -> tuple[Any, int]:
    """The JSON value that begins here and its end, or -1 as the end where there is none (or it is nested too deep)."""
    try:
        value, end = _DECODER.raw_decode(text, index)
        return (value if clean else _without_surrogates(value)), end
    except (ValueError, RecursionError):
        return None, -1


def _is_record(value: object) -> bool:
    """Whether it looks like a row of a host's file and not like an inner object of the row that was cut."""
    return isinstance(value, dict) and isinstance(value.get("type"), str) and isinstance(value.get("timestamp"), str)


def _without_surrogates(value: Any) -> Any:
    """The same value; lone surrogates, which no store can encode, become U+FFFD."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value
