"""The real Pi in a home of its own, against a scripted model, with our extension as it is installed."""

import json
import os
import re
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from scripted_server import Answer, Asked, ScriptedServer
from scripted_shapes import Item

from minutebook.hosts.edits import OwnFile, Target
from minutebook.hosts.pi import wiring
from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.sessions import Session, list_sessions
from minutebook.records import Branch
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store
from tests.real.pi_rpc import OFFLINE, SECONDS, Rpc, until
from tests.real.programs import ROOT, node, pi

__all__ = ["DRIVER", "OWN_SUMMARY", "PROGRAMS", "SETTINGS", "PiLab", "Rpc", "bash", "observe", "until"]

PROGRAMS = Path(sys.executable).parent
WINDOW = 128_000
SETTINGS = "observe_after_tokens = 400\nreflect_after_tokens = 2000\nflush_idle_seconds = 1\n"
COMPACTION = {"enabled": True, "keepRecentTokens": 50, "reserveTokens": 1_000}
OWN_SUMMARY = "PI'S OWN SUMMARY"
Json = dict[str, Any]


class Agent:
    """What the scripted model says as Pi's agent, and as Pi's own summarizer. summaries: requests for such."""

    def __init__(self) -> None:
        self.summary: Item = Answer(text=OWN_SUMMARY)
        self.queue: deque[Item | Callable[[Asked], Item]] = deque()
        self.requests: list[Asked] = []
        self.summaries: list[Asked] = []

    def __call__(self, asked: Asked) -> Item:
        if "bash" not in asked.tools:
            self.summaries.append(asked)
            return self.summary
        self.requests.append(asked)
        item = self.queue.popleft() if self.queue else Answer(text="Done.")
        return item(asked) if callable(item) else item


