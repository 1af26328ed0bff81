"""`om jobs` and gaps that are tried again."""

import json

import pytest
from builders import NOTHING, ScriptedMind, deliver, memory_of, say
from commands import Om, data_of

from minutebook.errors import BadInput, NotFound, SpanFailed
from minutebook.pipeline.boxing import give_to_box
from minutebook.pipeline.outcomes import Entry, append_memory, memory_entry
from minutebook.records import GAP, Branch
from minutebook.settings import Settings
from minutebook.store.kernel import Job, Store
from minutebook.workers.gaps import fill_gap, open_gaps, own_gaps

NOW = "2026-05-02T12:00:00Z"
PROPOSAL = {"content": "Says hello", "timestamp": "2026-05-02 10:30", "relevance": "low", "sources": ["s1"]}


@pytest.fixture
def branch(store: Store) -> Branch:
    """Three entries, of which the second is a gap."""
    branch = deliver(store, [say(f"We decided to use uv {number}.", id=f"e{number}") for number in range(3)])
    data = {"reason": "refused", "tries": 5, "sourceEntryIds": ["e1"]}
    append_memory(store, branch, [memory_entry(Entry(kind=GAP, covers=2, since=1, data=data, time=NOW))])
    return branch


def gap_id(store: Store, branch: Branch) -> str:
    return open_gaps(store, branch)[0].id


def test_nothing_to_do(om: Om, store: Store) -> None:
    result = om("jobs", code=0)
    assert (result.stdout, result.stderr) == ("", "Nothing is pending or running, and there are no gaps.\n")
    assert data_of(om("jobs", "--json")) == {"jobs": [], "gaps": []}


def test_pending_running_and_backing_off(om: Om, store: Store) -> None:
    deliver(store, [say("one", id="e1")])
    jobs = [Job(role, "neutral:s1", "neutral:s1") for role in ("digester", "dropper", "observer")]
    assert all(store.queue(job) for job in jobs)
    assert store.claim(jobs[0], "me", lease_seconds=60, deadline_seconds=600)
    failing = store.claim(jobs[1], "me", lease_seconds=60, deadline_seconds=600)
    assert failing and store.fail(failing, retry_seconds=500, error="no\x1b route")
    lines = om("jobs", code=0).stdout.splitlines()
    assert lines[1].split()[:2] == ["digester", "running,"]
    assert lines[2].split()[:2] == ["dropper", "waits"] and "after a failure" in lines[2]
    assert "failed" in lines[3] and "no\\x1b route" in lines[3]
    assert lines[4].split()[:2] == ["observer", "pending"]
    data = {job["role"]: job for job in data_of(om("jobs", "--json"))["jobs"]}
    assert 0 < data["digester"]["lease_ends_in_seconds"] <= 60
    assert 400 < data["dropper"]["ready_in_seconds"] <= 500 and data["dropper"]["error"] == "no\x1b route"
    assert data["observer"]["ready_in_seconds"] == 0


def test_a_gap_of_a_box_is_tried_again_there(store: Store, branch: Branch) -> None:
    give_to_box(store, branch)
    with pytest.raises(BadInput, match="on the box"):
        fill_gap(store, branch, gap_id(store, branch), ScriptedMind([[PROPOSAL], NOTHING]), Settings(), now=NOW)
    assert [gap.covers for gap in own_gaps(store, branch)] == [2]


def test_only_the_named_session(om: Om, store: Store) -> None:
    for session in ("s1", "s2"):
        deliver(store, [say("one", id=f"{session}e")], session)
        store.queue(Job("observer", f"neutral:{session}", f"neutral:{session}"))
    assert len(data_of(om("jobs", "--json"))["jobs"]) == 2
    assert [job["branch"] for job in data_of(om("jobs", "--json", "--session", "s2"))["jobs"]] == ["neutral:s2"]


def test_gaps_are_listed(om: Om, store: Store, branch: Branch) -> None:
    id_ = gap_id(store, branch)
    shown = om("jobs", code=0)
    assert shown.stdout == f"gap [{id_}] entry 1 of neutral:s1, 2026-05-02 12:00: refused\n"
    assert "--retry" in shown.stderr
    assert [gap["id"] for gap in data_of(om("jobs", "--json"))["gaps"]] == [id_]


def test_a_gap_is_filled_by_the_mind_in_use(om: Om, store: Store, branch: Branch) -> None:
    id_ = gap_id(store, branch)
    assert om("jobs", "--retry", id_, code=0).stdout == f"[{id_}] filled by extractive: 1 observation\n"
    assert [held.record.source_ids for held in memory_of(store, branch).observations.values()] == [("e1",)]
    assert data_of(om("jobs", "--json"))["gaps"] == []
    assert om("jobs", "--retry", id_, code=1).stderr.startswith(f"om: no open gap '{id_}'")
    assert om("jobs", "--retry", "all", code=0).stderr == "There are no gaps.\n"


def test_only_the_gaps_own_span_is_sent(store: Store, branch: Branch) -> None:
    mind = ScriptedMind([[PROPOSAL]])
    assert fill_gap(store, branch, gap_id(store, branch), mind, Settings(), now=NOW) == 1
    assert [shown.placed.entry.id for shown in mind.batches[0].sources] == ["e1"]
    memory = memory_of(store, branch)
    held = next(iter(memory.observations.values()))
    assert (held.since, held.covers, memory.observed, held.mind) == (1, 2, 2, "scripted")


def test_nothing_to_record_fills_a_gap_too(store: Store, branch: Branch) -> None:
    assert fill_gap(store, branch, gap_id(store, branch), ScriptedMind([NOTHING]), Settings(), now=NOW) == 0
    assert open_gaps(store, branch) == []


def test_a_gap_that_fails_again_stays(store: Store, branch: Branch) -> None:
    length = store.tip("m:neutral:s1").length
    with pytest.raises(SpanFailed):
        fill_gap(store, branch, gap_id(store, branch), ScriptedMind([SpanFailed("no")]), Settings(), now=NOW)
    assert store.tip("m:neutral:s1").length == length
    with pytest.raises(NotFound):
        fill_gap(store, branch, "0123456789ab", ScriptedMind([NOTHING]), Settings(), now=NOW)


def test_an_inherited_gap_belongs_to_its_parent(om: Om, store: Store, branch: Branch) -> None:
    fork = deliver(store, [say("else", id="e9", parent="e1")])
    assert fork.fork == 2
    assert (own_gaps(store, fork), len(open_gaps(store, fork))) == ([], 1)
    assert [gap["branch"] for gap in data_of(om("jobs", "--json"))["gaps"]] == ["neutral:s1"]
    seen = data_of(om("jobs", "--json", "--branch", fork.key))["gaps"]
    assert [gap["branch"] for gap in seen] == [fork.key]
    assert json.dumps(seen)
