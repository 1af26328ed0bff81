"""What every turn hook does: note which session moved, wake the worker, leave.

The transcript is the spool: a bell says where it is, and the worker reads it. Nothing is imported here that a hook
would have to wait for (no json, re, pathlib, typing): only what the interpreter has loaded, and modules written in C.
"""
# No pathlib: it alone costs a hook as much as the start of the interpreter.
# ruff: noqa: PTH110, PTH116

import os
import stat
import time
from _collections_abc import Iterable  # collections.abc would load collections

from minutebook.hosts.barejson import parse, to_json
from minutebook.hosts.beside import (
    BELL_MAX_BYTES,
    UNHEARD_RINGS,
    bells_folder,
    complain,
    handover_path,
    local_store_path,
    lock_path,
    printed_path,
    read_beside,
    remove,
    safe_name,
    slot_path,
    wake_path,
    write_beside,
)

__all__ = [
    "BELL_MAX_BYTES",
    "UNHEARD_RINGS",
    "bells_folder",
    "complain",
    "handover_path",
    "is_paused",
    "local_store_path",
    "lock_path",
    "owe_memory",
    "owes_memory",
    "read_handover",
    "remove_handover",
    "ring",
    "safe_name",
    "settle",
    "slot_path",
    "start_worker",
    "take_slot",
    "unheard",
    "wait_for_part",
    "wake",
    "wake_path",
    "write_handover",
]

POLL_SECONDS = 0.01


def ring(
    store_path: str,
    *,
    host: str,
    session: str,
    path: str,
    agent: str = "",
    cwd: str = "",
    event: str = "",
    ended: bool = False,
) -> int:
    """Note that a session moved; how often it did since that was taken. Raises OSError.

    path: its transcript. agent: a sub-agent's id. ended: the session is over.
    """
    now = time.time()
    bell = f"{bells_folder(store_path)}/{safe_name(host, session, agent)}"
    before = parse(read_beside(bell, BELL_MAX_BYTES) or "")
    since, rings, told = now, 0, False
    if isinstance(before, dict) and isinstance(before.get("rings"), int) and isinstance(before.get("since"), float):
        since, rings, told = before["since"], before["rings"], before.get("told") is True
    fields = {"host": host, "session": session, "agent": agent, "path": path, "cwd": cwd, "event": event}
    counted = {"time": now, "since": since, "rings": rings + 1, "told": told, "ended": ended}
    write_beside(bell, to_json({**fields, **counted}))
    return rings + 1


def wake(store_path: str) -> bool:
    """Wake the worker of a store file; False when none listens. Never blocks, never raises OSError."""
    try:
        handle = os.open(wake_path(store_path), os.O_WRONLY | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0))
    except (OSError, AttributeError):  # ENXIO: nobody reads it. No such file: nobody ever did. Windows has no FIFO
        return False
    try:
        if not stat.S_ISFIFO(os.fstat(handle).st_mode):
            return False
        os.write(handle, b"!")
    except BlockingIOError:
        return True  # full of wakes that the worker has yet to read
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def start_worker(store_path: str, idle_exit_seconds: float | None = None) -> bool:
    """Start a worker that outlives this process, unless one that was started so is there; whether this call did.

    Raises OSError.
    """
    from minutebook.hosts.starting import start

    return start(store_path, idle_exit_seconds)


# -- the hand-over and the slot ------------------------------------------------------------------------------------


def write_handover(store_path: str, host: str, session: str, parts: Iterable[str]) -> None:
    """Leave the parts of a composition for the hooks that print them; an empty list says that there is none."""
    remove(printed_path(store_path, host, session))
    write_beside(handover_path(store_path, host, session), to_json(list(parts)))


def read_handover(store_path: str, host: str, session: str) -> list[str] | None:
    """The parts that were left; None where nothing was."""
    text = read_beside(handover_path(store_path, host, session))
    parts = None if text is None else parse(text)
    return [str(part) for part in parts] if isinstance(parts, list) else None


def remove_handover(store_path: str, host: str, session: str) -> None:
    """Nothing is handed over any more."""
    remove(handover_path(store_path, host, session))
    remove(printed_path(store_path, host, session))


def owe_memory(store_path: str, host: str, session: str) -> None:
    """Note that a session was compacted and has not been given its memory back. Raises OSError."""
    write_beside(_owed_path(store_path, host, session), "")


def owes_memory(store_path: str, host: str, session: str) -> bool:
    """Whether that is noted and not settled."""
    return os.path.exists(_owed_path(store_path, host, session))


def settle(store_path: str, host: str, session: str) -> None:
    """Nothing is owed any more."""
    remove(_owed_path(store_path, host, session))


def _owed_path(store_path: str, host: str, session: str) -> str:
    return handover_path(store_path, host, session) + ".owed"


def wait_for_part(store_path: str, host: str, session: str, number: int, *, seconds: float, not_before: float) -> str:
    """The part of that number, from 1; "" past the last one, and when nothing is handed over within so long.

    not_before: time() in seconds; what was left earlier is of an older composition.
    """
    until = time.monotonic() + seconds
    path = handover_path(store_path, host, session)
    while True:
        try:
            if os.stat(path).st_mtime >= not_before:
                parts = read_handover(store_path, host, session) or []
                return parts[number - 1] if 0 < number <= len(parts) else ""
        except OSError:
            pass
        if time.monotonic() >= until:
            return ""
        time.sleep(POLL_SECONDS)


def take_slot(store_path: str, host: str, session: str, kinds: Iterable[str]) -> list[dict[str, object]]:
    """What workers left for a session, of these kinds, oldest first: it is told once. Other kinds stay. Raises OSError.

    Each is {"kind": "notice" or "steer", "text": …, "id": …}, one JSON object a line.
    """
    path = slot_path(store_path, host, session)
    if not os.path.exists(path):
        return []
    from minutebook.hosts.slotfile import take

    return take(path, frozenset(kinds))


def unheard(store_path: str, host: str, session: str) -> str:
    """What to tell the person where nobody comes, however often it rings; "" otherwise. Raises OSError."""
    before = parse(read_beside(f"{bells_folder(store_path)}/{safe_name(host, session)}", BELL_MAX_BYTES) or "")
    rings = before.get("rings") if isinstance(before, dict) else None
    if not isinstance(rings, int) or rings < UNHEARD_RINGS:
        return ""
    from minutebook.hosts.unheard import notice

    return notice(store_path, host, session)


# -- pauses ---------------------------------------------------------------------------------------------------------


def is_paused(store_path: str, host: str, session: str, cwd: str) -> bool:
    """Whether nothing of this session is recorded now: STORE.paused lists {"scope", "name"} of what is paused."""
    text = read_beside(store_path + ".paused")
    if text is None:
        return False
    found = parse(text)
    pauses = found.get("pauses") if isinstance(found, dict) else found
    folders = {cwd, os.path.realpath(cwd)} if cwd and "\0" not in cwd else set()
    return isinstance(pauses, list) and any(_concerns(pause, f"{host}:{session}", folders) for pause in pauses)


def _concerns(pause: object, key: str, folders: set[str]) -> bool:
    if not isinstance(pause, dict):
        return False
    name = str(pause.get("name", ""))
    if pause.get("scope") == "project":
        return any(folder == name or folder.startswith(name.rstrip("/") + "/") for folder in folders)
    return pause.get("scope") == "all" or (pause.get("scope") == "session" and key == name)
