"""The store's file is removed, replaced, cut or overwritten while it is open."""

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from behind_sqlite import BehindSqlite
from contract_values import items
from surroundings import om, om_running, talk, until

from minutebook.errors import StoreCorrupt, StoreError, StoreGone
from minutebook.hosts.bell import wake
from minutebook.pipeline.branches import memory_stream
from minutebook.store.kernel import Put
from minutebook.store.sqlite import SqliteStore

MANY = items(*(f"id-{number:0200}" for number in range(400)))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(path, busy_seconds=1)
    opened.append("s", MANY)
    yield opened
    with suppress(StoreError):
        opened.close()


def other_store(path: Path) -> Path:
    """A closed store that holds something else."""
    with closing(SqliteStore(path)) as other:
        other.append("t", items("x", "y"))
    return path


def remove(path: Path) -> None:
    path.unlink()


def move(path: Path) -> None:
    path.rename(path.with_name("moved.db"))


def remove_folder(path: Path) -> None:
    """At once, so that nobody makes or removes a file in it meanwhile."""
    shutil.rmtree(path.parent.rename(path.parent.with_name("removed")))


def replace(path: Path) -> None:
    other_store(path.with_name("other.db")).replace(path)


WAYS = [remove, move, remove_folder, replace]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_nothing_is_written_to_what_is_not_there_any_more(
    path: Path, store: SqliteStore, way: Callable[[Path], None]
) -> None:
    """Also not by a thread that comes later, and not at the close."""
    way(path)
    for write in (lambda: store.append("s", items("late")), lambda: store.put(Put("c", "k", "{}")), store.data_version):
        with pytest.raises(StoreGone, match=r"store\.db: the store was removed or replaced while it was open"):
            write()
    told: list[BaseException] = []

    def in_a_thread() -> None:
        try:
            store.tip("s")
        except StoreError as error:
            told.append(error)

    thread = threading.Thread(target=in_a_thread)
    thread.start()
    thread.join(30)
    assert [type(error) for error in told] == [StoreGone]


class TakenAway(SqliteStore):
    """Its file is taken away right after it was seen in its place."""

    way: Callable[[Path], None] | None = None

    def check_in_place(self) -> None:
        super().check_in_place()
        if self.way is not None:
            way, self.way = self.way, None
            way(self.path)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_file_taken_away_between_a_look_and_a_new_connection_is_not_made_anew(
    path: Path, way: Callable[[Path], None]
) -> None:
    with closing(TakenAway(path, busy_seconds=1)) as store:
        store.append("s", items("x"))
        store.way = way
        told = []

        def in_a_new_thread() -> None:
            try:
                told.append(store.tip("s").length)
            except StoreError as error:
                told.append(type(error))

        thread = threading.Thread(target=in_a_new_thread)
        thread.start()
        thread.join(30)
        assert told == [StoreGone]
        assert path.exists() == (way is replace)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_whatever_sqlite_says_of_a_file_that_is_gone_it_is_gone(
    path: Path, store: SqliteStore, way: Callable[[Path], None]
) -> None:
    """What it says goes by the moment: an input or output error, no such table, a file that it cannot open."""
    with pytest.raises(StoreError, match="no such table"), store.writing() as connection:
        connection.execute("SELECT * FROM nowhere")
    gone = pytest.raises(StoreGone, match=r"store\.db: the store was removed or replaced")
    with gone, store.writing() as connection:
        way(path)
        connection.execute("SELECT * FROM nowhere")


@pytest.mark.parametrize("sidecars", [True, False])
def test_a_new_store_in_its_place_is_its_own(path: Path, store: SqliteStore, sidecars: bool) -> None:
    """The old one's -wal and -shm lie there still, and its process goes on: neither reaches the new store."""
    path.unlink()
    if not sidecars:
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink()
    with closing(SqliteStore(path, busy_seconds=1)) as new:
        assert new.tip("s").length == 0
        new.append("t", items("x"))
        with pytest.raises(StoreGone):
            store.append("s", items("late"))
        new.append("t", items("y"))
        store.close()
        new.append("t", items("z"))
        assert [row[1] for row in BehindSqlite(path).items("t")] == ["x", "y", "z"]
        assert BehindSqlite(path).items("s") == []
    assert BehindSqlite(path).checked() == "ok"


