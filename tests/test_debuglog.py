"""The debug log, rows 003-142 to 003-147."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from minutebook.debuglog import (
    CHUNK_CAPPED,
    CHUNK_EXCERPTED,
    ROTATE_AT_BYTES,
    RUN_REASONS,
    DebugLog,
    file_name,
)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_off_makes_no_file_and_no_folder_003_142(tmp_path: Path) -> None:
    DebugLog(False, tmp_path / "data").row("started", session="s")
    assert list(tmp_path.glob("data*")) == []


def test_a_file_for_each_session_and_a_common_one_003_142(tmp_path: Path) -> None:
    log = DebugLog(True, tmp_path)
    for session in ("one", "two", "", "one"):
        log.row("started", session=session)
    written = {path.relative_to(tmp_path).as_posix(): len(rows(path)) for path in tmp_path.rglob("*.ndjson")}
    assert written == {"debug/one.ndjson": 2, "debug/two.ndjson": 1, "debug.ndjson": 1}
    assert {path.stat().st_mode & 0o777 for path in tmp_path.rglob("*.ndjson")} == {0o600}


@pytest.mark.parametrize(
    ("session", "expected"),
    [
        ("../a b", "debug/.._a_b.ndjson"),
        ("x" * 200, f"debug/{'x' * 128}.ndjson"),
        ("///", "debug.ndjson"),
        ("..", "debug.ndjson"),
        ("-._-", "debug.ndjson"),
        ("  né  ", "debug/n.ndjson"),
        ("A-1.2_b", "debug/A-1.2_b.ndjson"),
        ("a\0\n/b", "debug/a_b.ndjson"),
    ],
)
def test_file_name_003_143(session: str, expected: str) -> None:
    assert file_name(session).as_posix() == expected


def test_a_row_has_its_fields_and_jobs_are_told_apart_003_144(tmp_path: Path) -> None:
    log = DebugLog(True, tmp_path)
    for run in ("r1", "r2"):
        log.row(
            "claimed", session="s", session_file=Path("/s.jsonl"), branch="b", cwd="/w", run_id=run, data={"tokens": 3}
        )
    first, second = rows(tmp_path / "debug" / "s.ndjson")
    assert first.pop("time").endswith("Z")
    assert first == {
        "event": "claimed",
        "cwd": "/w",
        "session": "s",
        "session_file": "/s.jsonl",
        "branch": "b",
        "run_id": "r1",
        "data": {"tokens": 3},
    }
    assert second["run_id"] == "r2"


def test_texts_and_messages_of_errors_stay_out_003_145(tmp_path: Path) -> None:
    secret = "the cat sat on purple glass"
    failure = ValueError(secret)
    failure.__cause__ = KeyError(secret)
    DebugLog(True, tmp_path).row(
        "failed",
        data={
            "error": failure,
            "answer": secret,
            "many": [secret, {"deep": (secret, f"{secret}\n")}],
            "blob": "x" * 201,
            "ids": ["0123456789ab"],
            "path": Path("/a b/c"),
            "share": 0.5,
            "mark": None,
        },
    )
    text = (tmp_path / "debug.ndjson").read_text()
    assert "cat" not in text and "xx" not in text
    data = json.loads(text)["data"]
    assert data["error"] == "ValueError < KeyError"
    assert data["answer"] == "<27 characters>"
    assert (data["ids"], data["path"], data["share"], data["mark"]) == (["0123456789ab"], "/a b/c", 0.5, None)


def test_every_reason_is_a_row_and_chunks_have_their_own_003_146(tmp_path: Path) -> None:
    log = DebugLog(True, tmp_path)
    for reason in RUN_REASONS:
        log.run_ended(reason, session="s", run_id="r", data={"observations": 2} if reason == "recorded" else None)
    log.row(CHUNK_CAPPED, session="s")
    log.row(CHUNK_EXCERPTED, session="s")
    written = rows(tmp_path / "debug" / "s.ndjson")
    assert [row["data"].get("reason", row["event"]) for row in written] == [
        "nothing_called",
        "all_refused",
        "recorded",
        "nothing_to_record",
        "not_over_target",
        "waiting_for_reflection",
        "below_mark",
        "discarded",
        "model_unavailable",
        "stream_error",
        "too_long",
        "cut",
        "turn_cap",
        "refused",
        "rubbish",
        "chunk_capped",
        "chunk_excerpted",
    ]
    assert written[2]["data"] == {"reason": "recorded", "observations": 2}


@pytest.mark.parametrize(("size", "rotated"), [(10 * 1024 * 1024 - 1, False), (10 * 1024 * 1024, True)])
def test_a_full_file_moves_away_before_the_next_row_003_147(tmp_path: Path, size: int, rotated: bool) -> None:
    assert ROTATE_AT_BYTES == 10_485_760
    path, old = tmp_path / "debug.ndjson", tmp_path / "debug.ndjson.1"
    old.write_text("older")
    with path.open("wb") as file:
        file.truncate(size)
    DebugLog(True, tmp_path).row("next")
    if rotated:
        assert old.stat().st_size == size
        assert [row["event"] for row in rows(path)] == ["next"]
    else:
        assert old.read_text() == "older"
        assert path.stat().st_size > size


def test_a_log_that_cannot_be_written_changes_nothing_003_147(tmp_path: Path) -> None:
    """A file stands where the folder should be, which stops root too; and a value that has no text."""
    (tmp_path / "debug").write_text("in the way")

    class Untold:
        def __str__(self) -> str:
            raise RuntimeError

    log = DebugLog(True, tmp_path)
    log.row("started", session="s")
    log.row("started", data={"x": Untold()})
    assert (tmp_path / "debug").read_text() == "in the way"
    assert not (tmp_path / "debug.ndjson").exists()


def test_lone_surrogates_are_written_readably(tmp_path: Path) -> None:
    DebugLog(True, tmp_path).row("started", data={"id": "a\ud800"})
    assert len(rows(tmp_path / "debug.ndjson")) == 1


@pytest.mark.parametrize("late", ["stat", "replace"])
def test_a_row_is_kept_when_another_process_turns_the_file_over_in_this_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: str
) -> None:
    log = DebugLog(True, tmp_path)
    log.row("first", session="s")
    file = tmp_path / "debug" / "s.ndjson"
    with file.open("ab") as full:
        full.truncate(ROTATE_AT_BYTES)
    act = getattr(Path, late)

    def too_late(self: Path, *more: Any, **named: Any) -> Any:
        if self == file and os.path.exists(file):  # noqa: PTH110
            file.rename(tmp_path / "turned over")
        return act(self, *more, **named)

    with monkeypatch.context() as patch:
        patch.setattr(Path, late, too_late)
        log.row("second", session="s")
    assert [row["event"] for row in rows(file)] == ["second"]
    assert log.forget("s", [""]) == [file] and log.forget("s", [""]) == []
