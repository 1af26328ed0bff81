"""`om purge` and `om retention`."""

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from builders import ScriptedMind, deliver, observed, remember, say
from commands import Om, data_of
from everything import CANARY, OTHER, fill, turns
from ledgers import dump

from minutebook.cli import erasing, erasing_plans
from minutebook.debuglog import DebugLog, file_name
from minutebook.errors import StoreCorrupt, StoreFull
from minutebook.hosts import bell
from minutebook.hosts.slots import Notice, put_in_slot
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import find_branch, load_branch, memory_stream
from minutebook.pipeline.compaction import compose_memory
from minutebook.pipeline.erasing import derived_of, erase_all, is_purged
from minutebook.pipeline.sessions import find_session, load_session, session_put
from minutebook.pipeline.workbook import iso_time
from minutebook.places import data_dir
from minutebook.server.tokens import create_token, token_of
from minutebook.settings import Settings
from minutebook.store.kernel import Job, Store
from minutebook.store.opening import open_store
from minutebook.store.sqlite import SqliteStore
from minutebook.workers.contract import Desk
from minutebook.workers.runner import run_job

DAY = 86_400
LATE = '{"id": "m1", "role": "user", "text": "hello"}\n'


def bytes_beside(path: Path) -> bytes:
    """Of the store's file and of all that lies beside it."""
    found = [file for beside in path.parent.glob(f"{path.name}*") for file in (beside, *beside.rglob("*"))]
    return b"".join(file.read_bytes() for file in found if file.is_file())


def test_a_dry_run_says_what_would_go_and_removes_nothing(om: Om, store: Store) -> None:
    full = fill(store)
    before = dump(store)
    said = om("purge", "--session", full.main, "--with-copies", code=0).stdout
    assert said.startswith("Would remove:\n") and said.endswith("Nothing was removed. --yes does it.\n")
    assert "4 sessions, 4 branches, 20 source entries, " in said
    assert f"\n  export /home/me/{CANARY}.jsonl of 20" in said
    assert dump(store) == before and not is_purged(store, full.main)


def test_with_yes_it_is_gone_from_every_file(om: Om, store: Store, store_path: Path) -> None:
    fill(store, "other", "Kiefer")
    alone = dump(store)
    full = fill(store)
    queue = store_path.with_name(store_path.name + ".queue")
    queue.write_bytes(CANARY.encode())
    DebugLog(True, data_dir()).row("run_started", session="s1", branch=full.main, cwd=CANARY)
    DebugLog(True, data_dir()).row("run_started", session="other", branch=OTHER)
    host, _, session = full.main.partition(":")
    bell.write_handover(str(store_path), host, session, [CANARY])
    put_in_slot(str(store_path), host, session, [Notice("1", CANARY)])
    assert CANARY.encode() in bytes_beside(store_path)
    said = om("purge", "--session", full.main, "--with-copies", "--yes", code=0).stdout
    assert said.startswith("Removed:\n") and said.endswith("Removed. The store's files were written anew.\n")
    assert CANARY.encode() not in bytes_beside(store_path)
    assert dump(store) == alone
    assert [file.name for file in (data_dir() / "debug").iterdir()] == [file_name("other").name]
    assert find_session(store, OTHER) is not None


def test_rows_of_another_session_of_that_id_stay_in_the_debug_log(om: Om, store: Store) -> None:
    deliver(store, [say("x")], "s1", "claude_code")
    deliver(store, [say("x")], "s1", "codex")
    log = DebugLog(True, data_dir())
    for host in ("claude_code", "codex", "claude_code"):
        log.row("run_started", session="s1", branch=f"{host}:s1")
    file = data_dir() / file_name("s1")
    with file.open("a") as cut:
        cut.write('{"branch": "claude_co')
    om("purge", "--session", "claude_code:s1", "--yes", code=0)
    assert [json.loads(line)["branch"] for line in file.read_text().splitlines()] == ["codex:s1"]
    assert file.stat().st_mode & 0o777 == 0o600


def test_for_programs(om: Om, store: Store) -> None:
    full = fill(store)
    found = data_of(om("purge", "--session", full.main, "--with-copies", "--json", code=0))
    assert (found["removed"], found["sources"], sorted(found["sessions"])) == (
        False,
        20,
        sorted([*full.own, *full.copies]),
    )
    assert data_of(om("purge", "--session", full.main, "--with-copies", "--json", "--yes", code=0))["removed"] is True


