"""Either side dies at any call to its store, or is overtaken: in the end it is as if nothing had happened."""

from collections.abc import Callable
from dataclasses import replace
from threading import Thread
from typing import Any

from boxes import ALICE, BOXED, KEY, Line, contents, same_memory, thought
from builders import observed, say
from dying import Everywhere
from ledgers import ids_of, take, turns

from minutebook.pipeline.boxing import (
    give_to_box,
    lengths_of,
    outbox,
    part_from_box,
    receive_memory,
    receive_sources,
    take_memory,
    take_session,
    take_sources,
)
from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.corrections import note
from minutebook.pipeline.outcomes import Entry, append_memory, memory_entry
from minutebook.pipeline.sessions import Session
from minutebook.pipeline.shapes import observation_data
from minutebook.records import OBSERVATIONS, Branch, MemoryEntry
from minutebook.store.kernel import Store

SESSION = Session(key=KEY, host="neutral", session="s1", branch=KEY, branches=[KEY], lineage=KEY, prompts=2, ended=True)
BRANCH = Branch(key=KEY, host="neutral", session="s1", lineage=KEY)
FORK = replace(BRANCH, key=f"{KEY}@f", parent=KEY, fork=2, fork_id="e1", kind="fork")


def entry(content: str, covers: int, **data: Any) -> MemoryEntry:
    rows = {"observations": [observation_data(observed(content))], **data}
    return memory_entry(Entry(kind=OBSERVATIONS, covers=covers, since=0, data=rows))


MEMORY = [entry(f"seen {at}", at, mind="test") for at in range(1, 4)]


def sent(store: Store) -> None:
    receive_sources(store, ALICE, SESSION, BRANCH, 0, "", turns(4))


def taken_over(store: Store) -> None:
    """A session of the box on a laptop."""
    take_sources(store, BRANCH, 0, turns(4))
    take_session(store, SESSION)


def test_sources_that_arrive(everywhere: Everywhere) -> None:
    assert everywhere(lambda store: None, sent) > 8


def test_a_fork_that_arrives(everywhere: Everywhere) -> None:
    def act(store: Store) -> None:
        receive_sources(store, ALICE, replace(SESSION, branches=[KEY, FORK.key]), FORK, 0, "", [say("again", id="f")])

    everywhere(sent, act)


def test_memory_that_arrives(everywhere: Everywhere) -> None:
    everywhere(sent, lambda store: receive_memory(store, BOXED, 0, "", MEMORY, marks={"observer": 4}))
    everywhere(sent, lambda store: receive_memory(store, BOXED, None, "", [entry("noted", 0)]))


def test_what_a_laptop_takes(everywhere: Everywhere) -> None:
    everywhere(lambda store: None, taken_over)

    def prepare(store: Store) -> None:
        taken_over(store)
        append_memory(store, load_branch(store, KEY), [MEMORY[2]])

    everywhere(prepare, lambda store: take_memory(store, BRANCH, 0, MEMORY, {"observer": 4}))


def test_a_hand_over_and_a_parting(everywhere: Everywhere) -> None:
    def handed(store: Store) -> None:
        take(store, turns(4))
        give_to_box(store, load_branch(store, KEY))

    everywhere(lambda store: None, handed)

    def prepare(store: Store) -> None:
        handed(store)
        append_memory(store, load_branch(store, KEY), [entry("waits", 0)])

    everywhere(prepare, lambda store: part_from_box(store, load_branch(store, KEY), "a test"))
    everywhere(handed, lambda store: append_memory(store, load_branch(store, KEY), [entry("waits", 0)]))


def test_all_at_once(pair: Line) -> None:
    """Turns, notes, two passes and a worker of the box, each in a thread of its own."""
    take(pair.laptop, turns(2))
    pair.sync()
    faults: list[BaseException] = []

    def each(step: Callable[[int], Any], count: int) -> Thread:
        def run() -> None:
            try:
                for at in range(count):
                    step(at)
            except BaseException as error:
                faults.append(error)

        return Thread(target=run)

    def noted(at: int) -> None:
        note(pair.laptop, load_branch(pair.laptop, KEY), f"note {at}", timestamp="2026-05-02 10:30", time=f"T{at}")

    def worked(at: int) -> None:
        here = lengths_of(pair.box, load_branch(pair.box, BOXED))
        if here.sources > here.marks.get("observer", 0):
            thought(pair.box, BOXED, f"seen {at}", here.sources)

    threads = [
        each(lambda at: take(pair.laptop, [say(f"more {at}", id=f"x{at}")]), 12),
        each(noted, 8),
        each(worked, 20),
        each(lambda _: pair.sync_branch(KEY), 10),
        each(lambda _: Line(pair.laptop, pair.box, page=2).sync_branch(KEY), 10),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert pair.sync() == []
    assert ids_of(pair.box, BOXED) == ids_of(pair.laptop) and len(ids_of(pair.laptop)) == 2 + 12 + 8
    assert {f"note {at}" for at in range(8)} <= set(contents(pair.laptop, KEY))
    assert outbox(pair.laptop, load_branch(pair.laptop, KEY)) == []
    same_memory(pair)
