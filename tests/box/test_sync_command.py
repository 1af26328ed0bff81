"""`om sync` and what other commands say where a box is set."""

from pathlib import Path

import pytest
from commands import run
from raw_box import RawBox, answer

from minutebook.box.state import only_sender
from minutebook.store.opening import open_store

TOKEN = "mb_0123abcd_secretsecretsecret"
SESSION = '{"type": "minutebook.session", "version": 1, "session": "s1"}\n{"id": "a", "role": "user", "text": "hi"}\n'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "laptop"
    monkeypatch.setenv("MINUTEBOOK_HOME", str(folder))
    monkeypatch.setenv("MINUTEBOOK_BOX_TOKEN", TOKEN)
    return folder


def test_without_a_box_or_a_token_it_says_what_to_do(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "box_url" in run("sync", code=2).stderr
    monkeypatch.delenv("MINUTEBOOK_BOX_TOKEN")
    said = run("sync", "--set", "box_url=http://127.0.0.1:1", code=2).stderr
    assert str(home / "box.token") in said and "chmod 600" in said


def test_one_pass_and_its_report(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RawBox() as box:
        monkeypatch.setenv("MINUTEBOOK_BOX_URL", box.url)
        box.script += [
            answer({"user": "alice", "projects": ["*"]}),
            answer({"sessions": [], "next": ""}),
            answer({"error": "unauthorized", "message": "no"}, 401),
        ]
        assert run("sync", "--once", code=0).stdout == "sent      nothing new\nreceived  nothing new\n"
        refused = run("sync", "--once", code=1)
    assert refused.stdout.startswith(
        f"{box.url}: the token is not accepted: ask who runs the box for a new one (`om token create`)"
    )
    assert TOKEN not in refused.output


def test_a_second_one_is_told_of_the_first(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINUTEBOOK_BOX_URL", "http://127.0.0.1:1")
    store = open_store(str(home / "minutebook.sqlite"))
    with only_sender(store):
        assert "`om sync` runs already for this store: process" in run("sync", "--once", code=1).stderr
    store.close()


def test_a_token_in_the_clear_is_warned_of(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINUTEBOOK_BOX_URL", "http://box.invalid:1")
    assert "unencrypted" in run("sync", "--once", code=1).stderr


def test_a_store_that_is_no_file_is_no_laptop_s(home: Path) -> None:
    done = run("sync", "--store", "redis://127.0.0.1:1/0", "--set", "box_url=http://127.0.0.1:2")
    assert done.exit_code != 0 and "Traceback" not in done.output


def test_ingest_says_who_makes_the_memory(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "s1.jsonl"
    file.write_text(SESSION)
    said = run("ingest", "--set", "box_url=https://box.example", str(file), code=0).stderr
    assert "`om sync` takes it to the box at https://box.example" in said