def test_sessions_that_copied_it_are_named_and_nothing_goes(om: Om, store: Store) -> None:
    full = fill(store)
    before = dump(store)
    result = om("purge", "--session", full.main, "--yes", code=2)
    assert result.stderr.startswith("om: 2 other sessions copied the beginning of these")
    assert all(key in result.stderr for key in full.copies) and dump(store) == before


def test_a_user_of_a_box_goes_with_all_sessions_and_tokens(om: Om, store: Store, store_path: Path) -> None:
    fill(store, host="alice~claude_code")
    fill(store, host="alicette~claude_code", word="Kiefer")
    _, text = create_token(store, "alice", [])
    _, other = create_token(store, "alicette", [])
    said = om("purge", "--user", "alice", "--with-copies", code=0).stdout
    assert ", 1 token\n" in said and "\n  the machines of alice, and of others who had it brought there\n" in said
    assert token_of(store, text, clock=store.now)
    om("purge", "--user", "alice", "--yes", code=0)
    assert token_of(store, text, clock=store.now) is None and token_of(store, other, clock=store.now)
    assert {key.partition("~")[0] for key in dump(store)["sessions"]} == {"alicette"}
    assert CANARY.encode() not in bytes_beside(store_path) and b"alice~" not in bytes_beside(store_path)


def test_a_project_by_its_folder_or_its_name(om: Om, store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (tmp_path / "link").symlink_to(folder)
    deliver(store, [say("a")], "by-folder", project=str(folder))
    deliver(store, [say("b")], "by-name", project="github.com/acme/orders")
    deliver(store, [say("c")], "elsewhere", project="github.com/acme/orders2")
    for given, key in ((str(tmp_path / "link"), "by-folder"), ("github.com/acme/orders", "by-name")):
        assert data_of(om("purge", "--project", given, "--json"))["sessions"] == [f"neutral:{key}"]
        om("purge", "--project", given, "--yes", code=0)
    assert set(dump(store)["sessions"]) == {"neutral:elsewhere"}


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        ((), 2, "om: give one of --session KEY"),
        (("--session", "a", "--user", "b"), 2, "om: give one of --session KEY"),
        (("--user", "Alice"), 2, "om: user 'Alice'"),
        (("--user", "nobody"), 1, "om: nothing to remove: no session of nobody"),
        (("--project", "nowhere", "--yes"), 1, "om: nothing to remove: no session of nowhere"),
        (("--session", "nope"), 1, "om: no session 'nope'"),
        (("--session", ""), 2, "om: --session: give a session's key"),
        (("--project", ""), 2, "om: --project: give a folder"),
        (("--forget-tombstone", "neutral:s1"), 1, "om: no tombstone of 'neutral:s1'"),
    ],
)
def test_what_cannot_be_done_is_said(om: Om, store: Store, args: tuple[str, ...], code: int, said: str) -> None:
    deliver(store, [say("one")])
    assert om("purge", *args, code=code).stderr.startswith(said)


def test_a_purged_session_is_taken_in_again_only_when_it_is_allowed(
    om: Om, store: Store, store_path: Path, tmp_path: Path
) -> None:
    file = tmp_path / "late.jsonl"
    file.write_text(LATE)
    om("ingest", str(file), code=0)
    (key,) = dump(store)["sessions"]
    om("purge", "--session", key, "--yes", code=0)
    result = om("ingest", str(file), code=0)
    assert "was removed on purpose" in result.stderr and dump(store)["sessions"] == {}
    assert f"om purge --forget-tombstone {key}" in result.stderr
    om("purge", "--forget-tombstone", key, code=0)
    om("ingest", str(file), code=0)
    assert list(dump(store)["sessions"]) == [key]


def test_the_box_that_has_it_too_is_named(om: Om, store: Store) -> None:
    branch = deliver(store, turns("a", 2))
    store.append(memory_stream(branch.key), [], advance={ledger.BOX: ledger.BOXED})
    said = om("purge", "--session", branch.key, "--set", "box_url=http://box:8765", code=0).stdout
    assert "the box http://box:8765, which has 1 of these sessions: om purge there, too" in said


