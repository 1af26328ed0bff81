"""The child of a Pi session as a program, and in trouble."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pi_sessions import PiSession, Talk, branch_of, ids_in

from minutebook.hosts import bell
from minutebook.hosts.bells import waiting_bells
from minutebook.hosts.pi.pipe import read_objects


def test_it_answers_although_the_store_is_held_and_the_same_comes_later(talk: Talk, remembered: list[str]) -> None:
    """A writer that never ends: an error within the hook's own timeout, and nothing is lost."""
    made = talk.session.turns(1)
    with closing(sqlite3.connect(talk.store_path, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        held = talk.turn()
        compacting = talk.compact(remembered[4])
        holder.execute("ROLLBACK")
    assert "error" in held
    assert "error" in compacting
    assert talk.turn()["moved"] is True
    with closing(talk.store()) as store:
        assert ids_in(store, branch_of(store))[-2:] == made
    assert "pi entries: " in (talk.store_path.parent / "hook.log").read_text()


HOSTILE: list[Any] = [
    {},
    {"type": None},
    {"type": 7, "id": 1},
    {"type": "nothing", "id": {}},
    {"type": "open", "id": 1},
    {"type": "open", "id": 1, "header": {"id": "../../../x", "cwd": 5}, "file": 9, "last": []},
    {"type": "open", "id": 1, "header": {"id": "s9", "cwd": "\0"}, "file": "/dev/zero", "last": None},
    {"type": "open", "id": 1, "header": {"id": "x" * 100_000, "cwd": "/"}, "file": "/nowhere\0", "last": None},
    {"type": "entries", "id": 1, "entries": "x"},
    {"type": "entries", "id": 1, "entries": [1, None, [], {"type": []}, {"type": "message", "message": []}]},
    {
        "type": "entries",
        "id": 1,
        "entries": [{"type": "message", "id": {}, "parentId": 4, "message": {"role": "user"}}],
    },
    {"type": "compact", "id": 1, "leaf": 1, "kept": {}, "first_kept": [], "tokens_before": "x"},
    {"type": "compact", "id": 1, "leaf": [None, 1], "kept": [[]], "tokens_before": -1},
    {"type": "look", "id": 1, "window": "big", "second": "yes"},
    {"type": "look", "id": 1, "window": 10**400},
    {"type": "asked", "id": 1, "how": 4, "cause": {}},
    {"type": "recall", "id": 1, "record": ["x"], "page": "one"},
    {"type": "view", "id": 1, "words": 5},
    {"type": "answer"},
    {"type": "answer", "id": [], "text": 4},
    {"type": "model", "model": 5},
    {"type": "end", "id": 1, "ended": "no"},
]


@pytest.mark.parametrize("line", HOSTILE, ids=lambda line: json.dumps(line)[:40])
def test_hostile_lines_harm_nothing(talk: Talk, remembered: list[str], tmp_path: Path, line: Any) -> None:
    before = {path for path in tmp_path.rglob("*") if "mb" not in path.parts}
    talk.child.handle(line)
    if line.get("type") not in ("answer", "model"):
        assert talk.lines[-1]["type"] == "result"
    assert {path for path in tmp_path.rglob("*") if "mb" not in path.parts} == before
    talk.open()
    talk.ask("abandon", bare=True)
    assert "The port is 8443." in talk.compact(remembered[4])["summary"]


def test_wrong_settings_are_an_error_that_names_them(talk: Talk, remembered: list[str]) -> None:
    (talk.store_path.parent / "minutebook.toml").write_text("observe_after_tokens = 0\n")
    assert "observe_after_tokens = 0 is not allowed" in talk.compact(remembered[4])["error"]


def test_a_session_that_was_not_opened_is_left_to_a_worker_003_126(
    new_talk: Callable[..., Talk], started: list[str], tmp_path: Path
) -> None:
    wrong = tmp_path / "mb" / "minutebook.toml"
    wrong.parent.mkdir()
    wrong.write_text("observe_after_tokens = 0\n")
    talk = new_talk(opened=False)
    assert "observe_after_tokens = 0 is not allowed" in talk.open()["error"]
    talk.session.turns(1)
    assert talk.ask("end", ended=True).keys() == {"type", "id"}
    talk.child.close()
    (rung,) = waiting_bells(str(talk.store_path))
    assert (rung.key, rung.path, started) == ("pi:s1", str(talk.session.file), [str(talk.store_path)])
    log = (tmp_path / "mb" / "hook.log").read_text()
    assert len(log.splitlines()) == 1 and "observe_after_tokens = 0" in log


def test_a_session_without_a_file_that_was_not_opened_leaves_nothing(
    new_talk: Callable[..., Talk], started: list[str], tmp_path: Path
) -> None:
    (tmp_path / "mb").mkdir()
    (tmp_path / "mb" / "minutebook.toml").write_text("observe_after_tokens = 0\n")
    talk = new_talk(PiSession(tmp_path, file=False), opened=False)
    assert "error" in talk.open()
    talk.child.close()
    assert (waiting_bells(str(talk.store_path)), started) == ([], [])


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Callable[..., "subprocess.Popen[bytes]"]]:
    running: list[subprocess.Popen[bytes]] = []

    def start(**environ: str) -> "subprocess.Popen[bytes]":
        given = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "MINUTEBOOK_HOME": str(tmp_path / "mb"), **environ}
        command = [str(Path(sys.executable).parent / "om-hook"), "pi", "--stdio"]
        pipe = subprocess.PIPE
        running.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=given))
        return running[-1]

    yield start
    for each in running:
        each.kill()
        each.communicate()


