"""The real Claude Code in a home of its own, against a scripted model, with our hooks and tools as installed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Any

from scripted_server import Answer, Asked, ScriptedServer

from minutebook.store.kernel import Store
from minutebook.store.opening import open_store
from tests.real.programs import claude

PROGRAMS = Path(sys.executable).parent
MODEL = "claude-sonnet-4-5-20250929"
SECONDS = 60.0
WINDOW = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"}
"""The smallest one: Claude Code compacts by itself at 67,000 tokens that the model reports."""
SETTINGS = """\
observe_after_tokens = 400
reflect_after_tokens = 2000
flush_idle_seconds = 1
"""
SUMMARIZING = "Your task is to create a detailed summary"
SUMMARY = "<analysis>a</analysis>\n<summary>\nSUMMARY OF THE HOST\n</summary>"


def shell(command: str, *, text: str = "", tokens: int = 1_000) -> Answer:
    """The model runs a command. tokens: what it reports as the size of the context."""
    call = ("Bash", {"command": command, "description": "run it"})
    return Answer(text=text, calls=[call], usage={"prompt_tokens": tokens})


def said(text: str, *, tokens: int = 1_000) -> Answer:
    """The model ends its turn."""
    return Answer(text=text, usage={"prompt_tokens": tokens})


def words(asked: Asked) -> str:
    """All that the model reads in a request, tool results and blocks of the system included."""
    return "\n".join(_texts([asked.body.get("system"), asked.body["messages"]]))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, dict):
        for key in ("content", "text", "thinking"):
            yield from _texts(value.get(key))


@dataclass(frozen=True, slots=True)
class Run:
    """What one run of the program left."""

    code: int
    output: str
    errors: str

    @property
    def result(self) -> dict[str, Any]:
        """Its --output-format json."""
        found: dict[str, Any] = json.loads(self.output)
        return found

    @property
    def session(self) -> str:
        """The session's id."""
        return str(self.result["session_id"])

    @property
    def text(self) -> str:
        """What a person reads in the end."""
        return str(self.result["result"])


class Talk:
    """A session in one long process. events: all that it wrote."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.events: list[dict[str, Any]] = []

    def say(self, text: str) -> dict[str, Any]:
        """One prompt, up to the end of its turn: the result."""
        assert self.process.stdin is not None and self.process.stdout is not None
        message = {"type": "user", "message": {"role": "user", "content": text}}
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            self.events.append(json.loads(line))
            if self.events[-1]["type"] == "result":
                return self.events[-1]
        raise AssertionError(f"the program ended: {self.events[-3:]}")

    @property
    def session(self) -> str:
        """The session's id."""
        return str(self.events[-1]["session_id"])


