"""What a door tells about itself: metrics, spans, and who read what."""

import json
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from asking import Route, ask_about, routes_of
from builders import observed, remember
from doors import RunningDoor, laptop_session, push, some_entries

from minutebook.pipeline.boxkeys import box_key
from minutebook.pipeline.branches import load_branch
from minutebook.server import tracing
from minutebook.server.house import STRANGERS_NOTED, opened_house
from minutebook.server.tokens import revoke_token
from minutebook.settings import Settings
from minutebook.store.kernel import Job
from minutebook.store.sqlite import SqliteStore

NOT_NOTED = ("/v1/me", "/v1/lengths")
"""They tell nothing of what a session holds."""


@pytest.fixture(scope="module")
def key(door: RunningDoor, alice: str) -> str:
    key = push(door, alice, laptop_session(), some_entries(4))
    branch = load_branch(door.store, box_key("alice", key))
    remember(door.store, branch, observations=[observed("seen", sources=("e0",))])
    return key


def rows_of(door: RunningDoor) -> list[dict[str, Any]]:
    return [json.loads(line) for line in door.audit.read_text().splitlines()] if door.audit.exists() else []


def test_each_read_is_noted_with_who_and_what(door: RunningDoor, alice: str, key: str) -> None:
    """All routes of the description, so that a new one is noted too."""
    record = observed("seen", sources=("e0",)).id
    reading = [each for each in routes_of(door.get("/openapi.json").data) if each.method == "GET"]
    for route in reading:
        before = len(rows_of(door))
        got = ask_about(door, route, alice, key, id=record)
        assert got.status == 200, got.content
        noted = rows_of(door)[before:]
        if route.path in NOT_NOTED:
            assert noted == []
            continue
        (row,) = noted
        assert (row["user"], row["route"], row["status"]) == ("alice", route.path, 200)
        assert row["request_id"] == got.headers["x-request-id"] and alice.startswith(f"mb_{row['token']}_")
        assert row["about"] == (key if route.reads_a_branch else "")
        assert "words of turn" not in str(row)
    counts = {row["route"]: row["count"] for row in rows_of(door)[-len(reading) :]}
    assert (counts["/v1/sources"], counts["/v1/memory"], counts["/v1/recall"]) == (4, 1, 1)


def test_a_read_that_was_refused_is_noted(door: RunningDoor, alice: str) -> None:
    door.get("/v1/view", alice, branch="bob~claude_code:s1")
    row = rows_of(door)[-1]
    assert (row["about"], row["count"], row["status"]) == ("bob~claude_code:s1", 0, 404)


def test_a_request_without_a_valid_token_is_noted_once_a_minute(tmp_path: Path) -> None:
    """By its address and the id of the token, never by the secret; a flood of them does not fill the log."""
    audit = tmp_path / "audit.jsonl"
    settings = Settings(audit_file=str(audit))
    with closing(SqliteStore(tmp_path / "box.sqlite")) as store, RunningDoor(store, audit, settings) as door:
        revoked = door.token()
        revoke_token(store, revoked.split("_")[1])
        first = door.get("/v1/sessions", revoked)
        for wrong in ("", "rubbish", f"{revoked[:-1]}-", revoked):
            assert door.get("/v1/me", wrong).status == 401
        (row,) = rows_of(door)
        told = {"address": "127.0.0.1", "status": 401, "user": "", "token": revoked.split("_")[1]}
        assert {name: row[name] for name in told} == told
        assert (row["route"], row["request_id"]) == ("/v1/sessions", first.headers["x-request-id"])
        assert revoked[16:] not in door.audit.read_text()
        assert door.get("/v1/sessions", door.token()).status == 200
        assert [each["status"] for each in rows_of(door)] == [401, 200]


def test_strangers_from_many_places_are_noted_up_to_a_limit(door: RunningDoor) -> None:
    with opened_house(door.store, door.settings) as house:
        noted = [house.notes_stranger(f"10.0.{at // 250}.{at % 250}") for at in range(500)]
    assert noted == [True] * STRANGERS_NOTED + [False] * (500 - STRANGERS_NOTED)


