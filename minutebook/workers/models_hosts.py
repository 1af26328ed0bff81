"""A model without an API key: an installed program (`claude`, `codex`), asked once in its print mode. Opt-in.

It is given a text and answers with a text. It has no tools, no hooks, no MCP servers, no session of its own, and an
empty folder to stand in; MINUTEBOOK_OFF is the second lock, should a hook of ours run all the same. The login is the
person's own. The answer has the shape of litellm's, so that it is read and accounted for like every other.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from minutebook.errors import ProviderFailed
from minutebook.places import data_dir
from minutebook.settings import ModelChoice
from minutebook.workers import models_claude, models_codex
from minutebook.workers.exchange import Message, Request
from minutebook.workers.models_process import Finished, one_at_a_time, run_program
from minutebook.workers.models_said import HostFailed, Said

FOLDER = "host-models"
HOMES = ("~/.local/bin", "~/.claude/local", "/opt/homebrew/bin", "/usr/local/bin")
"""Where the programs' own installers put them, for a worker whose PATH is short."""
OUTPUT_TOKENS_MOST = 32_000
NOT_HANDED_ON = re.compile(
    r"CLAUDECODE|CLAUDE_(PID|EFFORT|ENV_FILE|PROJECT_DIR|PLUGIN_ROOT|PLUGIN_DATA|AGENT_SDK_VERSION)"
    r"|CLAUDE_CODE_(SESSION_ID|ENTRYPOINT|SSE_PORT|CHILD_SESSION)|CODEX_(THREAD_ID|SANDBOX\w*)"
)
"""What a worker that a hook started has from the session of that hook: none of it is for another session."""

ADVICE = {
    "auth": "start `{program}` once and log in, then `om doctor --call` tries it at once",
    "quota": "the limit of its plan is reached, it is tried again ever more rarely, another model may take it",
    "network": "check that `{program}` itself works, it is tried again by itself",
    "unknown_model": "check the model after the slash, `{program}` itself shows what it has",
    "bad_request": "update `{program}`, it is tried again ever more rarely, another model may take it",
}


@dataclass(frozen=True, slots=True)
class Program:
    """arguments: choice, folder and request → after the program's name. environ: what is added to its environment."""

    arguments: Callable[[ModelChoice, Path], Sequence[str]]
    environ: Callable[[Request, int], Mapping[str, str]]
    said: Callable[[Finished], Said]


PROGRAMS = {
    "claude": Program(models_claude.arguments, models_claude.environ, models_claude.said),
    "codex": Program(models_codex.arguments, models_codex.environ, models_codex.said),
}


def program_of(choice: ModelChoice) -> str:
    """The program's name."""
    return choice.id.partition("/")[0]


def advice(kind: str, choice: ModelChoice) -> str | None:
    """What a person can do, where it is another thing than for a provider."""
    return ADVICE[kind].format(program=program_of(choice)) if kind in ADVICE else None


def missing(choice: ModelChoice) -> str:
    """What has to be there first; "" when the program is installed. Whether it is logged in, only a call tells."""
    name = program_of(choice)
    return "" if _installed(name) else f"the program `{name}` is not installed, or not on the PATH of the worker"


def _installed(name: str) -> str | None:
    places = os.pathsep.join(os.path.expanduser(place) for place in HOMES)  # noqa: PTH111 (a search path)
    return shutil.which(name) or shutil.which(name, path=places)


@contextmanager
def turn(choice: ModelChoice, deadline: float | None) -> Iterator[None]:
    """Asking a program is done by one at a time on a machine; for another model there is nothing to wait for."""
    if not choice.is_program:
        yield
        return
    try:
        lock = _folder() / "lock"
        lock.touch(mode=0o600)
    except OSError as error:
        raise ProviderFailed(f"{data_dir() / FOLDER}: {error.strerror}", reason="server") from error
    with one_at_a_time(lock, deadline):
        yield


def complete(request: Request, choice: ModelChoice, *, timeout_seconds: float) -> Any:
    """One request, one answer. Raises HostFailed, TookTooLong."""
    name = program_of(choice)
    found, program = _installed(name), PROGRAMS[name]
    if found is None:
        raise HostFailed("auth", missing(choice))
    folder = _folder()
    limit = min(request.output_tokens or OUTPUT_TOKENS_MOST, OUTPUT_TOKENS_MOST)
    try:
        _write_private(folder / "system.md", request.system)
        done = run_program(
            [found, *program.arguments(choice, folder)],
            given=prompt_of(request.messages),
            folder=folder / "empty",
            environ=_environ(os.environ, program.environ(request, limit)),
            timeout_seconds=timeout_seconds,
        )
    except OSError as error:
        raise HostFailed("server", f"`{name}` could not be started: {error.strerror or error}") from None
    return _as_litellm(program.said(done))


def prompt_of(messages: Sequence[Message]) -> str:
    """The whole conversation as one text: a print mode takes no other. Pure."""
    headings = {"assistant": "# Your answer", "user": "# Next", "tool": "# Receipt"}
    first, *others = messages
    parts = [first.text, *(f"{headings[message.role]}\n{message.text}" for message in others)]
    return "\n\n".join(parts).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _environ(inherited: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in inherited.items() if not NOT_HANDED_ON.fullmatch(name)}
    return {**kept, **more, "MINUTEBOOK_OFF": "1"}


def _folder() -> Path:
    """The same one each time: the programs keep a note of every folder that they ever stood in."""
    folder = data_dir() / FOLDER
    (folder / "empty").mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    return folder


def _write_private(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")
    with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
    Path(name).replace(path)


def _as_litellm(said: Said) -> Any:
    usage = SimpleNamespace(
        prompt_tokens=said.input_tokens,
        completion_tokens=said.output_tokens,
        prompt_tokens_details=SimpleNamespace(cached_tokens=said.cached_tokens),
    )
    message = SimpleNamespace(content=said.text, tool_calls=None)
    choice = SimpleNamespace(message=message, finish_reason=said.finish_reason)
    return SimpleNamespace(choices=[choice], usage=usage, _hidden_params={"response_cost": said.cost_usd})
