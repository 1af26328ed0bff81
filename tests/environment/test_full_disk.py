"""A disk that fills up: our error, nothing half-written, and work goes on once there is space again."""

import json
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from behind_sqlite import BehindSqlite
from builders import ScriptedMind, concluded, deliver, memory_of, observed, reply
from jobs import SMALL, WAIT, Gate, engine, session_of_entries
from ledgers import dump
from surroundings import Disk, is_one_line, om, small_disk, talk, until

from minutebook.debuglog import DebugLog
from minutebook.errors import StoreFull
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import memory_stream, source_stream
from minutebook.pipeline.compaction import compose_memory, look_at_memory
from minutebook.pipeline.folds import read_proposal
from minutebook.pipeline.outcomes import Entry, Outcome, commit_outcome, memory_entry
from minutebook.pipeline.shapes import observation_data, reflection_data
from minutebook.records import OBSERVATIONS, REFLECTIONS, Branch
from minutebook.settings import Settings
from minutebook.store.codec import to_json
from minutebook.store.kernel import Put, Store
from minutebook.store.sqlite import SqliteStore

PAGE = 4096


@pytest.fixture
def disk(tmp_path: Path):  # type: ignore[no-untyped-def]
    with small_disk(tmp_path / "disk", "4m") as mounted:
        yield mounted


def test_an_ingest_that_fills_the_disk_goes_on_after_it(tmp_path: Path, disk: Disk) -> None:
    file, store = talk(tmp_path / "long.jsonl", 3_000), disk.folder / "s.sqlite"
    disk.remount("size=700k")
    assert is_one_line(om("ingest", "--store", store, file), "disk is full", "free some disk space")
    had = BehindSqlite(store).items(source_stream("neutral:long"))
    assert [row[1] for row in had] == [f"long-{at}" for at in range(len(had))]
    assert om("sessions", "--store", store).returncode == 0
    disk.remount("size=32m")
    assert om("ingest", "--store", store, file).returncode == 0
    behind = BehindSqlite(store)
    assert [row[1] for row in behind.items(source_stream("neutral:long"))] == [f"long-{at}" for at in range(3_000)]
    assert behind.checked() == "ok"


def test_a_worker_is_told_and_does_not_start_on_a_full_disk(tmp_path: Path, disk: Disk) -> None:
    store = disk.folder / "s.sqlite"
    assert om("ingest", "--store", store, talk(tmp_path / "s1.jsonl", 400)).returncode == 0
    disk.fill()
    assert is_one_line(om("worker", "--store", store, "--until-idle"), "free some disk space")
    disk.free()
    assert om("worker", "--store", store, "--until-idle").returncode == 0
    assert '"pending"' not in om("jobs", "--store", store, "--json").stdout


def test_a_worker_on_a_disk_that_filled_waits_and_records_once(disk: Disk, caplog: pytest.LogCaptureFixture) -> None:
    """Its queue is on the same disk. It says in one line a second why it waits, and is not ended by it."""
    gate = Gate()
    with closing(SqliteStore(disk.folder / "s.sqlite")) as store:
        branch = session_of_entries(store, 40)
        mind = ScriptedMind(gate)
        with engine(store, mind, replace(SMALL, lease_seconds=1)) as working:
            assert gate.entered.wait(WAIT)
            disk.fill()
            gate.open.set()
            until(lambda: any("full" in record.getMessage() for record in caplog.records))
            assert memory_of(store, branch).observed == 0 and working.failure is None
            disk.free()
            until(lambda: memory_of(store, branch).observed == 40)
            assert working.run_until_idle(WAIT)
        assert len(memory_of(store, branch).observations) == 40 and store.jobs() == []
        assert store.tip(memory_stream(branch.key)).length == 1
    assert [record.exc_info for record in caplog.records if record.exc_info] == []
    assert BehindSqlite(disk.folder / "s.sqlite").checked() == "ok"


