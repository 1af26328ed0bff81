"""A laptop and its box, whatever happens in between: one is the beginning of the other at every moment, and in the end
both are the same.

Rules: turns, forks, copies, sub-agents, rewritten and imported entries, compactions and corrections on the laptop;
outcomes on both sides; passes that are quiet, doubled, or die at any store call of either side; the work moves to the
other laptop; another user's session of the same name; the box is put back as it was, and goes on from there.
"""

import os
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any

from boxes import ALICE, BOB, Line, back_up, put_back, stores
from builders import concluded, deliver, memory_of, observed, reply, say
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from ledgers import Breaking, Broken

from minutebook.errors import BadInput, CompactionOpen, NotFound
from minutebook.pipeline import ledger
from minutebook.pipeline.boxing import outbox
from minutebook.pipeline.branches import Path, list_branches, load_branch, memory_stream, source_stream
from minutebook.pipeline.checkpoints import LINKS, PAGES, TOTALS
from minutebook.pipeline.compaction import compose_memory, look_at_memory
from minutebook.pipeline.corrections import note, retire
from minutebook.pipeline.deliveries import HostCompaction, ImportedMemory, Reading, SessionHead
from minutebook.pipeline.intake import accept_turns
from minutebook.pipeline.ledger import read_memory, read_own
from minutebook.pipeline.outcomes import Committed, Entry, Outcome, commit_outcome, memory_entry
from minutebook.pipeline.recall import recall
from minutebook.pipeline.shapes import observation_data, reflection_data
from minutebook.records import DROPS, OBSERVATIONS, REFLECTIONS, Branch, MemoryEntry
from minutebook.settings import Settings
from minutebook.store.kernel import Store

SETTINGS = Settings()
DICE = st.integers(0, 10_000)
WORK = st.sampled_from(["observe", "observe", "reflect", "drop"])
EXAMPLES = int(os.environ.get("MINUTEBOOK_BOXING_EXAMPLES", "25"))
STEPS = 30


