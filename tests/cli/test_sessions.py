"""`om sessions`."""

from pathlib import Path

import pytest
from builders import MINUTE, deliver, observed, remember, reply, say
from commands import Om, data_of

from minutebook.cli.sessions import HEADINGS
from minutebook.store.kernel import Store


def test_sessions_with_their_numbers(om: Om, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    branch = deliver(
        store, [say("Fix the build", id="e1"), reply("Done", id="e2")], "abcdef123456", project="/work/shop"
    )
    remember(store, branch, observations=[observed("one"), observed("two")], dropped=[observed("two")])
    shown = om("sessions", code=0).stdout.splitlines()
    assert shown[0].split() == [*HEADINGS[:-1], "last", "turn", "title", "project"]
    row = shown[1]
    assert row.startswith("neutral:abcdef12 ")
    assert row.split()[1:] == ["2", "~5", "1/0", *MINUTE.split(), "Fix", "the", "build", "/work/shop"]


def test_a_session_can_be_named_by_what_is_shown_of_it(om: Om, store: Store) -> None:
    """Ids that begin with the time, of the same minute, as Pi and Codex make them."""
    ids = ["01a22c83-8987-7219-841a-3ab625211617", "01a22c83-a574-7219-841a-3ab965fbdfb2", "5a7c0001-0000", "short"]
    for name in ids:
        deliver(store, [say(f"This is {name}", id=f"e{name}")], name)
    shown = [line.split()[0] for line in om("sessions", code=0).stdout.splitlines()[1:]]
    assert shown == ["neutral:short", "neutral:5a7c0001", "neutral:01a22c83-a", "neutral:01a22c83-8"]
    for name, id_ in zip(reversed(shown), ids, strict=True):
        assert f"neutral:{id_} " in om("status", "--session", name, code=0).stdout


def test_json_has_everything(om: Om, store: Store) -> None:
    deliver(store, [say("Fix the build", id="e1")], "s1", project="/work/shop")
    deliver(store, [say("Later", id="x1")], "s2")
    later, first = data_of(om("sessions", "--json", code=0))
    assert (later["key"], first["key"]) == ("neutral:s2", "neutral:s1")
    assert first["title"] == "Fix the build"
    assert (first["entries"], first["prompts"], first["branches"]) == (1, 1, ["neutral:s1"])
    assert [each["key"] for each in data_of(om("sessions", "--json", "--limit", "1"))] == ["neutral:s2"]
    assert "is not in the range" in om("sessions", "--limit", "9" * 30, code=2).stderr


def test_narrow_terminals_keep_what_names_a_session(om: Om, store: Store, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    deliver(
        store, [say("日本語のとても長い題名がここにありますので切ります" * 3, id="e1")], "abcdef123456", project="/p"
    )
    monkeypatch.setenv("COLUMNS", "80")
    lines = om("sessions", code=0).stdout.splitlines()
    assert lines[1].startswith("neutral:abcdef12") and lines[1].endswith("…")
    from rich.cells import cell_len

    assert max(map(cell_len, lines)) <= 80


def test_a_bare_home_has_no_sessions(om: Om, project: Path) -> None:
    """003-111"""
    assert om("sessions", "--json", code=0).stdout == "[]\n"
    assert "no session was taken in yet" in om("sessions", code=0).stderr


def test_a_store_that_was_named_must_be_there(om: Om, tmp_path: Path) -> None:
    result = om("sessions", "--store", str(tmp_path / "nope.sqlite"), code=2)
    assert (
        result.stderr
        == f"om: {tmp_path}/nope.sqlite: no store there; check --store, or take sessions in: om ingest FILE\n"
    )
    assert om("worker", "--store", str(tmp_path / "nope.sqlite"), code=2).stderr == result.stderr
    assert not (tmp_path / "nope.sqlite").exists()
    assert om("sessions", "--store", "", code=2).stderr.startswith("om: --store")
    assert "unknown kind 'ftp'" in om("sessions", "--store", "ftp://x", code=2).stderr
