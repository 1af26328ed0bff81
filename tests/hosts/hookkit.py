"""Hooks as an agent runs them: the installed console script, a home of its own, a transcript that grows."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from minutebook.hosts.bell import bells_folder, lock_path, wake_path
from minutebook.pipeline.branches import Path as SourcePath
from minutebook.pipeline.branches import list_branches
from minutebook.pipeline.sourcetext import entry_text
from minutebook.store.opening import open_store

OM_HOOK = Path(sys.executable).with_name("om-hook")
PATIENT_SCRIPT = """
import sys
from minutebook.hosts import hook
sys.argv[0] = "om-hook"
hook.LIMIT_SECONDS, hook.PART_SECONDS = float(sys.argv.pop(1)), float(sys.argv.pop(1))
hook.main()
"""
PATIENCE_SECONDS = 60.0
SESSION = "11111111-2222-4333-8444-555555555555"
Done = subprocess.CompletedProcess[bytes]


def until(condition: Any) -> None:
    """Wait for something that another process does."""
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < give_up_at, "it did not happen"
        time.sleep(0.01)


def patient(limit_seconds: float = 30.0, part_seconds: float = 3.0) -> list[str]:
    """om-hook with more time than a second: a busy machine is no reason for a test to fail."""
    return [sys.executable, "-P", "-c", PATIENT_SCRIPT, str(limit_seconds), str(part_seconds)]


class Agent:
    """One agent's session on this machine. home: of Minutebook; environment: what hooks are given."""

    def __init__(self, folder: Path, session: str = SESSION) -> None:
        self.home = folder / "minutebook"
        self.store = str(self.home / "minutebook.sqlite")
        self.session = session
        self.transcript = folder / f"{session}.jsonl"
        self.environment = {**os.environ, "MINUTEBOOK_HOME": str(self.home)}
        self.said: list[str] = []

    # -- what the agent does -----------------------------------------------------------------------------------

    def say(self, *texts: str) -> None:
        """Prompts that a person types, one after the other."""
        for text in texts:
            row = {
                "type": "user",
                "uuid": f"{self.session}-{len(self.said)}",
                "parentUuid": f"{self.session}-{len(self.said) - 1}" if self.said else None,
                "sessionId": self.session,
                "cwd": str(self.transcript.parent),
                "version": "2.1.332",
                "isSidechain": False,
                "timestamp": f"2026-05-02T10:{len(self.said) // 60:02}:{len(self.said) % 60:02}.000Z",
                "message": {"role": "user", "content": text},
            }
            with self.transcript.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            self.said.append(text)

    def payload(self, **more: Any) -> dict[str, Any]:
        """What it writes to a hook's stdin."""
        return {
            "session_id": self.session,
            "transcript_path": str(self.transcript),
            "cwd": str(self.transcript.parent),
            **more,
        }

    @contextmanager
    def start_hook(
        self, *words: str, program: Sequence[str | Path] = (OM_HOOK,)
    ) -> "Iterator[subprocess.Popen[bytes]]":
        """A hook that waits for its stdin; its pipes are closed at the end."""
        hook = subprocess.Popen(
            [*program, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment,
            cwd=self.transcript.parent,
            bufsize=0,
        )
        try:
            yield hook
        finally:
            hook.kill()
            hook.wait()
            for pipe in (hook.stdin, hook.stdout, hook.stderr):
                if pipe is not None:
                    pipe.close()

    def hook(self, *words: str, given: bytes | None = None, env: Mapping[str, str] | None = None, **more: Any) -> Done:
        """A hook of Claude Code, or of the host that is named first. given: its stdin; more: into the payload."""
        arguments = words if words[0] in ("codex", "claude-code", "claude_code", "pi") else ("claude-code", *words)
        return subprocess.run(
            [*patient(), *arguments],
            input=json.dumps(self.payload(**more)).encode() if given is None else given,
            capture_output=True,
            env={**self.environment, **(env or {})},
            cwd=self.transcript.parent,
            timeout=PATIENCE_SECONDS,
        )

    # -- what came of it ---------------------------------------------------------------------------------------

    @property
    def log(self) -> list[str]:
        """The hook log."""
        file = self.home / "hook.log"
        return file.read_text().splitlines() if file.exists() else []

    @property
    def bells(self) -> dict[str, dict[str, Any]]:
        """What was rung and not taken: name → what the file says."""
        folder = Path(bells_folder(self.store))
        found = {}
        files = folder.iterdir() if folder.is_dir() else ()
        for file in sorted(file for file in files if not file.name.startswith(".")):  # those are being written
            with suppress(FileNotFoundError):  # a worker takes it just now
                found[file.name] = json.loads(file.read_text())
        return found

    def ledger(self) -> list[str]:
        """The texts that the store has of the session, in order; none while there is no store."""
        if not Path(self.store).exists():
            return []
        with closing(open_store(self.store)) as store:
            branches = [branch for branch in list_branches(store) if branch.session == self.session]
            return [entry_text(placed.entry) for branch in branches for placed in SourcePath(store, branch).read(0)]

    def is_taken_in(self) -> bool:
        """Whether the ledger is the transcript."""
        return self.ledger() == self.said

    # -- workers -----------------------------------------------------------------------------------------------

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Somebody listens, so that no hook starts a worker."""
        path = Path(wake_path(self.store))
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            os.mkfifo(path, 0o600)
        handle = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        try:
            yield
        finally:
            os.close(handle)

    def workers(self) -> list[int]:
        """Processes that work on the store."""
        done = subprocess.run(["ps", "-axwwo", "pid=,command="], capture_output=True, text=True, check=True)
        lines = [line.split(None, 1) for line in done.stdout.splitlines()]
        return [int(pid) for pid, command in lines if f"worker --store {self.store}" in command]

    def holder(self) -> int | None:
        """The process that says it is the worker which hooks started."""
        with suppress(OSError, ValueError):
            return int(Path(lock_path(self.store)).read_text())
        return None

    def end_workers(self, number: int = signal.SIGKILL) -> None:
        """Kill those that there are, and wait until they are gone."""
        for pid in self.workers():
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        until(lambda: not self.workers())


@contextmanager
def an_agent(folder: Path) -> Iterator[Agent]:
    """An agent with a session; what its hooks started is gone at the end."""
    agent = Agent(folder)
    try:
        yield agent
    finally:
        agent.end_workers()
