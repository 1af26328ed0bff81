"""A store that may not be written can be looked at; what would write says so in one line."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from behind_sqlite import BehindSqlite
from commands import run
from surroundings import Disk, Done, is_one_line, om, open_folder, small_disk, talk, without_rights

LOOKS = (
    ["status"],
    ["view", "--full"],
    ["compact"],
    ["sessions"],
    ["jobs"],
    ["search", "port"],
    ["search", "--judge", "port"],
)
KILLED_WRITER = """
import os, sys
from minutebook.store.kernel import Put
from minutebook.store.opening import open_store
store = open_store(sys.argv[1])
store.put(Put("sessions", "neutral:late", '{"key": "neutral:late", "host": "neutral", "session": "late"}'))
os.kill(os.getpid(), 9)
"""


def made(folder: Path) -> Path:
    """A store with one session and its memory."""
    store = folder / "s.sqlite"
    done = om("ingest", "--wait", "--store", store, talk(folder / "s1.jsonl", 60))
    assert done.returncode == 0, done.stderr
    return store


def an_id(store: Path) -> str:
    """Of a record of it."""
    return om("view", "--full", "--store", store).stdout.partition("\n[")[2][:12]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    with small_disk(tmp_path / "disk", "8m") as mounted:
        yield mounted


def test_a_store_on_a_read_only_disk_can_be_looked_at(disk: Disk) -> None:
    store = made(disk.folder)
    looks = [*LOOKS, ["recall", an_id(store)]]
    before = [om(*look, "--store", store).stdout for look in looks]
    disk.remount("ro")
    for look, wanted in zip(looks, before, strict=True):
        done = om(*look, "--store", store)
        judged = "--judge" in look
        assert (done.returncode, done.stdout == wanted or judged) == (0, True), (look, done.stderr)
    assert "not judged, so in the order of the search: " in om("search", "--judge", "port", "--store", store).stderr


def test_a_store_on_a_read_only_disk_refuses_a_write_in_one_line(disk: Disk) -> None:
    store = made(disk.folder)
    (disk.folder / "s.sqlite.queue").unlink()
    new = talk(disk.folder / "new.jsonl", 4)
    disk.remount("ro")
    for write in (["note", "hi"], ["worker", "--until-idle"], ["ingest", new], ["replay", new]):
        assert is_one_line(om(*write, "--store", store)), write
    assert is_one_line(om("ingest", new, "--store", disk.folder / "other.sqlite"), "Read-only file system")
    doctor = om("doctor", "--store", store)
    assert doctor.returncode == 1 and "can be looked at and not be written" in doctor.stdout
    disk.remount("rw")
    assert om("note", "hi", "--store", store).returncode == 0 and BehindSqlite(store).checked() == "ok"


def killed_writer(store: Path) -> None:
    """What it wrote waits in the -wal beside the store."""
    done = subprocess.run([sys.executable, "-c", KILLED_WRITER, str(store)])
    assert done.returncode == -signal.SIGKILL and store.with_name("s.sqlite-wal").stat().st_size


def test_what_a_killed_writer_left_in_the_wal_is_seen(disk: Disk) -> None:
    store = made(disk.folder)
    killed_writer(store)
    disk.remount("ro")
    done = om("sessions", "--json", "--store", store)
    assert done.returncode == 0 and "neutral:late" in done.stdout


def test_a_wal_that_cannot_be_read_is_one_line_and_not_left_out(disk: Disk) -> None:
    store = made(disk.folder)
    killed_writer(store)
    store.with_name("s.sqlite-shm").unlink()
    disk.remount("ro")
    assert is_one_line(om("sessions", "--store", store), "s.sqlite", "may write there")


def test_somebody_else_s_store_can_be_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder and a file without the right to write, and then without the right to read."""
    with open_folder() as folder:
        store = made(folder)
        monkeypatch.setenv("HOME", str(folder))
        for command in (*LOOKS, ["note", "hi"], ["worker", "--until-idle"], ["doctor"]):
            run(*command, "--store", str(store))  # while the modules that they load can be read
        (folder / "s.sqlite.wake").unlink()
        store.chmod(0o444)
        folder.chmod(0o555)
        with without_rights():
            for look in LOOKS:
                run(*look, "--store", str(store), code=0)
            for write in (["note", "hi"], ["worker", "--until-idle"]):
                result = run(*write, "--store", str(store), code=1)
                assert result.stderr.count("\n") == 1 and "writ" in result.stderr
            assert run("doctor", "--store", str(store), code=1).stdout.count("✗ store ") == 1
        store.chmod(0o000)
        with without_rights():
            for command in (*LOOKS, ["note", "hi"]):
                result = run(*command, "--store", str(store), code=1)
                assert result.stderr.startswith(f"om: {store}: ") and result.stderr.count("\n") == 1
        folder.chmod(0o755)
        store.chmod(0o600)
        assert BehindSqlite(store).checked() == "ok"


def test_a_home_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    with small_disk(tmp_path / "ro", "1m") as disk:
        disk.remount("ro")
        home = {"HOME": str(disk.folder), "MINUTEBOOK_STORE": None}
        file = talk(tmp_path / "s1.jsonl", 4)

        def at_home(*arguments: object) -> Done:
            return om(*arguments, env=home)

        for command in (["ingest", file], ["worker", "--until-idle"]):
            assert is_one_line(at_home(*command), "Read-only file system"), command
        for looking in ("status", "sessions", "settings"):
            assert at_home(looking).returncode == 0, looking
        doctor = at_home("doctor")
        assert doctor.returncode == 1 and "Traceback" not in doctor.stderr
        (named,) = [line for line in doctor.stdout.splitlines() if "✗ data folder" in line]
        assert f"{disk.folder}: cannot be written" in named
        assert at_home("replay", file).returncode == 0, "its store is a temporary one"
        assert at_home("ingest", file, "--store", tmp_path / "named.sqlite").returncode == 0
        assert list(disk.folder.iterdir()) == []
