"""Times in which nothing is recorded."""

import pytest

from minutebook.pipeline.pauses import Pause, begin_pause, covers, end_pauses, list_pauses, open_pauses
from minutebook.store.kernel import Store

SINCE, UNTIL = "2026-05-02T10:30:00.500Z", "2026-05-02T10:40:00.250Z"
ALL = Pause(scope="all", since=SINCE, until=UNTIL)


@pytest.mark.parametrize(
    ("time", "paused"),
    [
        ("2026-05-02T10:30:00.499Z", False),
        ("2026-05-02T10:30:00.500Z", True),
        ("2026-05-02T10:30:00Z", True),  # within that second, and nobody knows when
        ("2026-05-02T10:29:59Z", False),
        ("2026-05-02T12:35:00+02:00", True),
        ("2026-05-02T10:40:00.249Z", True),
        ("2026-05-02T10:40:00.250Z", False),
        ("2026-05-02T10:40:00Z", True),
        ("2026-05-02T10:40:01Z", False),
        ("", False),
        ("yesterday", False),
    ],
)
def test_times(time: str, paused: bool) -> None:
    assert covers([ALL], time) is paused


def test_a_pause_that_lasts_holds_from_then_on_and_for_what_has_no_time() -> None:
    lasting = Pause(scope="all", since=SINCE)
    assert covers([lasting], "2036-01-01T00:00:00Z") and covers([lasting], "no time")
    assert not covers([lasting], "2026-05-02T10:00:00Z")


@pytest.mark.parametrize(
    ("scope", "name", "key", "folder", "concerned"),
    [
        ("all", "", "pi:1", "", True),
        ("session", "pi:1", "pi:1", "/w", True),
        ("session", "pi:1", "pi:1/agent", "/w", True),
        ("session", "pi:1", "pi:12", "/w", False),
        ("project", "/w/app", "pi:1", "/w/app", True),
        ("project", "/w/app", "pi:1", "/w/app/deep", True),
        ("project", "/w/app", "pi:1", "/w/apple", False),
        ("project", "/", "pi:1", "/w", True),
        ("project", "/w/app", "pi:1", "", False),
    ],
)
def test_what_a_pause_is_about(scope: str, name: str, key: str, folder: str, concerned: bool) -> None:
    pause = Pause(scope=scope, name=name, since=SINCE)  # type: ignore[arg-type]
    assert pause.concerns(key, [folder] if folder else []) is concerned


def test_they_are_noted_for_ever(store: Store) -> None:
    project = Pause(scope="project", name="/w/app", since=SINCE)
    assert begin_pause(store, project) and begin_pause(store, Pause(scope="all", since=SINCE))
    assert not begin_pause(store, Pause(scope="all", since=UNTIL))
    end_pauses(store, [project], UNTIL)
    assert [pause.scope for pause in open_pauses(store)] == ["all"]
    assert [(pause.scope, pause.until) for pause in list_pauses(store)] == [("all", ""), ("project", UNTIL)]
    assert begin_pause(store, Pause(scope="project", name="/w/app", since="2026-05-03T00:00:00Z"))
    assert len(list_pauses(store)) == 3
