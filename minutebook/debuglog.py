"""The debug log: what workers did, in counts, ids, paths and errors. Off by default; it never stops other work."""

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any, Literal, get_args

RunReason = Literal[
    "nothing_called",
    "all_refused",
    "recorded",
    "nothing_to_record",
    "not_over_target",
    "waiting_for_reflection",
    "below_mark",
    "discarded",
    "model_unavailable",
    "stream_error",
    "too_long",
    "cut",
    "turn_cap",
    "refused",
    "rubbish",
]
RUN_REASONS: tuple[RunReason, ...] = get_args(RunReason)
"""Why a run ended: the `reason` in the data of its last row, which is the event RUN_ENDED."""

RUN_ENDED = "run_ended"
CHUNK_CAPPED = "chunk_capped"
CHUNK_EXCERPTED = "chunk_excerpted"
"""Events of their own: a chunk was cut at its cap, or one entry went as a head-and-tail excerpt."""

ROTATE_AT_BYTES = 10 * 1024 * 1024
FILE_NAME_MAX_CHARACTERS = 128
WORD_MAX_CHARACTERS = 200


_RUN: ContextVar[Mapping[str, Any]] = ContextVar("minutebook_run", default=MappingProxyType({}))


@contextlib.contextmanager
def rows_of_run(**row: Any) -> Iterator[None]:
    """While the block runs, `current_run` gives these arguments of `row` to whoever logs in this thread (003-144)."""
    token = _RUN.set(row)
    try:
        yield
    finally:
        _RUN.reset(token)


def current_run() -> Mapping[str, Any]:
    """Whose run this thread is in: session, its file, branch, folder and run id; empty outside of one."""
    return _RUN.get()


@dataclass(frozen=True, slots=True)
class DebugLog:
    """Rows of JSON, one a line, in `debug/<session>.ndjson` below the data folder; nothing is made while it is off."""

    enabled: bool
    folder: Path

    def row(
        self,
        event: str,
        *,
        session: str = "",
        session_file: str | PurePath = "",
        branch: str = "",
        cwd: str | PurePath = "",
        run_id: str = "",
        data: Mapping[str, object] | None = None,
    ) -> None:
        """Append one row; never raises. run_id: the same on all rows of one job.

        data: numbers, ids and other single words, paths as Path, errors as exceptions, and lists and tables of these.
        A text of several words is written as its length: contents, prompts and answers stay out.
        """
        if not self.enabled:
            return
        with contextlib.suppress(Exception):
            row = {
                "time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                "event": event,
                "cwd": str(cwd),
                "session": session,
                "session_file": str(session_file),
                "branch": branch,
                "run_id": run_id,
                "data": without_texts(data or {}),
            }
            _append(self.folder / file_name(session), json.dumps(row, ensure_ascii=False))

    def run_ended(self, reason: RunReason, **row: Any) -> None:
        """The last row of a run, which tells why it ended; the other arguments are those of `row`."""
        data = {"reason": reason, **(row.pop("data", None) or {})}
        self.row(RUN_ENDED, data=data, **row)

    def forget(self, session: str, branches: Collection[str]) -> list[Path]:
        """Remove the rows of a session's branches, and files that then hold none; returns the files that changed.

        Another host's session may have the same id, and its rows stay. Rows that come in this moment may be lost.
        """
        path = self.folder / file_name(session)
        files = [file for file in (path, path.with_name(path.name + ".1")) if file.is_file()]
        return [file for file in files if _without_rows(file, frozenset(branches))]


def file_name(session: str) -> Path:
    """Where a session's rows go, below the data folder; the common file for an id without a letter or digit."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "_", session).strip("_")[:FILE_NAME_MAX_CHARACTERS]
    return Path("debug", f"{safe}.ndjson") if re.search("[A-Za-z0-9]", safe) else Path("debug.ndjson")


def without_texts(value: object) -> Any:
    """The value as the log may show it. An error is its class and that of its cause: its text may quote a model."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, BaseException):
        return " < ".join(type(error).__name__ for error in (value, value.__cause__) if error)
    if isinstance(value, Mapping):
        return {without_texts(str(key)): without_texts(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [without_texts(item) for item in value]
    text = str(value)
    return text if len(text) <= WORD_MAX_CHARACTERS and len(text.split()) < 2 else f"<{len(text)} characters>"


def _append(path: Path, line: str) -> None:
    """One write for the whole line, so that rows of several processes do not mix."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):  # another process may turn it over in this moment
        if path.stat().st_size >= ROTATE_AT_BYTES:
            path.replace(path.with_name(path.name + ".1"))
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        os.write(handle, (_after_a_cut_row(handle) + line + "\n").encode("utf-8", "backslashreplace"))
    finally:
        os.close(handle)


def _without_rows(path: Path, branches: frozenset[str]) -> bool:
    """Rewrite the file without these branches' rows and rows that cannot be read; False where it holds none."""
    try:
        lines = path.read_text(encoding="utf-8", errors="backslashreplace").splitlines(keepends=True)
    except FileNotFoundError:  # another process was faster
        return False
    kept = [line for line in lines if _branch_of(line) not in (None, *branches)]
    if len(kept) == len(lines):
        return False
    if not kept:
        path.unlink(missing_ok=True)
        return True
    handle, beside = tempfile.mkstemp(dir=path.parent)  # its mode is 0600
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.writelines(kept)
    Path(beside).replace(path)
    return True


def _branch_of(line: str) -> str | None:
    """The branch of a row; None of a row that was cut."""
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return str(row.get("branch", "")) if isinstance(row, dict) else None


def _after_a_cut_row(handle: int) -> str:
    """A line break where the last row was cut by a full disk, so that it costs no other row."""
    size = os.fstat(handle).st_size
    return "\n" if size and os.pread(handle, 1, size - 1) != b"\n" else ""
