"""The store's promises (kernel.py) as tests that every backend runs: subclass StoreContract and give the fixtures.

store: an empty store. another: a second, independently opened store on the same data. behind: reads what is stored
without the store's own code, so that a read is never checked by a write of the same backend alone.
pass_seconds: moves the store's clock. No test here is ever overridden.
"""

import pytest
from contract_board import DirtyContract, JobsContract
from contract_values import ODD_TEXTS, Behind, appended, item, items

from minutebook.store.kernel import Appended, Document, Item, Put, Stale, Store, Stored, Tip


class LogContract:
    """Promises 1 to 5 and 7, one writer at a time (test_races has the others)."""

    def test_a_stream_that_does_not_exist_is_empty(self, store: Store) -> None:
        assert store.read("s") == []
        assert store.find("s", ["a"]) == {}
        assert store.tip("s") == Tip(0, 0, {})
        assert store.total_before("s", 5) == 0

    def test_append_gives_positions_and_running_totals(self, store: Store, behind: Behind) -> None:
        """Promises 2 and 3."""
        outcome = store.append("s", [item("a", 3), item("b", 0, "note", '{"x":1}'), item("c", 5)])
        assert outcome == Appended({"a": 0, "b": 1, "c": 2}, (), Tip(3, 8, {}))
        assert behind.items("s") == [
            (0, "a", "source", 3, 3, "{}"),
            (1, "b", "note", 0, 3, '{"x":1}'),
            (2, "c", "source", 5, 8, "{}"),
        ]

    def test_reading_gives_what_was_appended(self, store: Store, another: Store) -> None:
        store.append("s", [item("a", 3), item("b", 4, "note", '"text"')])
        wanted = [Stored(0, "a", "source", 3, 3, "{}"), Stored(1, "b", "note", 4, 7, '"text"')]
        assert store.read("s") == another.read("s") == wanted
        assert store.find("s", ["b", "missing"]) == another.find("s", ["b", "missing"]) == {"b": wanted[1]}

    def test_an_id_that_is_there_is_a_reported_no_op(self, store: Store, behind: Behind) -> None:
        """Promise 1: other content under a known id changes nothing."""
        store.append("s", [item("a", 3), item("b", 4)])
        outcome = store.append("s", [item("b", 9, "note", "1"), item("c", 2), item("a", 3)])
        assert outcome == Appended({"a": 0, "b": 1, "c": 2}, ("b", "a"), Tip(3, 9, {}))
        assert [(row[1], row[3], row[4]) for row in behind.items("s")] == [("a", 3, 3), ("b", 4, 7), ("c", 2, 9)]

    def test_of_an_id_twice_in_one_append_the_first_wins(self, store: Store, behind: Behind) -> None:
        outcome = store.append("s", [item("a", 1), item("a", 7, body="[]"), item("b", 2)])
        assert outcome == Appended({"a": 0, "b": 1}, ("a",), Tip(2, 3, {}))
        assert behind.items("s")[0] == (0, "a", "source", 1, 1, "{}")

    def test_streams_do_not_touch_each_other(self, store: Store) -> None:
        store.append("s", items("a", "b"), advance={"m": 2})
        assert appended(store.append("t", items("b"))).positions == {"b": 0}
        assert store.tip("t") == Tip(1, 1, {})
        assert [stored.id for stored in store.read("s")] == ["a", "b"]

    def test_many_items_in_one_append(self, store: Store, behind: Behind) -> None:
        ids = [f"id-{number}" for number in range(1300)]
        store.append("s", items(*ids[:700]))
        outcome = appended(store.append("s", items(*ids)))
        assert len(outcome.duplicates) == 700
        assert [row[0] for row in behind.items("s")] == list(range(1300))
        assert set(store.find("s", ids)) == set(ids)

    @pytest.mark.parametrize(
        ("arguments", "ids"),
        [
            ({"start": 2}, "cde"),
            ({"start": 1, "stop": 3}, "bc"),
            ({"stop": 0}, ""),
            ({"start": 9}, ""),
            ({"limit": 2}, "ab"),
            ({"limit": 0}, ""),
            ({"reverse": True}, "edcba"),
            ({"start": 1, "stop": 4, "reverse": True, "limit": 2}, "dc"),
            ({"kinds": ["even"]}, "ace"),
            ({"kinds": ["even", "odd"], "start": 1}, "bcde"),
            ({"kinds": ["even"], "limit": 1, "reverse": True}, "e"),
            ({"kinds": []}, ""),
            ({"kinds": ["unknown"]}, ""),
        ],
    )
    def test_reading_a_part(self, store: Store, arguments: dict[str, object], ids: str) -> None:
        store.append("s", [item(id, kind=("even", "odd")[place % 2]) for place, id in enumerate("abcde")])
        assert "".join(stored.id for stored in store.read("s", **arguments)) == ids  # type: ignore[arg-type]

    def test_total_before_a_position(self, store: Store) -> None:
        """Promise 3: tokens since p is total - total_before(p)."""
        store.append("s", [item("a", 3), item("b", 0), item("c", 5)])
        assert [store.total_before("s", position) for position in range(-1, 6)] == [0, 0, 3, 3, 8, 8, 8]

    def test_marks_advance_with_the_items(self, store: Store, behind: Behind) -> None:
        outcome = appended(store.append("s", items("a"), expect={"m": 0}, advance={"m": 4, "n": 1}))
        assert outcome.tip == Tip(1, 1, {"m": 4, "n": 1}) == store.tip("s")
        outcome = appended(store.append("s", items("b"), expect={"m": 4}, advance={"m": 6}))
        assert outcome.tip.marks == store.tip("s").marks == behind.marks("s") == {"m": 6, "n": 1}

    def test_marks_advance_without_items(self, store: Store, behind: Behind) -> None:
        """Coverage of a span in which nothing was worth a record."""
        outcome = store.append("s", [], expect={"m": 0}, advance={"m": 9})
        assert outcome == Appended({}, (), Tip(0, 0, {"m": 9}))
        assert behind.marks("s") == {"m": 9}
        assert store.tip("s") == Tip(0, 0, {"m": 9})

    def test_a_moved_mark_writes_nothing(self, store: Store, another: Store, behind: Behind) -> None:
        """Promises 4 and 5."""
        store.append("s", items("a"), advance={"m": 4})
        outcome = another.append(
            "s", items("b"), expect={"m": 0}, advance={"m": 5}, dirty="d", puts=[Put("c", "k", "1")]
        )
        assert outcome == Stale("m", 0, 4)
        assert [row[1] for row in behind.items("s")] == ["a"]
        assert behind.marks("s") == {"m": 4}
        assert behind.document("c", "k") is None
        assert behind.dirty_keys() == set()
        assert store.changes("c") == 0

    def test_the_length_can_be_expected(self, store: Store, behind: Behind) -> None:
        assert isinstance(store.append("s", items("a"), expect_length=0), Appended)
        assert store.append("s", items("b"), expect_length=0, dirty="d") == Stale("length", 0, 1)
        assert isinstance(store.append("s", items("b"), expect_length=1), Appended)
        assert len(behind.items("s")) == 2
        assert behind.dirty_keys() == set()

    def test_an_old_document_version_writes_nothing(self, store: Store, behind: Behind) -> None:
        store.put(Put("c", "k", "1"))
        puts = [Put("c", "other", "1"), Put("c", "k", "2", if_version=0)]
        assert store.append("s", items("a"), advance={"m": 1}, dirty="d", puts=puts) == Stale("c/k", 0, 1)
        assert behind.items("s") == []
        assert behind.marks("s") == {}
        assert behind.document("c", "k") == (1, "1")
        assert behind.document("c", "other") is None
        assert behind.dirty_keys() == set()

    def test_items_marks_documents_and_dirty_key_are_one_write(self, store: Store, behind: Behind) -> None:
        """Promise 4."""
        puts = [Put("c", "k", "1", if_version=0), Put("c", "other", "2")]
        store.append("s", items("a"), expect={"m": 0}, expect_length=0, advance={"m": 1}, dirty="d", puts=puts)
        assert len(behind.items("s")) == 1
        assert behind.marks("s") == {"m": 1}
        assert behind.document("c", "k") == (1, "1")
        assert behind.document("c", "other") == (1, "2")
        assert behind.dirty_keys() == {"d"}
        assert store.changes("c") == 2

    def test_a_repeated_append_still_advances_puts_and_marks_dirty(self, store: Store, behind: Behind) -> None:
        store.append("s", items("a"))
        outcome = store.append("s", items("a"), advance={"m": 1}, dirty="d", puts=[Put("c", "k", "1")])
        assert outcome == Appended({"a": 0}, ("a",), Tip(1, 1, {"m": 1}))
        assert behind.marks("s") == {"m": 1}
        assert behind.document("c", "k") == (1, "1")
        assert behind.dirty_keys() == {"d"}

    def test_any_text_is_kept_exactly(self, store: Store, behind: Behind) -> None:
        for text in ODD_TEXTS:
            store.append(text, [Item(other, text, 1, "{}") for other in ODD_TEXTS], advance={text: 7}, dirty=text)
        for text in ODD_TEXTS:
            assert [stored.id for stored in store.read(text)] == ODD_TEXTS
            assert [row[1:3] for row in behind.items(text)] == [(other, text) for other in ODD_TEXTS]
            assert len(store.read(text, kinds=[text])) == len(ODD_TEXTS)
            assert set(store.find(text, ODD_TEXTS)) == set(ODD_TEXTS)
            assert store.tip(text).marks == behind.marks(text) == {text: 7}
        assert {dirty.key for dirty in store.take_dirty(99)} == behind.dirty_keys() == set(ODD_TEXTS)


