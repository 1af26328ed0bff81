"""What lies beside a store: names, bells, the hand-over, slots, pauses, the log, and where all that is."""

import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minutebook.cli.place import file_of, is_file
from minutebook.hosts import barejson, bell, beside, slotfile
from minutebook.hosts.bells import bell_of, waiting_bells
from minutebook.hosts.paused_file import write_paused
from minutebook.pipeline.pauses import Pause
from minutebook.places import data_dir, default_store_path

NAMES = st.text(st.characters(), max_size=120)
"""Lone surrogates too."""
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "data" / "memory.sqlite")


# -- names ---------------------------------------------------------------------------------------------------------


@given(NAMES, NAMES)
def test_no_name_from_outside_leads_anywhere(session: str, agent: str) -> None:
    name = bell.safe_name("claude_code", session, agent)
    assert len(os.fsencode(name)) < 255 and name not in (".", "..")
    assert not set(name) & set("/\0\\~ ") and name[0] not in "+.-"


@given(st.tuples(NAMES, NAMES), st.tuples(NAMES, NAMES))
def test_sessions_do_not_share_a_name(one: tuple[str, str], other: tuple[str, str]) -> None:
    same = bell.safe_name("codex", *one) == bell.safe_name("codex", *other)
    assert same == (one == other)


def test_usual_names_can_be_read() -> None:
    assert bell.safe_name("claude_code", "5e0f-1", "a7") == "claude_code.5e0f-1.a7"
    assert bell.safe_name("codex", "../../x").startswith("codex.=")


# -- JSON ----------------------------------------------------------------------------------------------------------


@given(VALUES)
def test_json_without_json_is_json(value: object) -> None:
    assert json.loads(barejson.to_json(value)) == value
    assert barejson.parse(json.dumps(value)) == value


@example({"a": 123}, 10)
@given(st.dictionaries(st.text(), VALUES), st.integers(0, 400))
def test_what_stands_before_a_cut_is_found(value: dict[str, object], at: int) -> None:
    text = json.dumps(value, indent=1)
    assert barejson.walk(text) == (value, True)
    found, whole = barejson.walk(text[:at])
    assert all(key in value and value[key] == kept for key, kept in found.items())
    assert whole == (at >= len(text))


@pytest.mark.parametrize("text", ["", " ", "[1]", "nonsense", '{"a"', '{"a":', "{a:1}", "[" * 100_000, '{"a":' * 9_999])
def test_what_is_no_object_is_no_error(text: str) -> None:
    assert barejson.walk(text) == ({}, False)


# -- the bell ------------------------------------------------------------------------------------------------------


def test_rings_of_a_session_are_one_bell_that_counts(store: str) -> None:
    for event in ("UserPromptSubmit", "Stop"):
        bell.ring(store, host="claude_code", session="s", path="/t.jsonl", cwd="/p", event=event)
    bell.ring(store, host="claude_code", session="s", agent="a", path="/a.jsonl", ended=True)
    session, agent = waiting_bells(store)
    assert (session.key, session.rings, session.event, session.ended) == ("claude_code:s", 2, "Stop", False)
    assert (agent.key, agent.rings, agent.path, agent.ended) == ("claude_code:s/a", 1, "/a.jsonl", True)
    assert session.since <= agent.since


def test_what_lies_beside_a_store_is_private(store: str) -> None:
    bell.ring(store, host="codex", session="s", path="/t")
    bell.write_handover(store, "codex", "s", ["text"])
    slotfile.add(bell.slot_path(store, "codex", "s"), {"kind": "steer", "text": "t"})
    made = list(Path(store).parent.rglob("*"))
    assert {path.stat().st_mode & 0o777 for path in made if path.is_dir()} == {0o700}
    assert {path.stat().st_mode & 0o777 for path in made if path.is_file()} == {0o600}
    assert Path(store).parent.stat().st_mode & 0o777 == 0o700


def test_a_broken_bell_is_rung_over(store: str) -> None:
    bell.ring(store, host="codex", session="s", path="/t")
    file = Path(bell.bells_folder(store)) / "codex.s"
    for broken in (b"", b"{", b"[]", b'{"rings": "x"}', b"\xff\xfe"):
        file.write_bytes(broken)
        assert bell_of(beside.read_beside(str(file))) is None
        bell.ring(store, host="codex", session="s", path="/t")
        assert waiting_bells(store)[0].rings == 1


