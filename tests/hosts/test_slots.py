"""What a session is told, once: no model, nothing recorded though due, a worker that does not come."""

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from minutebook.hosts import bell, slots
from minutebook.hosts.claims import claim
from minutebook.hosts.slots import Notice, Outage, Told, put_in_slot, read_told, what_to_tell, write_told

OUTAGE = Outage("openai/x", since=150.0, at=200.0, text="openai/x cannot be asked: no key")
START = Told(first=100.0)


def tell(told: Told, **more: object) -> tuple[Told, list[Notice]]:
    given = {"prompts": 0, "observed": 0, "due": False, "why": "", "outages": [], "after_turns": 20, **more}
    return what_to_tell(told, **given)  # type: ignore[arg-type]


def test_an_outage_is_told_once_and_again_when_it_comes_back() -> None:
    told, notices = tell(START, outages=[OUTAGE])
    assert [notice.text for notice in notices] == [OUTAGE.text]
    told, notices = tell(told, outages=[replace(OUTAGE, at=300.0)])
    assert notices == []
    _, notices = tell(told, outages=[replace(OUTAGE, since=900.0, at=900.0)])
    assert len(notices) == 1, "it worked in between"


def test_an_outage_of_the_past_is_not_told_to_a_session_of_today() -> None:
    """Its key may be there since; when it fails again, that is told."""
    told, notices = tell(Told(first=201.0), outages=[OUTAGE])
    assert notices == []
    _, notices = tell(told, outages=[replace(OUTAGE, at=202.0)])
    assert len(notices) == 1


def test_nothing_recorded_for_so_many_turns_though_due_is_told_once() -> None:
    """Turns count from the one on which it became due; before, nobody was late."""
    told, notices = tell(START, prompts=50)
    assert (told.due_at, notices) == (-1, [])
    told, notices = tell(told, prompts=51, due=True)
    assert (told.due_at, notices) == (51, [])
    told, notices = tell(told, prompts=70, due=True)
    assert notices == []
    told, (notice,) = tell(told, prompts=71, due=True, why="openai/x: overloaded.")
    assert "the last 20 turns" in notice.text and "(openai/x: overloaded)" in notice.text
    told, notices = tell(told, prompts=99, due=True)
    assert notices == []


def test_what_is_recorded_begins_the_count_anew() -> None:
    told, _ = tell(START, prompts=10, due=True)
    told, notices = tell(told, prompts=31, due=True, observed=7)
    assert (told.due_at, notices) == (31, []), "it goes on being due, after a record"
    _, notices = tell(told, prompts=51, due=True, observed=7)
    assert len(notices) == 1


def test_a_session_remembers_what_it_was_told(tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    assert read_told(store, "codex", "../x") is None
    told = Told(first=1.5, ids=("a", "b"), observed=3, due_at=7)
    write_told(store, "codex", "../x", told)
    assert read_told(store, "codex", "../x") == told
    assert {path.parent for path in tmp_path.rglob("*") if path.is_file()} == {tmp_path / "s.db.slots"}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"first": "x"}', '{"first": 1, "ids": 3, "observed": "x"}', "\0"])
def test_rubbish_in_its_place_is_no_error(tmp_path: Path, text: str) -> None:
    store = str(tmp_path / "s.db")
    write_told(store, "pi", "s", START)
    (path,) = (tmp_path / "s.db.slots").iterdir()
    path.write_text(text)
    assert read_told(store, "pi", "s") in (None, Told(first=1.0, observed=-1, due_at=-1))


