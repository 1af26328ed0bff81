"""Text to the clipboard, by whatever program this machine has (003-109)."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence

SECONDS = 2.0
MACOS = (("pbcopy",),)
WINDOWS = (("clip",),)
ELSEWHERE = (
    ("wl-copy",),
    ("xclip", "-selection", "clipboard"),
    ("xsel", "--clipboard", "--input"),
    ("termux-clipboard-set",),
)


def programs(platform: str = sys.platform) -> Sequence[Sequence[str]]:
    """The programs of a platform, in the order in which they are tried."""
    return {"darwin": MACOS, "win32": WINDOWS}.get(platform, ELSEWHERE)


def copy(text: str, commands: Sequence[Sequence[str]] | None = None, *, seconds: float = SECONDS) -> bool:
    """Whether one of the programs took the text; each has so many seconds, then it is killed and counts as failed."""
    return any(_took(command, text, seconds) for command in (programs() if commands is None else commands))


def _took(command: Sequence[str], text: str, seconds: float) -> bool:
    program = shutil.which(command[0])
    if program is None:
        return False
    encoding = "utf-16-le" if command[0] == "clip" else "utf-8"
    try:
        process = subprocess.Popen(
            [program, *command[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # xclip stays behind to serve the text, and must not get our Ctrl-C
        )
    except OSError:
        return False
    try:
        process.communicate(text.encode(encoding, "backslashreplace"), timeout=seconds)
    except (subprocess.TimeoutExpired, OSError):
        _kill(process)
        return False
    return process.returncode == 0


def _kill(process: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    with contextlib.suppress(OSError):
        process.stdin.close() if process.stdin else None
    process.wait()
