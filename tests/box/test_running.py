"""When `om sync` asks the box again, and what it says meanwhile."""

import threading
from collections.abc import Callable

import pytest

from minutebook.box import running
from minutebook.box.report import Report
from minutebook.box.running import AWAY_MAX_SECONDS, BACK, IDLE_MAX_SECONDS, Pace, keep_in_step

NOTHING = Report()
MOVED = Report(sent={"s"})
AWAY = Report(failure="https://box: does not answer")


def test_what_moves_is_asked_about_soon_and_what_rests_ever_less_often() -> None:
    pace = Pace(5, moved_at=1000.0)
    waits = [pace.after(NOTHING, 1000.0 + idle) for idle in (0, 60, 200, 600, 100_000)]
    assert waits == [5, 5, 10, 30, IDLE_MAX_SECONDS]
    assert pace.after(MOVED, 200_000.0) == 5


def test_a_box_that_fails_is_asked_ever_less_often_up_to_minutes() -> None:
    pace = Pace(5, moved_at=1000.0)
    waits = [pace.after(AWAY, 1000.0) for _ in range(8)]
    assert waits == [5, 10, 20, 40, 80, 160, AWAY_MAX_SECONDS, AWAY_MAX_SECONDS]
    assert pace.after(NOTHING, 1000.0) == 5


def test_a_long_sync_seconds_is_never_shortened() -> None:
    assert Pace(3_600, moved_at=0.0).after(NOTHING, 100_000.0) == 3_600


class Scripted:
    """Passes that end as the script says; the last one stops the loop."""

    def __init__(self, stopped: threading.Event, *reports: Report) -> None:
        self.left = list(reports)
        self.stopped = stopped

    def pass_once(self) -> Report:
        report = self.left.pop(0)
        if not self.left:
            self.stopped.set()
        return report


def said_by(*reports: Report, changes: Callable[[], int | None] = lambda: 1) -> list[str]:
    stopped, said = threading.Event(), list[str]()
    passes = Scripted(stopped, *reports)
    keep_in_step(passes, sync_seconds=0, stopped=stopped, changes=changes, say=said.append)
    assert passes.left == []
    return said


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "BETWEEN_SECONDS", 0.0)
    monkeypatch.setattr(running, "IDLE_MAX_SECONDS", 0.0)
    monkeypatch.setattr(running, "AWAY_MAX_SECONDS", 0.0)


@pytest.mark.usefixtures("no_pauses")
def test_an_outage_is_said_once_and_its_end_once() -> None:
    other = Report(failure="https://box: is busy")
    assert said_by(NOTHING, AWAY, AWAY, other, MOVED, NOTHING, NOTHING) == [AWAY.failure, BACK]


@pytest.mark.usefixtures("no_pauses")
def test_one_session_that_fails_is_no_outage() -> None:
    assert said_by(Report(failed={"s": "diverged"}), NOTHING) == []


@pytest.mark.usefixtures("no_pauses")
def test_a_change_of_the_store_ends_the_rest_and_a_failure_waits_for_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """With an hour between passes only a change can have woken the second one."""
    monkeypatch.setattr(running, "LOOK_SECONDS", 0.001)
    numbers = iter(range(100))
    stopped = threading.Event()
    passes = Scripted(stopped, NOTHING, NOTHING)
    keep_in_step(passes, sync_seconds=3_600, stopped=stopped, changes=lambda: next(numbers), say=print)
    assert passes.left == []
    assert running._moved_on(lambda: 2, 1) and not running._moved_on(lambda: 1, 1)
