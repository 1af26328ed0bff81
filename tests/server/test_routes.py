"""What each route takes and gives, over a real socket."""

import time
from dataclasses import replace

import pytest
from builders import concluded, observed, remember
from doors import ORDERS, RunningDoor, laptop_session, main_branch, push, some_entries, sources_body

from minutebook.pipeline.answers import status_data
from minutebook.pipeline.boxkeys import box_key
from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.notices import tell
from minutebook.pipeline.outcomes import Entry, memory_entry
from minutebook.pipeline.rows import branch_row, memory_of_row, memory_row, source_of_row
from minutebook.pipeline.shapes import observation_data
from minutebook.pipeline.status import read_status
from minutebook.records import OBSERVATIONS, Branch
from minutebook.version import __version__


@pytest.fixture(scope="module")
def key(door: RunningDoor, alice: str) -> str:
    """A session of Alice with six entries, and memory that a worker of the box recorded."""
    key = push(door, alice, laptop_session(), some_entries(6))
    branch = load_branch(door.store, box_key("alice", key))
    seen = observed("the gateway listens on 8443", "high", sources=("e0", "e1"))
    remember(door.store, branch, observations=[seen], reflections=[concluded("ports are set in gateway.toml", seen)])
    return key


def branch_of(door: RunningDoor, key: str) -> Branch:
    return load_branch(door.store, box_key("alice", key))


def test_me(door: RunningDoor, alice: str) -> None:
    told = door.get("/v1/me", alice).data
    assert abs(told.pop("time") - time.time()) < 3_600
    assert told == {"user": "alice", "projects": ["*"], "version": __version__}
    narrow = door.token("bob", ORDERS, "github.com/bob/*")
    assert door.get("/v1/me", narrow).data["projects"] == [ORDERS, "github.com/bob/*"]


def test_sources_are_pushed_once_however_often_they_are_sent(door: RunningDoor, alice: str) -> None:
    session, entries = laptop_session("pushed"), some_entries(5)
    first = door.post("/v1/sources", alice, sources_body(session, entries[:3])).data
    assert (first["sources"], first["sources_tip"]) == (3, "e2")
    assert door.post("/v1/sources", alice, sources_body(session, entries[:3])).data == first
    again = door.post("/v1/sources", alice, sources_body(session, entries[1:], at=1, before="e0")).data
    assert (again["sources"], again["sources_tip"]) == (5, "e4")
    got = door.get("/v1/sources", alice, branch=session.key).data
    assert [source_of_row(row) for row in got["entries"]] and [row["id"] for row in got["entries"]] == [
        "e0",
        "e1",
        "e2",
        "e3",
        "e4",
    ]
    assert got["lengths"] == again
    assert "alice~pushed" not in str(got)


def test_what_was_pushed_is_marked_for_the_workers_and_nothing_else(door: RunningDoor, alice: str) -> None:
    key = push(door, alice, laptop_session("marked"), some_entries(2))
    dirty = {each.key for each in door.store.take_dirty(1000)}
    assert box_key("alice", key) in dirty
    assert door.store.jobs() == []


def test_a_hole_and_other_entries_are_told_apart_from_faults(door: RunningDoor, alice: str) -> None:
    session = laptop_session("hole")
    push(door, alice, session, some_entries(2))
    hole = door.post("/v1/sources", alice, sources_body(session, some_entries(1, 5), at=5, before="e4"))
    other = door.post("/v1/sources", alice, sources_body(session, some_entries(2, 7)))
    assert [(got.status, got.error) for got in (hole, other)] == [(409, "diverged")] * 2
    assert "hole" in hole.data["message"]


def test_secrets_are_replaced_again_at_the_door(door: RunningDoor, alice: str) -> None:
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    key = push(door, alice, laptop_session("secret"), some_entries(1, words=f"my key is {secret}"))
    got = door.get("/v1/sources", alice, branch=key)
    assert secret.encode() not in got.content and b"my key is" in got.content


def test_lengths_of_many(door: RunningDoor, alice: str, key: str) -> None:
    got = door.post("/v1/lengths", alice, {"branches": [key, "claude_code:nowhere"]}).data["branches"]
    assert got["claude_code:nowhere"] is None
    assert (got[key]["sources"], got[key]["sources_tip"], got[key]["memory"]) == (6, "e5", 2)
    assert door.post("/v1/lengths", alice, {"branches": ["x"] * 501}).status == 422


def test_memory_page_by_page(door: RunningDoor, alice: str, key: str) -> None:
    rows = []
    while page := door.get("/v1/memory", alice, branch=key, after=len(rows), limit=1).data["entries"]:
        rows += page
    assert [(row["branch"], row["index"]) for row in rows] == [(key, 0), (key, 1)]
    assert [memory_of_row(row).kind for row in rows] == ["om.observations.recorded", "om.reflections.recorded"]


def test_memory_is_offered_and_placed_by_the_box(door: RunningDoor, alice: str) -> None:
    key = push(door, alice, laptop_session("offer"), some_entries(4))
    data = {"observations": [observation_data(observed("noted by hand", sources=("e1",)))], "mind": "user"}
    entry = memory_entry(Entry(kind=OBSERVATIONS, covers=4, since=4, data=data))
    body = {"branch": key, "at": None, "before": "", "entries": [memory_row(replace(entry, index=0))]}
    first = door.post("/v1/memory", alice, body)
    assert first.status == 200, first.content
    assert first.data["memory"] == 1 and door.post("/v1/memory", alice, body).data == first.data
    assert "noted by hand" in door.get("/v1/view", alice, branch=key, full=True).data["text"]


