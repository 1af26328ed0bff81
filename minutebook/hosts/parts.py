"""Hooks that print the parts of one composition run at once, and an agent puts what they print in the order in which
they end: so each waits for the one before. Nothing is imported here that a hook would have to wait for.
"""
# No pathlib: it alone costs a hook as much as the start of the interpreter.

import os
import time

from minutebook.hosts.beside import printed_path, read_beside, write_beside

POLL_SECONDS = 0.003
SHELL_SECONDS = 0.1
"""For so long the shell around a hook may take to end after it; where there is none, nothing else ends."""


def note_printed(store_path: str, host: str, session: str, part: int) -> None:
    """Note that this part was printed, as the last thing that its hook does. Raises OSError."""
    write_beside(printed_path(store_path, host, session), f"{part} {os.getpid()} {os.getppid()}")


def wait_for_turn(store_path: str, host: str, session: str, part: int, *, seconds: float) -> bool:
    """Until the hook of the part before has ended and its agent knows it; False after so long."""
    until = time.monotonic() + seconds
    while not _is_turn(read_beside(printed_path(store_path, host, session)) or "", part, until):
        if time.monotonic() >= until:
            return False
        time.sleep(POLL_SECONDS)
    return True


def _is_turn(printed: str, part: int, until: float) -> bool:
    number, _, processes = printed.partition(" ")
    hook, _, shell = processes.partition(" ")
    if number != str(part - 1) or _is_there(hook):
        return False
    if shell != os.environ.get("CLAUDE_PID"):  # a process is there until its parent, the agent, has looked at its end
        until = min(until, time.monotonic() + SHELL_SECONDS)
        while _is_there(shell) and time.monotonic() < until:
            time.sleep(POLL_SECONDS)
    return True


def _is_there(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError):
        return False
    except OSError:
        return True
    return True
