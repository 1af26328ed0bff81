"""What a purge removes: everything that rests on a session, and nothing else."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from builders import deliver, say
from everything import CANARY, SETTINGS, fill, purge, stored_bytes, turns
from ledgers import dump, take

from minutebook.errors import BadInput
from minutebook.pipeline.branches import list_branches, load_branch
from minutebook.pipeline.compaction import look_at_memory
from minutebook.pipeline.erasing import Erasure, derived_of, erase_all, families_of, is_purged
from minutebook.pipeline.exporting import list_exports, note_export, select
from minutebook.pipeline.notices import read_notices
from minutebook.pipeline.purged import (
    PURGED,
    forget_tombstone,
    keep_tombstone,
    living,
    tombstone_key,
)
from minutebook.pipeline.sessions import find_session
from minutebook.store.kernel import Store
from minutebook.store.sqlite import SqliteStore
from minutebook.workers.models_accounts import USAGE, accounts


@pytest.fixture
def store(any_store: Store) -> Store:
    return any_store


def test_nothing_of_a_purged_session_is_left_and_others_are_untouched(store: Store, any_url: str) -> None:
    fill(store, "other", "Kiefer")
    alone, text = dump(store), composed(store, "neutral:other")
    full = fill(store)
    assert stored_bytes(any_url).count(CANARY.encode()) > 100
    erasure = purge(store, full.main)
    assert sorted(erasure.sessions) == sorted([*full.own, *full.copies])
    if isinstance(store, SqliteStore):
        assert store.scrub()
    assert CANARY.encode() not in stored_bytes(any_url)
    assert b"neutral:s1" not in stored_bytes(any_url)
    assert (dump(store), composed(store, "neutral:other")) == (alone, text)
    assert {state.job.branch for state in store.jobs()} == {
        branch.key for branch in list_branches(store, "neutral:other")
    }
    for key in (*full.own, *full.copies):
        assert is_purged(store, key)
    store.close()
    assert CANARY.encode() not in stored_bytes(any_url) and b"Kiefer" in stored_bytes(any_url)


def composed(store: Store, key: str) -> str:
    found = look_at_memory(store, load_branch(store, key), 3, SETTINGS)
    assert found is not None
    return found.text


def test_the_bytes_are_there_before_the_file_is_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the test above could not fail: deleted rows stay in free pages and in the log beside the file."""
    path = tmp_path / "store.db"
    with closing(SqliteStore(path)) as store:
        full = fill(store)
        purge(store, full.main)
        assert CANARY.encode() in stored_bytes(str(path))


def test_costs_stay_counted_under_no_name(store: Store) -> None:
    full = fill(store)
    before = [(line.day, line.role, line.model, line.requests, line.cost_usd) for line in accounts(store)]
    purge(store, full.main)
    after = accounts(store)
    assert [(line.day, line.role, line.model, line.requests, line.cost_usd) for line in after] == before != []
    assert all("neutral" not in line.session for line in after)
    assert USAGE == "usage"


def test_a_notice_that_may_quote_it_is_blank_in_its_place(store: Store) -> None:
    fill(store, "other", "Kiefer")
    full = fill(store)
    purge(store, full.main)
    said = [notice.text for notice in read_notices(store)]
    assert said == ["the model said Kiefer", "about something that was purged since"]


def test_a_session_that_copied_it_is_never_left_without_what_it_reads(store: Store) -> None:
    full = fill(store)
    for copy in full.copies:
        assert not is_purged(store, copy)
    erasure = derived_of(store, [full.main])
    assert erasure.copies == tuple(sorted(full.copies))
    before = dump(store)
    with pytest.raises(BadInput, match="2 other sessions copied"):
        erase_all(store, erasure)
    assert dump(store) == before


def test_a_copy_alone_can_go_and_what_it_copied_stays(store: Store) -> None:
    full = fill(store)
    before = dump(store)
    purge(store, *full.copies, with_copies=False)
    left = dump(store)
    assert sorted(set(before["sessions"]) - set(left["sessions"])) == sorted(full.copies)
    assert left["branches"] == {key: value for key, value in before["branches"].items() if key != full.copies[0]}