class Boxing(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        here, second, bobs, box = self.stack.enter_context(stores(4))
        self.line, self.other, self.bob = Line(here, box), Line(second, box), Line(bobs, box, BOB)
        self.count = 0
        self.delivered: dict[str, set[str]] = {"neutral:s1": set()}
        self.recorded: set[tuple[str, str]] = set()
        self.corrected: set[tuple[str, str]] = set()
        self.shown: set[tuple[str, str, str]] = set()
        back_up(box)
        self.unhealed: set[str] = set()

    def teardown(self) -> None:
        try:
            self.settle()
        finally:
            self.stack.close()

    @property
    def laptop(self) -> Store:
        return self.line.laptop

    @property
    def box(self) -> Store:
        return self.line.box

    # -- turns on the laptop -----------------------------------------------------------------------------------

    def next_id(self) -> str:
        self.count += 1
        return f"n{self.count}"

    def say(self, session: str, *, parent: str | None = None, agent: str = "", words: str = "") -> str:
        id_ = self.next_id()
        kind = say if parent or self.count % 2 else reply
        entry = kind(words or f"words of {id_}", id=id_, parent=parent)
        self.take([entry], session, agent=agent)
        self.delivered.setdefault(f"neutral:{session}{'/' + agent if agent else ''}", set()).add(id_)
        return id_

    def known_ids(self, session: str = "neutral:s1") -> list[str]:
        return sorted(self.delivered[session], key=lambda id_: int(id_[1:].partition("~")[0]))

    def take(self, events: list[Any], session: str, *, agent: str = "", **more: Any) -> None:
        """Deliver from the session's file."""
        head = SessionHead(host="neutral", session=session, agent=agent)
        accept_turns(self.laptop, Reading(head=head, events=events, **more), path=f"/srv/{session}.jsonl")

    def branches(self, store: Store) -> list[Branch]:
        return [each for each in list_branches(store) if not each.key.startswith(f"{BOB}~")]

    def picked(self, store: Store, dice: int) -> Branch:
        found = self.branches(store)
        return found[dice % len(found)]

    @initialize()
    def begin(self) -> None:
        self.say("s1")
        deliver(self.bob.laptop, [say("bob's own words", id="n1")], "s1")

    @rule(count=st.integers(1, 5))
    def turns(self, count: int) -> None:
        for _ in range(count):
            self.say("s1")

    @rule(dice=DICE)
    def rewind(self, dice: int) -> None:
        ids = self.known_ids()
        self.say("s1", parent=ids[dice % len(ids)])

    @rule()
    def subagent(self) -> None:
        self.say("s1", agent="helper")

    @rule(dice=DICE)
    def copy(self, dice: int) -> None:
        """A session that begins as another one, and parts from it."""
        own = [each.entry for each in Path(self.laptop, load_branch(self.laptop, "neutral:s1")).read()]
        shared = [each for each in own if each.custom_type == "" and not each.version_of][: 1 + dice % 4]
        session = f"copy{self.next_id()}"
        self.take([replace(each, text_sha256="") for each in shared], session)
        self.say(session)

    @rule(dice=DICE)
    def rewrite(self, dice: int) -> None:
        ids = self.known_ids()
        self.take([say(f"rewritten {dice % 3}", id=ids[dice % len(ids)])], "s1")

    @rule()
    def imported(self) -> None:
        id_ = self.known_ids()[-1]
        data = {"observations": [observation_data(observed(f"imported {self.count}", sources=(id_,)))]}
        entry = MemoryEntry(id=f"m{self.next_id()}", kind=OBSERVATIONS, covers=0, since=0, data=data)
        self.take([ImportedMemory(entry=entry, covers_id=id_, after=id_)], "s1")

    @rule()
    def ended(self) -> None:
        self.take([], "s1", ended=True)

    # -- memory ------------------------------------------------------------------------------------------------

    def observe(self, store: Store, branch: Branch, dice: int) -> None:
        length = Path(store, branch).length()
        read = store.tip(memory_stream(branch.key)).marks.get(ledger.OBSERVER, 0)
        if read >= length:
            return
        covers = read + 1 + dice % (length - read)
        data = {"observations": [observation_data(observed(f"seen {self.next_id()}"))], "mind": "test"}
        made = memory_entry(Entry(kind=OBSERVATIONS, covers=covers, since=read, data=data))
        entries = () if dice % 5 == 0 else (made,)  # nothing to record moves the coverage alone
        self.commit(
            store, Outcome(role="observer", branch=branch.key, read=read, advance={"observer": covers}, entries=entries)
        )

    def reflect(self, store: Store, branch: Branch, dice: int) -> None:
        observations = list(memory_of(store, branch).observations)
        marks = store.tip(memory_stream(branch.key)).marks
        if not observations:
            return
        covers = marks.get(ledger.OBSERVER, 0)
        fact = concluded(f"fact {self.next_id()}", observations[dice % len(observations)])
        made = memory_entry(
            Entry(
                kind=REFLECTIONS,
                covers=covers,
                since=covers,
                data={"reflections": [reflection_data(fact)], "mind": "t"},
            )
        )
        read = marks.get(ledger.REFLECTOR, 0)
        self.commit(
            store,
            Outcome(role="reflector", branch=branch.key, read=read, advance={"reflector": covers}, entries=(made,)),
        )

    def drop(self, store: Store, branch: Branch, dice: int) -> None:
        active = [held.record.id for held in memory_of(store, branch).active()]
        marks = store.tip(memory_stream(branch.key)).marks
        if not active:
            return
        covers, read = marks.get(ledger.OBSERVER, 0), marks.get(ledger.DROPPER, 0)
        data = {"observationIds": [active[dice % len(active)]], "by": "dropper", "mind": "t"}
        made = memory_entry(Entry(kind=DROPS, covers=covers, since=covers, data=data))
        advance = {"dropper": marks.get(ledger.REFLECTIONS_RECORDED, 0)}
        self.commit(store, Outcome(role="dropper", branch=branch.key, read=read, advance=advance, entries=(made,)))

    def commit(self, store: Store, outcome: Outcome) -> None:
        done = commit_outcome(store, load_branch(store, outcome.branch), outcome)
        if isinstance(done, Committed):
            self.recorded |= {(outcome.branch.removeprefix(f"{ALICE}~"), entry.id) for entry in outcome.entries}

    @rule(dice=DICE, role=WORK)
    def think_on_the_laptop(self, dice: int, role: str) -> None:
        getattr(self, role)(self.laptop, self.picked(self.laptop, dice), dice)

    @precondition(lambda self: self.branches(self.box))
    @rule(dice=DICE, role=WORK)
    def think_on_the_box(self, dice: int, role: str) -> None:
        getattr(self, role)(self.box, self.picked(self.box, dice), dice)

    @rule(dice=DICE)
    def compact(self, dice: int) -> None:
        branch = load_branch(self.laptop, self.current())
        length = Path(self.laptop, branch).length()
        with suppress(CompactionOpen):
            compose_memory(self.laptop, branch, dice % (length + 1), SETTINGS)
        self.take([HostCompaction(id=f"c{self.next_id()}", after=self.known_ids()[-1])], "s1")

    def current(self) -> str:
        from minutebook.pipeline.sessions import load_session

        return load_session(self.laptop, "neutral:s1").branch

    @rule(dice=DICE)
    def note(self, dice: int) -> None:
        branch = self.picked(self.laptop, dice)
        with suppress(BadInput):  # the session came from the other laptop, and its file is not here yet
            words, time = f"note {self.next_id()}", f"T{self.count}"
            noted = note(self.laptop, branch, words, timestamp="2026-05-02 10:30", time=time)
            self.corrected.add((branch.key, noted.id))

    @rule(dice=DICE)
    def retire(self, dice: int) -> None:
        branch = self.picked(self.laptop, dice)
        records = list(memory_of(self.laptop, branch).observations)
        if records:
            retire(self.laptop, branch, records[dice % len(records)], time=f"T{self.next_id()}")

    # -- passes ------------------------------------------------------------------------------------------------

    @rule(page=st.integers(1, 4), twice=st.booleans())
    def sync(self, page: int, twice: bool) -> None:
        self.line.page, self.line.times = page, 1 + twice
        self.in_step(self.line)
        self.line.times = 1

    def in_step(self, line: Line) -> None:
        assert line.sync() == []
        self.unhealed.discard(line.laptop.url)

    @rule(at=st.integers(0, 120), after=st.booleans(), on_box=st.booleans())
    def die(self, at: int, after: bool, on_box: bool) -> None:
        """A pass that ends with the death of one side, at one of its store calls."""
        breaking: Any = Breaking(self.box if on_box else self.laptop, at, after=after)
        line = Line(self.laptop, breaking) if on_box else Line(breaking, self.box)
        with suppress(Broken):
            assert line.sync() == []

    @rule(dice=DICE)
    def one_branch(self, dice: int) -> None:
        """Out of order: a branch whose parent may not be there yet."""
        with suppress(NotFound):
            self.line.sync_or_heal(self.picked(self.laptop, dice).key)

    @rule()
    def go_on_elsewhere(self) -> None:
        self.in_step(self.line)
        self.in_step(self.other)
        self.line, self.other = self.other, self.line

    @rule()
    def bobs(self) -> None:
        deliver(self.bob.laptop, [say(f"bob's own words {self.count}", id=self.next_id())], "s1")
        assert self.bob.sync() == []

    # -- what a box may lose -----------------------------------------------------------------------------------

    @rule()
    def back_up(self) -> None:
        back_up(self.box)

    @rule(dice=DICE, lost=st.lists(WORK, min_size=1, max_size=4), instead=st.lists(WORK, min_size=1, max_size=4))
    def lose(self, dice: int, lost: list[str], instead: list[str]) -> None:
        """What the box recorded last is on the laptop alone, and the box goes on without it."""
        self.turns(2)
        self.in_step(self.line)
        key = f"{ALICE}~{self.current()}"
        back_up(self.box)
        for role in lost:
            getattr(self, role)(self.box, load_branch(self.box, key), dice)
            self.say("s1")
            self.in_step(self.line)
        self.put_back()
        for role in instead:
            getattr(self, role)(self.box, load_branch(self.box, key), dice + 1)

    @rule()
    def put_back(self) -> None:
        """What the box recorded since is on the laptops, or lost."""
        put_back(self.box)
        self.unhealed = {line.laptop.url for line in (self.line, self.other)}
        held = set()
        for line in (self.line, self.other):
            for branch in self.branches(line.laptop):
                held |= {(branch.key, entry.id) for entry in read_own(line.laptop, branch)}
                records = memory_of(line.laptop, branch)
                ids = [*records.observations, *records.reflections]
                self.shown |= {(line.laptop.url, branch.key, id_) for id_ in ids}
        self.recorded &= held

    # -- what must hold ----------------------------------------------------------------------------------------

    @invariant()
    def one_is_the_beginning_of_the_other(self) -> None:
        for line in (self.line, self.other):
            for branch in self.branches(line.laptop):
                boxed = f"{ALICE}~{branch.key}"
                same_beginning(line.laptop, self.box, branch.key, boxed, source_stream)
                marks = line.laptop.tip(memory_stream(branch.key)).marks
                if marks.get(ledger.BOX, 0) == ledger.BOXED and line.laptop.url not in self.unhealed:
                    same_beginning(line.laptop, self.box, branch.key, boxed, memory_stream)

    def settle(self) -> None:
        for line in (self.line, self.other, self.bob, self.line, self.other):
            assert line.sync() == []
        for line in (self.line, self.other):
            self.check_same(line)
        self.check_nothing_lost()
        self.check_users_apart()
        self.check_still_recalled()

    def check_same(self, line: Line) -> None:
        keys = {branch.key for branch in self.branches(line.laptop)}
        assert {f"{ALICE}~{key}" for key in keys} == {branch.key for branch in self.branches(self.box)}
        for key in sorted(keys):
            here, there = load_branch(line.laptop, key), load_branch(self.box, f"{ALICE}~{key}")
            assert outbox(line.laptop, here) == []
            assert memory_seen(line.laptop, here) == memory_seen(self.box, there)
            length = Path(line.laptop, here).length()
            assert length == Path(self.box, there).length() and here.base_tokens == there.base_tokens
            cut = [shown(line.laptop, here, at) for at in range(length + 1)]
            assert cut == [shown(self.box, there, at) for at in range(length + 1)]
            for collection in (PAGES, TOTALS, LINKS):
                line.laptop.delete(collection, key)
            assert cut == [shown(line.laptop, here, at) for at in range(length + 1)]

    def check_nothing_lost(self) -> None:
        for store, named in ((self.laptop, ""), (self.box, f"{ALICE}~")):
            own = {
                each.key: [stored.id for stored in store.read(source_stream(each.key))] for each in self.branches(store)
            }
            for session, ids in self.delivered.items():
                found = [id_ for key, each in own.items() if of_session(key, named + session) for id_ in each]
                assert ids <= set(found) and len(found) == len(set(found))
            for key, id_ in self.recorded:
                entries = read_own(store, load_branch(store, named + key))
                assert [entry.id for entry in entries].count(id_) == 1
            for key, id_ in self.corrected:
                assert id_ in memory_of(store, load_branch(store, named + key)).observations

    def check_users_apart(self) -> None:
        for store, words in ((self.laptop, False), (self.bob.laptop, True)):
            for branch in list_branches(store):
                assert all(("bob" in stored.body) is words for stored in store.read(source_stream(branch.key)))

    def check_still_recalled(self) -> None:
        for line in (self.line, self.other):
            for url, key, id_ in self.shown:
                if url == line.laptop.url:
                    assert recall(line.laptop, load_branch(line.laptop, key), id_).found, (key, id_)


def of_session(key: str, session: str) -> bool:
    return key == session or key.startswith(f"{session}@")


def same_beginning(here: Store, there: Store, key: str, boxed: str, stream: Callable[[str], str]) -> None:
    """Of the two streams one is the beginning of the other, entry for entry."""
    ours, theirs = here.read(stream(key)), there.read(stream(boxed))
    for a, b in zip(ours, theirs, strict=False):
        assert (a.id, a.kind, a.weight, a.total) == (b.id, b.kind, b.weight, b.total)
        assert stream is source_stream or a.body == b.body


def memory_seen(store: Store, branch: Branch) -> list[MemoryEntry]:
    return [replace(entry, branch="") for entry in read_memory(store, branch)]


def shown(store: Store, branch: Branch, boundary: int) -> str:
    found = look_at_memory(store, branch, boundary, SETTINGS)
    return found.text if found else ""


TestBoxing = Boxing.TestCase
TestBoxing.settings = settings(
    max_examples=EXAMPLES, stateful_step_count=STEPS, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