class PiLab:
    """root: everything of this lab is below. server: the scripted model. store_path: Minutebook's."""

    def __init__(self, root: Path, server: ScriptedServer) -> None:
        self.root, self.server, self.agent = root.resolve(), server, Agent()
        server.defaults["other"] = self.agent
        server.defaults["observer"] = observe
        self.home, self.project = self.root / "home", self.root / "project"
        self.agent_folder, self.minutebook = self.home / ".pi" / "agent", self.root / "minutebook"
        self.store_path = self.minutebook / "minutebook.sqlite"
        for folder in (self.agent_folder, self.project, self.minutebook, self.root / "tmp"):
            folder.mkdir(parents=True)
        self.settings(SETTINGS)
        self.configure()

    # -- its files -----------------------------------------------------------------------------------------------------

    def settings(self, text: str) -> None:
        """Minutebook's own settings."""
        (self.minutebook / "minutebook.toml").write_text(text)

    def configure(self, *, window: int = WINDOW, **settings: Any) -> None:
        """Pi's settings and its one model. window: of the model."""
        cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
        model = {"id": "main", "input": ["text"], "reasoning": False, "maxTokens": 4_096, "cost": cost}
        served = {"baseUrl": self.server.url, "api": "openai-completions", "apiKey": "pi-signs-with-this"}
        providers = {"scripted": {**served, "models": [{**model, "contextWindow": window}]}}
        (self.agent_folder / "models.json").write_text(json.dumps({"providers": providers}))
        chosen = {"defaultProvider": "scripted", "defaultModel": "main", "enableInstallTelemetry": False}
        retry = {"maxRetries": 2, "baseDelayMs": 50}
        merged = {**chosen, "retry": retry, "compaction": COMPACTION, **settings}
        (self.agent_folder / "settings.json").write_text(json.dumps(merged))

    def install(self, om_hook: Path | str = PROGRAMS / "om-hook", *, project: bool = False) -> Path:
        """Our extension where the installer puts it; its folder."""
        package = ROOT / "minutebook" / "hosts"
        target = Target(
            host="pi",
            om=str(PROGRAMS / "om"),
            om_hook=str(om_hook),
            folder=self.agent_folder,
            home=self.home,
            state_file=self.home / ".claude.json",
            package=package,
            project=self.project if project else None,
        )
        for edit in wiring.wiring(target).edits:
            assert isinstance(edit, OwnFile)
            edit.file.parent.mkdir(parents=True, exist_ok=True)
            edit.file.write_bytes(edit.content)
        return edit.file.parent

    def environ(self, **more: str) -> dict[str, str]:
        """Nothing of the machine's own: neither its home nor its proxies nor a key."""
        return {
            "PATH": f"{Path(node()).parent}:/usr/bin:/bin",
            "HOME": str(self.home),
            "TMPDIR": str(self.root / "tmp"),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "PI_CODING_AGENT_DIR": str(self.agent_folder),
            "MINUTEBOOK_HOME": str(self.minutebook),
            **OFFLINE,
            **more,
        }

    # -- running -------------------------------------------------------------------------------------------------------

    def command(self, *arguments: str) -> list[str]:
        return [node(), pi(), "--model", "scripted/main", *arguments]

    def run(self, *arguments: str, **environ: str) -> "subprocess.CompletedProcess[str]":
        """One run: print mode with -p, or --mode json."""
        return subprocess.run(
            self.command(*arguments),
            cwd=self.project,
            env=self.environ(**environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )

    def rpc(self, *arguments: str, **environ: str) -> "Rpc":
        """A Pi that is driven by lines of JSON."""
        return Rpc(self.command("--mode", "rpc", *arguments), self.project, self.environ(**environ))

    # -- what came of it -----------------------------------------------------------------------------------------------

    @contextmanager
    def store(self) -> Iterator[Store]:
        store = open_store(str(self.store_path))
        try:
            yield store
        finally:
            store.close()

    def sessions(self) -> list[Session]:
        """The sessions that Minutebook knows, the one touched last first."""
        with self.store() as store:
            return list_sessions(store)

    def has_session(self) -> bool:
        """Whether a session with entries is known."""
        return self.store_path.exists() and any(session.branch for session in self.sessions())

    def branch(self) -> Branch:
        """The branch of the session touched last."""
        with self.store() as store:
            return load_branch(store, list_sessions(store)[0].branch)

    def session_files(self) -> list[Path]:
        """Pi's own, the oldest first."""
        return sorted((self.agent_folder / "sessions").rglob("*.jsonl"), key=lambda path: path.stat().st_mtime)

    def processes(self, pattern: str = "om-hook|minutebook worker") -> list[int]:
        """Ids of the processes of this lab whose command line matches: by its home, which each of them inherits."""
        return [pid for pid, line in _commands(str(self.minutebook)) if re.search(pattern, line)]

    def child(self, pi: "Rpc") -> int:
        """The one om-hook that this Pi has: a worker looks like one while it is being started, but is not Pi's."""
        (child,) = [pid for pid in self.processes("om-hook") if _parent(pid) == pi.process.pid]
        return child

    def stop_workers(self) -> None:
        """End the workers that were started here."""
        for pid in self.processes("worker"):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        until(lambda: not self.processes("worker"), "the workers to leave")


DRIVER = Path(__file__).with_name("pi_driver.ts")
"""An extension with which a test moves in the tree, as a person does."""
LABEL = re.compile(r"^\[(s\d+)\] (.*)\n(.*)", re.MULTILINE)


def observe(asked: Asked) -> Item:
    """An observer that notes the beginning of every source, and then is done."""
    if asked.last.role == "tool":
        return Answer(text="Done.")
    noted = [
        {"content": f"Noted: {text[:60]}", "timestamp": _minute(head), "relevance": "high", "sources": [label]}
        for label, head, text in LABEL.findall(asked.messages[0].text)
    ]
    return Answer(calls=[("record_observations", {"observations": noted})])


def _minute(head: str) -> str:
    found = re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d", head)
    return found[0] if found else "2026-01-01 10:00"


def bash(command: str) -> Answer:
    """The model runs a command."""
    return Answer(calls=[("bash", {"command": command})])


def _parent(pid: int) -> int:
    """Who started it; 0 for one that is gone."""
    with suppress(OSError):
        found = re.search(r"^PPid:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
        return int(found[1]) if found else 0
    return 0


def _commands(home: str) -> Iterator[tuple[int, str]]:
    """Id and command line of each process that was given this MINUTEBOOK_HOME."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            environ = (folder / "environ").read_bytes().split(b"\0")
            if f"MINUTEBOOK_HOME={home}".encode() in environ:
                yield int(folder.name), (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
