"""Commands that only look, where nobody has taken anything in yet: they say so, and leave no store behind."""

import os
import tempfile
from pathlib import Path

import pytest
from commands import Om, data_of

NOTHING = "no session was taken in yet; try `om ingest FILE` or `om replay FILE`"


@pytest.fixture
def home(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's own data folder, which is not there yet, and a place of its own for what is temporary."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", os.fspath(tmp_path / "temporary"))
    monkeypatch.delenv("MINUTEBOOK_STORE", raising=False)
    monkeypatch.setenv("MINUTEBOOK_HOME", os.fspath(tmp_path / "home"))
    return tmp_path / "home"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("sessions", 0, NOTHING),
        ("status", 0, "No session yet: om ingest FILE takes one in"),
        ("view", 0, NOTHING),
        ("view --full", 0, NOTHING),
        ("compact", 0, NOTHING),
        ("search retry", 0, NOTHING),
        ("recall abcdefabcdef", 1, NOTHING),
        ("retire abcdefabcdef", 1, NOTHING),
        ("note hello", 1, NOTHING),
        ("jobs", 0, "Nothing is pending or running"),
        ("models", 0, "extractive"),
        ("doctor", None, "not there yet"),
        ("export", 0, '{"row":"end"'),
        ("retention --days 3", 0, "No session is older than 3 days"),
        ("purge --session x", 1, "no session 'x' in this store"),
        ("token list", 0, "No tokens yet"),
        ("token revoke abcdefabcdef", 1, "no token"),
        ("token unshare acme/orders", 0, "was not shared"),
        ("settings", 0, "observe_after_tokens"),
        ("resume", 0, "nothing to resume"),
    ],
)
def test_a_look_makes_no_store(om: Om, home: Path, tmp_path: Path, words: str, code: int | None, said: str) -> None:
    assert said in om(*words.split(), code=code).output
    assert not list(home.rglob("*.sqlite*"))
    assert not list((tmp_path / "temporary").iterdir())


def test_what_is_not_there_is_not_backed_up(om: Om, home: Path, tmp_path: Path) -> None:
    assert "minutebook.sqlite: no store there yet" in om("backup", str(tmp_path / "b.sqlite"), code=1).stderr
    assert not (tmp_path / "b.sqlite").exists() and not list(home.rglob("*.sqlite*"))


def test_a_link_to_a_disk_that_is_away_is_no_new_beginning(om: Om, home: Path, tmp_path: Path) -> None:
    home.mkdir(exist_ok=True)
    (home / "minutebook.sqlite").symlink_to(tmp_path / "away" / "minutebook.sqlite")
    assert "minutebook.sqlite: No such file or directory" in om("sessions", code=1).stderr
    assert (home / "minutebook.sqlite").is_symlink() and not (tmp_path / "away").exists()


def test_for_programs_there_is_nothing_either(om: Om, home: Path) -> None:
    assert data_of(om("sessions", "--json", code=0)) == []
    assert data_of(om("search", "--json", "retry", code=0)) == []
    assert data_of(om("status", "--json", code=0))["session"] == ""
    assert not list(home.rglob("*.sqlite*"))


def test_where_nothing_temporary_can_be_it_is_said(om: Om, home: Path, tmp_path: Path) -> None:
    (tmp_path / "temporary").rmdir()
    assert NOTHING in om("sessions", code=1).stderr


def test_a_store_that_was_named_has_to_be_there(om: Om, home: Path, tmp_path: Path) -> None:
    assert "no store there" in om("sessions", "--store", str(tmp_path / "no.sqlite"), code=2).stderr


def test_what_writes_makes_it(om: Om, home: Path) -> None:
    om("pause", code=0)
    assert list(home.rglob("*.sqlite"))
