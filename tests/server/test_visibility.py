"""A token never sees a byte of what is not for it: over every route of the description, errors and headers included."""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from asking import Route, ask_about, routes_of
from builders import concluded, observed, remember
from doors import BILLS, ORDERS, Got, RunningDoor, laptop_session, push, some_entries, sources_body
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ledgers import Counting

from minutebook.pipeline.agenttools import BY_NAME
from minutebook.pipeline.boxkeys import box_key
from minutebook.pipeline.branches import BRANCHES, load_branch, memory_stream, source_stream
from minutebook.pipeline.notices import tell
from minutebook.pipeline.purged import tombstone
from minutebook.pipeline.rows import branch_row
from minutebook.pipeline.sessions import SESSIONS, Session
from minutebook.records import Branch
from minutebook.server.callers import Caller
from minutebook.server.refusals import NOTHING_HERE, Hidden
from minutebook.server.tokens import share, token_of, unshare

EXAMPLES = int(os.environ.get("MINUTEBOOK_VISIBILITY_EXAMPLES", "60"))
CANARY = "canary7f3e"
"""Stands in everything that is not for the token: texts, titles, ids, names, notices."""
SECRET_PROJECT = f"github.com/{CANARY}/vault"


@pytest.fixture(scope="module")
def routes(door: RunningDoor) -> list[Route]:
    found = [*routes_of(door.get("/openapi.json").data)]
    assert len(found) >= 13
    return found


def plant(door: RunningDoor, user: str, name: str, project: str) -> str:
    """A session of somebody with the canary in all of it; its key on the box."""
    token = door.token(user)
    entries = [replace(each, id=f"{CANARY}-{each.id}") for each in some_entries(4, words=f"{CANARY} words of turn")]
    key = push(door, token, laptop_session(name, project, title=f"{CANARY} title", model=CANARY), entries)
    branch = load_branch(door.store, box_key(user, key))
    seen = observed(f"{CANARY} was observed", sources=(f"{CANARY}-e0",))
    remember(door.store, branch, observations=[seen], reflections=[concluded(f"{CANARY} was concluded", seen)])
    tell(door.store, f"{branch.key} failed", f"the model quoted {CANARY}", about=branch.key)
    return branch.key


@pytest.fixture(scope="module")
def foreign(door: RunningDoor) -> list[str]:
    """Keys of what a token of Alice for the project ORDERS must not see, as the box has them and as Alice could."""
    others = [plant(door, "bob", f"{CANARY}-b", ORDERS), plant(door, f"{CANARY}user", "s1", ORDERS)]
    own = [plant(door, "alice", f"{CANARY}-a", SECRET_PROJECT), plant(door, "alice", "elsewhere", BILLS)]
    return [*others, *own, *(key.removeprefix("alice~") for key in own)]


@pytest.fixture(scope="module")
def narrow(door: RunningDoor) -> str:
    """A token of Alice for one project, in which she has a session."""
    token = door.token("alice", ORDERS)
    push(door, token, laptop_session("open"), some_entries(4))
    return token


def shown(got: Got) -> str:
    """All of an answer, as text; JSON escapes undone."""
    body = json.dumps(got.data, ensure_ascii=False) if got.content.startswith((b"{", b"[")) else str(got.content)
    return f"{got.headers} {body}"


def check_silent(got: Got, asked: str = "") -> None:
    """Nothing of the canary but what the question itself said."""
    assert got.status < 500, got.content
    said = shown(got).replace(json.dumps(asked, ensure_ascii=False)[1:-1], "") if asked else shown(got)
    assert CANARY not in said


def test_no_route_shows_anything_that_is_foreign(
    door: RunningDoor, routes: list[Route], foreign: list[str], narrow: str
) -> None:
    for route in routes:
        for key in [*foreign, "claude_code:open"]:
            for tool in BY_NAME if route.path == "/mcp" else ("",):
                got = ask_about(door, route, narrow, key, q=f"{CANARY} words", full="true", tool=tool)
                check_silent(got, asked=key)