class DocumentsContract:
    """Promise 9."""

    def test_a_document_is_kept_with_its_version(self, store: Store, another: Store, behind: Behind) -> None:
        assert store.get("c", "k") is None
        assert store.put(Put("c", "k", "1")) == Document("k", 1, "1")
        assert store.put(Put("c", "k", "2")) == Document("k", 2, "2")
        assert store.get("c", "k") == another.get("c", "k") == Document("k", 2, "2")
        assert behind.document("c", "k") == (2, "2")

    def test_only_the_version_that_was_read_is_replaced(self, store: Store, another: Store) -> None:
        assert store.put(Put("c", "k", "1", if_version=1)) == Stale("c/k", 1, 0)
        assert store.put(Put("c", "k", "1", if_version=0)) == Document("k", 1, "1")
        assert another.put(Put("c", "k", "x", if_version=0)) == Stale("c/k", 0, 1)
        assert another.put(Put("c", "k", "2", if_version=1)) == Document("k", 2, "2")
        assert store.put(Put("c", "k", "x", if_version=1)) == Stale("c/k", 1, 2)
        assert store.get("c", "k") == Document("k", 2, "2")

    def test_delete(self, store: Store, behind: Behind) -> None:
        assert not store.delete("c", "k")
        store.put(Put("c", "k", "1"))
        store.put(Put("c", "k", "2"))
        assert not store.delete("c", "k", if_version=1)
        assert behind.document("c", "k") == (2, "2")
        assert store.delete("c", "k", if_version=2)
        assert store.get("c", "k") is None
        assert behind.document("c", "k") is None
        assert store.put(Put("c", "k", "3", if_version=0)) == Document("k", 1, "3")

    def test_documents_of_a_collection_by_key(self, store: Store) -> None:
        for key in ("b", "a/2", "a/1", "a", "A", "a%", "é"):
            store.put(Put("c", key, "1"))
        store.put(Put("d", "a", "1"))
        assert [document.key for document in store.documents("c")] == ["A", "a", "a%", "a/1", "a/2", "b", "é"]
        assert [document.key for document in store.documents("c", "a/")] == ["a/1", "a/2"]
        assert [document.key for document in store.documents("c", "a%")] == ["a%"]
        assert store.documents("c", "z") == store.documents("none") == []

    def test_every_put_and_delete_raises_the_change_counter(self, store: Store, another: Store) -> None:
        seen = [store.changes("c")]
        store.put(Put("c", "k", "1"))
        seen.append(another.changes("c"))
        store.put(Put("c", "k", "1"))
        seen.append(another.changes("c"))
        store.append("s", [], puts=[Put("c", "other", "1")])
        seen.append(another.changes("c"))
        store.delete("c", "k")
        seen.append(another.changes("c"))
        assert seen == sorted(set(seen))
        store.put(Put("c", "other", "2", if_version=7))
        store.delete("c", "k")
        store.put(Put("d", "k", "1"))
        assert store.changes("c") == seen[-1]

    def test_any_text_is_a_collection_and_a_key(self, store: Store, behind: Behind) -> None:
        for collection in ODD_TEXTS:
            for key in ODD_TEXTS:
                store.put(Put(collection, key, '"é"'))
        for collection in ODD_TEXTS:
            assert [document.key for document in store.documents(collection)] == sorted(ODD_TEXTS)
            for key in ODD_TEXTS:
                assert store.get(collection, key) == Document(key, 1, '"é"')
                assert behind.document(collection, key) == (1, '"é"')
                wanted = sorted(other for other in ODD_TEXTS if other.startswith(key))
                assert [document.key for document in store.documents(collection, key)] == wanted


