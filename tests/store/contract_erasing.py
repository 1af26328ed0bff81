"""What erase removes, and what it leaves. Part of contract_suite.StoreContract."""

from dataclasses import replace

from contract_values import JOB, ODD_TEXTS, Behind, appended, claimed, items, take

from minutebook.store.kernel import Document, Put, Stale, Store, Tip


class EraseContract:
    def test_a_stream_is_erased_with_its_marks_and_begins_anew(
        self, store: Store, another: Store, behind: Behind
    ) -> None:
        for stream in ("s", "t"):
            store.append(stream, items("a", "b"), advance={"m": 2})
        another.erase(["s", "nowhere"])
        assert store.read("s") == behind.items("s") == []
        assert store.tip("s") == Tip(0, 0, {})
        assert behind.marks("s") == {}
        assert store.find_among(["s", "t"], ["a"])["s"] == {}
        assert store.total_before("s", 9) == 0
        assert store.tip("t") == Tip(2, 2, {"m": 2})
        assert appended(store.append("s", items("b"), expect={"m": 0}, expect_length=0)).positions == {"b": 0}
        assert [row[:2] for row in behind.items("s")] == [(0, "b")]

    def test_erased_documents_never_have_an_old_version_again(self, store: Store, another: Store) -> None:
        for body in ("1", "2", "3"):
            store.put(Put("c", "k", body))
        store.put(Put("c", "left", "1"))
        before = store.changes("c")
        another.erase([], [("c", "k"), ("c", "missing"), ("none", "k")])
        assert store.get("c", "k") is None
        assert store.documents("c") == [Document("left", 1, "1")]
        assert store.changes("c") > before
        assert store.changes("none") == 0
        assert store.put(Put("c", "k", "4", if_version=3)) == Stale("c/k", 3, 0)
        assert store.put(Put("c", "k", "4")) == Document("k", 4, "4")

    def test_what_is_written_in_place_of_what_is_erased(self, store: Store, another: Store, behind: Behind) -> None:
        for text in ODD_TEXTS:
            store.append(text, items("a"), dirty=text, puts=[Put(text, text, "1"), Put("left", text, "1")])
            store.queue(replace(JOB, branch=text))
        puts = [Put(text, f"stone of {text}", text * 400) for text in ODD_TEXTS]
        again = [Put(text, text, "2", if_version=9) for text in ODD_TEXTS[:1]]
        changes = store.changes(ODD_TEXTS[0])
        for times in (1, 2):
            another.erase(ODD_TEXTS, [(text, text) for text in ODD_TEXTS], ODD_TEXTS, [*puts, *again])
            assert store.changes(ODD_TEXTS[0]) > changes
            for put in puts:
                assert store.get(put.collection, put.key) == Document(put.key, 1 + times, put.body)
            assert store.get(ODD_TEXTS[0], ODD_TEXTS[0]) == Document(ODD_TEXTS[0], 1 + times, "2")
            assert store.get(ODD_TEXTS[1], ODD_TEXTS[1]) is None
            assert [document.version for document in store.documents("left")] == [1] * len(ODD_TEXTS)
            assert store.jobs() == [] and behind.dirty_keys() == set()

    def test_jobs_and_marks_of_a_branch_are_erased_whatever_the_role(
        self, store: Store, another: Store, behind: Behind
    ) -> None:
        other = replace(JOB, branch="other")
        jobs = [JOB, replace(JOB, role="reflector"), replace(JOB, role="digester", lineage="l2"), other]
        for job in jobs:
            store.queue(job)
        for key in ("branch", "other", "observer", "lineage"):
            store.mark_dirty(key)
        claim = claimed(take(store))
        another.erase([], branches=["branch", "nowhere"])
        assert [state.job for state in store.jobs()] == [other]
        assert behind.jobs() == {("observer", "lineage", "other", "pending", 0)}
        assert behind.dirty_keys() == {"other", "observer", "lineage"}
        assert not store.beat(claim, lease_seconds=60) and not store.finish(claim)
        assert [state.job for state in store.ready(["observer", "reflector", "digester"], 9)] == [other]
        assert store.next_ready_at(["reflector", "digester"]) is None
        assert store.queue(JOB)
        assert claimed(take(store)).token > claim.token

    def test_a_mark_made_after_an_erase_is_not_settled_by_one_from_before(self, store: Store) -> None:
        store.mark_dirty("branch")
        (old,) = store.take_dirty(9)
        store.erase([], branches=["branch"])
        store.mark_dirty("branch")
        assert not store.settle_dirty(old)
        assert [dirty.key for dirty in store.take_dirty(9)] == ["branch"]

    def test_erasing_is_one_write_that_may_come_twice(self, store: Store, another: Store, behind: Behind) -> None:
        """What retention does: many streams and documents at once."""
        names = [f"s{number}" for number in range(300)]
        for name in names:
            store.append(name, items("a"), dirty=name, puts=[Put("c", name, "1")])
        kept = names[::7]
        gone = sorted(set(names) - set(kept))
        for _ in range(2):
            another.erase(gone, [("c", name) for name in gone], gone)
            assert {document.key for document in store.documents("c")} == set(kept)
            assert behind.dirty_keys() == set(kept)
            assert [name for name in names if store.tip(name).length] == kept

    def test_erasing_nothing(self, store: Store) -> None:
        store.append("s", items("a"), dirty="s")
        store.erase([])
        assert store.tip("s") == Tip(1, 1, {})
        assert [dirty.key for dirty in store.take_dirty(9)] == ["s"]

    def test_any_text_can_be_erased(self, store: Store, behind: Behind) -> None:
        for text in ODD_TEXTS:
            store.append(text, items("a"), advance={text: 1}, dirty=text, puts=[Put(text, text, "1")])
            store.queue(replace(JOB, branch=text))
        for at, text in enumerate(ODD_TEXTS):
            store.erase([text], [(text, text)], [text])
            left = set(ODD_TEXTS[at + 1 :])
            assert {other for other in ODD_TEXTS if store.tip(other).marks} == left
            assert {other for other in ODD_TEXTS if behind.document(other, other)} == left
            assert behind.dirty_keys() == {state.job.branch for state in store.jobs()} == left
