"""Whose session file is this?"""

from pathlib import Path
from types import ModuleType
from typing import Any

from minutebook.errors import BadTranscript
from minutebook.hosts import neutral
from minutebook.hosts.claude_code import reader as claude_code
from minutebook.hosts.codex import reader as codex
from minutebook.hosts.lines import Lines
from minutebook.hosts.opencode import reader as opencode
from minutebook.hosts.pi import reader as pi
from minutebook.hosts.walking import open_transcript

READERS: dict[str, ModuleType] = {
    claude_code.HOST: claude_code,
    codex.HOST: codex,
    pi.HOST: pi,
    opencode.HOST: opencode,
    neutral.HOST: neutral,
}
"""Host name → its reader (see hosts/reading.py), in the order in which they are asked."""

_ROWS_LOOKED_AT = 64
_BYTES_LOOKED_AT = 32 * 1024 * 1024


def detect(path: Path) -> tuple[str, ModuleType]:
    """The host's name and its reader; BadTranscript for a file that is missing, unreadable, empty or unknown."""
    if holds_export(path):
        return opencode.HOST, opencode
    rows = _first_rows(path)
    for host, reader in READERS.items():
        if reader.recognises(rows):
            return host, reader
    raise BadTranscript(f"{path}: no known session format (known: {', '.join(READERS)})")


def holds_export(path: Path) -> bool:
    """Whether it is one JSON document that a host exported, and no file of lines; BadTranscript if unreadable."""
    with open_transcript(path) as file:
        return opencode.holds_export(file, _BYTES_LOOKED_AT)


def _first_rows(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    with open_transcript(path) as file:
        if not file.read(1):
            raise BadTranscript(f"{path}: the file is empty (known formats: {', '.join(READERS)})")
        for row in Lines(file, 0, 0, _BYTES_LOOKED_AT):
            rows.append(row.data)
            if len(rows) == _ROWS_LOOKED_AT:
                break
    return rows
