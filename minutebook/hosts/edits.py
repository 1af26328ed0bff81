"""What installing changes in a host's own files, as plain data. Each host's wiring says it; installing does it.

A host's `wiring.py` has `wiring(target: Target) -> Wiring`: pure, no I/O. Everything else (merging, backups, taking out
again, dry runs, what is checked by `om doctor`) is the same for all hosts and is done by hosts/installing.py.
"""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HOOK_MARK = "om-hook"
"""By this part of its command a hook is told to be ours, whatever installation of Minutebook put it there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where Minutebook goes.

    om, om_hook: absolute paths of this installation's programs. folder: the host's own folder (CLAUDE_CONFIG_DIR or
    ~/.claude; CODEX_HOME or ~/.codex; PI_CODING_AGENT_DIR or ~/.pi/agent). home: the person's home folder.
    state_file: Claude Code's own ~/.claude.json, which with CLAUDE_CONFIG_DIR lies in that folder.
    project: the project's folder for --project, else None: for the whole user. plugin: as a plugin of the host.
    package: minutebook/hosts of this installation, for what is shipped as files.
    """

    host: str
    om: str
    om_hook: str
    folder: Path
    home: Path
    state_file: Path
    package: Path
    project: Path | None = None
    plugin: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonItems:
    """Items at the end of the list at `path` of a JSON file; file, objects and list are made where they are missing.

    An object in that list, or in a list inside it, with a string that contains `mark` is ours: it is replaced by the
    next install and goes with uninstall. What else stands in the list is left as it is. Plain strings work alike.
    """

    file: Path
    path: tuple[str, ...]
    items: tuple[Any, ...]
    mark: str = HOOK_MARK


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonValue:
    """One value at `path` of a JSON file, whose last key is ours alone, such as mcpServers.minutebook.

    shared: the key is the host's own (a number or a switch): set only where it is not there, and so never replaced.
    """

    file: Path
    path: tuple[str, ...]
    value: Any
    shared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TomlTable:
    """A table of simple values (strings, numbers, booleans, lists of strings) in a TOML file, named by us alone.

    It is written as `[a.b."c d"]` at the end; comments and order of everything else stay.
    """

    file: Path
    path: tuple[str, ...]
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFile:
    """A file that is ours as a whole: a slash command, the extension of Pi. One that is there and differs from what
    we ever wrote is refused."""

    file: Path
    content: bytes


Edit = JsonItems | JsonValue | TomlTable | OwnFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program of the host to run after the files are written (plugins), and what takes it back.

    argv[0] is looked up on PATH. Where it is missing or fails, its command lines are shown as what is left to do.
    """

    argv: tuple[str, ...]
    undo: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring:
    """Everything of one host and scope.

    notes: what the person has to do or know afterwards, one sentence each. afterwards: edits that can only be known
    when the others are in place (Codex's trust hashes); it may run the host's program, and what it raises is a note.
    """

    edits: tuple[Edit, ...]
    programs: tuple[Program, ...] = ()
    notes: tuple[str, ...] = ()
    afterwards: Callable[[], Sequence[Edit]] | None = field(default=None, compare=False)


def guarded(program: str, *arguments: str) -> str:
    """A command line for a shell that says nothing and ends with 0 also where the program was removed or is broken."""
    return f"{shlex.join([program, *arguments])} 2>/dev/null || true"