def test_another_store_in_its_place_stays_as_it_is(path: Path, store: SqliteStore, tmp_path: Path) -> None:
    other = other_store(tmp_path / "other.db")
    content = other.read_bytes()
    other.replace(path)
    with pytest.raises(StoreGone):
        store.append("s", items("late"))
    store.close()
    assert path.read_bytes() == content


def use(store: SqliteStore, *, times: int) -> None:
    for number in range(times):
        store.read("s")
        store.append("s", items(f"late {number}"))


@pytest.mark.parametrize("keep", [0, 1, 4096, 9_000])
def test_a_file_that_is_cut_while_it_is_open_is_an_error_of_ours(path: Path, store: SqliteStore, keep: int) -> None:
    store.close()
    with closing(SqliteStore(path, busy_seconds=1)) as again:
        os.truncate(path, keep)
        with pytest.raises(StoreError):
            use(again, times=200)


def test_a_file_that_is_overwritten_while_it_is_open_is_an_error_of_ours(path: Path, store: SqliteStore) -> None:
    store.close()
    with closing(SqliteStore(path, busy_seconds=1)) as again:
        size = path.stat().st_size
        with path.open("r+b") as file:
            file.write(b"rubbish " * (size // 8))
        with pytest.raises(StoreCorrupt, match=r"store\.db"):
            use(again, times=1)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_worker_whose_store_is_gone_says_so_and_ends(tmp_path: Path, way: Callable[[Path], None]) -> None:
    path = tmp_path / "data" / "store.db"
    assert om("ingest", talk(tmp_path / "s1.jsonl", 4), "--store", path).returncode == 0
    with om_running("worker", "--store", path) as working:
        until(lambda: wake(str(path)))
        way(path)
        stdout, stderr = working.communicate(timeout=60)
    assert (working.returncode, stdout) == (1, "")
    assert stderr.splitlines()[-1] == f"om: {path}: the store was removed or replaced while it was open: start again"
    assert "Traceback" not in stderr


@pytest.mark.parametrize("content", [b"", b"rubbish " * 100_000], ids=["cut", "rubbish"])
def test_a_worker_whose_store_is_spoilt_ends_with_a_line(tmp_path: Path, content: bytes) -> None:
    """At its next sweep at the latest, here after a second."""
    path = tmp_path / "store.db"
    assert om("ingest", talk(tmp_path / "s1.jsonl", 40), "--store", path).returncode == 0
    with om_running("worker", "--store", path, env={**os.environ, "MINUTEBOOK_SWEEP_SECONDS": "1"}) as working:
        until(lambda: wake(str(path)))
        path.write_bytes(content)
        wake(str(path))
        stdout, stderr = working.communicate(timeout=60)
    assert working.returncode == 1 and stdout == ""
    assert stderr.splitlines()[-1].startswith(f"om: {path}: ") and "Traceback" not in stderr


def test_a_queue_that_is_removed_or_spoilt_under_a_worker_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    assert om("ingest", talk(tmp_path / "s1.jsonl", 4), "--store", path).returncode == 0
    queue = path.with_name("store.db.queue")
    with om_running("worker", "--store", path) as working, closing(SqliteStore(path)) as store:
        until(lambda: wake(str(path)))
        for name, spoil in (("s2", lambda: queue.write_bytes(b"rubbish " * 5_000)), ("s3", queue.unlink)):
            spoil()
            assert om("ingest", talk(tmp_path / f"{name}.jsonl", 150), "--store", path).returncode == 0
            until(lambda: store.tip(memory_stream(f"neutral:{name}")).length)  # noqa: B023
        working.terminate()
        assert "Traceback" not in working.communicate(timeout=60)[1]
    assert working.returncode == 0
