"""One machine on which many sessions of the real Claude Code run at once, in several folders."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from scripted_server import ScriptedServer

from tests.real.claude_lab import MODEL, PROGRAMS, ClaudeLab

SECONDS = 90.0


class Machine(ClaudeLab):
    """settings: of Minutebook, for everything that runs here. The programs are on its PATH."""

    def __init__(self, root: Path, served: ScriptedServer, **settings: object) -> None:
        self.settings = {f"MINUTEBOOK_{name.upper()}": str(value) for name, value in settings.items()}
        self.programs = root / "bin"
        super().__init__(root, served)
        self.programs.mkdir()
        (self.programs / "claude").symlink_to(self.program)

    def environ(self, **more: str) -> dict[str, str]:
        """Nothing of the real machine's own."""
        path = f"{self.programs}:{PROGRAMS}:/usr/bin:/bin"
        return {**super().environ(PATH=path, CLAUDE_CODE_MAX_RETRIES="0"), **self.settings, **more}

    def start(self, text: str, *arguments: str, folder: Path | None = None, **more: str) -> "subprocess.Popen[str]":
        """A prompt in print mode that goes on; in a process group of its own, as a terminal gives it one."""
        return subprocess.Popen(
            [self.program, "-p", text, "--output-format", "json", "--model", MODEL, *arguments],
            cwd=folder or self.project,
            env=self.environ(**more),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def om(self, *arguments: str, folder: Path | None = None, code: int | None = 0) -> str:
        """What a command prints. code: what it ends with, None for any."""
        done = subprocess.run(
            [PROGRAMS / "om", *arguments],
            cwd=folder or self.project,
            env=self.environ(),
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        assert code is None or done.returncode == code, done.stdout + done.stderr
        return done.stdout + (done.stderr if code is None else "")

    def listed(self) -> list[dict[str, Any]]:
        """As `om sessions` lists them."""
        found: list[dict[str, Any]] = json.loads(self.om("sessions", "--json"))
        return found

    def bells(self) -> list[str]:
        """What was rung and is not taken in."""
        with suppress(OSError):
            return [name for name in os.listdir(f"{self.store}.bells") if not name.startswith(".")]  # noqa: PTH208
        return []

    def settled(self) -> None:
        """Wait until all is taken in, and no memory is left to be made."""
        wait_until(lambda: not self.bells())
        self.om("worker", "--until-idle", code=None)

    def workers(self) -> list[int]:
        """Process ids of the workers of this store."""
        return [pid for pid, words in commands() if "worker" in words and str(self.store) in words]

    def stop(self) -> None:
        """End the workers that hooks started."""
        for pid in self.workers():
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not self.workers())


def commands() -> Iterator[tuple[int, Sequence[str]]]:
    """Every process that runs, and its command line."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            yield int(path.parent.name), path.read_bytes().decode(errors="replace").split("\0")


def wait_until(true: Callable[[], object], seconds: float = SECONDS) -> None:
    """Until it is so; fails when it is not within so long."""
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, f"not within {seconds:g} s"
        time.sleep(0.05)
