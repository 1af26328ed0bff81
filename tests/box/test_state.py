"""What is kept of how machine and box stand, and that one process sends at a time."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from minutebook.box.report import Report
from minutebook.box.state import (
    LOCK_SUFFIX,
    QUIET_SECONDS,
    box_line,
    note_failure,
    note_success,
    only_sender,
    read_state,
)
from minutebook.errors import StoreBusy, StoreReadOnly
from minutebook.settings import Settings
from minutebook.store.sqlite import SqliteStore

URL = "https://box.example"
SETTINGS = Settings(box_url=URL)
START = 1_780_000_000.0


class Clock:
    now = START

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "s.sqlite", clock=clock)
    yield opened
    opened.close()


def test_without_a_box_there_is_no_line(store: SqliteStore) -> None:
    assert box_line(store, Settings()) == ""


def test_a_box_that_was_never_reached(store: SqliteStore) -> None:
    assert box_line(store, SETTINGS) == f"box: {URL}, never in step yet; no `om sync` runs"


def test_success_and_what_is_kept_here(store: SqliteStore, clock: Clock) -> None:
    note_success(store, URL, {"kept here: not in box_projects": 2})
    assert box_line(store, SETTINGS) == (
        f"box: {URL}, in step at 2026-05-28T20:26:40Z; 2 kept here: not in box_projects"
    )
    clock.now += QUIET_SECONDS + 1
    assert box_line(store, SETTINGS).endswith("; no `om sync` runs")


def test_a_failure_says_since_when_and_ends_with_the_next_success(store: SqliteStore, clock: Clock) -> None:
    note_success(store, URL, {})
    clock.now += 60
    note_failure(store, URL, f"{URL}: does not answer")
    clock.now += 60
    note_failure(store, URL, f"{URL}: does not answer")
    assert box_line(store, SETTINGS) == (
        f"box: {URL} fails since 2026-05-28T20:27:40Z: does not answer (in step at 2026-05-28T20:26:40Z; "
        "nothing is lost)"
    )
    note_success(store, URL, {})
    assert "fails" not in box_line(store, SETTINGS)


def test_another_box_begins_anew(store: SqliteStore) -> None:
    note_success(store, "https://other.example", {})
    assert read_state(store, URL).succeeded_at == 0


def test_steady_success_is_written_once_a_minute(store: SqliteStore, clock: Clock) -> None:
    """A write wakes whoever listens to the store."""
    for _ in range(30):
        note_success(store, URL, {})
        clock.now += 4
    assert store.changes("box") == 2


HOLDER = """
import sys
from pathlib import Path
from minutebook.box.state import only_sender
from minutebook.store.sqlite import SqliteStore
with only_sender(SqliteStore(Path(sys.argv[1]))):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_sender_is_told_who_the_first_is(store: SqliteStore) -> None:
    command = [sys.executable, "-c", HOLDER, str(store.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout and first.stdout.readline() == "held\n"
        with (
            pytest.raises(StoreBusy, match=f"runs already for this store: process {first.pid} since"),
            only_sender(store),
        ):
            raise AssertionError("both hold it")
        first.kill()
    with only_sender(store):
        pass
    with only_sender(store):
        pass


@pytest.mark.parametrize("odd", ["pipe", "link", "folder"])
def test_a_lock_file_that_is_none(store: SqliteStore, odd: str, tmp_path: Path) -> None:
    path = Path(f"{store.path}{LOCK_SUFFIX}")
    if odd == "pipe":
        os.mkfifo(path)
    elif odd == "link":
        path.symlink_to(tmp_path / "elsewhere")
    else:
        path.mkdir()
    with pytest.raises(StoreReadOnly, match=str(path)), only_sender(store):
        raise AssertionError("held")
    assert not (tmp_path / "elsewhere").exists()


def test_many_remarks_are_not_all_in_one_line(store: SqliteStore) -> None:
    note_success(store, URL, {f"remark {at}": 1 for at in range(50)})
    assert box_line(store, SETTINGS).endswith("; 1 remark 10; and more: `om sync --once` tells all")


def test_a_report_for_people() -> None:
    report = Report(
        sources_sent=1200, memory_sent=1, offered=1, sent={"a"}, kept={"b": "x", "c": "x"}, failed={"d": "y"}
    )
    assert list(report.lines()) == [
        "sent      1,200 source entries and 2 memory entries of 1 session",
        "received  nothing new",
        "kept here 2 sessions: x",
        "failed    d: y",
    ]
    assert not report.ok and Report(kept={"b": "x"}, waiting={"b": "no worker came"}).ok
    assert report.remarks() == {"kept here: x": 2, "failed: `om sync --once` says why": 1}
