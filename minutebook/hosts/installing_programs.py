"""Command lines of a host that put a plugin in and take it out."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence

from minutebook.hosts.edits import Program

RUN_SECONDS = 120.0


def run_programs(programs: Sequence[Program]) -> tuple[tuple[tuple[str, ...], ...], list[str]]:
    """Run them in order, up to one that fails: what takes them back, the last first; and what is left to do."""
    undo: list[tuple[str, ...]] = []
    for at, program in enumerate(programs):
        said = _run(program.argv)
        if said:
            left = [shlex.join(each.argv) for each in programs[at:]]
            return tuple(reversed(undo)), [f"{said}; what is left to do: {' && '.join(left)}"]
        if program.undo:
            undo.append(program.undo)
    return tuple(reversed(undo)), []


def take_back_programs(undo: Sequence[Sequence[str]]) -> list[str]:
    """Run them all; what did not work, with what to do by hand."""
    failed = [(argv, said) for argv in undo if (said := _run(argv))]
    return [f"{said}; by hand: {shlex.join(argv)}" for argv, said in failed]


def _run(argv: Sequence[str]) -> str:
    """ "" where it went well, else why not, on one line."""
    program = shutil.which(argv[0])
    if program is None:
        return f"{argv[0]} is not on PATH"
    try:
        done = subprocess.run(
            [program, *argv[1:]],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            timeout=RUN_SECONDS,
            env={**os.environ, "MINUTEBOOK_OFF": "1"},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{shlex.join(argv)}: {error}"
    said = " ".join((done.stderr or done.stdout).split())[-300:]
    return f"{shlex.join(argv)} ended with {done.returncode}: {said}" if done.returncode else ""