class StoreContract and give the fixtures.

store: an empty store. another: a second, independently opened store on the same data. behind: reads what is stored
without the store's own code, so that a read is never checked by a write of the same backend alone.
pass_seconds: moves the store's clock. No test here is ever overridden.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import pytest

from minutebook.store.kernel import Appended, Claim, Dirty, Document, Item, Job, Put, Stale, Store, Stored, Tip

ODD_TEXTS = [
    "",
    "é",
    "日本",
    "\0",
    "a\0b",
    "a\0c",
    "\ud800",
    "x\udfffy",
    "%",
    "_",
    "'; DROP TABLE item",
    "\U0010ffff",
    "a:b",
]
JOB = Job("observer", "lineage", "branch")


class Behind(Protocol):
    """What is stored, read without the store. Everything is plain tuples and dicts."""

    def items(self, stream: str) -> list[tuple[int, str, str, int, int, str]]:
        """(position, id, kind, weight, total, body) in order of position."""

    def marks(self, stream: str) -> dict[str, int]: ...

    def document(self, collection: str, key: str) -> tuple[int, str] | None:
        """(version, body), or None."""

    def dirty_keys(self) -> set[str]: ...

    def jobs(self) -> set[tuple[str, str, str, str, int]]:
        """(role, lineage, branch, state, tries)."""


