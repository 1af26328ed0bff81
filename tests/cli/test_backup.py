"""`om backup`."""

import os
import shutil
import stat
import threading
from contextlib import closing
from pathlib import Path

import pytest
from builders import deliver, say
from commands import Om, data_of
from everything import fill, turns
from ledgers import dump

from minutebook.cli import backup as backup_module
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store
from minutebook.store.sqlite import SqliteStore


def content(path: Path) -> object:
    """Everything in a store's file, which is opened as a copy."""
    copy = path.with_name("copy-to-look-at.sqlite")
    shutil.copy(path, copy)
    with closing(open_store(str(copy))) as store:
        return dump(store), [each.body for each in store.documents("mentions")]


def test_a_backup_is_the_whole_store_in_one_private_file(om: Om, store: Store, tmp_path: Path) -> None:
    fill(store)
    file = tmp_path / "b.sqlite"
    said = om("backup", str(file), code=0).stdout
    assert said.startswith(f"{file}: written and checked: 4 sessions, 20 source entries, ")
    assert content(file) == (dump(store), [each.body for each in store.documents("mentions")])
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.glob("*b.sqlite*")] == ["b.sqlite"]
    assert file.read_bytes()[18:20] == b"\x01\x01"  # no write-ahead log: nothing has to lie beside it