@pytest.mark.parametrize("field", ["host", "session", "path"])
@pytest.mark.parametrize("value", [None, 7, [], {"a": 1}])
def test_a_bell_of_wrong_types_is_none(field: str, value: object) -> None:
    fields = {"host": "codex", "session": "s", "path": "/t", "since": 1.0, "rings": 1}
    assert bell_of(json.dumps(fields)) is not None
    assert bell_of(json.dumps({**fields, field: value})) is None


# -- the hand-over -------------------------------------------------------------------------------------------------


def test_parts_are_handed_over_and_a_part_past_the_end_is_empty(store: str) -> None:
    parts = ["first ✓\n", "second \ud800"]
    bell.write_handover(store, "claude_code", "s", parts)
    assert bell.read_handover(store, "claude_code", "s") == parts
    found = [bell.wait_for_part(store, "claude_code", "s", number, seconds=0, not_before=0) for number in range(4)]
    assert found == ["", *parts, ""]
    bell.remove_handover(store, "claude_code", "s")
    bell.remove_handover(store, "claude_code", "s")
    assert bell.read_handover(store, "claude_code", "s") is None


def test_an_older_composition_is_not_taken_for_this_one(store: str) -> None:
    bell.write_handover(store, "claude_code", "s", ["old"])
    written = Path(bell.handover_path(store, "claude_code", "s")).stat().st_mtime
    assert bell.wait_for_part(store, "claude_code", "s", 1, seconds=0, not_before=written + 1) == ""
    assert bell.wait_for_part(store, "claude_code", "s", 1, seconds=0, not_before=written) == "old"


def test_a_part_is_waited_for(store: str) -> None:
    threading.Timer(0.05, bell.write_handover, [store, "codex", "s", ["a", "b"]]).start()
    assert bell.wait_for_part(store, "codex", "s", 2, seconds=20, not_before=0) == "b"


# -- slots ---------------------------------------------------------------------------------------------------------


def test_a_slot_is_taken_once_and_other_kinds_stay(store: str) -> None:
    path = bell.slot_path(store, "claude_code", "s")
    for at, kind in enumerate(("steer", "notice", "steer")):
        assert slotfile.add(path, {"kind": kind, "text": f"t{at}\n", "id": str(at)})
    assert [line["text"] for line in bell.take_slot(store, "claude_code", "s", ["steer"])] == ["t0\n", "t2\n"]
    assert bell.take_slot(store, "claude_code", "s", ["steer"]) == []
    assert [line["id"] for line in bell.take_slot(store, "claude_code", "s", ["steer", "notice"])] == ["1"]
    assert not Path(path).exists()


def test_nothing_of_a_slot_is_lost_between_adding_and_taking(store: str) -> None:
    path, count, threads = bell.slot_path(store, "claude_code", "s"), 60, 3

    def add(number: int) -> None:
        for at in range(count):
            while not slotfile.add(path, {"kind": "steer", "text": f"{number}-{at}"}):
                pass

    adding = [threading.Thread(target=add, args=(number,)) for number in range(threads)]
    for thread in adding:
        thread.start()
    taken: list[object] = []
    while any(thread.is_alive() for thread in adding) or Path(path).exists():
        taken += [line["text"] for line in bell.take_slot(store, "claude_code", "s", ["steer"])]
    assert sorted(map(str, taken)) == sorted(f"{number}-{at}" for number in range(threads) for at in range(count))


def test_a_full_slot_takes_no_more_and_broken_lines_are_passed_over(store: str) -> None:
    path = Path(bell.slot_path(store, "claude_code", "s"))
    assert slotfile.add(str(path), {"kind": "steer", "text": "x"})
    with path.open("a") as file:
        file.write('{"kind": "ste\n[1]\n' + " " * slotfile.SLOT_MAX_BYTES)
    assert not slotfile.add(str(path), {"kind": "steer", "text": "y"})
    assert [line["text"] for line in slotfile.take(str(path), {"steer"})] == ["x"]


# -- folders -------------------------------------------------------------------------------------------------------


