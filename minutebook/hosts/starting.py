"""Starting the one worker of a store: it inherits a locked file, so whatever races, there is one.

The lock belongs to the open file, not to a process: it passes to the worker with the descriptor, and is free the
moment that the worker is gone, however it went. The file says how it is: STARTING, the worker's process id, FAILED, or
nothing after one that left in order.
"""
# No pathlib: it alone costs a hook as much as the start of the interpreter.
# ruff: noqa: PTH100, PTH111, PTH120

import fcntl
import os
import sys
import time

from minutebook.hosts.beside import WORKER_LOG, data_folder, lock_path, make_folder, open_log

STARTING, FAILED = "?", "!"
RESTART_SECONDS = 10.0
"""After a worker that could not begin the next one is not started sooner: it would fail at each hook of an agent."""
HOST_HANDLES = range(3, 256)
"""Where descriptors may be that the agent has left open for its hooks; a worker that kept them would hold it up."""
FOLDER_VARIABLES = ("MINUTEBOOK_HOME", "MINUTEBOOK_CONFIG")


def start(store_path: str, idle_exit_seconds: float | None = None) -> bool:
    """Start a worker that outlives this process, unless one is there or about to be; whether this call did.

    Raises OSError.
    """
    lock = open_lock(store_path)
    try:
        if not hold(lock) or _failed_lately(lock):
            return False
        say(lock, STARTING)
        _spawn(_command(store_path, lock, idle_exit_seconds), lock)
        return True
    finally:
        os.close(lock)


def open_lock(store_path: str) -> int:
    """The lock file, open. Raises OSError."""
    path = lock_path(store_path)
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        make_folder(os.path.dirname(path))
        return os.open(path, flags, 0o600)


def hold(lock: int) -> bool:
    """Lock it for whoever has this descriptor; False where another has it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def say(lock: int, text: str) -> None:
    """Write how it is into the locked file, as far as that goes."""
    try:
        os.ftruncate(lock, 0)
        os.pwrite(lock, text.encode(), 0)
    except OSError:
        return


def _failed_lately(lock: int) -> bool:
    if os.pread(lock, 1, 0).decode("ascii", "replace") not in (STARTING, FAILED):
        return False
    return 0 <= time.time() - os.fstat(lock).st_mtime < RESTART_SECONDS


def _command(store_path: str, lock: int, idle_exit_seconds: float | None) -> list[str]:
    """Nothing of the project's folder or its PYTHONPATH is imported, and -s is not set: ours may be a user's install.

    By default the setting says when it leaves.
    """
    idle = [] if idle_exit_seconds is None else ["--idle-exit", f"{idle_exit_seconds:g}"]
    python = [sys.executable, "-E", "-P", "-m", "minutebook"]
    return [*python, "worker", "--store", store_path, "--hold", str(lock), *idle]


def _environment() -> dict[str, str]:
    """The worker leaves the folder in which it was started, so nothing of it may be relative to that."""
    environment = dict(os.environ)
    for name in FOLDER_VARIABLES:
        if environment.get(name):
            environment[name] = os.path.abspath(os.path.expanduser(environment[name]))
    return environment


def _spawn(command: list[str], lock: int) -> None:
    output = open_log(f"{data_folder(os.environ)}/{WORKER_LOG}")
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    for handle in HOST_HANDLES:
        _keep_from_children(handle)
    os.set_inheritable(lock, True)
    try:
        _run_apart(command, {0: nothing, 1: output, 2: output})
    finally:
        os.close(output)
        os.close(nothing)


def _keep_from_children(handle: int) -> None:
    try:
        os.set_inheritable(handle, False)
    except OSError:
        return


def _run_apart(command: list[str], handles: dict[int, int]) -> None:
    """In a session of its own, so that what ends the agent's process group leaves it alone."""
    actions = [(os.POSIX_SPAWN_DUP2, handle, at) for at, handle in handles.items()]
    try:
        os.posix_spawn(command[0], command, _environment(), file_actions=actions, setsid=True, setsigmask=[])
    except NotImplementedError:  # a system without setsid there
        _fork_apart(command, handles)


def _fork_apart(command: list[str], handles: dict[int, int]) -> None:
    if os.fork():
        return
    try:
        os.setsid()
        for at, handle in handles.items():
            os.dup2(handle, at)
        os.execve(command[0], command, _environment())
    finally:
        os._exit(127)
