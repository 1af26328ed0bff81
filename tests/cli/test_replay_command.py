"""`om replay` as a person or a program calls it."""

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from commands import Om, data_of

from minutebook.cli.showing_replay import excerpt_of, sections_of
from minutebook.cli.stopping import was_interrupted

SETTINGS = {
    "observe_after_tokens": 200,
    "reflect_after_tokens": 400,
    "compact_after_tokens": 1_500,
    "keep_recent_tokens": 400,
    "flush_min_tokens": 10,
}
SMALL = [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary stores go."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def rows(count: int) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = [{"type": "minutebook.session", "session": "s1", "zone": "UTC"}]
    for number in range(count):
        time = f"2026-05-02T10:{number % 60:02}:00Z"
        made.append({"id": f"p{number}", "role": "user", "time": time, "text": f"Never touch module_{number}.py."})
        made.append({"id": f"a{number}", "role": "assistant", "time": time, "text": "Fine. " * 60})
    return made


def write(path: Path, some: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in some), encoding="utf-8")
    return path


@pytest.fixture
def session(project: Path) -> Path:
    return write(project / "session.jsonl", rows(24))


# -- the store -----------------------------------------------------------------------------------------------------


def test_a_temporary_store_is_deleted(om: Om, session: Path, temporary: Path) -> None:
    result = om("replay", "--step", *SMALL, str(session), code=0)
    assert list(temporary.iterdir()) == []
    assert "temporary and is deleted" in result.output


def test_a_model_is_the_setting_of_that_name_and_is_asked_for_again(om: Om, session: Path, temporary: Path) -> None:
    """Roles with a setting of their own do not ask it; the command to repeat names it."""
    asked = ["--model", "anthropic/nobody", "--base-url", "http://127.0.0.1:9/v1"]
    again = f"om replay --store try.sqlite --step {shlex.join(asked)} "
    extractive = ["--set", "observer_model=extractive", "--set", "reflector_model=extractive"]
    result = om("replay", "--step", *SMALL, *extractive, *asked, str(session), code=0)
    assert again in result.output and "Models" not in result.output
    wrong = om("replay", "--step", "--model", "nobody", str(session), code=2)
    assert 'model = "nobody"' in wrong.output and "provider/id" in wrong.output


def test_keep_keeps_it_and_says_where(om: Om, session: Path, temporary: Path) -> None:
    result = om("replay", "--step", "--keep", *SMALL, str(session), code=0)
    (folder,) = temporary.iterdir()
    assert str(folder / "replay.sqlite") in result.output
    assert (folder / "replay.sqlite").exists()


def test_the_users_own_store_is_not_touched(om: Om, session: Path, temporary: Path, store_path: Path) -> None:
    """Not even when MINUTEBOOK_STORE names it: a replay is a trial."""
    om("replay", "--step", *SMALL, str(session), code=0)
    assert not store_path.exists()


def test_what_it_tells_to_try_next_works(om: Om, session: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'kept store.sqlite'}"
    data = data_of(om("replay", "--step", "--json", "--store", url, *SMALL, str(session), code=0))
    commands = [shlex.split(command) for command in data["files"][0]["try_next"]]
    assert [words[:2] for words in commands] == [["om", "view"], ["om", "recall"], ["om", "search"]]
    for words in commands:
        assert om(*words[1:], code=0).output.strip()
    memory = data["files"][0]["memory"]
    assert commands[1][-1] == memory["recall_id"]
    assert memory["recall_id"] in om(*commands[2][1:], code=0).output


def test_a_note_is_none_of_the_file_s_entries(om: Om, session: Path, tmp_path: Path) -> None:
    replay = ("replay", "--step", "--store", str(tmp_path / "kept.sqlite"), *SMALL, str(session))
    assert "in the store before" not in om(*replay, code=0).output
    om("note", "--store", str(tmp_path / "kept.sqlite"), "the gateway listens on 8443", code=0)
    assert "49 entries" in (again := om(*replay, code=0).output)
    assert "48 of the entries were in" in again  # and so on, as far as the line goes


# -- the report ----------------------------------------------------------------------------------------------------


