"""The store's promises (kernel.py) as tests that every backend runs: subclass StoreContract and give the fixtures.

store: an empty store. another: a second, independently opened store on the same data. behind: reads what is stored
without the store's own code, so that a read is never checked by a write of the same backend alone.
pass_seconds: moves the store's clock. No test here is ever overridden.
"""

import pytest
from contract_board import DirtyContract, JobsContract
from contract_erasing import EraseContract
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

    def test_finding_among_streams(self, store: Store, another: Store) -> None:
        for stream, ids in (("s", "abc"), ("t", "cd"), ("u", "a")):
            store.append(stream, items(*ids))
        found = another.find_among(["t", "s", "nowhere"], ["a", "c", "missing"])
        assert {name: {id: each.position for id, each in held.items()} for name, held in found.items()} == {
            "t": {"c": 0},
            "s": {"a": 0, "c": 2},
            "nowhere": {},
        }
        assert store.find_among([], ["a"]) == {}
        assert found["s"] == store.find("s", ["a", "c"])
        many = [f"s{number}" for number in range(1_200)]
        assert {name for name, held in store.find_among([*many, "u"], [*many, "a"]).items() if held} == {"u"}

    def test_a_stream_begins_anew_in_the_write_that_says_so(self, store: Store, another: Store, behind: Behind) -> None:
        for stream in ("s", "t"):
            store.append(stream, items("a", "b", "c"), advance={"m": 2, "n": 7})
        puts = [Put("c", "k", "1", if_version=0)]
        for stale in ({"expect": {"m": 3}}, {"expect_length": 0}, {"puts": [Put("c", "k", "1", if_version=4)]}):
            assert isinstance(another.append("s", items("x"), anew=True, **stale), Stale)  # type: ignore[arg-type]
        assert store.tip("s") == store.tip("t") == Tip(3, 3, {"m": 2, "n": 7})
        new = [item("b", 5), item("d", 2)]
        done = another.append("s", new, anew=True, expect={"m": 2}, expect_length=3, advance={"m": 1}, puts=puts)
        assert done == Appended({"b": 0, "d": 1}, (), Tip(2, 7, {"m": 1}))
        assert store.tip("s") == Tip(2, 7, {"m": 1}) and behind.marks("s") == {"m": 1}
        assert [row[:2] for row in behind.items("s")] == [(0, "b"), (1, "d")]
        assert store.find("s", ["a", "b"]).keys() == {"b"} and store.total_before("s", 1) == 5
        assert store.tip("t") == Tip(3, 3, {"m": 2, "n": 7}) and store.get("c", "k") is not None
        assert appended(store.append("s", [], anew=True)).tip == store.tip("s") == Tip(0, 0, {})
        assert appended(store.append("nowhere", items("a"), anew=True)).positions == {"a": 0}
        assert appended(store.append("s", items("a"))).positions == {"a": 0}

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

    def test_a_version_never_comes_again(self, store: Store, another: Store) -> None:
        """Who read the deleted document cannot take the new one for it."""
        for body in ("1", "2"):
            store.put(Put("c", "k", body))
        store.put(Put("c", "l", "1"))
        assert store.delete("c", "k") and store.delete("c", "l")
        assert another.put(Put("c", "k", "3", if_version=0)) == Document("k", 3, "3")
        assert store.put(Put("c", "k", "4", if_version=2)) == Stale("c/k", 2, 3)
        assert store.put(Put("d", "k", "1")) == Document("k", 1, "1")

    def test_some_documents_at_once(self, store: Store, another: Store) -> None:
        many = [f"k{at}" for at in range(1_200)]
        store.append("s", [], puts=[Put("c", key, "1") for key in many])
        store.put(Put("d", "other", "1"))
        store.put(Put("c", "\ud800", "2"))
        found = another.get_among("c", ["k7", "other", "\ud800", "missing", "k7"])
        assert found == {"k7": Document("k7", 1, "1"), "\ud800": Document("\ud800", 1, "2")}
        assert another.get_among("c", iter(many)).keys() == {*many}
        assert store.get_among("c", []) == store.get_among("none", many) == {}

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


class StoreContract(LogContract, DocumentsContract, DirtyContract, JobsContract, EraseContract):
    """All promises that one process can see."""
