"""How a replay is stopped: by Ctrl-C, and by the signals of a supervisor or a closed terminal in the same way."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

from minutebook.cli.showing import remark

STOPPING = "om: stopping; a call that is under way is given 30 s to end. Once more leaves at once"


class Stopped(KeyboardInterrupt):
    """A signal to stop; number: which."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextlib.contextmanager
def stops_like_ctrl_c(say: str = "") -> Iterator[None]:
    """SIGTERM and SIGHUP raise as SIGINT does; the second one does what it did before. Main thread only.

    say: what is said at once, where stopping may take a while.
    """
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    heard = {number: handler for number, handler in before.items() if handler != signal.SIG_IGN}

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        signal.signal(number, before[signal.Signals(number)])
        if say:
            with contextlib.suppress(RuntimeError, OSError):  # it may have come in the middle of another line
                remark(say)
        raise Stopped(number)

    for number in heard:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in heard.items():
            signal.signal(number, handler)


def was_interrupted(error: BaseException | None) -> bool:
    """Whether it is a Ctrl-C, or came of one: a lock that it broke into complains that it is not held any more."""
    return _interruption(error) is not None


def signal_of(error: BaseException) -> int:
    """The signal that an interruption came of."""
    return getattr(_interruption(error), "number", signal.SIGINT)


def _interruption(error: BaseException | None) -> BaseException | None:
    """The first cause that is one."""
    found = None
    while error is not None:
        found = error if isinstance(error, KeyboardInterrupt) else found
        error = error.__cause__ or error.__context__
    return found