def outcome(branch: Branch) -> Outcome:
    """A hundred records, and with them marks, dirty key and checkpoint."""
    seen = [observed(f"The parser of service {n} fails on nested lists {'again ' * 20}") for n in range(100)]
    facts = [concluded(f"Service {n} keeps its own parser", each) for n, each in enumerate(seen)]
    entries = [
        Entry(kind=OBSERVATIONS, covers=4, since=0, data={"observations": [observation_data(each) for each in seen]}),
        Entry(kind=REFLECTIONS, covers=4, since=4, data={"reflections": [reflection_data(each) for each in facts]}),
    ]
    made = tuple(memory_entry(each) for each in entries)
    return Outcome(role="observer", branch=branch.key, read=0, advance={ledger.OBSERVER: 4}, entries=made)


def session(store: Store) -> Branch:
    return deliver(store, [reply(f"entry {n}: " + "words " * 30, id=f"e{n}") for n in range(4)])


def committed(store: Store, branch: Branch) -> bool:
    try:
        commit_outcome(store, branch, outcome(branch))
    except StoreFull:
        return False
    return True


def test_a_commit_is_whole_or_not_at_all_however_little_space_there_is(disk: Disk) -> None:
    """Page by page more space, until records, coverage, dirty key and checkpoint all fit."""
    path, refused = disk.folder / "s.sqlite", 0
    with closing(SqliteStore(path)) as store:
        branch = session(store)
        before = dump(store)
        for pages in range(0, 600):
            disk.fill(leave_bytes=pages * PAGE)
            if committed(store, branch):
                break
            refused += 1
            assert dump(store) == before and store.tip(memory_stream(branch.key)).length == 0
        disk.free()
        assert refused > 2 and len(memory_of(store, branch).observations) == 100
        assert look_at_memory(store, branch, 4, Settings()) is not None
    assert BehindSqlite(path).checked() == "ok"


def use_up(store: Store) -> None:
    """What is still free inside the files, by writes that become smaller."""
    for size in (20_000, 5_000, 1_000):
        with suppress(StoreFull):
            for number in range(500):
                store.put(Put("filling", f"{size} {number}", to_json("x" * size)))
    for number in range(500):
        store.put(Put("filling", f"{number}", "1"))


def test_a_compaction_that_cannot_be_proposed_changes_nothing(disk: Disk) -> None:
    with closing(SqliteStore(disk.folder / "s.sqlite")) as store:
        branch = session(store)
        commit_outcome(store, branch, outcome(branch))
        wanted = look_at_memory(store, branch, 4, Settings())
        disk.fill()
        with pytest.raises(StoreFull):
            use_up(store)
        with pytest.raises(StoreFull):
            compose_memory(store, branch, 4, Settings())
        assert read_proposal(store, branch) is None
        assert look_at_memory(store, branch, 4, Settings()) == wanted
        disk.free()
        assert compose_memory(store, branch, 4, Settings()) == wanted


def test_a_debug_log_on_a_full_disk_is_no_harm(disk: Disk) -> None:
    log = DebugLog(True, disk.folder)
    log.row("first", session="s1")
    disk.fill()
    for _ in range(50):
        log.row("lost", session="s1", data={"numbers": list(range(200))})
    disk.free()
    log.row("last", session="s1")
    lines = (disk.folder / "debug" / "s1.ndjson").read_text().splitlines()
    assert json.loads(lines[0])["event"] == "first" and json.loads(lines[-1])["event"] == "last"


def test_a_disk_without_any_space_has_no_new_store(tmp_path: Path, disk: Disk) -> None:
    disk.fill()
    store = disk.folder / "new.sqlite"
    assert is_one_line(om("ingest", "--store", store, talk(tmp_path / "s1.jsonl", 4)), "full")
    disk.free()
    assert om("ingest", "--store", store, talk(tmp_path / "s1.jsonl", 4)).returncode == 0