def test_in_a_folder_it_is_named_by_the_time(om: Om, store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    found = data_of(om("backup", str(folder), "--json", code=0))
    (file,) = folder.iterdir()
    assert (found["file"], found["bytes"], found["sessions"]) == (str(file), file.stat().st_size, 0)
    assert file.name.startswith("minutebook-20") and file.suffix == ".sqlite"


def test_what_is_there_is_overwritten_only_when_asked(om: Om, store: Store, tmp_path: Path) -> None:
    file = tmp_path / "b.sqlite"
    file.write_text("mine")
    result = om("backup", str(file), code=2)
    assert result.stderr == f"om: {file}: is there already; give another name, or --force\n"
    assert file.read_text() == "mine"
    om("backup", str(file), "--force", code=0)
    om("backup", "--verify", str(file), code=0)


def test_a_file_that_comes_meanwhile_is_not_overwritten(
    om: Om, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "b.sqlite"
    monkeypatch.setattr(backup_module, "examine", lambda *_: file.write_text("mine"))
    assert om("backup", str(file), code=2).stderr.startswith(f"om: {file}: is there already")
    assert (file.read_text(), [each.name for each in tmp_path.glob(".b*")]) == ("mine", [])


@pytest.mark.parametrize(
    ("target", "code", "said"),
    [
        ("store.sqlite", 2, "the store itself; give another file"),
        ("link.sqlite", 2, "the store itself; give another file"),
        ("nowhere/b.sqlite", 2, "no such folder; make it first"),
    ],
)
def test_where_none_can_be_written(
    om: Om, store: Store, store_path: Path, tmp_path: Path, target: str, code: int, said: str
) -> None:
    (tmp_path / "link.sqlite").symlink_to(store_path)
    before = dump(store)
    assert said in om("backup", str(tmp_path / target), "--force", code=code).stderr
    assert dump(store) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_one_line(om: Om, store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    assert om("backup", str(folder / "b.sqlite"), code=1).stderr.count("\n") == 1


def test_a_backup_while_it_is_written_is_of_one_moment(om: Om, store: Store, store_path: Path, tmp_path: Path) -> None:
    """A writer adds one entry to each of two sessions by turns: no backup has one of them two ahead of the other."""
    stop, wrote = threading.Event(), threading.Event()

    def write() -> None:
        with closing(open_store(str(store_path))) as other:
            for number in range(10_000):
                if stop.is_set():
                    return
                deliver(other, [say(f"a{number}", id=f"a{number}")], "a")
                deliver(other, [say(f"b{number}", id=f"b{number}")], "b")
                wrote.set()

    writer = threading.Thread(target=write)
    deliver(store, turns("big", 400), "big")
    writer.start()
    try:
        for number in range(10):
            om("backup", str(tmp_path / f"{number}.sqlite"), code=0)
            wrote.clear()
            assert wrote.wait(60)
    finally:
        stop.set()
        writer.join()
    lengths = []
    for number in range(10):
        with closing(open_store(str(tmp_path / f"{number}.sqlite"))) as copy:
            lengths.append((copy.tip("s:neutral:a").length, copy.tip("s:neutral:b").length))
    assert all(0 <= a - b <= 1 for a, b in lengths)
    assert lengths[-1][0] > lengths[0][0]


def test_verify_tells_a_broken_one(om: Om, store: Store, tmp_path: Path) -> None:
    fill(store)
    good, bad = tmp_path / "good.sqlite", tmp_path / "bad.sqlite"
    om("backup", str(good), code=0)
    assert "good.sqlite: whole: 4 sessions" in om("backup", "--verify", str(good), code=0).stdout
    whole = good.read_bytes()
    for broken in (
        whole[: len(whole) // 2],
        whole[:40_960] + b"\xff" * 4096 + whole[45_056:],
        b"",
        b"no database at all",
    ):
        bad.write_bytes(broken)
        result = om("backup", "--verify", str(bad), code=1)
        assert result.stderr.startswith(f"om: {bad}: ") and result.stderr.count("\n") == 1, broken[:20]
        assert bad.read_bytes() == broken and not list(tmp_path.glob("bad.sqlite-*"))
    assert om("backup", "--verify", str(tmp_path / "none.sqlite"), code=1).stderr.startswith("om: ")


def test_verify_reads_every_record(om: Om, store: Store, tmp_path: Path) -> None:
    """A page may be in order although the record in it is not."""
    fill(store)
    file = tmp_path / "b.sqlite"
    om("backup", str(file), code=0)
    content = bytearray(file.read_bytes())
    at = content.index(b'{"v":')
    assert b'"role":' in content[at : at + 40]
    content[at : at + 5] = b"XXXXX"
    file.write_bytes(content)
    said = om("backup", "--verify", str(file), code=1).stderr
    assert "cannot be read" in said and "take another backup" in said


def spoil(path: Path, words: bytes, others: bytes) -> None:
    """Change words in the middle of a page, as a bad disk may: no page and no record looks broken."""
    content = path.read_bytes()
    assert content.count(words) == 1 and len(words) == len(others)
    path.write_bytes(content.replace(words, others))


def test_verify_tells_words_that_were_changed(om: Om, store: Store, tmp_path: Path) -> None:
    deliver(store, [say("first", id="e0"), say("the port is 8443 here", id="e1")])
    file = tmp_path / "b.sqlite"
    om("backup", str(file), code=0)
    spoil(file, b"the port is 8443 here", b"the port is 8444 here")
    result = om("backup", "--verify", str(file), code=1)
    said = "1 source entry has other words than came in, by its hash: entry 1 of 'neutral:s1': take another backup"
    assert result.stderr == f"om: {file}: {said}\n"
    assert "whole, but not its words: 1 session, 2 source entries" in result.stdout
    assert data_of(om("backup", "--verify", "--json", str(file), code=1))["damaged"] == 1


def test_a_store_with_changed_words_is_copied_and_it_is_said(
    om: Om, store: Store, store_path: Path, tmp_path: Path
) -> None:
    deliver(store, [say("first", id="e0"), say("the port is 8443 here", id="e1")])
    om("backup", str(tmp_path / "good.sqlite"), code=0)
    spoil(tmp_path / "good.sqlite", b"the port is 8443 here", b"the port is 8444 here")
    result = om("backup", str(tmp_path / "b.sqlite"), "--store", str(tmp_path / "good.sqlite"), code=0)
    assert "1 source entry has other words than came in" in result.stderr and "the store itself" in result.stderr
    assert (tmp_path / "b.sqlite").exists()


def test_verify_needs_no_store(om: Om, store: Store, store_path: Path, tmp_path: Path) -> None:
    om("backup", str(tmp_path / "b.sqlite"), code=0)
    store.close()
    store_path.unlink()
    om("backup", "--verify", str(tmp_path / "b.sqlite"), code=0)
    assert not store_path.exists()


def test_a_restored_backup_goes_on(om: Om, store: Store, store_path: Path, tmp_path: Path) -> None:
    deliver(store, turns("a", 4))
    om("backup", str(tmp_path / "b.sqlite"), code=0)
    deliver(store, turns("a", 8))
    store.close()
    for beside in store_path.parent.glob(f"{store_path.name}*"):
        beside.unlink()
    (tmp_path / "b.sqlite").rename(store_path)
    with closing(open_store(str(store_path))) as restored:
        assert restored.tip("s:neutral:s1").length == 4
        deliver(restored, turns("a", 8))
        assert restored.tip("s:neutral:s1").length == 8
        assert isinstance(restored, SqliteStore)


def test_a_full_disk_leaves_nothing_behind(
    om: Om, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from minutebook.errors import StoreFull

    def full(self: SqliteStore, path: Path) -> None:
        path.write_bytes(b"half")
        raise StoreFull(f"{path}: disk is full")

    monkeypatch.setattr(SqliteStore, "copy_to", full)
    om("backup", str(tmp_path / "b.sqlite"), code=1)
    assert not list(tmp_path.glob("*b.sqlite*"))


def test_of_a_store_on_a_server_an_export_is_written(om: Om, project: Path, redis_url: str, tmp_path: Path) -> None:
    file, back = tmp_path / "b.jsonl", tmp_path / "back.sqlite"
    with closing(open_store(redis_url)) as store:
        fill(store)
        before = dump(store)
    result = om("backup", str(file), "--store", redis_url, code=0)
    assert "written as an export; tokens, accounts and counts of runs are not in it" in result.stderr
    assert "b.jsonl: written and checked: 4 sessions, 20 source entries, " in result.stdout
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "is there already" in om("backup", str(file), "--store", redis_url, code=2).stderr
    om("import", str(file), "--store", str(back), code=0)
    with closing(open_store(str(back))) as restored:
        assert {key: value["memory"] for key, value in dump(restored)["branches"].items()} == {
            key: value["memory"] for key, value in before["branches"].items()
        }
    whole = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(whole[:5] + whole[6:]))
    assert om("backup", "--verify", str(file), code=2).stderr.startswith(f"om: {file}, line ")