def item(id: str, weight: int = 1, kind: str = "source", body: str = "{}") -> Item:
    return Item(id, kind, weight, body)


def items(*ids: str) -> list[Item]:
    return [item(id) for id in ids]


def appended(outcome: Appended | Stale) -> Appended:
    assert isinstance(outcome, Appended), outcome
    return outcome


def claimed(claim: Claim | None) -> Claim:
    assert claim is not None
    return claim


def take(store: Store, job: Job = JOB, *, lease_seconds: float = 60, deadline_seconds: float = 600) -> Claim | None:
    return store.claim(job, "worker", lease_seconds=lease_seconds, deadline_seconds=deadline_seconds)


class LogContract:
    """Promises 1 to 5 and 7, one writer at a time (test_races has the others)."""

    def test_a_stream_that_does_not_exist_is_empty(self, store: Store) -> None:
        assert store.read("s") == []
        assert store.find("s", ["a"]) == {}
        assert store.tip("s") == Tip(0, 0, {})
        assert store.total_before("s", 5) == 0

    def test_append_gives_positions_and_running_totals(self, store: Store, behind: Behind) -> None:
        """Promises 2 and 3."""
        outcome = store.append("s", [item("a", 3), item("b", 0, "note", '{"x":1}'), item("c", 5)])
        assert outcome == Appended({"a": 0, "b": 1, "c": 2}, (), Tip(3, 8, {}))
        assert behind.items("s") == [
            (0, "a", "source", 3, 3, "{}"),
            (1, "b", "note", 0, 3, '{"x":1}'),
            (2, "c", "source", 5, 8, "{}"),
        ]

    def test_reading_gives_what_was_appended(self, store: Store, another: Store) -> None:
        store.append("s", [item("a", 3), item("b", 4, "note", '"text"')])
        wanted = [Stored(0, "a", "source", 3, 3, "{}"), Stored(1, "b", "note", 4, 7, '"text"')]
        assert store.read("s") == another.read("s") == wanted
        assert store.find("s", ["b", "missing"]) == another.find("s", ["b", "missing"]) == {"b": wanted[1]}

    def test_an_id_that_is_there_is_a_reported_no_op(self, store: Store, behind: Behind) -> None:
        """Promise 1: other content under a known id changes nothing."""
        store.append("s", [item("a", 3), item("b", 4)])
        outcome = store.append("s", [item("b", 9, "note", "1"), item("c", 2), item("a", 3)])
        assert outcome == Appended({"a": 0, "b": 1, "c": 2}, ("b", "a"), Tip(3, 9, {}))
        assert [(row[1], row[3], row[4]) for row in behind.items("s")] == [("a", 3, 3), ("b", 4, 7), ("c", 2, 9)]

    def test_of_an_id_twice_in_one_append_the_first_wins(self, store: Store, behind: Behind) -> None:
        outcome = store.append("s", [item("a", 1), item("a", 7, body="[]"), item("b", 2)])
        assert outcome == Appended({"a": 0, "b": 1}, ("a",), Tip(2, 3, {}))
        assert behind.items("s")[0] == (0, "a", "source", 1, 1, "{}")

    def test_streams_do_not_touch_each_other(self, store: Store) -> None:
        store.append("s", items("a", "b"), advance={"m": 2})
        assert appended(store.append("t", items("b"))).positions == {"b": 0}
        assert store.tip("t") == Tip(1, 1, {})
        assert [stored.id for stored in store.read("s")] == ["a", "b"]

    def test_many_items_in_one_append(self, store: Store, behind: Behind) -> None:
        ids = [f"id-{number}" for number in range(1300)]
        store.append("s", items(*ids[:700]))
        outcome = appended(store.append("s", items(*ids)))
        assert len(outcome.duplicates) == 700
        assert [row[0] for row in behind.items("s")] == list(range(1300))
        assert set(store.find("s", ids)) == set(ids)

    @pytest.mark.parametrize(
        ("arguments", "ids"),
        [
            ({"start": 2}, "cde"),
            ({"start": 1, "stop": 3}, "bc"),
            ({"stop": 0}, ""),
            ({"start": 9}, ""),
            ({"limit": 2}, "ab"),
            ({"limit": 0}, ""),
            ({"reverse": True}, "edcba"),
            ({"start": 1, "stop": 4, "reverse": True, "limit": 2}, "dc"),
            ({"kinds": ["even"]}, "ace"),
            ({"kinds": ["even", "odd"], "start": 1}, "bcde"),
            ({"kinds": ["even"], "limit": 1, "reverse": True}, "e"),
            ({"kinds": []}, ""),
            ({"kinds": ["unknown"]}, ""),
        ],
    )
    def test_reading_a_part(self, store: Store, arguments: dict[str, object], ids: str) -> None:
        store.append("s", [item(id, kind=("even", "odd")[place % 2]) for place, id in enumerate("abcde")])
        assert "".join(stored.id for stored in store.read("s", **arguments)) == ids  # type: ignore[arg-type]

    def test_total_before_a_position(self, store: Store) -> None:
        """Promise 3: tokens since p is total - total_before(p)."""
        store.append("s", [item("a", 3), item("b", 0), item("c", 5)])
        assert [store.total_before("s", position) for position in range(-1, 6)] == [0, 0, 3, 3, 8, 8, 8]

    def test_marks_advance_with_the_items(self, store: Store, behind: Behind) -> None:
        outcome = appended(store.append("s", items("a"), expect={"m": 0}, advance={"m": 4, "n": 1}))
        assert outcome.tip == Tip(1, 1, {"m": 4, "n": 1}) == store.tip("s")
        outcome = appended(store.append("s", items("b"), expect={"m": 4}, advance={"m": 6}))
        assert outcome.tip.marks == store.tip("s").marks == behind.marks("s") == {"m": 6, "n": 1}

    def test_marks_advance_without_items(self, store: Store, behind: Behind) -> None:
        """Coverage of a span in which nothing was worth a record."""
        outcome = store.append("s", [], expect={"m": 0}, advance={"m": 9})
        assert outcome == Appended({}, (), Tip(0, 0, {"m": 9}))
        assert behind.marks("s") == {"m": 9}
        assert store.tip("s") == Tip(0, 0, {"m": 9})

    def test_a_moved_mark_writes_nothing(self, store: Store, another: Store, behind: Behind) -> None:
        """Promises 4 and 5."""
        store.append("s", items("a"), advance={"m": 4})
        outcome = another.append(
            "s", items("b"), expect={"m": 0}, advance={"m": 5}, dirty="d", puts=[Put("c", "k", "1")]
        )
        assert outcome == Stale("m", 0, 4)
        assert [row[1] for row in behind.items("s")] == ["a"]
        assert behind.marks("s") == {"m": 4}
        assert behind.document("c", "k") is None
        assert behind.dirty_keys() == set()
        assert store.changes("c") == 0

    def test_the_length_can_be_expected(self, store: Store, behind: Behind) -> None:
        assert isinstance(store.append("s", items("a"), expect_length=0), Appended)
        assert store.append("s", items("b"), expect_length=0, dirty="d") == Stale("length", 0, 1)
        assert isinstance(store.append("s", items("b"), expect_length=1), Appended)
        assert len(behind.items("s")) == 2
        assert behind.dirty_keys() == set()

    def test_an_old_document_version_writes_nothing(self, store: Store, behind: Behind) -> None:
        store.put(Put("c", "k", "1"))
        puts = [Put("c", "other", "1"), Put("c", "k", "2", if_version=0)]
        assert store.append("s", items("a"), advance={"m": 1}, dirty="d", puts=puts) == Stale("c/k", 0, 1)
        assert behind.items("s") == []
        assert behind.marks("s") == {}
        assert behind.document("c", "k") == (1, "1")
        assert behind.document("c", "other") is None
        assert behind.dirty_keys() == set()

    def test_items_marks_documents_and_dirty_key_are_one_write(self, store: Store, behind: Behind) -> None:
        """Promise 4."""
        puts = [Put("c", "k", "1", if_version=0), Put("c", "other", "2")]
        store.append("s", items("a"), expect={"m": 0}, expect_length=0, advance={"m": 1}, dirty="d", puts=puts)
        assert len(behind.items("s")) == 1
        assert behind.marks("s") == {"m": 1}
        assert behind.document("c", "k") == (1, "1")
        assert behind.document("c", "other") == (1, "2")
        assert behind.dirty_keys() == {"d"}
        assert store.changes("c") == 2

    def test_a_repeated_append_still_advances_puts_and_marks_dirty(self, store: Store, behind: Behind) -> None:
        store.append("s", items("a"))
        outcome = store.append("s", items("a"), advance={"m": 1}, dirty="d", puts=[Put("c", "k", "1")])
        assert outcome == Appended({"a": 0}, ("a",), Tip(1, 1, {"m": 1}))
        assert behind.marks("s") == {"m": 1}
        assert behind.document("c", "k") == (1, "1")
        assert behind.dirty_keys() == {"d"}

    def test_any_text_is_kept_exactly(self, store: Store, behind: Behind) -> None:
        for text in ODD_TEXTS:
            store.append(text, [Item(other, text, 1, "{}") for other in ODD_TEXTS], advance={text: 7}, dirty=text)
        for text in ODD_TEXTS:
            assert [stored.id for stored in store.read(text)] == ODD_TEXTS
            assert [row[1:3] for row in behind.items(text)] == [(other, text) for other in ODD_TEXTS]
            assert len(store.read(text, kinds=[text])) == len(ODD_TEXTS)
            assert set(store.find(text, ODD_TEXTS)) == set(ODD_TEXTS)
            assert store.tip(text).marks == behind.marks(text) == {text: 7}
        assert {dirty.key for dirty in store.take_dirty(99)} == behind.dirty_keys() == set(ODD_TEXTS)


