"""A store against plain dicts: random operations through two connections, compared after each step.

A backend subclasses StoreMachine (test_stateful.py).

The oracle shares no helper with the store: it is lists, dicts and sentences of kernel.py written out again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from minutebook.store.kernel import Appended, Claim, Dirty, Document, Item, Job, Put, Stale, Store

STREAMS = st.sampled_from(["s", "t", "s\ud800"])
IDS = st.sampled_from(["a", "b", "c", "d", "e", "f", "g", "\0", "\udc00"])
KINDS = st.sampled_from(["source", "note"])
ITEMS = st.lists(st.builds(Item, IDS, KINDS, st.integers(0, 9), st.sampled_from(["{}", "[1]"])), max_size=5)
NAMES = st.sampled_from(["m", "n"])
MARKS = st.dictionaries(NAMES, st.integers(0, 2), max_size=2)
COLLECTIONS = st.sampled_from(["c", "d"])
KEYS = st.sampled_from(["k", "k/1", "j"])
VERSIONS = st.none() | st.integers(0, 3)
PUTS = st.builds(Put, COLLECTIONS, KEYS, st.sampled_from(["1", "2"]), VERSIONS)
DIRTY = st.sampled_from(["x", "y", "z"])
JOBS = st.builds(Job, st.sampled_from(["observer", "reflector"]), st.just("l"), st.sampled_from(["1", "2"]))
BRANCHES = st.sampled_from(["x", "y", "1", "2"])
SECONDS = st.sampled_from([0, 1, 5, 20])
EITHER = st.integers(0, 1)


@dataclass
class ModelJob:
    """A job as the promises describe it. token: of the claim that holds it, None while pending."""

    not_before: float
    token: int | None = None
    lease_ends: float = 0.0
    deadline_at: float = 0.0
    tries: int = 0
    error: str = ""

    def is_ready(self, now: float) -> bool:
        return self.not_before <= now if self.token is None else self.lease_ends <= now

    def is_held(self, claim: Claim, now: float) -> bool:
        return self.token == claim.token and now < self.lease_ends


@dataclass
class ModelStream:
    items: list[Item] = field(default_factory=list)
    marks: dict[str, int] = field(default_factory=dict)


class StoreMachine(RuleBasedStateMachine):
    """begin: an empty store, wherever it is. opened: the store once more, with the clock `self.now`. end: clean up."""

    stores: Sequence[Store] = ()

    def begin(self) -> None:
        raise NotImplementedError

    def opened(self) -> Store:
        raise NotImplementedError

    def end(self) -> None:
        raise NotImplementedError

    @initialize()
    def open(self) -> None:
        self.begin()
        self.now = 1000.0
        self.stores = [self.opened(), self.opened()]
        self.streams: dict[str, ModelStream] = {}
        self.documents: dict[tuple[str, str], tuple[int, str]] = {}
        self.changes: dict[str, int] = {"c": 0, "d": 0}
        self.floors: dict[str, int] = {"c": 0, "d": 0}
        self.dirty: list[str] = []  # oldest mark first
        self.taken: list[tuple[Dirty, bool]] = []  # what was taken, and whether it is still the last mark
        self.jobs: dict[Job, ModelJob] = {}
        self.claims: list[Claim] = []

    def teardown(self) -> None:
        for store in self.stores:
            store.close()
        if self.stores:
            self.end()

    @rule(which=EITHER)
    def reopen(self, which: int) -> None:
        self.stores[which].close()
        self.stores = [self.opened() if which == place else store for place, store in enumerate(self.stores)]

    # The log

    def model_stale(self, stream: ModelStream, expect: dict[str, int], length: int | None, puts: list[Put]) -> object:
        for name, value in expect.items():
            if stream.marks.get(name, 0) != value:
                return Stale(name, value, stream.marks.get(name, 0))
        if length is not None and length != len(stream.items):
            return Stale("length", length, len(stream.items))
        for put in puts:
            found = self.documents.get((put.collection, put.key), (0, ""))[0]
            if put.if_version not in (None, found):
                return Stale(f"{put.collection}/{put.key}", put.if_version or 0, found)
        return None

    def model_put(self, put: Put) -> None:
        before = self.documents.get((put.collection, put.key), (self.floors[put.collection], ""))
        version = before[0] + 1
        self.documents[put.collection, put.key] = (version, put.body)
        self.changes[put.collection] += 1

    def model_delete(self, collection: str, key: str) -> None:
        if (collection, key) in self.documents:
            gone, _ = self.documents.pop((collection, key))
            self.floors[collection] = max(self.floors[collection], gone)
            self.changes[collection] += 1

    def model_dirty(self, key: str) -> None:
        self.dirty = [other for other in self.dirty if other != key] + [key]
        self.taken = [(taken, current and taken.key != key) for taken, current in self.taken]

    @rule(
        which=EITHER,
        name=STREAMS,
        items=ITEMS,
        expect=MARKS,
        right=st.booleans(),
        length=st.none() | st.integers(0, 4),
        advance=MARKS,
        dirty=st.none() | DIRTY,
        puts=st.lists(PUTS, max_size=2, unique_by=lambda put: (put.collection, put.key)),
    )
    def append(
        self,
        which: int,
        name: str,
        items: list[Item],
        expect: dict[str, int],
        right: bool,
        length: int | None,
        advance: dict[str, int],
        dirty: str | None,
        puts: list[Put],
    ) -> None:
        stream = self.streams.get(name, ModelStream())
        if right:  # what is expected at random is seldom so
            expect = {mark: stream.marks.get(mark, 0) for mark in expect}
            length = None if length is None else len(stream.items)
            puts = [replace(put, if_version=None) for put in puts]
        outcome = self.stores[which].append(
            name, items, expect=expect, expect_length=length, advance=advance, dirty=dirty, puts=puts
        )
        stale = self.model_stale(stream, expect, length, puts)
        if stale:
            assert outcome == stale
            return
        assert isinstance(outcome, Appended)
        duplicates = []
        for item in items:
            if item.id in [held.id for held in stream.items]:
                duplicates.append(item.id)
            else:
                stream.items.append(item)
        stream.marks.update(advance)
        self.streams[name] = stream
        for put in puts:
            self.model_put(put)
        if dirty is not None:
            self.model_dirty(dirty)
        places = {held.id: place for place, held in enumerate(stream.items)}
        assert outcome.positions == {item.id: places[item.id] for item in items}
        assert list(outcome.duplicates) == duplicates
        assert (outcome.tip.length, outcome.tip.marks) == (len(stream.items), stream.marks)

    @rule(
        which=EITHER,
        name=STREAMS,
        start=st.integers(0, 6),
        stop=st.none() | st.integers(0, 9),
        kinds=st.none() | st.lists(KINDS, max_size=2),
        limit=st.none() | st.integers(0, 4),
        reverse=st.booleans(),
    )
    def read(
        self,
        which: int,
        name: str,
        start: int,
        stop: int | None,
        kinds: list[str] | None,
        limit: int | None,
        reverse: bool,
    ) -> None:
        held = list(enumerate(self.streams.get(name, ModelStream()).items))[start:stop]
        wanted = [(place, item.id) for place, item in held if kinds is None or item.kind in kinds]
        wanted = (wanted[::-1] if reverse else wanted)[:limit]
        found = self.stores[which].read(name, start, stop, kinds=kinds, limit=limit, reverse=reverse)
        assert [(stored.position, stored.id) for stored in found] == wanted

    @rule(which=EITHER, name=STREAMS, ids=st.lists(IDS, max_size=4))
    def find(self, which: int, name: str, ids: list[str]) -> None:
        held = {item.id: place for place, item in enumerate(self.streams.get(name, ModelStream()).items)}
        found = self.stores[which].find(name, ids)
        assert {id: stored.position for id, stored in found.items()} == {id: held[id] for id in ids if id in held}

    @invariant()
    def streams_agree(self) -> None:
        for name, stream in getattr(self, "streams", {}).items():
            for store in self.stores:
                found = store.read(name)
                assert [(f.position, f.id, f.kind, f.weight, f.body) for f in found] == [
                    (place, item.id, item.kind, item.weight, item.body) for place, item in enumerate(stream.items)
                ]
                weights = [item.weight for item in stream.items]
                assert [f.total for f in found] == [sum(weights[: place + 1]) for place in range(len(weights))]
                tip = store.tip(name)
                assert (tip.length, tip.total, tip.marks) == (len(weights), sum(weights), stream.marks)
                for place in range(len(weights) + 2):
                    assert store.total_before(name, place) == sum(weights[:place])

    # Documents

    @rule(which=EITHER, put=PUTS)
    def put(self, which: int, put: Put) -> None:
        outcome = self.stores[which].put(put)
        stale = self.model_stale(ModelStream(), {}, None, [put])
        if stale:
            assert outcome == stale
            return
        self.model_put(put)
        assert outcome == Document(put.key, *self.documents[put.collection, put.key])

    @rule(which=EITHER, collection=COLLECTIONS, key=KEYS, version=VERSIONS)
    def delete(self, which: int, collection: str, key: str, version: int | None) -> None:
        held = self.documents.get((collection, key))
        wanted = held is not None and version in (None, held[0])
        assert self.stores[which].delete(collection, key, if_version=version) == wanted
        if wanted:
            self.model_delete(collection, key)

    @invariant()
    def documents_agree(self) -> None:
        for store in self.stores:
            for collection in ("c", "d"):
                held = {key: value for (owner, key), value in self.documents.items() if owner == collection}
                assert store.documents(collection) == [Document(key, *held[key]) for key in sorted(held)]
                assert store.documents(collection, "k/") == [Document(key, *held[key]) for key in held if key == "k/1"]
                assert store.changes(collection) == self.changes[collection]
                for key in ("k", "k/1", "j"):
                    assert store.get(collection, key) == (Document(key, *held[key]) if key in held else None)

    # Dirty keys

    @rule(which=EITHER, key=DIRTY)
    def mark_dirty(self, which: int, key: str) -> None:
        self.stores[which].mark_dirty(key)
        self.model_dirty(key)

    @rule(which=EITHER, limit=st.integers(0, 3))
    def take_dirty(self, which: int, limit: int) -> None:
        taken = self.stores[which].take_dirty(limit)
        assert [dirty.key for dirty in taken] == self.dirty[:limit]
        self.taken += [(dirty, True) for dirty in taken]

    @rule(which=EITHER, pick=st.integers(0, 99))
    def settle_dirty(self, which: int, pick: int) -> None:
        if self.taken:
            taken, current = self.taken[pick % len(self.taken)]
            assert self.stores[which].settle_dirty(taken) == current
            if current:
                self.dirty.remove(taken.key)
                self.taken = [(other, now and other.key != taken.key) for other, now in self.taken]

    # Jobs

    @rule(seconds=SECONDS)
    def pass_time(self, seconds: int) -> None:
        self.now += seconds

    @rule(which=EITHER, job=JOBS, delay=SECONDS)
    def queue(self, which: int, job: Job, delay: int) -> None:
        assert self.stores[which].queue(job, delay_seconds=delay) == (job not in self.jobs)
        self.jobs.setdefault(job, ModelJob(self.now + delay))

    @rule(which=EITHER, job=JOBS, lease=SECONDS, deadline=SECONDS)
    def claim(self, which: int, job: Job, lease: int, deadline: int) -> None:
        claim = self.stores[which].claim(job, "me", lease_seconds=lease, deadline_seconds=deadline)
        held = self.jobs.get(job)
        if held is None or not held.is_ready(self.now):
            assert claim is None
            return
        assert claim is not None
        held.tries += 1
        held.deadline_at = self.now + deadline
        held.lease_ends = self.now + min(lease, deadline)
        assert claim == Claim(job, "me", claim.token, held.tries, held.deadline_at)
        assert all(claim.token > old.token for old in self.claims)
        held.token = claim.token
        self.claims.append(claim)

    @rule(which=EITHER, pick=st.integers(0, 99), what=st.sampled_from(["beat", "finish", "fail"]), seconds=SECONDS)
    def use_claim(self, which: int, pick: int, what: str, seconds: int) -> None:
        if not self.claims:
            return
        claim, store = self.claims[-1 - pick % len(self.claims)], self.stores[which]
        held = self.jobs.get(claim.job)
        wanted = held is not None and held.is_held(claim, self.now)
        if what == "beat":
            assert store.beat(claim, lease_seconds=seconds) == wanted
        elif what == "finish":
            assert store.finish(claim) == wanted
        else:
            assert store.fail(claim, retry_seconds=seconds, error="why") == wanted
        if wanted and held:
            if what == "beat":
                held.lease_ends = min(self.now + seconds, held.deadline_at)
            elif what == "finish":
                del self.jobs[claim.job]
            else:
                self.jobs[claim.job] = ModelJob(self.now + seconds, tries=held.tries, error="why")

    @rule(
        which=EITHER,
        streams=st.lists(STREAMS, max_size=2),
        documents=st.lists(st.tuples(COLLECTIONS, KEYS), max_size=2),
        branches=st.lists(BRANCHES, max_size=2),
        puts=st.lists(PUTS, max_size=2, unique_by=lambda put: (put.collection, put.key)),
    )
    def erase(
        self, which: int, streams: list[str], documents: list[tuple[str, str]], branches: list[str], puts: list[Put]
    ) -> None:
        self.stores[which].erase(streams, documents, branches, puts)
        for name in streams:
            self.streams.pop(name, None)
        for collection, key in documents:
            self.model_delete(collection, key)
        for put in puts:
            self.model_put(put)
        self.jobs = {job: held for job, held in self.jobs.items() if job.branch not in branches}
        self.dirty = [key for key in self.dirty if key not in branches]
        self.taken = [(taken, current and taken.key not in branches) for taken, current in self.taken]

    @rule(which=EITHER)
    def wipe_board(self, which: int) -> None:
        self.stores[which].wipe_board()
        self.dirty, self.jobs = [], {}
        self.taken = [(taken, False) for taken, _ in self.taken]

    @invariant()
    def board_agrees(self) -> None:
        for store in self.stores:
            assert [dirty.key for dirty in store.take_dirty(9)] == self.dirty
            assert {(state.job, state.state, state.tries, state.error) for state in store.jobs()} == {
                (job, "running" if held.token else "pending", held.tries, held.error) for job, held in self.jobs.items()
            }
            for roles in (["observer"], ["observer", "reflector"]):
                mine = {job: held for job, held in self.jobs.items() if job.role in roles}
                ready = {job for job, held in mine.items() if held.is_ready(self.now)}
                assert {state.job for state in store.ready(roles, 9)} == ready
                ends = [held.lease_ends if held.token else held.not_before for held in mine.values()]
                assert store.next_ready_at(roles) == min(ends, default=None)