def test_a_notice_is_taken_by_one_hook_only(tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    put_in_slot(store, "codex", "s", [Notice("1", "one"), Notice("2", "two")])
    put_in_slot(store, "codex", "s", [Notice("3", "<memory/>")], kind="steer")
    taken = bell.take_slot(store, "codex", "s", ("notice",))
    assert [line["text"] for line in taken] == ["Minutebook: one", "Minutebook: two"]
    assert bell.take_slot(store, "codex", "s", ("notice",)) == []
    assert [line["text"] for line in bell.take_slot(store, "codex", "s", ("steer", "notice"))] == ["<memory/>"]
    assert bell.take_slot(store, "codex", "other", ("notice",)) == []


def test_what_nobody_takes_goes_after_a_month(tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    for session in ("gone", "new"):
        put_in_slot(store, "pi", session, [Notice("1", "x")])
        write_told(store, "pi", session, START)
    slots.remove_old(store)
    assert len(list((tmp_path / "s.db.slots").iterdir())) == 4
    for path in (tmp_path / "s.db.slots").iterdir():
        if "gone" in path.name:
            os.utime(path, (1.0, 1.0))
    slots.remove_old(store)
    assert {path.name for path in (tmp_path / "s.db.slots").iterdir()} == {"pi.new", ".told.pi.new"}
    slots.remove_old(str(tmp_path / "none.db"))


def test_what_was_claimed_or_handed_over_goes_after_a_month(tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    for session in ("gone", "new"):
        bell.write_handover(store, "pi", session, ["memory"])
        assert claim(store, "pi", session)
    folder = tmp_path / "s.db.handover"
    for path in folder.glob("pi.gone*"):
        os.utime(path, (1.0, 1.0))
    slots.remove_old(store)
    assert {path.name for path in folder.iterdir()} == {"pi.new", "pi.new.claim.1"}


@pytest.mark.parametrize("session", ["s", "an id with spaces", "x" * 200])
def test_of_a_session_that_is_forgotten_nothing_is_left(tmp_path: Path, session: str) -> None:
    store = str(tmp_path / "s.db")
    others = ["s2", f"{session}-2", f"{session}.claim"]
    for each in (session, *others):
        put_in_slot(store, "pi", each, [Notice("1", "x")])
        write_told(store, "pi", each, START)
        bell.write_handover(store, "pi", each, ["memory"])
        bell.owe_memory(store, "pi", each)
        assert claim(store, "pi", each)
    files = {path for path in tmp_path.rglob("*") if path.is_file()}
    slots.forget(store, "pi", session)
    left = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert len(files - left) == 5 and len(left) == 5 * len(others)
    assert bell.read_handover(store, "pi", session) is None
    assert all(bell.read_handover(store, "pi", each) for each in others)
    slots.forget(str(tmp_path / "none.db"), "pi", session)


# -- a worker that does not come -----------------------------------------------------------------------------------


def rung(store: str, *, rings: int, seconds: float) -> Path:
    """A bell of a session that rang so often, the first time so long ago."""
    bell.ring(store, host="codex", session="s", path="/t.jsonl")
    (path,) = Path(bell.bells_folder(store)).iterdir()
    fields = json.loads(path.read_text())
    path.write_text(json.dumps({**fields, "rings": rings, "since": time.time() - seconds}))
    return path


def test_a_worker_that_does_not_come_is_told_once(tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    path = rung(store, rings=bell.UNHEARD_RINGS - 1, seconds=300)
    assert bell.unheard(store, "codex", "s") == ""
    assert bell.ring(store, host="codex", session="s", path="/t.jsonl") == bell.UNHEARD_RINGS
    assert "its worker does not run" in bell.unheard(store, "codex", "s")
    assert bell.unheard(store, "codex", "s") == ""
    bell.ring(store, host="codex", session="s", path="/t.jsonl")
    assert bell.unheard(store, "codex", "s") == "", "a further ring does not forget that it was told"
    path.unlink()  # taken
    rung(store, rings=bell.UNHEARD_RINGS, seconds=300)
    assert bell.unheard(store, "codex", "s") != "", "and gone again later"


def test_a_session_in_full_flow_is_no_dead_worker(tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    rung(store, rings=500, seconds=5)
    assert bell.unheard(store, "codex", "s") == ""
    assert bell.unheard(store, "codex", "other") == ""
