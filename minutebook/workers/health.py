"""Whether a worker process is well, told by the time of a file: what a container's health check reads."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from minutebook.errors import BadInput

EVERY_SECONDS = 5.0
WELL_SECONDS = 90.0
"""A look at the board that takes this long, or a store that does not answer for so long, is no good sign."""


class Health:
    """Touches a file while the store answers; does nothing without a file. answered_at: in monotonic seconds."""

    def __init__(self, file: Path | None, answered_at: Callable[[], float]) -> None:
        self._file = file
        self._answered_at = answered_at
        self._next_at = 0.0

    def tell(self) -> None:
        """From time to time. Raises BadInput where the file cannot be written."""
        now = time.monotonic()
        if self._file is None or now < self._next_at:
            return
        self._next_at = now + EVERY_SECONDS
        if now - self._answered_at() < WELL_SECONDS:
            try:
                self._file.write_text(f"{os.getpid()}\n", encoding="ascii")
            except OSError as error:
                raise BadInput(f"--health {self._file}: {error.strerror}: give a file that can be written") from error

    def end(self) -> None:
        """A worker that has left is not well."""
        if self._file is not None:
            with suppress(OSError):
                self._file.unlink(missing_ok=True)


def look_at(file: Path) -> tuple[bool, str]:
    """Whether the worker that touches the file is well, and a line that says so."""
    try:
        seconds = abs(time.time() - file.stat().st_mtime)
    except OSError as error:
        return False, f"{file}: {error.strerror}: no worker was started with --health and this file, or it has left"
    said = f"{file}: the store answered the worker {seconds:,.0f} s ago"
    return seconds < WELL_SECONDS + EVERY_SECONDS, said