class DocumentsContract:
    """Promise 9."""

    def test_a_document_is_kept_with_its_version(self, store: Store, another: Store, behind: Behind) -> None:
        assert store.get("c", "k") is None
        assert store.put(Put("c", "k", "1")) == Document("k", 1, "1")
        assert store.put(Put("c", "k", "2")) == Document("k", 2, "2")
        assert store.get("c", "k") == another.get("c", "k") == Document("k", 2, "2")
        assert behind.document("c", "k") == (2, "2")

    def test_only_the_version_that_was_read_is_replaced(self, store: Store, another: Store) -> None:
        assert store.put(Put("c", "k", "1", if_version=1)) == Stale("c/k", 1, 0)
        assert store.put(Put("c", "k", "1", if_version=0)) == Document("k", 1, "1")
        assert another.put(Put("c", "k", "x", if_version=0)) == Stale("c/k", 0, 1)
        assert another.put(Put("c", "k", "2", if_version=1)) == Document("k", 2, "2")
        assert store.put(Put("c", "k", "x", if_version=1)) == Stale("c/k", 1, 2)
        assert store.get("c", "k") == Document("k", 2, "2")

    def test_delete(self, store: Store, behind: Behind) -> None:
        assert not store.delete("c", "k")
        store.put(Put("c", "k", "1"))
        store.put(Put("c", "k", "2"))
        assert not store.delete("c", "k", if_version=1)
        assert behind.document("c", "k") == (2, "2")
        assert store.delete("c", "k", if_version=2)
        assert store.get("c", "k") is None
        assert behind.document("c", "k") is None
        assert store.put(Put("c", "k", "3", if_version=0)) == Document("k", 1, "3")

    def test_documents_of_a_collection_by_key(self, store: Store) -> None:
        for key in ("b", "a/2", "a/1", "a", "A", "a%", "é"):
            store.put(Put("c", key, "1"))
        store.put(Put("d", "a", "1"))
        assert [document.key for document in store.documents("c")] == ["A", "a", "a%", "a/1", "a/2", "b", "é"]
        assert [document.key for document in store.documents("c", "a/")] == ["a/1", "a/2"]
        assert [document.key for document in store.documents("c", "a%")] == ["a%"]
        assert store.documents("c", "z") == store.documents("none") == []

    def test_every_put_and_delete_raises_the_change_counter(self, store: Store, another: Store) -> None:
        seen = [store.changes("c")]
        store.put(Put("c", "k", "1"))
        seen.append(another.changes("c"))
        store.put(Put("c", "k", "1"))
        seen.append(another.changes("c"))
        store.append("s", [], puts=[Put("c", "other", "1")])
        seen.append(another.changes("c"))
        store.delete("c", "k")
        seen.append(another.changes("c"))
        assert seen == sorted(set(seen))
        store.put(Put("c", "other", "2", if_version=7))
        store.delete("c", "k")
        store.put(Put("d", "k", "1"))
        assert store.changes("c") == seen[-1]

    def test_any_text_is_a_collection_and_a_key(self, store: Store, behind: Behind) -> None:
        for collection in ODD_TEXTS:
            for key in ODD_TEXTS:
                store.put(Put(collection, key, '"é"'))
        for collection in ODD_TEXTS:
            assert [document.key for document in store.documents(collection)] == sorted(ODD_TEXTS)
            for key in ODD_TEXTS:
                assert store.get(collection, key) == Document(key, 1, '"é"')
                assert behind.document(collection, key) == (1, '"é"')
                wanted = sorted(other for other in ODD_TEXTS if other.startswith(key))
                assert [document.key for document in store.documents(collection, key)] == wanted


