"""A process that has everything imported and forks a child for each request: python nursery.py [MODULE...].

Requests are JSON lines on stdin. {"act", "args", "death", "folder", "ahead", "fault"} starts a child and is answered
with its pid; {"wait": pid} is answered with its exit code, negative for a signal. Before each answer stands the
`number` of its request. It has one thread, so that forking is safe; a child opens what it needs by itself. ahead:
seconds that a child's store clock is ahead of time. fault: one that is planted in it. In its folder a child leaves
`calls` (how often it called what) when it ends by itself, and `death` when it dies as planned.
"""

import faulthandler
import importlib
import json
import os
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

from killing import children, faults
from killing.deaths import Death, Reaper

from minutebook.store.redis_server import Server
from minutebook.store.sqlite import SqliteStore

PATIENCE_SECONDS = 240


def main() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        answer = _exit_code(asked["wait"]) if "wait" in asked else _born(asked)
        os.write(1, f"{asked['number']} {answer}\n".encode())


def _exit_code(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _born(asked: dict[str, Any]) -> int:
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            _live(asked)
            code = 0
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(code)
    return pid


def _live(asked: dict[str, Any]) -> None:
    faulthandler.dump_traceback_later(PATIENCE_SECONDS, exit=True)
    children.quiet()
    folder = Path(asked["folder"])
    _set_clock(asked["ahead"])
    if asked["fault"]:
        faults.FAULTS[asked["fault"]]()
    reaper = Reaper(Death(**asked["death"]) if asked["death"] else None, folder / "death")
    reaper.watch()
    children.ACTS[asked["act"]](**asked["args"])
    (folder / "calls").write_text(json.dumps(reaper.calls))


def _set_clock(ahead: float) -> None:
    now = SqliteStore.now
    SqliteStore.now = lambda self: now(self) + ahead  # type: ignore[method-assign]
    asked = Server.now
    Server.now = lambda self: asked(self) + ahead  # type: ignore[method-assign]
    if ahead:
        Server.clock_argument = lambda self: repr(self.now())  # type: ignore[method-assign]


if __name__ == "__main__":
    for module in sys.argv[1:]:
        with suppress(ImportError):  # a part of a library that another version of it has not is loaded when it is used
            importlib.import_module(module)
    main()
    os._exit(0)  # taking a large library apart in order takes seconds
