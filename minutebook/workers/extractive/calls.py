"""Tool calls of any host, brought to one shape: which command ran, which files were written, with what result."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from minutebook.records import Part, SourceEntry
from minutebook.workers.contract import Shown
from minutebook.workers.extractive.sentences import one_line

ARGUMENTS_MAX_CHARACTERS = 400_000
RESULT_HEAD_CHARACTERS = 12_000
RESULT_TAIL_CHARACTERS = 24_000
PATCH_FILES_MAX = 200

FileAction = Literal["edited", "wrote", "deleted"]

_COMMAND_TOOLS = frozenset(
    (
        "bash",
        "shell",
        "exec_command",
        "exec",
        "local_shell",
        "local_shell_call",
        "run_command",
        "terminal",
        "execute",
        "run_terminal_cmd",
        "powershell",
        "container.exec",
        "shell_command",
    )
)
_WRITE_TOOLS = frozenset(
    (
        "write",
        "write_file",
        "create",
        "create_file",
        "writefile",
        "save_file",
    )
)
_EDIT_TOOLS = frozenset(
    (
        "edit",
        "multiedit",
        "edit_file",
        "str_replace",
        "str_replace_editor",
        "str_replace_based_edit_tool",
        "notebookedit",
        "replace",
        "patch",
        "apply_patch",
        "update_file",
        "insert",
        "search_replace",
    )
)
_PATH_KEYS = ("file_path", "path", "filePath", "notebook_path", "filename", "target_file", "file")
_COMMAND_KEYS = ("command", "cmd", "script")
_PATCH_LINE = re.compile(r"\*\*\* (Add|Update|Delete) File: ([^\n\\\"']{1,400})")
_PATCH_ACTIONS: dict[str, FileAction] = {"Add": "wrote", "Update": "edited", "Delete": "deleted"}
_EMBEDDED = re.compile(r'"(?:cmd|command)"\s*:\s*"((?:[^"\\]|\\.){1,4000})"')
_PATH_IN_HEAD = re.compile(r'"(?:file_path|path|filePath)"\s*:\s*"((?:[^"\\]|\\.){1,1000})"')
_EXIT = re.compile(
    r"(?:^|\n|\()\s*(?:(?:Process|Command) exited with code|\(?Exit code:?|exit status|exit_code:?|"
    r"Command failed with exit code) (-?\d{1,10})\b|\"exit_code\":\s?(-?\d{1,10})",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call. command: "" if it runs none. files: what it writes. shown: the entry that holds the call."""

    call_id: str
    name: str
    command: str
    files: tuple[tuple[FileAction, str], ...]
    shown: Shown


@dataclass(frozen=True, slots=True)
class Result:
    """A tool result with its call, None when that stands in an earlier batch. pieces: head and tail of its text."""

    call: Call | None
    shown: Shown
    pieces: tuple[str, ...]
    failed: bool
    succeeded: bool

    @property
    def command(self) -> str:
        """The command that was run, one line, "" when unknown."""
        return self.call.command if self.call else ""

    @property
    def lines(self) -> list[str]:
        """The examined lines."""
        return [line for piece in self.pieces for line in piece.splitlines()]


def calls_of(shown: Shown) -> Iterator[Call]:
    """The tool calls of an assistant entry."""
    for part in shown.placed.entry.parts:
        if part.kind == "tool_call":
            yield _call(part, shown)


def results_of(sources: Sequence[Shown]) -> list[Result]:
    """Every tool result of the batch, joined with its call by call id, in order."""
    calls = {call.call_id: call for shown in sources for call in calls_of(shown) if call.call_id}
    return [
        _result(shown, calls.get(shown.placed.entry.call_id))
        for shown in sources
        if shown.placed.entry.role == "tool_result"
    ]


def text_of(entry: SourceEntry) -> str:
    """The text parts of an entry."""
    return "\n".join(part.text for part in entry.parts if part.kind == "text")


def _call(part: Part, shown: Shown) -> Call:
    name = part.name.rsplit("__", 1)[-1].lower()
    arguments = _arguments(part.text)
    command = _command(name, arguments, part.text)
    return Call(part.call_id, part.name, one_line(command[:4_000]), tuple(_files(name, arguments, part.text)), shown)


def _arguments(text: str) -> dict[str, Any]:
    """Arguments as a mapping; of a huge one only the path, which stands in front."""
    if len(text) > ARGUMENTS_MAX_CHARACTERS:
        found = _PATH_IN_HEAD.search(text[:4_000])
        return {"path": _unescaped(found[1])} if found else {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _command(name: str, arguments: dict[str, Any], text: str) -> str:
    if name not in _COMMAND_TOOLS:
        return ""
    for key in _COMMAND_KEYS:
        value = arguments.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value:
            return str(value[-1]) if len(value) <= 3 and str(value[0]).endswith("sh") else " ".join(map(str, value))
    found = _EMBEDDED.search(text[:20_000])
    return _unescaped(found[1]) if found else ""


def _unescaped(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text


def _files(name: str, arguments: dict[str, Any], text: str) -> Iterator[tuple[FileAction, str]]:
    patch = list(_patched(text)) if "*** " in text[:2_000] or name == "apply_patch" else []
    if patch:
        yield from patch
    elif name in _WRITE_TOOLS | _EDIT_TOOLS:
        if arguments.get("command") in ("view", "undo_edit"):
            return
        path = next((arguments[key] for key in _PATH_KEYS if isinstance(arguments.get(key), str)), "")
        wrote = name in _WRITE_TOOLS or arguments.get("command") == "create"
        if path.strip():
            yield ("wrote" if wrote else "edited"), path


def _patched(text: str) -> Iterator[tuple[FileAction, str]]:
    for count, found in enumerate(_PATCH_LINE.finditer(text[:ARGUMENTS_MAX_CHARACTERS])):
        if count >= PATCH_FILES_MAX:
            return
        yield _PATCH_ACTIONS[found[1]], found[2].strip()


def _result(shown: Shown, call: Call | None) -> Result:
    text = text_of(shown.placed.entry)
    long = len(text) > RESULT_HEAD_CHARACTERS + RESULT_TAIL_CHARACTERS
    pieces = (text[:RESULT_HEAD_CHARACTERS], text[-RESULT_TAIL_CHARACTERS:]) if long else (text,)
    code = _exit_code(pieces)
    failed = shown.placed.entry.is_error or code not in (None, 0)
    return Result(call, shown, pieces, failed, not failed)


def _exit_code(pieces: tuple[str, ...]) -> int | None:
    """The code that the host states at an end of the result; one in the middle is somebody's output."""
    for edge in (pieces[0][:400], pieces[-1][-200:]):
        if found := _EXIT.search(edge):
            return int(found[1] or found[2])
    return None
