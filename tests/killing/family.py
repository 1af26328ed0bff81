"""The test's side of the nursery: start children, wait for them, kill them, see how they ended."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from killing.deaths import Death

TESTS = Path(__file__).resolve().parents[1]
PATHS = (TESTS.parent, TESTS, TESTS / "store")
PRELOADED = (
    "minutebook.cli.ingesting",
    "minutebook.cli.replaying",
    "minutebook.cli.showing_ingest",
    "minutebook.cli.showing_replay",
    "minutebook.cli.working",
    "minutebook.workers.choosing",
    "minutebook.workers.extractive",
    "minutebook.workers.extractive.mind",
    "minutebook.workers.foreground",
    "minutebook.workers.observer",
    "minutebook.workers.reflector",
    "minutebook.workers.digester",
    "minutebook.workers.dropper",
)
MODELS = (
    "litellm",
    "litellm._service_logger",
    "litellm.proxy._types",
    "httpcore",
    "h2.connection",
    "minutebook.workers.model_mind",
    "minutebook.workers.models_library",
)
OFFLINE = {
    "OPENAI_API_KEY": "none",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_OFFLINE_MODE": "True",
}
KILLED = -signal.SIGKILL
STOPPED = -signal.SIGTERM
"""By a request to end that came before the child was ready to hear it."""


@dataclass(frozen=True)
class Child:
    """pid, and the folder in which it leaves word."""

    pid: int
    folder: Path

    def kill(self) -> None:
        """At whatever it is just doing."""
        os.kill(self.pid, signal.SIGKILL)

    def stop(self) -> None:
        """Ask it to end."""
        os.kill(self.pid, signal.SIGTERM)

    def hold(self) -> None:
        """Make it stand still."""
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """After hold."""
        os.kill(self.pid, signal.SIGCONT)

    @property
    def death(self) -> Death | None:
        """How it died, if as planned."""
        file = self.folder / "death"
        return Death(**json.loads(file.read_text())) if file.exists() else None

    @property
    def calls(self) -> Counter[str]:
        """How often it called what, if it ended by itself."""
        return Counter(json.loads((self.folder / "calls").read_text()))


class Nursery:
    """Children of one warm process. folder: for what they leave, and their home."""

    def __init__(self, folder: Path, modules: Sequence[str] = PRELOADED) -> None:
        self.folder = folder
        self.born = self._asked = 0
        self.errors = folder / "stderr"
        path = os.pathsep.join(map(str, PATHS))
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MINUTEBOOK_", "XDG_"))}
        with self.errors.open("w") as errors:
            self._process = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("nursery.py")), *modules],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**kept, "PYTHONPATH": path, "HOME": str(folder), **OFFLINE},
                cwd=folder,
            )

    def __enter__(self) -> Self:
        self.run("nothing")  # it has loaded its modules by now, which takes long: no test counts that
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def start(self, act: str, *, death: Death | None = None, ahead: float = 0.0, fault: str = "", **args: Any) -> Child:
        """A child that does one act. ahead: seconds by which its store clock is ahead. fault: see faults.py."""
        self.born += 1
        folder = self.folder / f"child-{self.born}"
        folder.mkdir()
        asked = {"act": act, "args": args, "folder": str(folder), "ahead": ahead, "fault": fault}
        return Child(self._ask({**asked, "death": asdict(death) if death else None}), folder)

    def wait(self, child: Child) -> int:
        """Its exit code: KILLED, STOPPED or 0; anything else fails with what it complained of."""
        code = self._ask({"wait": child.pid})
        if code not in (0, KILLED, STOPPED):
            raise AssertionError(f"a child ended with {code}:\n{self.errors.read_text()[-4000:]}")
        return code

    def run(self, act: str, **more: Any) -> Child:
        """A child that must end by itself, in order."""
        child = self.start(act, **more)
        assert self.wait(child) == 0, "killed by somebody else"
        return child

    def _ask(self, asked: dict[str, Any]) -> int:
        assert self._process.stdin and self._process.stdout
        self._asked += 1
        self._process.stdin.write(json.dumps({**asked, "number": self._asked}) + "\n")
        self._process.stdin.flush()
        while answer := self._process.stdout.readline():
            number, value = map(int, answer.split())
            if number == self._asked:  # else of a request whose test was broken off
                return value
        raise AssertionError(f"the nursery ended:\n{self.errors.read_text()[-4000:]}")
