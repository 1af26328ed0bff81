"""The loop of `om sync`: when the next pass is, and what a person is told of the last one."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from minutebook.box.report import Report

LOOK_SECONDS = 0.5
"""How soon a change of the store is seen."""
BETWEEN_SECONDS = 1.0
"""At least so long from the end of one pass to the next, however often the store changes."""
IDLE_MAX_SECONDS = 60.0
IDLE_SHARE = 0.05
"""After so much of the time since anything was sent or came, the box is asked again."""
AWAY_MAX_SECONDS = 300.0
BACK = "the box is back, and everything is in step"


class Passes(Protocol):
    """What makes one pass after the other."""

    def pass_once(self) -> Report:
        """Send what is new, bring what is new."""


@dataclass(slots=True)
class Pace:
    """When the box is asked again. failures: passes in a row that failed. moved_at: when something last moved."""

    sync_seconds: float
    moved_at: float = field(default_factory=time.monotonic)
    failures: int = 0

    def after(self, report: Report, now: float) -> float:
        """Seconds until the next pass, if the store does not change before."""
        self.failures = self.failures + 1 if report.failure else 0
        if report.moved:
            self.moved_at = now
        if self.failures:
            return min(AWAY_MAX_SECONDS, self.sync_seconds * 2.0 ** min(self.failures - 1, 30))
        return max(self.sync_seconds, min(IDLE_MAX_SECONDS, (now - self.moved_at) * IDLE_SHARE))


def keep_in_step(
    passes: Passes,
    *,
    sync_seconds: float,
    stopped: threading.Event,
    changes: Callable[[], int | None],
    say: Callable[[str], None],
) -> None:
    """Make passes until stopped: after each change of the store (changes: a number), and every sync_seconds.

    After a failure only the clock counts. say: told once that the box is away, and once that it is back.
    """
    pace, away = Pace(sync_seconds), False
    while not stopped.is_set():
        seen = changes()
        report = passes.pass_once()
        if stopped.is_set():
            return
        if bool(report.failure) != away:
            away = not away
            say(report.failure or BACK)
        seconds = pace.after(report, time.monotonic())
        _rest(seconds, stopped, None if away else partial(_moved_on, changes, seen))


def _moved_on(changes: Callable[[], int | None], seen: int | None) -> bool:
    return changes() != seen


def _rest(seconds: float, stopped: threading.Event, woken: Callable[[], bool] | None) -> None:
    """Until the time is over, somebody stops us, or there is something to do."""
    ends = time.monotonic() + seconds
    stopped.wait(min(seconds, BETWEEN_SECONDS))
    while (left := ends - time.monotonic()) > 0 and not stopped.is_set() and not (woken and woken()):
        stopped.wait(min(LOOK_SECONDS, left))
