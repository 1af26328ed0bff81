"""Which session a host's process is in now: its hooks note it at each start of one, our MCP server looks it up.

A host that starts another session inside the same process (`/clear`, `/resume`) leaves an MCP server as it is, with the
session's id of before in its environment. The note holds the ids that a process went through, oldest first: it only
counts for a server that was started with one of them, so a number that the system gives out again misleads nobody.
Imports nothing that a hook would have to wait for.
"""

import os
from contextlib import suppress

from minutebook.hosts.beside import make_folder

FOLDER_SUFFIX = ".processes"
IDS_KEPT = 40
FILES_MOST = 64
ID_CHARACTERS = 80
ANCESTORS_MOST = 6


def note_process(store_path: str, host: str, process: str, session: str) -> bool:
    """Note that this process (its number as a text) is in this session now. False where that could not be written."""
    path = _path(store_path, host, process)
    if not path or not _is_id(session):
        return False
    ids = [each for each in _ids(path) if each != session]
    try:
        make_folder(os.path.dirname(path))  # noqa: PTH120
        _forget_dead(os.path.dirname(path))  # noqa: PTH120
        made = f"{path}.{os.getpid()}.new"
        handle = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            os.write(handle, "".join(f"{each}\n" for each in [*ids, session][-IDS_KEPT:]).encode())
        finally:
            os.close(handle)
        os.replace(made, path)  # noqa: PTH105
    except OSError:
        return False
    return True


def session_now(store_path: str, host: str, processes: list[int], started_with: str) -> str:
    """The session in which one of these processes is now, of a server started with that one; itself without a note."""
    for process in processes:
        path = _path(store_path, host, str(process))
        ids = _ids(path) if path else []
        if started_with in ids:
            return ids[-1]
    return started_with


def ancestors() -> list[int]:
    """The processes that started this one, the nearest first; only the nearest where the system does not tell."""
    found = [os.getppid()]
    while len(found) < ANCESTORS_MOST and found[-1] > 1:
        above = _parent_of(found[-1])
        if above <= 1:
            break
        found.append(above)
    return found


def _parent_of(process: int) -> int:
    try:
        handle = os.open(f"/proc/{process}/stat", os.O_RDONLY)
    except OSError:
        return 0
    try:
        fields = os.read(handle, 4096).rpartition(b")")[2].split()  # the name before it may hold anything
        return int(fields[1])
    except (OSError, ValueError, IndexError):
        return 0
    finally:
        os.close(handle)


def _path(store_path: str, host: str, process: str) -> str:
    """The note's file; "" for what is no number of a process."""
    if not (process.isascii() and process.isdigit() and len(process) < 12):
        return ""
    return os.path.join(store_path + FOLDER_SUFFIX, f"{host}.{process}")  # noqa: PTH118


def _ids(path: str) -> list[str]:
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return []
    try:
        text = os.read(handle, IDS_KEPT * (ID_CHARACTERS + 1)).decode("ascii", "replace")
    except OSError:
        return []
    finally:
        os.close(handle)
    return [each for each in text.split("\n") if _is_id(each)]


def _is_id(text: str) -> bool:
    return 0 < len(text) <= ID_CHARACTERS and text.isascii() and all(c.isalnum() or c in "._-" for c in text)


def _forget_dead(folder: str) -> None:
    """Notes of processes that are gone, once there are many."""
    names = os.listdir(folder)  # noqa: PTH208
    if len(names) < FILES_MOST:
        return
    for name in names:
        number = name.partition(".")[2].partition(".")[0]
        if not number.isdigit() or not _is_alive(int(number)):
            with suppress(OSError):
                os.unlink(os.path.join(folder, name))  # noqa: PTH108, PTH118


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
