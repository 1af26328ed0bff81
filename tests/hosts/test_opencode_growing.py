"""One OpenCode session exported again and again: only what is new comes in, and an undone turn opens a branch."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import run
from exports import assistant, compaction, document, text, user, write

from minutebook.hosts.opencode import reader
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import Path as SourcePath
from minutebook.pipeline.branches import load_branch, memory_stream
from minutebook.pipeline.intake import Accepted, accept_turns
from minutebook.pipeline.sessions import find_session
from minutebook.store.kernel import Store
from minutebook.store.sqlite import SqliteStore

KEY = "opencode:ses_one"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = SqliteStore(tmp_path / "store.db", busy_seconds=5, create=True)
    yield opened
    opened.close()


def exported(store: Store, folder: Path, *messages: dict[str, Any]) -> Accepted:
    """Export the session again over the last file, and take in what that brought."""
    path = write(folder / "session.json", document(*messages))
    session = find_session(store, KEY)
    return accept_turns(store, reader.read(path, session.cursor if session else None), path=str(path))


def ids_on(store: Store, key: str) -> list[str]:
    return [placed.entry.id for placed in SourcePath(store, load_branch(store, key)).walk()]


def test_longer_export_adds_only_what_is_new(store: Store, tmp_path: Path):
    turns = [user("m1"), assistant("m2"), user("m3"), *compaction("c", tail="m3"), user("m4"), assistant("m5")]
    news = []
    for count in (1, 2, 2, 3, 5, 6, 7):
        done = exported(store, tmp_path, *turns[:count])
        news.append((done.new, done.versions))
    assert news == [(1, 0), (1, 0), (0, 0), (1, 0), (0, 0), (1, 0), (1, 0)]
    assert ids_on(store, KEY) == ["m1", "m2", "m3", "m4", "m5"]
    assert store.tip(memory_stream(KEY)).marks[ledger.COMPACTED_FROM] == 2


def test_reply_that_was_running_comes_in_whole_when_it_is_done(store: Store, tmp_path: Path):
    exported(store, tmp_path, user("m1"), assistant("m2", text("half a"), completed=None))
    done = exported(store, tmp_path, user("m1"), assistant("m2", text("half a reply"), text("and the rest")))
    assert (done.new, done.versions) == (1, 0)


def test_undone_turn_stays_and_what_came_instead_is_a_branch(store: Store, tmp_path: Path):
    begin = [user("m1"), assistant("m2")]
    exported(store, tmp_path, *begin, user("m3"), assistant("m4"))
    done = exported(store, tmp_path, *begin, user("m5"), assistant("m6"))
    (branch,) = done.branches
    assert (ids_on(store, KEY), ids_on(store, branch)) == (["m1", "m2", "m3", "m4"], ["m1", "m2", "m5", "m6"])


def test_command_line_takes_exports_of_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Of other JSON files in the folder nothing is said; a cut export is an error, and the others come in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINUTEBOOK_STORE", str(tmp_path / "store.sqlite"))
    folder = tmp_path / "exports"
    folder.mkdir()
    write(folder / "good.json", document(user("m1"), assistant("m2")))
    write(folder / "package.json", {"name": "x", "version": "1.0.0"})
    assert "2 new entries" in run("ingest", str(folder), code=0).output
    cut = write(folder / "cut.json", document(user("m1"), own="ses_cut"))
    cut.write_bytes(cut.read_bytes()[:-9])
    failed = run("ingest", str(folder), code=2)
    assert "cut.json: the export is cut off; nothing of it was taken in" in failed.output
    assert "opencode export ses_cut > cut.json" in failed.output
    listed = run("sessions", code=0).output
    assert KEY in listed and "ses_cut" not in listed
