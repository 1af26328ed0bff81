"""Hostile surroundings for tests: small and read-only disks, a user without rights, `om` in a process of its own."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

NOBODY = 65534
PATIENCE_SECONDS = 60.0
OM = (sys.executable, "-m", "minutebook")
Done = subprocess.CompletedProcess[str]


def talk(path: Path, count: int, *, first: int = 0, zone: str = "UTC") -> Path:
    """A neutral session file: prompts that decide something, about 90 tokens each, and answers."""
    rows: list[dict[str, Any]] = [{"type": "minutebook.session", "version": 1, "session": path.stem, "zone": zone}]
    for at in range(first, first + count):
        role = "user" if at % 2 == 0 else "assistant"
        text = f"Decision: service {at} of {path.stem} listens on port {8000 + at}. " + "More words follow here. " * 15
        rows.append({"id": f"{path.stem}-{at}", "role": role, "text": text, "time": _time(at)})
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def _time(at: int) -> str:
    return f"2026-05-02T{at // 60 % 24:02}:{at % 60:02}:00Z"


def om(*arguments: object, env: Mapping[str, str | None] | None = None, **more: Any) -> Done:
    """Run `om` as a person would; env: variables to set, or with None to take away."""
    given = {**os.environ, **(env or {})}
    return subprocess.run(
        [*OM, *map(str, arguments)],
        env={name: value for name, value in given.items() if value is not None},
        capture_output="stdout" not in more,
        text=True,
        timeout=PATIENCE_SECONDS,
        **more,
    )


@contextmanager
def om_running(*arguments: object, **more: Any) -> Iterator["subprocess.Popen[str]"]:
    """`om` in the background; killed at the end if it is still there."""
    process = subprocess.Popen(
        [*OM, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def is_one_line(done: Done, *words: str) -> bool:
    """Whether it failed with one line of ours on stderr, with these words in it and no traceback."""
    lines = done.stderr.strip().splitlines()
    ours = len(lines) == 1 and lines[0].startswith("om: ") and "unexpected" not in lines[0]
    return done.returncode == 1 and ours and all(word in lines[0] for word in words)


def until(condition: Callable[[], object]) -> None:
    """Wait for something that another process does."""
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < give_up_at, "it did not happen"
        time.sleep(0.02)


# -- disks ---------------------------------------------------------------------------------------------------------


class Disk:
    """A file system of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def remount(self, options: str) -> None:
        """Such as size=8m, ro or rw."""
        subprocess.run(["mount", "-o", f"remount,{options}", str(self.folder)], check=True)

    def fill(self, *, leave_bytes: int = 0) -> None:
        """Write a file until only so much is free, or nothing: others may write at the same time."""
        self.free()
        block = b"\0" * 4096
        with (self.folder / "filler").open("wb", buffering=0) as file, suppress(OSError):
            while shutil.disk_usage(self.folder).free > leave_bytes:
                file.write(block)

    def free(self) -> None:
        """Remove that file."""
        (self.folder / "filler").unlink(missing_ok=True)


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Disk]:
    """A tmpfs of that size (as mount takes it); only root can mount, so it skips for others."""
    if os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip("only root can mount a small disk")
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)], check=True)
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


# -- rights --------------------------------------------------------------------------------------------------------


@contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that a user without rights can reach; pytest's own are closed to others."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def without_rights() -> Iterator[None]:
    """For root, permission bits mean nothing: be nobody for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