def said(process: "subprocess.Popen[bytes]", *lines: bytes) -> list[dict[str, Any]]:
    """What it answers to these lines, until it ends by the end of its input."""
    out, errors = process.communicate(b"".join(lines), timeout=30)
    assert (process.returncode, errors) == (0, b"")
    return [json.loads(line) for line in out.splitlines()]


def test_the_program_ends_with_its_input_and_passes_rubbish_over(
    process: Callable[..., "subprocess.Popen[bytes]"],
) -> None:
    rubbish = [
        b"\xff\xfe\n",
        b"[" * 100_000 + b"\n",
        b'"text"\n',
        b"\n",
        b'{"type":"status","id":5,"words":"x"}\n',
        b"{half",
    ]
    answers = said(process(), *rubbish)
    assert [answer["id"] for answer in answers] == [None, None, None, 5]
    assert answers[3]["wrong"] == "Usage: /om:status"


def test_a_line_without_end_is_dropped_and_the_next_one_answered() -> None:
    readable, writable = os.pipe()
    try:
        os.write(writable, b"x" * 5_000 + b'\n{"type":"a"}\n')
        os.close(writable)
        assert list(read_objects(readable, line_max_bytes=1_000)) == [{}, {"type": "a"}]
    finally:
        os.close(readable)


@pytest.mark.parametrize(
    ("environ", "why"),
    [
        ({"MINUTEBOOK_OFF": "1"}, ""),
        ({"MINUTEBOOK_OFF": "true"}, ""),
        ({"MINUTEBOOK_STORE": "redis://localhost/0"}, "the store is on a server"),
    ],
)
def test_switched_off_or_with_a_store_on_a_server_it_leaves(
    process: Callable[..., "subprocess.Popen[bytes]"], environ: dict[str, str], why: str
) -> None:
    (line,) = said(process(**environ))
    assert line["type"] == "off"
    assert line["why"].startswith(why)


def test_an_interrupt_that_is_meant_for_pi_does_not_end_it(
    process: Callable[..., "subprocess.Popen[bytes]"],
) -> None:
    running = process()
    assert running.stdin
    assert running.stdout
    running.stdin.write(b'{"type":"status","id":1,"words":"x"}\n')
    running.stdin.flush()
    running.stdout.readline()
    running.send_signal(signal.SIGINT)
    (answer,) = said(running, b'{"type":"status","id":2,"words":"x"}\n')
    assert answer["id"] == 2


def test_told_to_leave_it_rings_for_a_worker(talk: Talk, started: list[str]) -> None:
    talk.session.turns(1)
    talk.child.leave_to_worker()
    bells = list(Path(bell.bells_folder(str(talk.store_path))).iterdir())
    assert [json.loads(each.read_text())["path"] for each in bells] == [str(talk.session.file)]
    assert started