class DirtyContract:
    """Promise 11."""

    def test_dirty_keys_come_oldest_first_and_stay(self, store: Store, another: Store, behind: Behind) -> None:
        for key in ("b", "a", "c"):
            store.mark_dirty(key)
        assert [dirty.key for dirty in another.take_dirty(2)] == ["b", "a"]
        assert [dirty.key for dirty in store.take_dirty(9)] == ["b", "a", "c"]
        assert behind.dirty_keys() == {"a", "b", "c"}

    def test_a_settled_key_is_gone(self, store: Store, another: Store, behind: Behind) -> None:
        store.mark_dirty("a")
        (taken,) = another.take_dirty(9)
        assert store.settle_dirty(taken)
        assert not another.settle_dirty(taken)
        assert store.take_dirty(9) == []
        assert behind.dirty_keys() == set()

    def test_a_mark_that_came_between_survives(self, store: Store, another: Store, behind: Behind) -> None:
        store.mark_dirty("a")
        (taken,) = store.take_dirty(9)
        another.append("s", items("x"), dirty="a")
        assert not store.settle_dirty(taken)
        (again,) = store.take_dirty(9)
        assert again.key == "a"
        assert again.revision != taken.revision
        assert store.settle_dirty(again)
        assert behind.dirty_keys() == set()

    def test_a_revision_is_never_used_again(self, store: Store) -> None:
        """A slow dispatcher that still holds an old revision cannot settle a later mark."""
        old: list[Dirty] = []
        for _ in range(3):
            store.mark_dirty("a")
            (taken,) = store.take_dirty(9)
            assert not any(store.settle_dirty(dirty) for dirty in old)
            assert store.settle_dirty(taken)
            old.append(taken)
        store.wipe_board()
        store.mark_dirty("a")
        assert not any(store.settle_dirty(dirty) for dirty in old)


