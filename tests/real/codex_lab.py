"""The real Codex in a home of its own, against a scripted model, with our hooks and tools as they are installed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path as File
from threading import Timer
from typing import Any

import minutebook
from minutebook.hosts.codex import wiring
from minutebook.hosts.codex.app_server import listed_hooks
from minutebook.pipeline.branches import Path
from minutebook.pipeline.intake import own_branch
from minutebook.pipeline.sessions import list_sessions
from minutebook.pipeline.sourcetext import entry_text
from minutebook.pipeline.status import read_status
from minutebook.settings_loading import load
from minutebook.store.sqlite import SqliteStore
from tests.real.codex_api import Call, ScriptedResponses
from tests.real.programs import codex

PROGRAMS = File(sys.executable).parent
PLUGIN = File(minutebook.__file__).parent / "hosts" / "plugin"
SECONDS = 60.0
NOWHERE = "http://127.0.0.1:9"
"""Where nobody listens: what the program asks of the network at its start fails at once."""
CONFIG = """\
model = "gpt-5.5"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
{head}
[analytics]
enabled = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0

[features]
plugins = {plugins}

[projects."{project}"]
trust_level = "trusted"

"""
SETTINGS = """\
observe_after_tokens = 400
reflect_after_tokens = 2000
flush_idle_seconds = 1
"""


def shell(command: str) -> Call:
    """The call by which the model runs a command."""
    return Call("exec_command", {"cmd": command})


@dataclass(frozen=True, slots=True)
class Run:
    """What one run of the program left. thread: the session's id."""

    code: int
    thread: str
    events: list[dict[str, Any]]
    errors: str

    @property
    def said(self) -> list[str]:
        """The model's texts."""
        items = [event.get("item", {}) for event in self.events if event.get("type") == "item.completed"]
        return [item["text"] for item in items if item.get("type") == "agent_message"]