# -- metrics -------------------------------------------------------------------------------------------------------


def value(text: str, name: str) -> float:
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def test_metrics_count_requests_entries_jobs_and_sessions(door: RunningDoor, alice: str, key: str) -> None:
    before = door.get("/metrics").content.decode()
    push(door, alice, laptop_session("counted"), some_entries(7))
    door.get("/v1/memory", alice, branch=key)
    door.get("/v1/status", alice, branch="x:y")
    door.get("/nowhere/at/all")
    door.store.queue(Job("observer", "l", "b"))
    after = door.get("/metrics").content.decode()
    grown = {
        'minutebook_http_requests_total{method="POST",route="/v1/sources",status="200"}': 1,
        'minutebook_http_requests_total{method="GET",route="/v1/status",status="404"}': 1,
        'minutebook_http_requests_total{method="GET",route="(none)",status="404"}': 1,
        'minutebook_http_request_seconds_count{route="/v1/sources"}': 1,
        "minutebook_entries_taken_in_total": 7,
        "minutebook_memory_pulled_total": 1,
    }
    assert {name: value(after, name) - value(before, name) for name in grown} == grown
    assert value(after, 'minutebook_jobs{role="observer",state="pending"}') == 1
    assert value(after, "minutebook_sessions") >= 1
    assert "alice" not in after and "claude_code" not in after


def test_metrics_are_for_this_machine_or_a_token(door: RunningDoor, alice: str) -> None:
    for name in ("X-Forwarded-For", "Forwarded", "X-Real-IP"):
        assert door.ask("GET", "/metrics", headers={name: "127.0.0.1"}).status == 401
        assert door.ask("GET", "/metrics", alice, headers={name: "10.0.0.1"}).status == 200
    assert door.get("/metrics").headers["content-type"].startswith("text/plain")


def test_invented_methods_and_paths_do_not_grow_the_metrics(door: RunningDoor) -> None:
    for at in range(50):
        door.ask(f"M{at}", f"/invented/{at}")
    text = door.get("/metrics").content.decode()
    assert "invented" not in text and "M49" not in text
    assert value(text, 'minutebook_http_requests_total{method="OTHER",route="(none)",status="404"}') == 50


# -- spans ---------------------------------------------------------------------------------------------------------


def test_a_request_is_a_span_without_contents(door: RunningDoor, alice: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, dict[str, Any]]] = []

    class Span:
        def __init__(self, name: str) -> None:
            self.attributes: dict[str, Any] = {}
            seen.append((name, self.attributes))

        def set_attribute(self, name: str, value: Any) -> None:
            self.attributes[name] = value

    class Tracer:
        @contextmanager
        def start_as_current_span(self, name: str) -> Iterator[Span]:
            yield Span(name)

    monkeypatch.setattr(tracing, "_tracer", Tracer)
    got = door.get("/v1/status", alice, branch="claude_code:private-name")
    ((name, attributes),) = seen
    assert name == "GET /v1/status"
    assert attributes == {
        "minutebook.route": "/v1/status",
        "minutebook.status": 404,
        "minutebook.request_id": got.headers["x-request-id"],
    }


def test_without_opentelemetry_nothing_is_missed(
    door: RunningDoor, alice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracing, "_tracer", lambda: None)
    assert door.get("/v1/me", alice).status == 200


def test_the_real_api_is_found_where_it_is_installed() -> None:
    pytest.importorskip("opentelemetry.trace")
    tracing._tracer.cache_clear()
    with tracing.span("GET /v1/me") as note:
        note(route="/v1/me", status=200)
    assert tracing._tracer() is not None


def test_a_route_says_how_it_is_asked() -> None:
    """The list of routes is read, not written: an unknown one stops the tests that go through all."""
    with pytest.raises(AssertionError, match="say how"):
        ask_about(None, Route("PUT", "/v1/new", ()), "", "")  # type: ignore[arg-type]
