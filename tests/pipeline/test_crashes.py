"""A process that dies at any call to the store: delivering again gives the same ledger as if nothing had happened."""

from typing import Any

from builders import concluded, observed, reply, result, say
from dying import Everywhere
from ledgers import take, turns

from minutebook.pipeline import ledger
from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.corrections import retire
from minutebook.pipeline.deliveries import HostCompaction, ImportedMemory
from minutebook.pipeline.folds import Proposal, confirm_fold, proposal_put
from minutebook.pipeline.forks import fork_branch
from minutebook.pipeline.outcomes import Entry, Outcome, append_memory, commit_outcome, memory_entry
from minutebook.pipeline.sessions import find_session, load_session
from minutebook.pipeline.shapes import observation_data, reflection_data
from minutebook.records import OBSERVATIONS, REFLECTIONS, MemoryEntry
from minutebook.store.kernel import Store

SEEN = observed("seen")
FACT = concluded("a fact", SEEN)


def nothing(store: Store) -> None:
    """No preparation."""


def imported(id_: str, content: str, after: str) -> ImportedMemory:
    data = {"observations": [observation_data(observed(content, sources=(after,)))]}
    return ImportedMemory(
        entry=MemoryEntry(id=id_, kind=OBSERVATIONS, covers=0, since=0, data=data), covers_id=after, after=after
    )


def shown(*contents: str) -> dict[str, Any]:
    return {
        "type": "om.folded",
        "version": 1,
        "fullFold": True,
        "observations": [observation_data(observed(content)) for content in contents],
        "reflections": [],
    }


EVERYTHING = [
    *turns(4),
    say("again", id="f", parent="e1"),
    result("late", id="l", parent="e3"),
    reply("yes", id="g", parent="f"),
    reply("rewritten", id="e3", parent="e2"),
    imported("m1", "imported", "g"),
    HostCompaction(id="c1", first_kept="g", after="g"),
    say("from scratch", id="h", moved=True),
    imported("m2", "imported later", "h"),
    HostCompaction(id="c2", after="h", fold=shown("imported later", "only in the fold")),
    say("end", id="i"),
]


def test_a_delivery_from_the_beginning(everywhere: Everywhere) -> None:
    calls = everywhere(nothing, lambda store: take(store, EVERYTHING))
    assert calls > 30


def test_a_delivery_of_a_copy(everywhere: Everywhere) -> None:
    copy = [*turns(4), say("x", id="x", parent="e3"), say("y", id="y", parent="e1")]
    everywhere(lambda store: take(store, turns(6)), lambda store: take(store, copy, "copy"))


def test_deliveries_from_where_the_last_one_got(everywhere: Everywhere) -> None:
    """Piece by piece with a cursor, as a worker reads a file: after a death, from the stored cursor on."""

    def act(store: Store) -> None:
        while True:
            session = find_session(store, "neutral:s1")
            done = session.cursor.get("offset", 0) if session else 0
            if done >= len(EVERYTHING):
                return
            take(store, EVERYTHING[done : done + 7], cursor={"offset": min(done + 7, len(EVERYTHING))})

    everywhere(nothing, act)


def test_counts_of_a_reading_are_counted_once(everywhere: Everywhere) -> None:
    def act(store: Store) -> None:
        take(store, turns(3), unknown={"x": 2}, skipped={"y": 1}, broken=[7], cursor={"offset": 9})

    everywhere(nothing, act)


def test_a_confirmed_compaction_in_a_delivery(everywhere: Everywhere) -> None:
    def prepare(store: Store) -> None:
        take(store, turns(4))
        propose(store, 3)

    def act(store: Store) -> None:
        take(store, [HostCompaction(id="c", after="e3")])

    everywhere(prepare, act)


def propose(store: Store, boundary: int) -> None:
    branch = load_branch(store, "neutral:s1")
    document = store.get("compositions", branch.key)
    proposal = Proposal(
        boundary=boundary,
        length=0,
        settings="",
        opened_at=0.0,
        composed={"id": f"at {boundary}", "full_fold": False, "reference": None},
    )
    store.put(proposal_put(branch, proposal, if_version=document.version if document else 0))


def test_an_outcome(everywhere: Everywhere) -> None:
    data = {"observations": [observation_data(SEEN)]}
    entry = memory_entry(Entry(kind=OBSERVATIONS, covers=3, since=0, data=data))

    def act(store: Store) -> None:
        branch = load_branch(store, "neutral:s1")
        commit_outcome(
            store,
            branch,
            Outcome(role="observer", branch=branch.key, read=0, advance={ledger.OBSERVER: 3}, entries=(entry,)),
        )

    everywhere(lambda store: take(store, turns(4)), act)


def test_appended_memory(everywhere: Everywhere) -> None:
    entries = [
        memory_entry(Entry(kind=OBSERVATIONS, covers=2, since=0, data={"observations": [observation_data(SEEN)]})),
        memory_entry(Entry(kind=REFLECTIONS, covers=2, since=2, data={"reflections": [reflection_data(FACT)]})),
    ]

    def act(store: Store) -> None:
        append_memory(store, load_branch(store, "neutral:s1"), entries)

    everywhere(lambda store: take(store, turns(4)), act)


def test_a_fork(everywhere: Everywhere) -> None:
    def act(store: Store) -> None:
        owner, session = load_branch(store, "neutral:s1"), load_session(store, "neutral:s1")
        fork_branch(store, owner, fork=2, key="neutral:s1@x", session=session)

    everywhere(lambda store: take(store, [*turns(4), imported("m1", "old", "e1")]), act)


def test_a_confirmation(everywhere: Everywhere) -> None:
    def prepare(store: Store) -> None:
        take(store, turns(4))
        propose(store, 3)

    def act(store: Store) -> None:
        confirm_fold(store, load_branch(store, "neutral:s1"), time="T", advance={ledger.COMPACTED_FROM: 3})

    everywhere(prepare, act)


def test_what_a_person_takes_back(everywhere: Everywhere) -> None:
    """The observation and the reflection that rests on it alone go together, or not at all."""

    def prepare(store: Store) -> None:
        take(store, turns(4))
        entries = [
            Entry(kind=OBSERVATIONS, covers=2, since=0, data={"observations": [observation_data(SEEN)]}),
            Entry(kind=REFLECTIONS, covers=2, since=2, data={"reflections": [reflection_data(FACT)]}),
        ]
        append_memory(store, load_branch(store, "neutral:s1"), [memory_entry(entry) for entry in entries])

    def act(store: Store) -> None:
        retire(store, load_branch(store, "neutral:s1"), SEEN.id, time="T")

    everywhere(prepare, act)
