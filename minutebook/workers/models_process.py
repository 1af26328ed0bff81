"""Runs one program that answers one request: bounded, killed with all that it started, and one at a time.

A worker that leaves takes it along. What a killed worker left behind ends by itself with its answer, because it was
given nothing else to do.
"""

import atexit
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from minutebook.errors import ProviderFailed
from minutebook.workers.models_library import TookTooLong

OUTPUT_MAX_BYTES = 8_000_000
ERRORS_MAX_BYTES = 64_000
"""Of standard output the first, of standard error the last so many bytes are kept, and the rest is read and left."""
POLL_SECONDS = 0.1
DRAIN_SECONDS = 2.0
"""How long a pipe is read on after the program has ended: something that it started may hold it open."""


_running: set["subprocess.Popen[bytes]"] = set()


@atexit.register
def _end_all() -> None:
    for program in list(_running):
        _kill(program)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a program ended. status: below 0 the signal that ended it."""

    output: str
    errors: str
    status: int


def run_program(
    argv: Sequence[str], *, given: str, folder: Path, environ: Mapping[str, str], timeout_seconds: float
) -> Finished:
    """Run it with `given` on its standard input. Raises OSError, and TookTooLong after it was killed."""
    program = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=dict(environ),
        start_new_session=True,  # a process group of its own, so that all of it can be killed
    )
    _running.add(program)
    assert program.stdin and program.stdout and program.stderr
    output, errors = _Kept(OUTPUT_MAX_BYTES), _Kept(ERRORS_MAX_BYTES, newest=True)
    writer = _thread(_write, program.stdin, given.encode())
    readers = [_thread(output.read, program.stdout), _thread(errors.read, program.stderr)]
    try:
        status = program.wait(timeout_seconds)
    except subprocess.TimeoutExpired:
        raise TookTooLong(f"no whole answer within {timeout_seconds:.0f} s") from None
    finally:
        _kill(program)
        _running.discard(program)
        for thread in (writer, *readers):
            thread.join(DRAIN_SECONDS)
    return Finished(output=output.text(), errors=errors.text(), status=status)


def _kill(program: "subprocess.Popen[bytes]") -> None:
    """The program and whatever it started and left behind in its group."""
    with suppress(OSError):
        os.killpg(program.pid, signal.SIGKILL)
    program.wait()


class _Kept:
    """A stream read to its end, and the first or the newest bytes of it."""

    def __init__(self, most_bytes: int, *, newest: bool = False) -> None:
        self._most = most_bytes
        self._newest = newest
        self._bytes = b""

    def read(self, stream: IO[bytes]) -> None:
        with suppress(OSError, ValueError), stream:
            while piece := os.read(stream.fileno(), 65_536):
                joined = self._bytes + piece if self._newest or len(self._bytes) < self._most else self._bytes
                self._bytes = joined[-self._most :] if self._newest else joined[: self._most]

    def text(self) -> str:
        return self._bytes.decode("utf-8", "replace")


def _write(stream: IO[bytes], content: bytes) -> None:
    with suppress(OSError, ValueError):  # a program that does not read all of it says why on its own
        stream.write(content)
    with suppress(OSError, ValueError):
        stream.close()


def _thread(work: object, *arguments: object) -> threading.Thread:
    assert callable(work)
    thread = threading.Thread(target=work, args=arguments, name="minutebook-program", daemon=True)
    thread.start()
    return thread


@contextmanager
def one_at_a_time(lock: Path, deadline: float | None) -> Iterator[None]:
    """Hold the file for the time of the block; another process or thread waits for it.

    deadline: in seconds of time.monotonic(). Raises ProviderFailed when it has passed.
    """
    import fcntl

    with lock.open("ab") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                pass
            if deadline is not None and time.monotonic() >= deadline:
                raise ProviderFailed("another request to the program took until the job's deadline", reason="network")
            time.sleep(POLL_SECONDS)
        yield  # closing the file gives it back
