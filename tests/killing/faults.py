"""Faults that a test plants in a child, to see that the checks find them."""

from typing import Any

from minutebook.store.kernel import Appended, Stale
from minutebook.store.sqlite import SqliteStore


def torn_append() -> None:
    """The items are one transaction, their marks, documents and dirty key another."""
    append = SqliteStore.append

    def torn(
        self: SqliteStore,
        stream: str,
        items: Any,
        *,
        expect: Any = None,
        expect_length: int | None = None,
        **rest: Any,
    ) -> Appended | Stale:
        done = append(self, stream, items, expect=expect, expect_length=expect_length)
        return done if isinstance(done, Stale) else append(self, stream, [], **rest)

    SqliteStore.append = torn  # type: ignore[method-assign]


def blind_commit() -> None:
    """A commit asks neither whether its claim still holds nor whether the mark is where it read it."""
    append = SqliteStore.append

    def blind(self: SqliteStore, stream: str, items: Any, *, expect: Any = None, **rest: Any) -> Appended | Stale:
        return append(self, stream, items, **rest)

    SqliteStore.append = blind  # type: ignore[method-assign]
    SqliteStore.beat = lambda self, claim, *, lease_seconds: True  # type: ignore[method-assign]


FAULTS = {function.__name__: function for function in (torn_append, blind_commit)}
