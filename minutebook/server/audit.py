"""Who read what: one line of JSON for each read, in a file that only its owner may read; and who came without a token.

A line that cannot be written does not stop the answer; it is said once on stderr, and counted.
"""

import errno
import logging
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from minutebook.pipeline.workbook import iso_time
from minutebook.places import data_dir
from minutebook.settings import Settings
from minutebook.store import codec

ROTATE_AT_BYTES = 32 * 1024 * 1024
FILES_KEPT = 5
logger = logging.getLogger(__name__)


def audit_path(settings: Settings) -> Path:
    """The file that the settings name, else audit.jsonl in the data folder."""
    return Path(settings.audit_file).expanduser() if settings.audit_file else data_dir() / "audit.jsonl"


class AuditLog:
    """Appends; a file that is full becomes `.1`, that one `.2`, and the oldest goes."""

    def __init__(self, path: Path, *, rotate_at_bytes: int = ROTATE_AT_BYTES, lost: Callable[[], object] = int) -> None:
        """lost: called for each line that could not be written."""
        self.path = path
        self.rotate_at_bytes = rotate_at_bytes
        self._lost = lost
        self._lock = threading.Lock()
        self._failing = False

    def note(
        self,
        *,
        at: float,
        request_id: str,
        token: str,
        user: str = "",
        route: str,
        about: str = "",
        count: int = 0,
        status: int,
        address: str = "",
    ) -> None:
        """One read. about: the branch or session that was asked for; count: entries or records given.

        address: of a client whose token was not valid.
        """
        row = {"time": iso_time(at), "request_id": request_id, "token": token, "user": user, "route": route}
        row |= {"address": address} if address else {}
        line = codec.to_json({**row, "about": about, "count": count, "status": status})
        try:
            with self._lock:
                self._append(f"{chr(10) if self._failing else ''}{line}\n".encode())  # half a line may stand there
            self._failing = False
        except OSError as error:
            self._lost()
            if not self._failing:
                logger.error("the audit log %s cannot be written: %s; reads go on", self.path, error.strerror)
            self._failing = True

    def _append(self, line: bytes) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        handle = os.open(self.path, flags, 0o600)
        try:
            if os.write(handle, line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            full = os.fstat(handle).st_size >= self.rotate_at_bytes
        finally:
            os.close(handle)
        if full:
            self._rotate()

    def _rotate(self) -> None:
        for number in range(FILES_KEPT - 1, 0, -1):
            with suppress(FileNotFoundError):
                self._kept(number).replace(self._kept(number + 1))
        self.path.replace(self._kept(1))

    def _kept(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")