class ClaudeLab:
    """root: everything of this lab is below. model: the scripted one. store: Minutebook's."""

    def __init__(self, root: Path, model: ScriptedServer) -> None:
        self.root, self.model, self.program = root, model, claude()
        self.home, self.project, self.minutebook = root / "home", root / "project", root / "minutebook"
        self.folder = self.home / ".claude"
        self.store = self.minutebook / "minutebook.sqlite"
        for folder in (self.folder, self.project, self.minutebook, root / "tmp"):
            folder.mkdir(parents=True)
        (self.minutebook / "minutebook.toml").write_text(SETTINGS)
        subprocess.run(["git", "init", "-q"], cwd=self.project, env=self.environ(), check=True)
        self.script: list[Answer | Callable[[Asked], Answer]] = []
        self.summary = SUMMARY
        model.defaults["other"] = self._reply

    # -- the model -------------------------------------------------------------------------------------------------

    def _reply(self, asked: Asked) -> Answer:
        if not asked.tools:
            return Answer(text='{"title": "a title"}')
        if is_summarizing(asked):
            return Answer(text=self.summary)
        step = self.script.pop(0) if self.script else said("done")
        return step(asked) if callable(step) else step

    @property
    def asked(self) -> list[Asked]:
        """The requests of the conversation itself, oldest first."""
        return [each for each in self.model.requests if each.tools and not is_summarizing(each)]

    @property
    def summaries_asked(self) -> list[Asked]:
        """The requests in which the model was asked for a summary."""
        return [each for each in self.model.requests if is_summarizing(each)]

    # -- the program -----------------------------------------------------------------------------------------------

    def environ(self, **more: str) -> dict[str, str]:
        """Nothing of the machine's own: neither its home nor its proxies."""
        return {
            "PATH": f"{PROGRAMS}:/usr/bin:/bin",
            "HOME": str(self.home),
            "MINUTEBOOK_HOME": str(self.minutebook),
            "TMPDIR": str(self.root / "tmp"),
            "CLAUDE_CODE_TMPDIR": str(self.root / "tmp"),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "SHELL": "/bin/sh",
            "ANTHROPIC_BASE_URL": self.model.url.removesuffix("/v1"),
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_AUTOUPDATER": "1",
            **more,
        }

    def run(self, *arguments: str, **more: str) -> Run:
        """The program with these arguments; more: of its environment."""
        done = subprocess.run(
            [self.program, *arguments],
            cwd=self.project,
            env=self.environ(**more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        return Run(done.returncode, done.stdout, done.stderr)

    def prompt(self, text: str, *arguments: str, session: str = "", **more: str) -> Run:
        """One prompt in print mode, in a new session or in that one."""
        of_session = ("--resume", session) if session else ()
        run = self.run("-p", text, "--output-format", "json", "--model", MODEL, *of_session, *arguments, **more)
        assert run.code == 0, (run.output[-2_000:], run.errors)
        return run

    @contextmanager
    def talk(self, *arguments: str, **more: str) -> "Iterator[Talk]":
        """One long run of the program, to which prompts are said one after the other."""
        streams = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
        process = subprocess.Popen(
            [self.program, "-p", *streams, "--model", MODEL, *arguments],
            cwd=self.project,
            env=self.environ(**more),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        timer = Timer(SECONDS * 2, process.kill)
        timer.start()
        try:
            yield Talk(process)
            process.communicate(timeout=SECONDS)
        finally:
            timer.cancel()
            process.kill()
            process.wait()

    # -- how Minutebook got in -------------------------------------------------------------------------------------

    def install(self, *options: str) -> None:
        """With `om install`: --user for settings files, --plugin for the plugin."""
        path = f"{PROGRAMS}:{Path(self.program).parent}:/usr/bin:/bin"
        done = subprocess.run(
            [PROGRAMS / "om", "install", "claude-code", *options],
            cwd=self.project,
            env=self.environ(PATH=path),
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        assert done.returncode == 0, (done.stdout, done.stderr)

    # -- what came of it -------------------------------------------------------------------------------------------

    @contextmanager
    def opened(self) -> Iterator[Store]:
        """Minutebook's store."""
        store = open_store(str(self.store))
        try:
            yield store
        finally:
            store.close()

    def rows(self, session: str) -> list[dict[str, Any]]:
        """The session's own file."""
        (path,) = self.folder.glob(f"projects/*/{session}.jsonl")
        return [json.loads(line) for line in path.read_text().splitlines()]

    def hook_log(self) -> str:
        """What hooks complained about."""
        path = self.minutebook / "hook.log"
        return path.read_text() if path.exists() else ""

    def wait_for(self, happened: Callable[[Store], bool]) -> None:
        """Until the worker has done something."""
        give_up_at = time.monotonic() + SECONDS
        while True:
            if self.store.exists():
                with self.opened() as store:
                    if happened(store):
                        return
            assert time.monotonic() < give_up_at, f"it did not happen; hook log: {self.hook_log()}"
            time.sleep(0.05)

    def stop(self) -> None:
        """End the worker that hooks started."""
        lock = self.store.with_name(self.store.name + ".lock")
        with suppress(OSError, ValueError):
            os.kill(int(lock.read_text()), signal.SIGKILL)


def is_summarizing(asked: Asked) -> bool:
    """Whether Claude Code asks for the summary of a compaction."""
    return any(SUMMARIZING in text for text in _texts(asked.body["messages"][-1:]))


@contextmanager
def claude_lab(root: Path) -> Iterator[ClaudeLab]:
    """A lab with a model of its own; what it started is ended."""
    with ScriptedServer() as model:
        lab = ClaudeLab(root, model)
        try:
            yield lab
        finally:
            lab.stop()