def bare(got: Got) -> tuple[int, Any, dict[str, str]]:
    """An answer without what every answer has of its own."""
    own = ("date", "x-request-id")
    return got.status, {**got.data, "request_id": ""}, {k: v for k, v in got.headers.items() if k not in own}


def test_foreign_ids_are_answered_like_unknown_ones(
    door: RunningDoor, routes: list[Route], foreign: list[str], narrow: str
) -> None:
    for route in routes:
        if not (route.reads_a_branch or route.path == "/v1/memory"):
            continue
        unknown = bare(ask_about(door, route, narrow, "claude_code:there-is-none"))
        assert unknown[:2] == (404, {"error": "not_found", "message": NOTHING_HERE, "request_id": ""})
        for key in foreign:
            assert bare(ask_about(door, route, narrow, key)) == unknown, (str(route), key)


def test_foreign_ids_cost_the_same_questions_to_the_store_as_unknown_ones(
    door: RunningDoor, foreign: list[str], narrow: str
) -> None:
    """So that the time of an answer says nothing either."""
    token = token_of(door.store, narrow)
    assert token is not None
    asked = []
    for key in ["claude_code:there-is-none", "bob~claude_code:none", *foreign]:
        counting: Any = Counting(door.store)
        caller = Caller(replace(door.house, store=counting), token, "r1", "/v1/status")
        for look in (caller.readable, caller.readable_session):
            with pytest.raises(Hidden):
                look(key)
        assert caller.readable_among([key]) == {}
        asked.append(counting.calls)
    assert all(calls == asked[0] for calls in asked) and asked[0].total() > 0


def test_a_record_of_another_branch_is_answered_like_an_unknown_one(
    door: RunningDoor, foreign: list[str], narrow: str
) -> None:
    (record,) = (observed(f"{CANARY} was observed", sources=(f"{CANARY}-e0",)).id,)
    got = [door.get("/v1/recall", narrow, branch="claude_code:open", id=each) for each in (record, "0" * 12)]
    assert bare(got[0]) == bare(got[1])


def test_a_purged_session_is_answered_like_an_unknown_one(door: RunningDoor, narrow: str) -> None:
    session = laptop_session("gone")
    key = push(door, narrow, session, some_entries(2))
    boxed = box_key("alice", key)
    door.store.put(tombstone(boxed, time="2026-05-02T10:30:00Z", reason="purge"))
    door.store.erase([source_stream(boxed), memory_stream(boxed)], [(SESSIONS, boxed), (BRANCHES, boxed)], [boxed])
    assert bare(door.get("/v1/status", narrow, branch=key)) == bare(door.get("/v1/status", narrow, branch="x:y"))
    again = door.post("/v1/sources", narrow, sources_body(session, some_entries(2)))
    assert (again.status, again.error) == (410, "purged")


def fork_body(session: Session, key: str, parent: str) -> dict[str, Any]:
    """A fork, in a session, of a branch that may be another session's."""
    fork = Branch(
        key=key, host=session.host, session=session.session, lineage=parent, parent=parent, fork=2, kind="fork"
    )
    return {**sources_body(session, some_entries(1, 20)), "branch": branch_row(fork)}


def test_a_fork_is_no_way_into_another_project(door: RunningDoor, narrow: str) -> None:
    """Its own project is the token's, but it begins with entries of one that is not."""
    wide, secret, session = door.token("alice"), laptop_session("origin", SECRET_PROJECT), laptop_session("way-in")
    push(door, wide, secret, some_entries(4, words=f"{CANARY} words of turn"))
    body = fork_body(session, session.key, secret.key)
    assert door.post("/v1/sources", narrow, body).status == 404
    assert door.post("/v1/sources", wide, body).status == 200
    for path in ("status", "view", "sources", "compaction"):
        got = door.get(f"/v1/{path}", narrow, branch=session.key)
        assert got.status == 404 and CANARY not in shown(got)
    assert door.get("/v1/status", wide, branch=session.key).data["entries"] == 3


