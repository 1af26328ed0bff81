"""Asks the installed Codex which hooks it sees and whether it trusts them: JSON lines to `codex app-server`.

It answers from its own configuration and calls no model.
"""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Timer
from typing import Any

from minutebook.errors import HostFailed
from minutebook.hosts.fields import list_of, object_of, text_of
from minutebook.version import __version__

ASK_SECONDS = 20.0
_HOOKS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedHook:
    """A hook as Codex's app-server lists it. trust: trusted, untrusted, modified or managed. plugin: its id or ""."""

    key: str
    event: str
    command: str
    hash: str
    trust: str
    enabled: bool = True
    source: str = ""
    plugin: str = ""

    @property
    def runs(self) -> bool:
        """Whether Codex runs it, unless it is started with the flag that skips the review."""
        return self.enabled and self.trust in ("trusted", "managed")


def listed_hooks(
    codex: str, cwd: str, environ: Mapping[str, str], *, seconds: float = ASK_SECONDS
) -> tuple[list[ListedHook], list[str]]:
    """The hooks that Codex sees in a folder, and what it has to complain about in files that it read for that.

    codex: the program. environ: its environment (CODEX_HOME counts). Raises HostFailed when it cannot be asked.
    """
    result = object_of(_answer(codex, cwd, environ, seconds).get("result"))
    entries = [object_of(entry) for entry in list_of(result.get("data"))]
    hooks = [_listed(object_of(hook)) for entry in entries for hook in list_of(entry.get("hooks"))]
    complaints = [
        _said(each) for entry in entries for key in ("errors", "warnings") for each in list_of(entry.get(key))
    ]
    return hooks, complaints


def _answer(codex: str, cwd: str, environ: Mapping[str, str], seconds: float) -> dict[str, Any]:
    """The one answer that counts. The program leaves once its input is closed, so that waits for the answer."""
    command = [codex, "app-server"]
    try:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=dict(environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
    except OSError as error:
        raise HostFailed(f"{codex}: cannot be started ({error})") from None
    timer = Timer(seconds, process.kill)
    timer.start()
    try:
        return _ask(process, cwd)
    except (BrokenPipeError, StopIteration):
        raise HostFailed(
            f"{codex} app-server: no list of hooks within {seconds:g} s; is it Codex 0.171 or newer?"
        ) from None
    finally:
        timer.cancel()
        process.kill()
        process.communicate()


def _ask(process: "subprocess.Popen[str]", cwd: str) -> dict[str, Any]:
    assert process.stdin is not None and process.stdout is not None
    client = {"name": "minutebook", "title": "Minutebook", "version": __version__}
    for message in (
        {"id": 1, "method": "initialize", "params": {"clientInfo": client}},
        {"method": "initialized"},
        {"id": _HOOKS, "method": "hooks/list", "params": {"cwds": [cwd]}},
    ):
        process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()
    said = (_object(line) for line in process.stdout)
    return next(each for each in said if each.get("id") == _HOOKS and ("result" in each or "error" in each))


def _object(line: str) -> dict[str, Any]:
    try:
        return object_of(json.loads(line))
    except ValueError:
        return {}


def _said(complaint: object) -> str:
    fields = object_of(complaint)
    return text_of(fields.get("message")) or text_of(complaint) or json.dumps(complaint)


def _listed(hook: dict[str, Any]) -> ListedHook:
    return ListedHook(
        key=text_of(hook.get("key")),
        event=text_of(hook.get("eventName")),
        command=text_of(hook.get("command")),
        hash=text_of(hook.get("currentHash")),
        trust=text_of(hook.get("trustStatus")),
        enabled=hook.get("enabled") is not False,
        source=text_of(hook.get("sourcePath")),
        plugin=text_of(hook.get("pluginId")),
    )
