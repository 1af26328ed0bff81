"""A signal to stop is heard wherever the main thread is just then."""

import os
import signal
import sys
import threading
from types import FrameType
from typing import Any

import pytest

from minutebook.workers.foreground import stop_on_signals
from minutebook.workers.stopping import Stopped

STEPS = 25
"""More than lines of Python are run in two waits."""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_at_any_line_of_a_wait_is_heard(number: int) -> None:
    for step in range(STEPS):
        left = [step]

        def trace(frame: FrameType, event: str, argument: Any, left: list[int] = left) -> Any:
            if event == "line":
                left[0] -= 1
                if left[0] == 0:
                    os.kill(os.getpid(), number)
            return trace

        with stop_on_signals() as stopped:
            sys.settrace(trace)
            try:
                stopped.wait(0.001)
                stopped.wait(0.001)
            finally:
                sys.settrace(None)
            assert stopped.is_set() == (left[0] <= 0 < step), step


def test_all_that_wait_are_told() -> None:
    stopped, told = Stopped(), []
    waiting = [threading.Thread(target=lambda: told.append(stopped.wait(60))) for _ in range(3)]
    for thread in waiting:
        thread.start()
    assert not stopped.is_set() and not stopped.wait(0.01) and not stopped.wait(-1)
    stopped.set()
    for thread in waiting:
        thread.join(60)
    assert told == [True] * 3 and stopped.is_set() and stopped.wait()