def test_json_has_everything(om: Om, session: Path, temporary: Path) -> None:
    data = data_of(om("replay", "--step", "--json", *SMALL, str(session), code=0))
    (file,) = data["files"]
    assert (file["entries"], file["prompts"], file["turns"]) == (48, 24, 24)
    assert set(file["work"]) == {"observer", "reflector", "digester", "dropper"}
    assert file["compactions"][-1]["memory_tokens"] == file["memory"]["tokens"]
    assert file["memory"]["text"].startswith("<minutebook-memory>")
    assert file["memory"]["text"].endswith("</minutebook-memory>")
    assert (data["kept"], data["step"], data["scale"]) == (False, True, 1.0)


def test_scale_multiplies_the_thresholds(om: Om, session: Path, temporary: Path) -> None:
    data = data_of(om("replay", "--step", "--json", "--scale", "0.02", str(session), code=0))
    status = data["files"][0]["status"]
    assert status["next_compaction"]["threshold"] == 1_620
    assert status["next_observation"]["threshold"] == 200


@pytest.mark.parametrize("width", [60, 80, 140])
def test_the_report_is_at_most_sixty_lines_and_fits(
    om: Om, project: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    """Many compactions, a long title, wide characters, unknown rows: still one screen."""
    odd: list[Any] = [{"type": f"odd_kind_{number}"} for number in range(30)]
    wide = {"id": "w", "role": "user", "text": "絶対に本番のデータベースに触らないでください。" * 20}
    path = write(project / ("long-name-" * 12 + ".jsonl"), [rows(1)[0], *odd, wide, *rows(40)[1:]])
    monkeypatch.setenv("COLUMNS", str(width))
    settings = [*SMALL, "--set", "compact_after_tokens=300", "--set", "keep_recent_tokens=100"]
    lines = om("replay", "--step", *settings, str(path), code=0).output.splitlines()
    assert len(lines) <= 60
    commands = [line for line in lines if line.startswith("  om ")]
    assert commands and [line for line in lines if line not in commands and cells(line) > width] == []
    assert any(line.split()[:1] == ["…"] for line in lines), "the compactions between are left out"


@pytest.mark.parametrize("width", [60, 80, 140])
def test_a_narrow_terminal_costs_whole_columns_and_no_number(
    om: Om, session: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    shown = om("replay", "--step", *SMALL, str(session), code=0).output
    tables = shown[shown.index("\nWork") : shown.index("\nMemory")]
    assert tables.count("…") == 0
    assert all(name in tables for name in ("observer", "runs", "recorded", "failed", "gaps", "extractive", "prompt"))
    assert ("thought for" in tables) == (width > 60)


def cells(line: str) -> int:
    from rich.cells import cell_len

    return cell_len(line.rstrip())


def test_several_files_are_told_one_after_the_other(om: Om, session: Path, project: Path, temporary: Path) -> None:
    other = write(project / "other.jsonl", [{"type": "minutebook.session", "session": "s2"}, *rows(12)[1:]])
    output = om("replay", "--step", *SMALL, str(session), str(other), code=0).output
    assert output.index("session.jsonl") < output.index("other.jsonl")
    assert output.count("Compactions") == 2
    assert "--session neutral:s2" in output


def test_recorded_compactions_are_said(om: Om, project: Path, temporary: Path) -> None:
    own = {"type": "minutebook.compaction", "time": "2026-05-02T10:12:00Z"}
    path = write(project / "with.jsonl", [*rows(12), own])
    assert "the file's own compactions: 1, not replayed" in om("replay", "--step", *SMALL, str(path), code=0).output


def test_broken_lines_and_secrets_are_said(om: Om, project: Path, temporary: Path) -> None:
    path = write(project / "broken.jsonl", rows(12))
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    with path.open("a") as file:
        file.write('{"id": "x", "role": \n')
        file.write(json.dumps({"id": "z", "role": "user", "text": f"my token is {secret} do not lose it"}) + "\n")
    output = om("replay", "--step", *SMALL, str(path), code=0).output
    assert "broken lines: 26" in output
    assert "redacted: github-token 1" in output
    assert secret not in output


# -- the excerpt ---------------------------------------------------------------------------------------------------

TEXT = """<minutebook-memory>
A note.

## Reflections
[000000000001] one
[000000000002] two

## Observations
[000000000003] 2026-05-02 10:30 [low] a
[000000000004] 2026-05-02 10:30 [critical] b
[000000000005] 2026-05-02 10:30 [low] c
[000000000006] 2026-05-02 10:30 [medium] d
</minutebook-memory>"""


def test_sections_of_a_memory() -> None:
    assert [(heading, len(lines)) for heading, lines in sections_of(TEXT)] == [
        ("## Reflections", 2),
        ("## Observations", 4),
    ]


@pytest.mark.parametrize(("lines", "shown"), [(1, 1), (2, 2), (4, 4), (5, 5), (6, 6), (40, 6)])
def test_an_excerpt_has_at_most_so_many_records(lines: int, shown: int) -> None:
    assert sum(line.startswith("[") for line in excerpt_of(TEXT, lines)) == shown


def test_an_excerpt_takes_the_telling_ones_in_their_order_and_counts_the_rest() -> None:
    assert excerpt_of(TEXT, 4)[3:] == [
        "## Observations",
        "[000000000004] 2026-05-02 10:30 [critical] b",
        "[000000000006] 2026-05-02 10:30 [medium] d",
        "… 2 more",
    ]


def test_show_0_shows_no_record(om: Om, session: Path, temporary: Path) -> None:
    assert "From the memory" not in om("replay", "--step", "--show", "0", *SMALL, str(session), code=0).output


# -- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("missing.jsonl", None, "there is no such file"),
        ("empty.jsonl", "", "the file is empty"),
        ("notes.txt", "just some notes\n", "no known session format"),
        ("other.jsonl", '{"type": "something"}\n', "no known session format"),
    ],
)
def test_a_file_that_cannot_be_replayed_is_one_line(
    om: Om, project: Path, temporary: Path, name: str, content: str | None, said: str
) -> None:
    if content is not None:
        (project / name).write_text(content)
    result = om("replay", name, code=2)
    assert result.stderr.count("\n") == 1
    assert name in result.stderr and said in result.stderr
    assert result.stdout == "" and list(temporary.iterdir()) == []


