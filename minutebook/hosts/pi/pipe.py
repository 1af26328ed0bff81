"""Lines of JSON between the extension and its child: read within bounds, written whole."""

import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from minutebook.hosts.lines import object_in

LINE_MAX_BYTES = 32_000_000
"""A longer line is dropped: what stands in it is in the session's file, too."""
READ_BYTES = 1 << 16


def read_objects(descriptor: int, *, line_max_bytes: int = LINE_MAX_BYTES) -> Iterator[dict[str, Any]]:
    """The objects that come in, one a line, until the other end is gone; {} for a line that is none or too long."""
    for line in _lines(descriptor, line_max_bytes):
        if line.strip():
            yield object_in(bytes(line.strip())) or {}


def _lines(descriptor: int, most: int) -> Iterator[bytearray]:
    held, too_long = bytearray(), False
    while chunk := os.read(descriptor, READ_BYTES):
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            line = bytearray(b"?") if too_long or len(held) + len(part) > most else held + part
            held, too_long = bytearray(), False
            yield line
        held += rest
        if len(held) > most:
            held, too_long = bytearray(), True


class Writer:
    """Writes lines to the extension, from any thread. One that is gone is no error: the end of its input says so."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def __call__(self, line: Mapping[str, Any]) -> None:
        data = memoryview(json.dumps(line, separators=(",", ":")).encode() + b"\n")
        with self._lock, suppress(OSError):
            while data:
                data = data[os.write(self._descriptor, data) :]