def test_a_sub_agent_alone_can_go(store: Store) -> None:
    full = fill(store)
    before = dump(store)
    assert purge(store, full.own[1], with_copies=False).sessions == (full.own[1],)
    assert set(before["sessions"]) - set(dump(store)["sessions"]) == {full.own[1]}


def test_a_session_that_passed_through_another_goes_with_it(store: Store) -> None:
    """A copy that went along a fork of the copied session reads from there, too."""
    whole = [*turns("a", 4), say("back", id="b", parent="a-e1")]
    take(store, whole)
    take(store, [*whole, say("c", id="c", parent="b")], "copy")
    assert derived_of(store, ["neutral:s1"]).copies == ("neutral:copy",)


def test_families_are_what_rests_on_each_other(store: Store) -> None:
    full = fill(store)
    deliver(store, [say("alone")], "alone")
    assert sorted(families_of(store)) == [("neutral:alone",), tuple(sorted([*full.own, *full.copies]))]


def test_what_is_not_there_is_nothing(store: Store) -> None:
    assert derived_of(store, ["neutral:nobody"]) == Erasure()
    erase_all(store, Erasure())


def test_a_family_that_moved_since_it_was_looked_up_stays_when_asked(store: Store) -> None:
    deliver(store, turns("a", 2), "one")
    deliver(store, turns("b", 2), "two")
    erasure = derived_of(store, ["neutral:one", "neutral:two"])
    deliver(store, turns("a", 3), "one")
    gone = erase_all(store, erasure, reason="retention", unless_moved=True)
    assert [family.sessions for family in gone] == [("neutral:two",)]
    assert find_session(store, "neutral:one") and not is_purged(store, "neutral:one")
    stone = is_purged(store, "neutral:two")
    assert stone and stone.reason == "retention"


# -- tombstones ----------------------------------------------------------------------------------------------------


def test_a_purged_session_does_not_come_back_unasked(store: Store) -> None:
    full = fill(store)
    purge(store, full.main)
    before = dump(store)
    again = take(store, turns(CANARY, 8))
    assert (again.purged, again.new, again.branches, dump(store)) == (True, 0, (), before)
    agent = take(store, turns("x", 2), agent="one that was never seen")
    assert agent.purged and dump(store) == before
    assert len([notice for notice in read_notices(store) if "was removed on" in notice.text]) == 1 + 1
    assert not take(store, turns("y", 2), "s11").purged


def test_a_session_whose_tombstone_is_forgotten_is_taken_in_like_a_new_one(store: Store) -> None:
    full = fill(store)
    purge(store, full.main)
    assert forget_tombstone(store, full.main) and not forget_tombstone(store, full.main)
    assert take(store, turns(CANARY, 8)).new == 8
    assert load_branch(store, full.main).parent == ""


def test_a_tombstone_says_nothing_of_the_session(store: Store) -> None:
    full = fill(store)
    purge(store, full.main)
    for document in store.documents(PURGED):
        body = json.loads(document.body)
        assert len(document.key) == 32
        assert set(body) == {"v", "time", "reason", "rest"} and (body["reason"], body["rest"]) == ("purge", {})


def test_a_tombstone_of_another_store_is_kept_but_not_for_a_session_that_lives_here(store: Store) -> None:
    """Nor what was under way there: it would name sessions of this store."""
    deliver(store, turns("a", 2), "alive")
    body = {"v": 1, "time": "2026-05-02T10:30:00Z", "reason": "purge", "rest": {"sessions": ["neutral:alive"]}}
    for key in ("neutral:alive", "neutral:gone"):
        keep_tombstone(store, tombstone_key(key), body, living(store))
    assert not is_purged(store, "neutral:alive")
    stone = is_purged(store, "neutral:gone")
    assert stone and (stone.time, stone.reason, stone.rest) == ("2026-05-02T10:30:00Z", "purge", {})


def test_a_purged_session_leaves_the_notes_of_exports_that_hold_others(store: Store) -> None:
    deliver(store, turns("a", 2), "one")
    deliver(store, turns("b", 2), "two")
    note_export(store, "/all.jsonl", select(store))
    purge(store, "neutral:one")
    assert [(each.path, each.sessions) for each in list_exports(store)] == [("/all.jsonl", ("neutral:two",))]
    purge(store, "neutral:two")
    assert list_exports(store) == []
