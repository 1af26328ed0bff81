"""What a purge removes: everything that rests on a session, and nothing else."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from builders import concluded, deliver, observed, remember, say
from everything import CANARY, SETTINGS, fill, learn, turns
from ledgers import Breaking, Broken, dump, take

from minutebook.errors import BadInput, NotFound
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import find_branch, list_branches, load_branch, memory_stream
from minutebook.pipeline.compaction import compose_memory, look_at_memory
from minutebook.pipeline.corrections import note
from minutebook.pipeline.erasing import Erasure, derived_of, erase_all, families_of, finish_erasures, is_purged
from minutebook.pipeline.exporting import list_exports, note_export, select
from minutebook.pipeline.forks import fork_branch
from minutebook.pipeline.notices import read_notices
from minutebook.pipeline.outcomes import Entry, Outcome, Refused, commit_outcome, memory_entry
from minutebook.pipeline.purged import (
    PURGED,
    forget_tombstone,
    keep_tombstone,
    living,
    tombstone_key,
    unfinished,
)
from minutebook.pipeline.sessions import SessionMoved, find_session, load_session
from minutebook.pipeline.shapes import observation_data
from minutebook.records import OBSERVATIONS
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store
from minutebook.store.sqlite import SqliteStore
from minutebook.workers.models_accounts import USAGE, accounts

Bytes = Callable[[], bytes]


@pytest.fixture(params=["sqlite", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return request.getfixturevalue("redis_url") if request.param == "redis" else str(tmp_path / "store.db")


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with closing(open_store(url)) as opened:
        yield opened


def stored_bytes(url: str) -> bytes:
    """Every byte that a store keeps: of the files of SQLite, of the keys and values of Redis, unpacked."""
    if "://" in url:
        return redis_bytes(url)
    folder, name = Path(url).parent, Path(url).name
    return b"".join(file.read_bytes() for file in folder.glob(f"{name}*") if file.is_file())


def redis_bytes(url: str) -> bytes:
    import zlib

    import redis

    def plain(value: Any) -> Iterator[bytes]:
        if isinstance(value, (list, tuple, set)):
            for each in value:
                yield from plain(each)
        elif isinstance(value, dict):
            yield from plain([*value.items()])
        elif isinstance(value, bytes):
            yield value
            for at in [at for at in range(len(value)) if value[at : at + 1] == b"\x78"]:  # where zlib begins
                try:
                    yield zlib.decompressobj().decompress(value[at:])
                except zlib.error:
                    continue

    reads = {b"string": "get", b"hash": "hgetall", b"set": "smembers"}
    with redis.Redis.from_url(url) as client:
        found = []
        for key in client.keys("*"):
            kind = client.type(key)
            if kind in reads:
                found += [key, *plain(getattr(client, reads[kind])(key))]
            elif kind == b"list":
                found += [key, *plain(client.lrange(key, 0, -1))]
            else:
                assert kind == b"zset", kind
                found += [key, *plain(client.zrange(key, 0, -1))]
    return b"\0".join(found)


def purge(store: Store, *keys: str, with_copies: bool = True) -> Erasure:
    erasure = derived_of(store, keys, with_copies=with_copies)
    erase_all(store, erasure)
    return erasure


def test_nothing_of_a_purged_session_is_left_and_others_are_untouched(store: Store, url: str) -> None:
    fill(store, "other", "Kiefer")
    alone, text = dump(store), composed(store, "neutral:other")
    full = fill(store)
    assert stored_bytes(url).count(CANARY.encode()) > 100
    erasure = purge(store, full.main)
    assert sorted(erasure.sessions) == sorted([*full.own, *full.copies])
    if isinstance(store, SqliteStore):
        assert store.scrub()
    assert CANARY.encode() not in stored_bytes(url)
    assert b"neutral:s1" not in stored_bytes(url)
    assert (dump(store), composed(store, "neutral:other")) == (alone, text)
    assert {state.job.branch for state in store.jobs()} == {
        branch.key for branch in list_branches(store, "neutral:other")
    }
    for key in (*full.own, *full.copies):
        assert is_purged(store, key)
    store.close()
    assert CANARY.encode() not in stored_bytes(url) and b"Kiefer" in stored_bytes(url)


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


# -- deaths and races ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("after", [False, True])
def test_a_purge_that_died_at_any_call_is_done_when_done_again(tmp_path: Path, after: bool) -> None:
    template = tmp_path / "template.db"
    with closing(SqliteStore(template)) as store:
        full = fill(store)
        fill(store, "other", "Kiefer")
    calls = 0
    for at in count():
        path = tmp_path / f"{at}.db"
        path.write_bytes(template.read_bytes())
        with closing(SqliteStore(path)) as store:
            try:
                purge(Breaking(store, at, after=after), full.main)  # type: ignore[arg-type]
            except Broken:
                spent = sum(line.cost_usd for line in accounts(store))
                assert spent >= 0.5
                purge(store, full.main)
            else:
                calls = at
                break
            assert sum(line.cost_usd for line in accounts(store)) == 0.5
            assert unfinished(store) == []
            store.scrub()
            assert CANARY.encode() not in stored_bytes(str(path)), at
            assert is_purged(store, full.main)
        path.unlink()
    assert calls > 30


def test_what_a_dead_purge_left_is_removed_by_the_next_one_of_anything(store: Store, url: str) -> None:
    full = fill(store)
    erasure = derived_of(store, [full.main], with_copies=True)

    class Dying:
        def __getattr__(self, name: str) -> Any:
            return self.die if name == "erase" else getattr(store, name)

        def die(self, *args: Any) -> None:
            store.erase(*args)
            raise Broken

    with pytest.raises(Broken):
        erase_all(Dying(), erasure)  # type: ignore[arg-type]
    assert len(unfinished(store)) == 1
    assert finish_erasures(store) == 1 and finish_erasures(store) == 0
    assert unfinished(store) == []


def an_outcome(store: Store, read: int = 0) -> Outcome:
    data = {"observations": [observation_data(observed(f"{CANARY} seen late"))]}
    entry = memory_entry(Entry(kind=OBSERVATIONS, covers=2, since=0, data=data))
    return Outcome(role="observer", branch="neutral:s1", read=read, advance={ledger.OBSERVER: 2}, entries=(entry,))


def test_a_job_in_hand_commits_nothing_to_a_branch_that_is_gone(store: Store) -> None:
    """Its marks alone would not tell: a stream that was removed has those of one that is new."""
    branch = deliver(store, turns("a", 4))
    purge(store, branch.key)
    assert isinstance(commit_outcome(store, branch, an_outcome(store)), Refused)
    assert store.tip(memory_stream(branch.key)).length == 0 and store.documents("mentions") == []


class Racing:
    """A store in which something happens just before one method is called for the first time."""

    def __init__(self, store: Store, method: str, happens: Callable[[], Any]) -> None:
        self.store, self.method, self.happens = store, method, happens

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.store, name)
        if name != self.method:
            return found

        def overtaken(*args: Any, **named: Any) -> Any:
            self.method = ""
            self.happens()
            return found(*args, **named)

        return overtaken


@pytest.mark.parametrize("remembers", [False, True])
def test_a_commit_that_a_purge_overtakes_writes_nothing(store: Store, url: str, remembers: bool) -> None:
    branch = deliver(store, turns(CANARY, 4))
    if remembers:
        remember(store, branch, observations=[observed("before")], covers=1)
    racing = Racing(store, "append", lambda: purge(store, branch.key))
    outcome = an_outcome(store, read=0)
    assert isinstance(commit_outcome(racing, branch, outcome), Refused)  # type: ignore[arg-type]
    assert CANARY.encode() not in b"".join(bytes(document.body, "utf-8") for document in everything(store))
    assert store.read(memory_stream(branch.key)) == []


def everything(store: Store) -> list[Any]:
    names = ("branches", "sessions", "mentions", "checkpoint_pages", "checkpoint_links", "checkpoint_totals")
    return [document for name in (*names, "compositions", "roots") for document in store.documents(name)]


def test_a_delivery_that_a_purge_overtakes_writes_nothing(store: Store) -> None:
    take(store, turns(CANARY, 4))
    racing = Racing(store, "append", lambda: purge(store, "neutral:s1"))
    done = take(racing, turns(CANARY, 8))  # type: ignore[arg-type]
    assert done.purged and everything(store) == []


def test_a_fork_that_a_purge_overtakes_is_not_opened(store: Store) -> None:
    take(store, turns(CANARY, 4))
    learn(store, load_branch(store, "neutral:s1"), CANARY)
    racing = Racing(store, "append", lambda: purge(store, "neutral:s1"))
    owner, session = load_branch(store, "neutral:s1"), load_session(store, "neutral:s1")
    with pytest.raises(SessionMoved):
        fork_branch(racing, owner, fork=2, key="neutral:s1@x", session=session)  # type: ignore[arg-type]
    assert everything(store) == []


def test_a_note_and_a_composition_that_a_purge_overtakes_leave_nothing(store: Store) -> None:
    branch = deliver(store, turns(CANARY, 4))
    remember(store, branch, observations=[observed(CANARY)], reflections=[concluded(CANARY)], covers=3)
    racing = Racing(store, "append", lambda: purge(store, branch.key))
    with pytest.raises(NotFound):
        note(racing, branch, CANARY, timestamp="2026-05-02 10:30", time="T")  # type: ignore[arg-type]
    assert everything(store) == []
    forget_tombstone(store, branch.key)
    branch = deliver(store, turns(CANARY, 4))
    remember(store, branch, observations=[observed(CANARY)], covers=3)
    compose_memory(Racing(store, "put", lambda: purge(store, branch.key)), branch, 3, SETTINGS)  # type: ignore[arg-type]
    assert everything(store) == [] and find_branch(store, branch.key) is None


def test_what_is_written_while_a_purge_looks_is_removed_as_well(store: Store) -> None:
    """A commit that lands between the look and the removal: its documents were not on the list."""
    branch = deliver(store, turns("a", 4))
    erasure = derived_of(store, [branch.key])
    remember(store, branch, observations=[observed(CANARY)], covers=3)
    deliver(store, [*turns("a", 4), say("back", id="b", parent="a-e1")])
    erase_all(store, erasure)
    assert everything(store) == [] and list_branches(store) == []