def test_the_project_that_a_session_has_on_the_box_counts_not_the_one_that_is_sent(
    door: RunningDoor, narrow: str
) -> None:
    wide, renamed = door.token("alice"), laptop_session("kept", ORDERS)
    push(door, wide, laptop_session("kept", SECRET_PROJECT), some_entries(2))
    fork = fork_body(renamed, f"{renamed.key}@x", "claude_code:open")
    before = door.store.changes(SESSIONS)
    for body in (sources_body(renamed, some_entries(2)), fork):
        assert door.post("/v1/sources", narrow, body).status == 404
    assert door.store.changes(SESSIONS) == before
    for body in (sources_body(renamed, some_entries(3)), fork):
        assert door.post("/v1/sources", wide, body).status == 200
    for key in (renamed.key, f"{renamed.key}@x"):
        assert door.get("/v1/status", narrow, branch=key).status == 404


def test_nothing_is_written_for_another_user_or_project(door: RunningDoor, narrow: str) -> None:
    before = door.store.changes(SESSIONS)
    for session in (laptop_session("s9", SECRET_PROJECT), laptop_session("s9", host="bob~claude_code")):
        assert door.post("/v1/sources", narrow, sources_body(session, some_entries(1))).status in (403, 404)
    assert door.store.changes(SESSIONS) == before


@pytest.fixture
def team(door: RunningDoor) -> Iterator[str]:
    share(door.store, ORDERS)
    yield ORDERS
    unshare(door.store, ORDERS)


def test_a_shared_project_is_read_by_the_team_and_written_by_its_owner(
    door: RunningDoor, narrow: str, team: str
) -> None:
    push(door, door.token("dora"), laptop_session("teamwork"), some_entries(3))
    theirs = "dora~claude_code:teamwork"
    assert door.get("/v1/status", narrow, branch=theirs).data["branch"] == theirs
    assert len(door.get("/v1/sources", narrow, branch=theirs).data["entries"]) == 3
    listed = {each["session"]["key"]: each for each in door.get("/v1/sessions", narrow).data["sessions"]}
    assert (listed[theirs]["owner"], listed[theirs]["readable"]) == ("dora", "team")
    assert door.post("/v1/memory", narrow, {"branch": theirs, "entries": []}).status == 404
    assert door.get("/v1/status", door.token("eve", BILLS), branch=theirs).status == 404
    unshare(door.store, team)
    assert door.get("/v1/status", narrow, branch=theirs).status == 404


KEYS = st.one_of(
    st.text(min_size=1, max_size=40),
    st.sampled_from(["..", "../bob~claude_code:s1", "alice~", "~", "bob~", "*", "%", "_", "bob~claude_code:s1@", "\0"]),
    st.builds(
        lambda user, rest: f"{user}~{rest}", st.sampled_from(["alice", "bob", "BOB", "alice~bob"]), st.text(max_size=20)
    ),
)


@given(data=st.data())
@settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)
def test_any_question_about_anything_stays_silent(
    door: RunningDoor, routes: list[Route], foreign: list[str], narrow: str, data: st.DataObject
) -> None:
    """Odd keys, foreign ones and their beginnings, cursors, positions, words."""
    key = data.draw(st.one_of(KEYS, st.sampled_from(foreign), st.sampled_from(foreign).map(lambda each: each[:-1])))
    reading = [
        route for route in routes if route.path != "/v1/sources" or route.method == "GET"
    ]  # taking in would make it ours
    route = data.draw(st.sampled_from(reading))
    more = {
        "after": data.draw(st.one_of(st.integers(0, 2**53 - 1), KEYS, st.just(f"0.000000 {key}"))),
        "q": data.draw(st.sampled_from([CANARY, "words", "the", "*", key])),
        "tool": data.draw(st.sampled_from([*BY_NAME])),
    }
    got = ask_about(door, route, narrow, key, **more)
    assert got.status < 500, got.content
    said = shown(got)
    for asked in sorted({key, str(more["after"]), more["q"]}, key=len, reverse=True):
        said = said.replace(json.dumps(asked, ensure_ascii=False)[1:-1], "")
    assert CANARY not in said