class JobsContract:
    """Promise 10."""

    def test_a_job_is_pending_at_most_once(self, store: Store, another: Store, behind: Behind) -> None:
        assert store.queue(JOB)
        assert not another.queue(JOB, delay_seconds=60)
        assert [state.job for state in store.ready(["observer"], 9)] == [JOB]
        claimed(take(store))
        assert not another.queue(JOB)
        assert behind.jobs() == {("observer", "lineage", "branch", "running", 1)}

    def test_a_claim_has_one_owner(self, store: Store, another: Store) -> None:
        assert take(store) is None
        store.queue(JOB)
        claim = claimed(store.claim(JOB, "me", lease_seconds=60, deadline_seconds=600))
        assert (claim.job, claim.owner, claim.tries) == (JOB, "me", 1)
        assert claim.deadline_at == pytest.approx(store.now() + 600, abs=5)
        assert take(another) is None
        assert store.ready(["observer"], 9) == []
        (state,) = another.jobs()
        assert (state.state, state.owner) == ("running", "me")
        assert state.lease_ends == pytest.approx(store.now() + 60, abs=5)

    def test_a_delayed_job_waits(self, store: Store, pass_seconds: Callable[[float], None]) -> None:
        store.queue(JOB, delay_seconds=30)
        assert take(store) is None
        assert store.ready(["observer"], 9) == []
        assert store.next_ready_at(["observer"]) == pytest.approx(store.now() + 30, abs=5)
        pass_seconds(31)
        assert len(store.ready(["observer"], 9)) == 1
        assert take(store)

    def test_a_finished_job_is_gone(self, store: Store, another: Store, behind: Behind) -> None:
        store.queue(JOB)
        claim = claimed(take(store))
        assert another.finish(claim)
        assert not store.finish(claim)
        assert store.jobs() == []
        assert behind.jobs() == set()
        assert store.queue(JOB)
        assert claimed(take(store)).tries == 1

    def test_a_failed_job_waits_and_keeps_its_tries(
        self, store: Store, behind: Behind, pass_seconds: Callable[[float], None]
    ) -> None:
        store.queue(JOB)
        assert store.fail(claimed(take(store)), retry_seconds=30, error="no\ud800answer")
        (state,) = store.jobs()
        assert (state.state, state.owner, state.tries, state.error) == ("pending", "", 1, "no\ud800answer")
        assert state.not_before == pytest.approx(store.now() + 30, abs=5)
        assert state.failed_at == pytest.approx(store.now(), abs=5)
        assert behind.jobs() == {("observer", "lineage", "branch", "pending", 1)}
        assert not store.queue(JOB)
        assert take(store) is None
        pass_seconds(31)
        assert claimed(take(store)).tries == 2

    def test_an_expired_lease_frees_the_job(
        self, store: Store, another: Store, pass_seconds: Callable[[float], None]
    ) -> None:
        store.queue(JOB)
        old = claimed(take(store, lease_seconds=10))
        assert store.next_ready_at(["observer"]) == pytest.approx(store.now() + 10, abs=5)
        pass_seconds(11)
        assert not store.queue(JOB)
        assert [state.job for state in store.ready(["observer"], 9)] == [JOB]
        new = claimed(take(another))
        assert new.token > old.token
        assert new.tries == 2
        assert not store.beat(old, lease_seconds=60)
        assert not store.finish(old)
        assert not store.fail(old, retry_seconds=0, error="late")
        (state,) = store.jobs()
        assert (state.state, state.error) == ("running", "")
        assert another.finish(new)

    def test_a_claim_ends_with_its_lease_though_nobody_else_came(
        self, store: Store, pass_seconds: Callable[[float], None]
    ) -> None:
        store.queue(JOB)
        claim = claimed(take(store, lease_seconds=10))
        pass_seconds(11)
        assert not store.beat(claim, lease_seconds=10)
        assert not store.fail(claim, retry_seconds=0, error="late")
        assert not store.finish(claim)
        assert len(store.ready(["observer"], 9)) == 1

    def test_a_beat_extends_the_lease(self, store: Store, pass_seconds: Callable[[float], None]) -> None:
        store.queue(JOB)
        claim = claimed(take(store, lease_seconds=10))
        for _ in range(4):
            pass_seconds(6)
            assert store.beat(claim, lease_seconds=10)
            assert take(store) is None
        assert store.finish(claim)

    def test_no_beat_passes_the_deadline(
        self, store: Store, another: Store, pass_seconds: Callable[[float], None]
    ) -> None:
        store.queue(JOB)
        claim = claimed(take(store, lease_seconds=60, deadline_seconds=20))
        assert store.jobs()[0].lease_ends == pytest.approx(claim.deadline_at)
        pass_seconds(15)
        assert store.beat(claim, lease_seconds=60)
        assert store.jobs()[0].lease_ends == pytest.approx(claim.deadline_at)
        assert take(another) is None
        pass_seconds(6)
        assert not store.beat(claim, lease_seconds=60)
        assert take(another)

    def test_a_token_is_never_used_again(self, store: Store) -> None:
        """A worker that slept through finish, wipe and queue cannot finish the job of another."""
        old: list[Claim] = []
        for wipe in (False, True, False):
            store.queue(JOB)
            claim = claimed(take(store))
            assert not any(store.beat(late, lease_seconds=1) or store.finish(late) for late in old)
            old.append(claim)
            if wipe:
                store.wipe_board()
            else:
                assert store.finish(claim)
        assert len({claim.token for claim in old}) == 3

    def test_a_token_belongs_to_its_job(self, store: Store) -> None:
        other = replace(JOB, branch="other")
        store.queue(JOB)
        store.queue(other)
        claim = claimed(take(store))
        claimed(take(store, other))
        assert not store.finish(replace(claim, job=other))
        assert store.finish(claim)

    def test_ready_is_by_role_oldest_first(self, store: Store, pass_seconds: Callable[[float], None]) -> None:
        for place, (role, branch) in enumerate([("b", "3"), ("a", "1"), ("b", "2"), ("c", "9"), ("b", "1")]):
            store.queue(Job(role, "l", branch))
            pass_seconds(place + 1)
        assert [(state.job.role, state.job.branch) for state in store.ready(["a", "b"], 3)] == [
            ("b", "3"),
            ("a", "1"),
            ("b", "2"),
        ]
        assert [state.job.role for state in store.ready(["c"], 9)] == ["c"]
        assert store.ready([], 9) == []

    def test_when_the_next_job_is_ready(self, store: Store) -> None:
        assert store.next_ready_at(["a", "b"]) is None
        store.queue(Job("a", "l", "x"), delay_seconds=90)
        store.queue(Job("b", "l", "x"), delay_seconds=40)
        assert store.next_ready_at(["a"]) == pytest.approx(store.now() + 90, abs=5)
        assert store.next_ready_at(["a", "b"]) == pytest.approx(store.now() + 40, abs=5)
        assert store.next_ready_at(["c"]) is None
        assert store.next_ready_at([]) is None

    def test_jobs_by_role_and_branch(self, store: Store) -> None:
        for role, branch in [("b", "1"), ("a", "2"), ("a", "1")]:
            store.queue(Job(role, "l", branch))
        assert [(state.job.role, state.job.branch) for state in store.jobs()] == [("a", "1"), ("a", "2"), ("b", "1")]

    def test_wiping_the_board_leaves_log_and_documents(self, store: Store, behind: Behind) -> None:
        store.append("s", items("a"), advance={"m": 1}, dirty="d", puts=[Put("c", "k", "1")])
        store.queue(JOB)
        claim = claimed(take(store))
        store.wipe_board()
        assert store.jobs() == []
        assert store.take_dirty(9) == []
        assert behind.jobs() == behind.dirty_keys() == set()
        assert not store.finish(claim)
        assert store.queue(JOB)
        assert store.tip("s") == Tip(1, 1, {"m": 1})
        assert store.get("c", "k") == Document("k", 1, "1")

    def test_any_text_names_a_job(self, store: Store, behind: Behind) -> None:
        for text in ODD_TEXTS:
            job = Job(text, text, text)
            assert store.queue(job)
            assert claimed(store.claim(job, text, lease_seconds=9, deadline_seconds=9)).job == job
        assert {(state.job.role, state.owner) for state in store.jobs()} == {(text, text) for text in ODD_TEXTS}
        assert behind.jobs() == {(text, text, text, "running", 1) for text in ODD_TEXTS}


class StoreContract(LogContract, DocumentsContract, DirtyContract, JobsContract):
    """All promises that one process can see."""