def test_status_is_that_of_the_command(door: RunningDoor, alice: str, key: str) -> None:
    got = door.get("/v1/status", alice, branch=key).data
    expected = status_data(read_status(door.store, branch_of(door, key), door.settings))
    assert got == {**expected, "session": key, "branch": key, "host": "claude_code"}
    assert (got["entries"], got["observations"]["recorded"]) == (6, 1)


def test_view_full_and_visible(door: RunningDoor, alice: str, key: str) -> None:
    assert "(no observation is visible)" in door.get("/v1/view", alice, branch=key).data["text"]
    assert "listens on 8443" in door.get("/v1/view", alice, branch=key, full="true").data["text"]


def test_recall_gives_the_exact_source(door: RunningDoor, alice: str, key: str) -> None:
    (found,) = [row for row in door.get("/v1/memory", alice, branch=key).data["entries"] if row["index"] == 0]
    record = found["data"]["observations"][0]
    got = door.get("/v1/recall", alice, branch=key, id=record["id"]).data
    assert [(each["id"], each["text"]) for each in got["sources"]] == [
        ("e0", "words of turn 0"),
        ("e1", "words of turn 1"),
    ]
    assert "raw" not in str(got)


def test_search(door: RunningDoor, alice: str, key: str) -> None:
    hits = door.get("/v1/search", alice, branch=key, q="which port does the gateway use? 8443").data["hits"]
    assert (hits[0]["kind"], hits[0]["branch"]) == ("observation", key)
    assert door.get("/v1/search", alice, branch=key, q="nowhereatall").data == {"hits": []}


def test_a_look_at_a_compaction_records_nothing(door: RunningDoor, alice: str, key: str) -> None:
    before = door.get("/v1/status", alice, branch=key).data
    got = door.get("/v1/compaction", alice, branch=key, boundary=4).data
    assert (got["boundary"], got["entries"]) == (4, 6) and "listens on 8443" in got["composition"]["text"]
    assert door.get("/v1/compaction", alice, branch=key, keep=10**9).data["boundary"] == 0
    assert door.get("/v1/compaction", alice, branch=key, boundary=7).status == 422
    assert door.get("/v1/compaction", alice, branch=key, boundary=1, keep=1).status == 422
    assert door.get("/v1/status", alice, branch=key).data == before


def test_a_fork_is_pushed_after_its_parent(door: RunningDoor, alice: str) -> None:
    session = laptop_session("forked")
    key = push(door, alice, session, some_entries(4))
    fork = Branch(
        key=f"{key}@f1", host=session.host, session=session.session, lineage=key, parent=key, fork=2, kind="fork"
    )
    body = {**sources_body(session, some_entries(1, 20)), "branch": branch_row(fork)}
    pushed = door.post("/v1/sources", alice, body)
    assert pushed.status == 200, pushed.content
    assert door.get("/v1/status", alice, branch=fork.key).data["entries"] == 3
    (listed,) = [
        each for each in door.get("/v1/sessions", alice).data["sessions"] if each["session"]["key"] == session.key
    ]
    assert {branch["key"] for branch in listed["branches"]} == set(listed["lengths"]) == {key, fork.key}


def test_sessions_page_by_page_and_those_that_changed_since(door: RunningDoor) -> None:
    carol = door.token("carol")
    keys = [push(door, carol, laptop_session(f"n{number}"), some_entries(1)) for number in range(5)]
    seen, cursor = [], ""
    while page := (got := door.get("/v1/sessions", carol, after=cursor, limit=2).data)["sessions"]:
        seen += [each["session"]["key"] for each in page]
        cursor = got["next"]
    assert seen == keys
    assert {each["owner"] for each in door.get("/v1/sessions", carol).data["sessions"]} == {"carol"}
    changed = laptop_session("n1")
    door.post("/v1/sources", carol, sources_body(changed, some_entries(2)))
    later = door.get("/v1/sessions", carol, after=cursor).data["sessions"]
    assert [each["session"]["key"] for each in later] == [changed.key]
    assert later[0]["readable"] == "private" and main_branch(changed).key in later[0]["lengths"]


def test_notices_of_the_box_are_for_all_and_of_a_session_for_its_readers(
    door: RunningDoor, alice: str, key: str
) -> None:
    start = door.get("/v1/notices", alice).data["next"]
    tell(door.store, "n1", "the budget is spent")
    tell(door.store, "n2", "the model said odd things", about=box_key("alice", key))
    tell(door.store, "n3", "of a session that is gone", about="alice~claude_code:gone")
    given = door.get("/v1/notices", alice, after=start).data
    assert [each["text"] for each in given["notices"]] == ["the budget is spent", "the model said odd things"]
    others = door.get("/v1/notices", door.token("bob"), after=start).data
    assert [each["text"] for each in others["notices"]] == ["the budget is spent"]
    assert others["next"] == given["next"] == start + 3