def test_a_folder_that_another_makes_at_the_same_moment_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two first hooks at once: each finds none, makes the one above it, and one of the two is the faster one."""
    mkdir, tried = os.mkdir, list[str]()

    def slowly(folder: str, mode: int) -> None:
        tried.append(folder)
        if tried.count(folder) == 2:
            mkdir(folder, mode)
        mkdir(folder, mode)

    monkeypatch.setattr(os, "mkdir", slowly)
    beside.make_folder(str(tmp_path / "data" / "bells"))
    assert (tmp_path / "data" / "bells").is_dir() and len(tried) == 3


# -- pauses --------------------------------------------------------------------------------------------------------


def pause(scope: str, name: str = "") -> Pause:
    return Pause(scope=scope, name=name, since="2026-05-02T10:00:00Z")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pauses", "paused"),
    [
        ([], False),
        ([pause("all")], True),
        ([pause("session", "claude_code:s")], True),
        ([pause("session", "claude_code:other"), pause("session", "codex:s")], False),
        ([pause("project", "/srv/app")], True),
        ([pause("project", "/srv")], True),
        ([pause("project", "/srv/ap"), pause("project", "/srv/app/inner")], False),
    ],
)
def test_what_is_paused_is_known_without_the_store(store: str, pauses: list[Pause], paused: bool) -> None:
    Path(store).parent.mkdir()
    write_paused(Path(store), pauses)
    assert bell.is_paused(store, "claude_code", "s", "/srv/app") is paused


def test_a_pause_that_cannot_be_read_is_none(store: str) -> None:
    Path(store).parent.mkdir()
    for broken in ("", "{", '{"pauses": 1}', '[7, {"scope": 1}]'):
        Path(f"{store}.paused").write_text(broken)
        assert not bell.is_paused(store, "claude_code", "s", "/srv/app\0")


# -- where it is ---------------------------------------------------------------------------------------------------

PLACES: list[Mapping[str, str]] = [
    {},
    {"HOME": "/home/ada"},
    {"HOME": "/home/ada/"},
    {"MINUTEBOOK_HOME": "/srv/memory"},
    {"MINUTEBOOK_HOME": "~/memory", "HOME": "/home/ada"},
    {"MINUTEBOOK_HOME": "relative/memory"},
    {"MINUTEBOOK_HOME": "/srv/../opt/./memory//"},
    {"MINUTEBOOK_HOME": "", "HOME": "/home/ada"},
    {"XDG_DATA_HOME": "/data", "HOME": "/home/ada"},
    {"XDG_DATA_HOME": "/data//x/", "HOME": "/home/ada"},
    {"XDG_DATA_HOME": "relative", "HOME": "/home/ada"},
    {"XDG_DATA_HOME": "", "HOME": "/home/ada"},
    {"XDG_DATA_HOME": "/data", "MINUTEBOOK_HOME": "/srv/memory"},
]


@pytest.mark.parametrize("environ", PLACES)
def test_hooks_use_the_store_that_the_command_line_uses(environ: Mapping[str, str]) -> None:
    assert bell.local_store_path(environ) == str(default_store_path(environ))
    assert beside.data_folder(environ) == str(data_dir(environ))


@pytest.mark.parametrize("url", ["/srv/a.sqlite", "b.sqlite", "sqlite:////srv/a.sqlite", "sqlite:///b.sqlite", "./x/y"])
def test_a_named_store_is_the_same_for_hooks(url: str) -> None:
    assert is_file(url) and bell.local_store_path({"MINUTEBOOK_STORE": url}) == str(file_of(url))


@pytest.mark.parametrize("url", ["redis://box:6379/0", "rediss://box/0", "unix:///run/redis.sock", "https://box"])
def test_a_store_on_a_server_is_none_for_hooks(url: str) -> None:
    assert bell.local_store_path({"MINUTEBOOK_STORE": url}) is None


# -- the log -------------------------------------------------------------------------------------------------------


def test_the_log_is_one_line_each_bounded_and_private(tmp_path: Path) -> None:
    environ = {"MINUTEBOOK_HOME": str(tmp_path / "new" / "home")}
    bell.complain("first\nof two \x1b[31m lines \ud800" + "x" * 5_000, environ)
    log = tmp_path / "new" / "home" / "hook.log"
    (line,) = log.read_text().splitlines()
    assert "first of two" in line and len(line) < 600 and "\x1b" not in line
    assert log.stat().st_mode & 0o777 == 0o600
    for _ in range(2):
        log.write_text("y" * beside.LOG_MAX_BYTES)
        bell.complain("the next one", environ)
    assert "the next one" in log.read_text() and log.stat().st_size < 100
    assert sorted(path.name for path in log.parent.iterdir()) == ["hook.log", "hook.log.old"]


def test_a_log_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    bell.complain("nobody hears", {"MINUTEBOOK_HOME": str(tmp_path / "file" / "home")})
    (tmp_path / "hook.log").symlink_to(tmp_path / "file")
    bell.complain("not through a link", {"MINUTEBOOK_HOME": str(tmp_path)})
    assert (tmp_path / "file").read_text() == ""