def test_a_folder_is_one_line(om: Om, project: Path, temporary: Path) -> None:
    result = om("replay", str(project), code=2)
    assert result.stderr.count("\n") == 1 and "is a directory" in result.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read everything")
def test_an_unreadable_file_is_one_line(om: Om, session: Path, temporary: Path) -> None:
    session.chmod(0)
    result = om("replay", str(session), code=2)
    assert result.stderr.count("\n") == 1 and "cannot be read" in result.stderr


def test_a_bad_file_among_good_ones_is_found_before_any_is_played(om: Om, session: Path, tmp_path: Path) -> None:
    store = tmp_path / "new.sqlite"
    om("replay", "--store", str(store), str(session), "missing.jsonl", code=2)
    assert not store.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--scale", "0"],
        ["--scale", "-1"],
        ["--scale", "nan"],
        ["--scale", "inf"],
        ["--store", ""],
        ["--set", "observe_after_tokens"],
        ["--set", "no_such_setting=1"],
        ["--window", "0"],
    ],
)
def test_bad_options_end_with_2(om: Om, session: Path, temporary: Path, arguments: list[str]) -> None:
    om("replay", *arguments, str(session), code=2)
    assert list(temporary.iterdir()) == []


# -- Ctrl-C --------------------------------------------------------------------------------------------------------


def test_ctrl_c_stops_cleanly(project: Path, temporary: Path) -> None:
    path = write(project / "long.jsonl", rows(3_000))
    # Whoever started the tests in the background made them, and so their children, deaf to Ctrl-C.
    hear = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    command = [sys.executable, "-c", f"{hear}; from minutebook.cli import main; main()", "replay", *SMALL, str(path)]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    give_up_at = time.monotonic() + 60
    while not list(temporary.glob("*/replay.sqlite.queue")) and time.monotonic() < give_up_at:
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    stdout, stderr = running.communicate(timeout=60)
    assert running.returncode == 130, stderr
    assert stdout == ""
    assert stderr.strip().count("\n") == 0 and "stopped" in stderr
    assert list(temporary.iterdir()) == []


def test_a_ctrl_c_that_breaks_into_a_lock_is_still_a_ctrl_c() -> None:
    """The lock's own complaint comes on top of it."""
    with pytest.raises(RuntimeError) as complaint:  # noqa: PT012 (two errors in a row are the point)
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("release unlocked lock")
    assert was_interrupted(complaint.value)
    assert was_interrupted(KeyboardInterrupt())
    assert not was_interrupted(RuntimeError("release unlocked lock"))
