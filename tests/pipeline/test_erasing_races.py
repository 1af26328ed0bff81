"""Deaths of a purge, and what others have in hand meanwhile."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from builders import concluded, deliver, observed, remember, say
from everything import CANARY, SETTINGS, fill, learn, purge, server_client, turns
from ledgers import Breaking, Broken, take

from minutebook.errors import NotFound, StoreFull
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import find_branch, list_branches, load_branch, memory_stream
from minutebook.pipeline.compaction import compose_memory
from minutebook.pipeline.corrections import note
from minutebook.pipeline.erasing import derived_of, erase_all, finish_erasures, is_purged
from minutebook.pipeline.forks import fork_branch
from minutebook.pipeline.notices import read_notices
from minutebook.pipeline.outcomes import Entry, Outcome, Refused, commit_outcome, memory_entry
from minutebook.pipeline.purged import (
    forget_tombstone,
    unfinished,
)
from minutebook.pipeline.sessions import SessionMoved, find_session, load_session
from minutebook.pipeline.shapes import observation_data
from minutebook.records import OBSERVATIONS
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store
from minutebook.store.sqlite import SqliteStore
from minutebook.workers.models_accounts import accounts


@pytest.fixture
def store(any_store: Store) -> Store:
    return any_store


def rows_of(path: Path) -> Iterator[str]:
    """Everything in a SQLite store, its free pages aside."""
    with closing(sqlite3.connect(path)) as raw:
        yield from raw.iterdump()


def test_a_purge_that_died_at_any_call_is_done_when_done_again(tmp_path: Path) -> None:
    """Before each call; after one is before the next."""
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
                purge(Breaking(store, at, after=False), full.main)  # type: ignore[arg-type]
            except Broken:
                spent = sum(line.cost_usd for line in accounts(store))
                assert spent == 0.5
                purge(store, full.main)
            else:
                calls = at
                break
            assert sum(line.cost_usd for line in accounts(store)) == 0.5
            assert unfinished(store) == []
            assert CANARY not in "".join(rows_of(path)), at
            assert is_purged(store, full.main)
        path.unlink()
    assert calls > 30


def test_what_a_dead_purge_left_is_removed_by_the_next_one_of_anything(store: Store, any_url: str) -> None:
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
def test_a_commit_that_a_purge_overtakes_writes_nothing(store: Store, any_url: str, remembers: bool) -> None:
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


def fill_up(store: Store) -> None:
    for number in range(10_000):
        deliver(store, turns(f"more{number}", 20), "big")


def test_a_full_server_can_be_purged(new_redis_server: Callable[..., Any]) -> None:
    """It takes nothing else, but the tombstone comes with the removal; and notices of others stay."""
    server = new_redis_server(["--maxmemory-policy", "noeviction"])
    with closing(open_store(server.url)) as store, server_client(server.url) as client:
        full = fill(store)
        client.config_set("maxmemory", client.info("memory")["used_memory"] + 300_000)
        with pytest.raises(StoreFull):
            fill_up(store)
        client.config_set("maxmemory", "1mb")
        told = [each.text for each in read_notices(store)]
        spent = sum(line.cost_usd for line in accounts(store))
        erase_all(store, derived_of(store, ["neutral:big"]))
        assert [each.text for each in read_notices(store)] == told
        erase_all(store, derived_of(store, [full.main], with_copies=True))
        assert [each.text for each in read_notices(store)] == ["about something that was purged since"] * len(told)
        assert sum(line.cost_usd for line in accounts(store)) == spent and unfinished(store) == []
        assert is_purged(store, full.main) and find_session(store, full.main) is None
        client.config_set("maxmemory", "0")
        assert is_purged(store, "neutral:big") and find_session(store, "neutral:big") is None
        deliver(store, turns("room", 2), "room")
