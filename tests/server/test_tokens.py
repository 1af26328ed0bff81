"""Tokens: kept as a hash, bound to a user and projects, of no use once they are expired or revoked."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from memories import Clock

from minutebook.errors import BadInput, NotFound
from minutebook.server.tokens import (
    SHARES,
    TOKENS,
    covers,
    create_token,
    list_tokens,
    revoke_token,
    share,
    shared_projects,
    token_of,
    unshare,
)
from minutebook.store.kernel import Store
from minutebook.store.sqlite import SqliteStore


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    opened = SqliteStore(tmp_path / "box.sqlite", clock=clock)
    yield opened
    opened.close()


def test_a_token_is_found_by_its_text_and_the_store_keeps_none_of_it(store: Store, clock: Clock) -> None:
    made, text = create_token(store, "alice", ["github.com/acme/*"])
    assert token_of(store, text, clock=clock) == made
    assert text.startswith(f"mb_{made.id}_")
    (document,) = store.documents(TOKENS)
    assert text.removeprefix(f"mb_{made.id}_") not in document.body
    assert "alice" in document.body


def test_two_tokens_differ(store: Store) -> None:
    assert len({create_token(store, "alice", [])[1] for _ in range(20)}) == 20


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-1] + ("A" if text[-1] != "A" else "B"),
        lambda text: text + "A",
        lambda text: text[:-1],
        lambda text: text.upper(),
        lambda text: f" {text}",
        lambda text: f"{text}\n",
        lambda text: "mb_000000000000_" + text[16:],
        lambda text: "",
        lambda text: "mb__",
        lambda text: text.replace("_", "-", 2),
        lambda text: text[:16] + "é" * 43,
        lambda text: text[:16],
    ],
)
def test_any_other_text_is_no_token(store: Store, clock: Clock, change: object) -> None:
    _, text = create_token(store, "alice", [])
    assert callable(change)
    assert token_of(store, change(text), clock=clock) is None


def test_a_token_expires(store: Store, clock: Clock) -> None:
    made, text = create_token(store, "alice", [], days=2)
    clock.now += 2 * 86_400 - 1
    assert token_of(store, text, clock=clock) == made
    clock.now += 1
    assert token_of(store, text, clock=clock) is None


def test_a_revoked_token_is_of_no_use_at_once_and_stays_listed(store: Store, clock: Clock) -> None:
    made, text = create_token(store, "alice", [])
    revoked, listed = revoke_token(store, made.id)
    assert token_of(store, text, clock=clock) is None
    assert listed and list_tokens(store) == [revoked]
    assert revoke_token(store, made.id) == (revoked, True)  # once more changes nothing


def test_a_token_that_is_not_there_cannot_be_revoked(store: Store) -> None:
    with pytest.raises(NotFound, match="om token list"):
        revoke_token(store, "000000000000")


@pytest.mark.parametrize(
    ("patterns", "project", "covered"),
    [
        (["*"], "anything/at.all", True),
        (["github.com/acme/*"], "github.com/acme/orders", True),
        (["github.com/acme/*"], "github.com/acme", False),
        (["github.com/acme/*"], "github.com/acme2/orders", False),
        (["*/orders"], "github.com/acme/orders", True),
        (["*/orders"], "github.com/acme/orders2", False),
        (["a*c*e"], "abcde", True),
        (["a*c*e"], "abde", False),
        (["a.c"], "abc", False),
        (["orders"], "orders", True),
        (["orders"], "Orders", False),
        (["x", "orders"], "orders", True),
        ([], "orders", False),
    ],
)
def test_patterns_of_projects(patterns: list[str], project: str, covered: bool) -> None:
    assert covers(patterns, project) is covered


def test_a_token_without_projects_is_for_all(store: Store) -> None:
    assert create_token(store, "alice", [])[0].covers("github.com/acme/orders")


@pytest.mark.parametrize(
    "user", ["", "Alice", "al ice", "a~b", "../x", "-a", "a" * 65, "älice", "alice\n", "a/b", "a:b"]
)
def test_users_that_cannot_be(store: Store, user: str) -> None:
    with pytest.raises(BadInput, match="user"):
        create_token(store, user, [])


@pytest.mark.parametrize("project", ["", "../x", "a/../b", "/abs", "a b", "a\n", "[ab]", "a?", "x" * 201])
def test_projects_that_cannot_be(store: Store, project: str) -> None:
    with pytest.raises(BadInput, match="project"):
        create_token(store, "alice", [project])
    with pytest.raises(BadInput, match="project"):
        share(store, project)


@pytest.mark.parametrize("days", [0, -1, 10**9])
def test_days_that_cannot_be(store: Store, days: int) -> None:
    with pytest.raises(BadInput, match="days"):
        create_token(store, "alice", [], days=days)


def test_projects_are_shared_and_not_any_more(store: Store) -> None:
    share(store, "orders")
    share(store, "orders")
    share(store, "bills")
    assert shared_projects(store) == ["bills", "orders"]
    assert unshare(store, "orders") and not unshare(store, "orders")
    assert [document.key for document in store.documents(SHARES)] == ["bills"]
