"""What every reader of session files does: bytes from a cursor on, in; source entries and signals, out.

A reader never raises on content: a row that it does not know is counted by kind, a broken line is counted by number.
It reads whole lines only (a half-written last line waits), and decodes several JSON values on one line.
Reading in pieces gives the same as reading at once: what a reader must remember between two reads is in its cursor.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from minutebook.pipeline.deliveries import HostCompaction, ImportedMemory, Reading, SessionHead

__all__ = ["HostCompaction", "ImportedMemory", "Reader", "Reading", "SessionHead"]


class Reader(Protocol):
    """One host's reader: a module with these two functions."""

    def recognises(self, first_rows: list[dict[str, Any]]) -> bool:
        """Whether a file that begins with these rows is this host's."""

    def read(self, path: Path, cursor: Mapping[str, Any] | None = None, *, stop: int | None = None) -> Reading:
        """Read from the cursor to the last whole line (or to the byte offset `stop`)."""
