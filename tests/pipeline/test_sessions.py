"""What is known of a host's session."""

import pytest
from ledgers import take, turns

from minutebook.errors import NotFound
from minutebook.pipeline.deliveries import SessionHead
from minutebook.pipeline.sessions import (
    BROKEN_SHOWN,
    list_sessions,
    load_session,
    new_session,
    session_key,
    session_put,
    shortened,
)
from minutebook.store.kernel import Stale, Store

COUNTS = {"unknown": {"x": 2}, "skipped": {"y": 1}, "broken": [7]}


def test_a_key_names_host_session_and_agent() -> None:
    head = SessionHead(host="pi", session="a")
    assert session_key(head) == "pi:a"
    assert session_key(SessionHead(host="pi", session="a", agent="b")) == "pi:a/b"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("", ""),
        ("  two\n words ", "two words"),
        ("x" * 80, "x" * 80),
        ("x" * 81, "x" * 79 + "…"),
        ("x" * 78 + " and more", "x" * 78 + "…"),
    ],
)
def test_a_title_is_a_plain_cut(text: str, title: str) -> None:
    assert shortened(text) == title


def test_counts_of_readings_add_up(store: Store) -> None:
    take(store, turns(1), **COUNTS, cursor={"offset": 5})
    take(store, turns(1, 1), **COUNTS, cursor={"offset": 9})
    session = load_session(store, "neutral:s1")
    assert (session.unknown, session.skipped, session.broken, session.broken_count) == ({"x": 4}, {"y": 2}, [7, 7], 2)
    assert session.cursor == {"offset": 9}


def test_a_reading_that_is_delivered_twice_is_counted_once(store: Store) -> None:
    for _ in range(2):
        take(store, turns(1), **COUNTS, cursor={"offset": 5})
    assert load_session(store, "neutral:s1").unknown == {"x": 2}


def test_a_replaced_file_is_counted_anew(store: Store) -> None:
    take(store, turns(1), **COUNTS, cursor={"offset": 5})
    take(store, turns(1), **COUNTS, cursor={"offset": 6}, replaced=True)
    session = load_session(store, "neutral:s1")
    assert (session.replaced, session.unknown, session.broken_count) == (1, {"x": 2}, 1)


def test_broken_lines_are_all_counted_and_the_first_are_shown(store: Store) -> None:
    take(store, turns(1), broken=list(range(100)), cursor={"offset": 5})
    session = load_session(store, "neutral:s1")
    assert (session.broken, session.broken_count) == (list(range(BROKEN_SHOWN)), 100)


def test_a_session_is_written_only_as_it_was_read(store: Store) -> None:
    fresh = new_session(SessionHead(host="pi", session="a"), path="", zone="Europe/Vienna")
    assert fresh.zone == "Europe/Vienna"
    assert not isinstance(store.put(session_put(fresh)), Stale)
    assert isinstance(store.put(session_put(fresh)), Stale)
    read = load_session(store, "pi:a")
    assert not isinstance(store.put(session_put(read)), Stale)


def test_the_one_touched_last_comes_first(store: Store) -> None:
    for name in ("b", "a"):
        take(store, turns(1), name)
    for key, touched in (("neutral:a", 1.0), ("neutral:b", 2.0)):
        session = load_session(store, key)
        session.touched = touched
        store.put(session_put(session))
    assert [session.session for session in list_sessions(store)] == ["b", "a"]


def test_an_unknown_session(store: Store) -> None:
    with pytest.raises(NotFound, match="om sessions"):
        load_session(store, "nobody")