def test_a_file_that_cannot_be_written_anew_is_told_and_can_be_later(
    om: Om, store: Store, store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    branch = deliver(store, turns(CANARY, 4))

    def full(_: Any) -> bool:
        raise StoreFull("disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(SqliteStore, "scrub", full)
        result = om("purge", "--session", branch.key, "--yes", code=1)
    assert "free pages of its files still hold it: disk is full; later: om purge --scrub" in result.stderr
    assert find_session(store, branch.key) is None and CANARY.encode() in bytes_beside(store_path)
    om("purge", "--scrub", code=0)
    assert CANARY.encode() not in bytes_beside(store_path)


# -- a store that becomes smaller while others have it open ----------------------------------------------------------


def checkpointed(path: Path) -> None:
    """Have all of the store in its file."""
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def test_others_go_on_with_a_file_that_was_written_anew(store: Store, store_path: Path) -> None:
    for number in range(30):
        deliver(store, turns(f"w{number}", 40), f"s{number}")
    checkpointed(store_path)
    with closing(open_store(str(store_path))) as other:
        before = store_path.stat().st_size
        erase_all(store, derived_of(store, [f"neutral:s{number}" for number in range(29)]))
        assert isinstance(store, SqliteStore) and store.scrub()
        assert store_path.stat().st_size < before / 2
        deliver(other, turns("w29", 50), "s29")
        deliver(store, turns("w29", 60), "s29")
        assert len(other.read("s:neutral:s29")) == 60


def test_a_file_that_was_cut_is_still_told(store: Store, store_path: Path) -> None:
    for number in range(5):
        deliver(store, turns(f"w{number}", 40), f"s{number}")
    assert isinstance(store, SqliteStore) and store.scrub()
    os.truncate(store_path, store_path.stat().st_size // 2)
    with pytest.raises(StoreCorrupt):
        deliver(store, turns("w", 2), "more")


def test_an_older_and_smaller_copy_in_its_place_is_still_told(store: Store, store_path: Path) -> None:
    deliver(store, turns("a", 2), "first")
    checkpointed(store_path)
    old = store_path.read_bytes()
    with closing(open_store(str(store_path))) as late:
        for number in range(20):
            deliver(late, turns(f"w{number}", 40), f"s{number}")
        assert isinstance(late, SqliteStore)
        late.scrub()
        with closing(open_store(str(store_path))) as latest:
            store_path.write_bytes(old)
            with pytest.raises(StoreCorrupt, match="became smaller"):
                deliver(latest, turns("z", 2), "more")


# -- work in hand ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fails", [False, True])
def test_a_worker_in_the_middle_of_a_job_leaves_no_trace(om: Om, store: Store, store_path: Path, fails: bool) -> None:
    """The purge comes while its mind thinks: the outcome is refused, and its last words about the branch go, too."""
    branch = deliver(store, turns(CANARY, 8))
    job = Job("observer", branch.lineage, branch.key)
    store.queue(job)

    def purged_meanwhile(batch: Any, desk: Desk) -> None:
        om("purge", "--session", branch.key, "--yes", code=0)
        if fails:
            raise ValueError(f"{CANARY} is not a word")
        row = {"content": CANARY, "timestamp": "2026-05-02 10:30", "relevance": "low", "sources": ["s1"]}
        desk.record([{**row, "sources": [batch.sources[0].alias]}])

    log = DebugLog(True, data_dir())
    ran = run_job(
        store,
        job,
        minds=lambda *_: ScriptedMind(purged_meanwhile),
        settings_for=lambda _: Settings(observe_after_tokens=10),
        owner="w",
        log=log,
    )
    assert ran.ended == "gone"
    om("purge", "--scrub", code=0)
    assert CANARY.encode() not in bytes_beside(store_path) and b"neutral:s1" not in bytes_beside(store_path)
    assert not (data_dir() / file_name("s1")).exists()
    assert (store.jobs(), store.take_dirty(9)) == ([], [])


# -- retention ---------------------------------------------------------------------------------------------------------


Aged = Callable[..., str]


@pytest.fixture
def aged(store: Store) -> Aged:
    """A session of that many days ago, with nothing left to do."""

    def make(session: str, days: float, count: int = 2) -> str:
        branch = deliver(store, turns(session, count), session)
        found = load_session(store, branch.key)
        found.touched -= days * DAY
        found.last_time = ""
        store.put(session_put(found))
        for dirty in store.take_dirty(99):
            store.settle_dirty(dirty)
        return branch.key

    return make


def test_only_what_is_old_enough_goes(om: Om, store: Store, aged: Aged) -> None:
    old, young = aged("old", 31), aged("young", 29)
    before = dump(store)
    assert "neutral:old" in om("retention", "--days", "30", code=0).stdout
    assert dump(store) == before
    said = om("retention", "--days", "30", "--yes", code=0).stdout
    assert said.endswith("Removed. The store's files were written anew.\n")
    assert list(dump(store)["sessions"]) == [young]
    stone = is_purged(store, old)
    assert stone and stone.reason == "retention"
    assert om("retention", "--days", "30", "--yes", code=0).stdout == "No session is older than 30 days.\n"


def test_days_come_from_the_settings_or_nothing_goes(om: Om, store: Store, aged: Aged) -> None:
    aged("old", 400)
    assert "retention_days is not set" in om("retention", "--yes", code=0).stderr
    assert len(dump(store)["sessions"]) == 1
    om("retention", "--yes", "--set", "retention_days=500", code=0)
    assert len(dump(store)["sessions"]) == 1
    om("retention", "--yes", "--set", "retention_days=399", code=0)
    assert dump(store)["sessions"] == {}


def test_a_family_stays_whole_while_one_of_it_is_young(om: Om, store: Store, aged: Aged) -> None:
    aged("first", 100, 4)
    deliver(store, [*turns("first", 4), say("elsewhere", id="x")], "copy")
    assert data_of(om("retention", "--days", "30", "--json", "--yes"))["sessions"] == []
    found = load_session(store, "neutral:copy")
    found.touched -= 40 * DAY
    store.put(session_put(found))
    gone = data_of(om("retention", "--days", "30", "--json", "--yes"))["sessions"]
    assert sorted(gone) == ["neutral:copy", "neutral:first"]


def test_what_is_due_at_work_or_open_stays(om: Om, store: Store, aged: Aged) -> None:
    aged("due", 100, 200)
    running, opened = load_branch(store, aged("running", 100)), load_branch(store, aged("opened", 100))
    job = Job("observer", running.lineage, running.key)
    store.queue(job)
    store.claim(job, "w", lease_seconds=60, deadline_seconds=60)
    remember(store, opened, observations=[observed("seen", sources=("opened-e0",))])
    assert compose_memory(store, opened, 2, Settings()) is not None
    found = data_of(om("retention", "--days", "30", "--json", "--yes"))
    assert found["kept"] == {"at work": 1, "with an open compaction": 1, "with work due": 1}
    assert (found["sessions"], len(dump(store)["sessions"])) == ([], 3)
    assert "kept: 1 at work, 1 with an open compaction, 1 with work due" in om("retention", "--days", "30").stdout


def test_what_moves_while_it_is_looked_at_stays(
    om: Om, store: Store, aged: Aged, monkeypatch: pytest.MonkeyPatch
) -> None:
    aged("one", 100)
    aged("two", 100)

    def plan_of(*args: Any) -> Any:
        deliver(store, turns("two", 4), "two")
        return erasing_plans.plan_of(*args)

    monkeypatch.setattr(erasing, "plan_of", plan_of)
    said = om("retention", "--days", "30", "--yes", code=0).stdout
    assert "Removed; 1 family moved meanwhile and stayed. " in said
    assert list(dump(store)["sessions"]) == ["neutral:two"]


def test_a_late_last_entry_by_the_hosts_clock_counts_and_one_to_come_does_not(om: Om, store: Store, aged: Aged) -> None:
    for session, last_time in (("late", "2100-01-01T00:00:00Z"), ("odd", "no time"), ("recent", "")):
        found = load_session(store, aged(session, 100))
        found.last_time = last_time or "2026-01-01T00:00:00Z"
        store.put(session_put(found))
    now = load_session(store, "neutral:recent")
    now.last_time = iso_time(store.now() - 5 * DAY)
    store.put(session_put(now))
    gone = data_of(om("retention", "--days", "30", "--json", "--yes"))["sessions"]
    assert sorted(gone) == ["neutral:late", "neutral:odd"]
    assert find_branch(store, "neutral:recent") is not None
