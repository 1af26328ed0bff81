"""The audit log: one line a read, for its owner's eyes, within bounds, and never in the way."""

import json
import logging
from pathlib import Path

import pytest

from minutebook.server.audit import FILES_KEPT, AuditLog, audit_path
from minutebook.settings import Settings


def note(log: AuditLog, about: str = "neutral:s1", **more: int) -> None:
    log.note(
        at=0.0,
        request_id="r1",
        token="t1",
        user="alice",
        route="/v1/memory",
        about=about,
        **{"count": 3, "status": 200, **more},
    )


def test_a_read_is_one_line_of_json(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "new" / "audit.jsonl")
    note(log)
    note(log, "with\nbreak", count=0, status=404)
    rows = [json.loads(line) for line in log.path.read_text().splitlines()]
    assert rows[0] == {
        "time": "1970-01-01T00:00:00Z",
        "request_id": "r1",
        "token": "t1",
        "user": "alice",
        "route": "/v1/memory",
        "about": "neutral:s1",
        "count": 3,
        "status": 200,
    }
    assert (rows[1]["about"], rows[1]["status"], len(rows)) == ("with\nbreak", 404, 2)
    assert log.path.stat().st_mode & 0o777 == 0o600


def test_full_files_are_put_aside_and_the_oldest_goes(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "logs" / "audit.jsonl", rotate_at_bytes=1)
    for at in range(FILES_KEPT + 3):
        note(log, f"n{at}")
    kept = {path.name: json.loads(path.read_text())["about"] for path in log.path.parent.iterdir()}
    assert kept == {f"audit.jsonl.{number}": f"n{FILES_KEPT + 3 - number}" for number in range(1, FILES_KEPT + 1)}
    assert {path.stat().st_mode & 0o777 for path in log.path.parent.iterdir()} == {0o600}


def test_a_log_that_cannot_be_written_is_said_once_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lost: list[int] = []
    log = AuditLog(Path("/dev/full"), lost=lambda: lost.append(1))
    with caplog.at_level(logging.ERROR):
        note(log)
        note(log)
    assert len(lost) == 2 and len(caplog.records) == 1
    assert "reads go on" in caplog.text and "No space left" in caplog.text
    log.path = tmp_path / "audit.jsonl"
    note(log)
    assert json.loads(log.path.read_text())["user"] == "alice"


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("mine")
    (tmp_path / "audit.jsonl").symlink_to(other)
    lost: list[int] = []
    note(AuditLog(tmp_path / "audit.jsonl", lost=lambda: lost.append(1)))
    assert lost and other.read_text() == "mine"


def test_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MINUTEBOOK_HOME", str(tmp_path))
    assert audit_path(Settings()) == tmp_path / "audit.jsonl"
    assert audit_path(Settings(audit_file=str(tmp_path / "a"))) == tmp_path / "a"