class CodexLab:
    """root: everything of this lab is below. api: the scripted model. store: Minutebook's."""

    def __init__(self, root: File, api: ScriptedResponses) -> None:
        self.root, self.api, self.program = root, api, codex()
        self.home, self.project = root / "home", root / "project"
        self.codex_home, self.minutebook = self.home / ".codex", root / "minutebook"
        self.store = self.minutebook / "minutebook.sqlite"
        self.config, self.hooks_file = self.codex_home / "config.toml", self.codex_home / "hooks.json"
        for folder in (self.codex_home, self.project, self.minutebook, root / "tmp"):
            folder.mkdir(parents=True)
        (self.minutebook / "minutebook.toml").write_text(SETTINGS)
        subprocess.run(["git", "init", "-q"], cwd=self.project, env=self.environ(), check=True)

    def environ(self, **more: str) -> dict[str, str]:
        """Nothing of the machine's own: neither its home nor its proxies."""
        return {
            "PATH": f"{File(self.program).parent}:/usr/bin:/bin",
            "HOME": str(self.home),
            "CODEX_HOME": str(self.codex_home),
            "MINUTEBOOK_HOME": str(self.minutebook),
            "TMPDIR": str(self.root / "tmp"),
            "LANG": "C.UTF-8",
            "SHELL": "/bin/sh",
            "SCRIPTED_KEY": "none",
            "HTTPS_PROXY": NOWHERE,
            "ALL_PROXY": NOWHERE,
            "NO_PROXY": "127.0.0.1",
            **more,
        }

    def configure(self, *, compact_at: int = 0, plugins: bool = False) -> None:
        """A config.toml without anything of ours. compact_at: the tokens at which Codex compacts by itself."""
        head = f"model_auto_compact_token_limit = {compact_at}\n" if compact_at else ""
        text = CONFIG.format(head=head, url=self.api.url, plugins=str(plugins).lower(), project=self.project)
        self.config.write_text(text)

    def install(self, *options: str) -> None:
        """As a person does it."""
        self.om("install", "codex", *options)

    def run_instead(self, program: File) -> None:
        """Let hooks.json name another program for ours, and trust that."""
        self.hooks_file.write_text(self.hooks_file.read_text().replace(str(PROGRAMS / "om-hook"), str(program)))
        self.trust()

    def trust(self) -> None:
        """Trust the hooks that are ours, by what the program says of them."""
        self.append(wiring.trust_tables(self.hooks()))

    def hooks(self) -> list[wiring.ListedHook]:
        """Our hooks as Codex sees them."""
        return wiring.ours(listed_hooks(self.program, str(self.project), self.environ())[0])

    def append(self, tables: wiring.Tables) -> None:
        """Put tables at the end of config.toml. (A string of JSON is one of TOML, and so is a list of them.)"""
        with self.config.open("a") as file:
            for path, values in tables.items():
                file.write(f"\n[{'.'.join(map(json.dumps, path))}]\n")
                file.writelines(f"{key} = {json.dumps(value)}\n" for key, value in values.items())

    def run(self, *arguments: str, **environ: str) -> "subprocess.CompletedProcess[str]":
        """The program with these arguments."""
        return subprocess.run(
            [self.program, *arguments],
            cwd=self.project,
            env=self.environ(**environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )

    def exec(self, prompt: str, *, resume: str = "", **environ: str) -> Run:
        """One prompt in a session that is new, or goes on."""
        goes_on = ["resume"] if resume else []
        done = self.run("exec", *goes_on, "--json", *([resume] if resume else []), prompt, **environ)
        events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        thread = next((event["thread_id"] for event in events if event.get("type") == "thread.started"), resume)
        return Run(done.returncode, thread, events, done.stderr)

    def om(self, *arguments: str, code: int = 0) -> str:
        """What an `om` command prints."""
        done = subprocess.run(
            [str(PROGRAMS / "om"), *arguments],
            cwd=self.project,
            env=self.environ(),
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def sessions(self) -> dict[str, int]:
        """Key → prompts of what is recorded."""
        if not self.store.exists():
            return {}
        with self._opened() as store:
            return {session.key: session.prompts for session in list_sessions(store)}

    def has_recorded(self, thread: str, prompts: int) -> bool:
        """Whether the worker has taken in so many prompts of a session, and observed what is due of it."""
        key = f"codex:{thread}"
        if self.sessions().get(key, 0) < prompts:
            return False
        with self._opened() as store:
            settings = load(self.project, {}, self.environ()).settings
            status = read_status(store, own_branch(store, key), settings)
        return status.observe.tokens < status.observe.threshold and not status.running

    def path_of(self, key: str, *, typed: bool = True) -> list[str]:
        """What was asked for on the path of a session. typed: by a person."""
        with self._opened() as store:
            path = Path(store, own_branch(store, key))
            entries = [placed.entry for placed in path.read(0, path.length())]
        return [entry_text(entry) for entry in entries if entry.role == "user" and entry.typed >= typed]

    def _opened(self) -> closing[SqliteStore]:
        return closing(SqliteStore(self.store, busy_seconds=5))

    def rollout(self, thread: str) -> File:
        """A session's file."""
        return max(self.codex_home.glob(f"sessions/*/*/*/rollout-*-{thread}*.jsonl"))

    def hook_log(self) -> list[str]:
        """What our hooks complained of, but for a machine that was too busy: that is no fault of theirs."""
        log = self.minutebook / "hook.log"
        lines = log.read_text().splitlines() if log.exists() else []
        return [line for line in lines if "not done within a second" not in line]

    def worker(self) -> int:
        """The process id of the worker that hooks started; 0 where none runs."""
        lock = File(f"{self.store}.lock")
        text = lock.read_text().strip() if lock.exists() else ""
        with suppress(ValueError, ProcessLookupError):
            os.kill(int(text), 0)
            return int(text)
        return 0

    def close(self) -> None:
        """End the worker, which would wait for more."""
        if pid := self.worker():
            os.kill(pid, signal.SIGKILL)


class AppServer:
    """`codex app-server` over its standard input and output."""

    def __init__(self, lab: CodexLab) -> None:
        self.lab = lab
        self.process = subprocess.Popen(
            [lab.program, "app-server"],
            cwd=lab.project,
            env=lab.environ(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.told: deque[dict[str, Any]] = deque()
        self.asked = 0
        self.timer = Timer(SECONDS, self.process.kill)
        self.timer.start()
        self.ask("initialize", {"clientInfo": {"name": "lab", "title": "lab", "version": "1"}})
        self._send({"method": "initialized"})

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """A request's result."""
        self.asked += 1
        number = self.asked
        self._send({"id": number, "method": method, "params": params})
        answer = self._until(lambda each: each.get("id") == number and "method" not in each)
        assert "result" in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def start(self) -> str:
        """The id of a new session."""
        return str(self.ask("thread/start", {"cwd": str(self.lab.project)})["thread"]["id"])

    def resume(self, thread: str) -> None:
        """Go on with a session."""
        self.ask("thread/resume", {"threadId": thread})

    def turn(self, thread: str, prompt: str) -> None:
        """One prompt, up to the end of its turn."""
        self.told.clear()
        self.ask("turn/start", {"threadId": thread, "input": [{"type": "text", "text": prompt}]})
        self.wait_for("turn/completed")

    def compact(self, thread: str) -> None:
        """What /compact does."""
        self.told.clear()
        self.ask("thread/compact/start", {"threadId": thread})
        self.wait_for("turn/completed")

    def wait_for(self, method: str) -> None:
        """Until the program tells of it, unless it did so since the last turn began."""
        if not any(each.get("method") == method for each in self.told):
            self._until(lambda each: each.get("method") == method)

    def close(self) -> None:
        """As a client that goes away."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        try:
            self.process.wait(10)
        finally:
            self.timer.cancel()
            self.process.kill()
            self.process.stdout.close()

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def _until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            said: dict[str, Any] = json.loads(line)
            if wanted(said):
                return said
            self.told.append(said)
        raise AssertionError("codex app-server ended")


@contextmanager
def app_server(lab: CodexLab) -> Iterator[AppServer]:
    """An app-server that is gone afterwards."""
    server = AppServer(lab)
    try:
        yield server
    finally:
        server.close()


def wait_until(what: Callable[[], object], seconds: float = SECONDS) -> None:
    """Until it is so; fails when it is not within so long."""
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, f"not within {seconds:g} s"
        time.sleep(0.05)
