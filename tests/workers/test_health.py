"""The file by which a container tells whether its worker is well."""

import os
import time
from pathlib import Path

import pytest

from minutebook.errors import BadInput
from minutebook.workers import health
from minutebook.workers.health import WELL_SECONDS, Health, look_at


def test_a_worker_to_which_the_store_answers_is_well(tmp_path: Path) -> None:
    file = tmp_path / "worker"
    assert look_at(file)[0] is False
    telling = Health(file, time.monotonic)
    telling.tell()
    assert look_at(file)[0] and file.read_text() == f"{os.getpid()}\n"
    telling.end()
    well, said = look_at(file)
    assert not well and "has left" in said


def test_a_worker_to_which_the_store_does_not_answer_is_not_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "EVERY_SECONDS", 0.0)
    file = tmp_path / "worker"
    answered = [time.monotonic()]
    telling = Health(file, lambda: answered[0])
    telling.tell()
    late = time.time() - WELL_SECONDS - 10
    os.utime(file, (late, late))
    answered[0] -= WELL_SECONDS + 1
    telling.tell()
    well, said = look_at(file)
    assert not well and "100 s ago" in said
    answered[0] = time.monotonic()
    telling.tell()
    assert look_at(file)[0]


def test_a_clock_that_was_ahead_does_not_keep_a_worker_well(tmp_path: Path) -> None:
    file = tmp_path / "worker"
    file.touch()
    ahead = time.time() + 10_000
    os.utime(file, (ahead, ahead))
    assert not look_at(file)[0]


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"--health .*nowhere"):
        Health(tmp_path / "nowhere" / "worker", time.monotonic).tell()
    Health(None, time.monotonic).tell()
