"""A branch as the clocks see it, read from the store."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import concluded, deliver, observed, remember, reply, say

from minutebook.pipeline import ledger
from minutebook.pipeline.branches import Path as SourcePath
from minutebook.pipeline.branches import list_branches, load_branch, memory_stream
from minutebook.pipeline.deliveries import HostCompaction
from minutebook.pipeline.outcomes import Outcome, append_memory, commit_outcome
from minutebook.pipeline.readings import read_state, session_key_of, session_of
from minutebook.records import Usage
from minutebook.store.kernel import Store
from minutebook.store.sqlite import SqliteStore


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    opened = SqliteStore(tmp_path / "store.db", clock=clock)
    yield opened
    opened.close()


def words(count: int, seed: str) -> str:
    return " ".join(f"{seed}{number}" for number in range(count))


def test_without_any_coverage_tokens_count_from_the_first_entry_003_049(store: Store) -> None:
    branch = deliver(store, [say(words(40, "a")), reply(words(80, "b"))])
    state = read_state(store, branch)
    assert state.unobserved_tokens == state.unreflected_tokens == SourcePath(store, branch).tokens() > 0
    assert (state.observed, state.reflected, state.compacted) == (0, 0, False)


def test_each_role_counts_from_its_own_coverage_003_049_053(store: Store) -> None:
    branch = deliver(store, [say(words(40, "a"), id="e1"), reply(words(80, "b"), id="e2"), say(words(5, "c"), id="e3")])
    path = SourcePath(store, branch)
    note = observed("a fact", sources=["e1"])
    remember(store, branch, observations=[note], covers=2)
    remember(store, branch, reflections=[concluded("a conclusion", note)], covers=1)
    state = read_state(store, branch)
    assert state.unobserved_tokens == path.tokens() - path.tokens_before(2)
    assert state.unreflected_tokens == path.tokens() - path.tokens_before(1)
    assert (state.observed, state.reflected, state.reflections_recorded) == (2, 1, 1)
    assert state.pool_tokens == note.tokens


def test_memory_and_compactions_weigh_nothing_003_048(store: Store) -> None:
    entries = [say(words(40, "a"), id="e1"), reply(words(80, "b"), id="e2")]
    branch = deliver(store, entries)
    before = read_state(store, branch)
    remember(store, branch, observations=[observed("a fact")], covers=0)
    deliver(store, [*entries, HostCompaction(id="c1", first_kept="e1", after="e2")])
    after = read_state(store, branch)
    assert after.unobserved_tokens == before.unobserved_tokens
    assert after.unreflected_tokens == before.unreflected_tokens
    assert after.compacted_from_tokens == before.compacted_from_tokens


def test_a_coverage_never_goes_back_003_053(store: Store) -> None:
    branch = deliver(store, [say(words(9, f"w{number}"), id=f"e{number}") for number in range(12)])
    remember(store, branch, observations=[observed("later")], covers=10)
    remember(store, branch, observations=[observed("earlier")], covers=5)
    assert read_state(store, branch).observed == 10


def test_a_coverage_without_an_entry_outlives_the_commits_of_others_003_053(store: Store) -> None:
    branch = deliver(store, [say(words(9, f"w{number}"), id=f"e{number}") for number in range(12)])
    commit_outcome(store, branch, Outcome(role="observer", branch=branch.key, read=0, advance={ledger.OBSERVER: 7}))
    append_memory(store, branch, [])
    remember(store, branch, reflections=[concluded("said later")], covers=3)
    assert (read_state(store, branch).observed, read_state(store, branch).reflected) == (7, 3)


def test_the_factor_is_the_one_of_the_session_s_model_003_054(store: Store) -> None:
    entries = [say("begin", id="e0")]
    for number in range(1, 4):
        usage = Usage(reply_id=f"r{number}", model="m", context_tokens=10_000 * number)
        entries.append(reply(words(200, f"w{number}"), id=f"e{number}", usage=usage))
    branch = deliver(store, entries)
    assert read_state(store, branch).factor == 3.0
    assert read_state(store, deliver(store, [say("hello")], session="other")).factor == 1.0


def test_the_three_starting_points_of_the_compaction_clock_003_057(store: Store) -> None:
    entries = [say(words(30, f"w{number}"), id=f"e{number}") for number in range(6)]
    branch = deliver(store, entries)
    path = SourcePath(store, branch)
    assert read_state(store, branch).compacted_from_tokens == path.tokens()
    deliver(store, [*entries, HostCompaction(id="c1", first_kept="e2", after="e4")])
    state = read_state(store, branch)
    assert state.compacted_from_tokens == path.tokens() - path.tokens_before(2)
    assert state.since_compaction_tokens == path.tokens() - path.tokens_before(5)
    assert state.compacted
    deliver(store, [*entries, HostCompaction(id="c2", first_kept="never seen", after="e4")])
    assert read_state(store, branch).compacted_from_tokens == path.tokens() - path.tokens_before(5)


def test_idle_and_ended_come_from_the_session_003_050(store: Store, clock: Clock) -> None:
    branch = deliver(store, [say("one")])
    clock.now += 299
    assert read_state(store, branch).idle_seconds == 299
    assert read_state(store, branch, now=clock.now + 1).idle_seconds == 300
    assert not read_state(store, branch).ended
    deliver(store, [say("two")], ended=True)
    assert read_state(store, branch).ended
    assert read_state(store, branch).idle_seconds == 0


def test_a_session_that_is_given_is_not_looked_up(store: Store) -> None:
    branch = deliver(store, [say("one")])
    session = session_of(store, branch)
    assert session is not None
    session.ended = True
    assert read_state(store, branch, session=session).ended


def test_the_session_of_each_kind_of_branch(store: Store) -> None:
    trunk = deliver(store, [say("one", id="e1"), reply("two", id="e2")], session="s@1")
    deliver(store, [say("three", id="e3", parent="e1")], session="s@1")
    fork = next(each for each in list_branches(store) if each.kind == "fork")
    agent = deliver(store, [say("task", id="t1")], session="s@1", agent="a1")
    assert session_key_of(trunk) == session_key_of(fork) == "neutral:s@1"
    assert session_key_of(agent) == "neutral:s@1/a1"
    assert read_state(store, agent).subagent
    assert not read_state(store, fork).subagent


def test_a_fork_counts_what_it_inherited_unobserved_003_157(store: Store) -> None:
    shared = [say(words(20, "a"), id="e1"), reply(words(30, "b"), id="e2"), reply(words(40, "c"), id="e3")]
    trunk = deliver(store, [*shared, say("on", id="e4")])
    remember(store, trunk, observations=[observed("early")], covers=1)
    deliver(store, [say(words(5, "d"), id="e5", parent="e3")])
    fork = next(each for each in list_branches(store) if each.kind == "fork")
    path = SourcePath(store, fork)
    assert (fork.fork, read_state(store, fork).observed) == (3, 1)
    assert read_state(store, fork).unobserved_tokens == path.tokens() - path.tokens_before(1)
    remember(store, load_branch(store, trunk.key), observations=[observed("late")], covers=3)
    assert read_state(store, fork).observed == 1


class Counting(SqliteStore):
    """Counts the statements that read."""

    reads = 0

    def rows(self, sql: str, parameters: object = ()) -> list[object]:
        Counting.reads += 1
        return super().rows(sql, parameters)  # type: ignore[arg-type]


def test_the_number_of_look_ups_does_not_grow_with_the_session(tmp_path: Path) -> None:
    store = Counting(tmp_path / "counted.db")
    counts = []
    for size in (20, 300):
        branch = deliver(store, [say(f"turn {number}", id=f"e{number}") for number in range(size)], session=f"s{size}")
        for number in range(size // 5):
            remember(store, branch, observations=[observed(f"fact {number}")], covers=number + 1)
        Counting.reads = 0
        read_state(store, branch)
        counts.append(Counting.reads)
    assert counts[0] == counts[1] <= 8
    assert store.tip(memory_stream(branch.key)).length == 60
    store.close()
