"""Requests that are wrong, too much, or tricks: each is refused as one of those, and none is a fault of the door."""

import json
import re
import socket
from pathlib import Path

import pytest
from asking import Route, ask_about, routes_of
from doors import RunningDoor, laptop_session, push, received, some_entries, sources_body, status_of

from minutebook.server.tokens import TOKENS, revoke_token
from minutebook.settings import Settings
from minutebook.store import codec
from minutebook.store.kernel import Put
from minutebook.store.sqlite import SqliteStore


@pytest.fixture(scope="module")
def routes(door: RunningDoor) -> list[Route]:
    return [*routes_of(door.get("/openapi.json").data)]


@pytest.fixture(scope="module")
def key(door: RunningDoor, alice: str) -> str:
    return push(door, alice, laptop_session(), some_entries(3))


# -- tokens --------------------------------------------------------------------------------------------------------


def test_no_route_answers_without_a_valid_token(door: RunningDoor, routes: list[Route], key: str) -> None:
    good = door.token("alice")
    expired, revoked = door.token("alice", days=1), door.token("alice")
    revoke_token(door.store, revoked.split("_")[1])
    document = door.store.get(TOKENS, expired.split("_")[1])
    assert document is not None
    body = codec.from_json(document.body)
    door.store.put(Put(TOKENS, document.key, codec.to_json({**body, "expires": body["created"] - 1})))
    others = ["", expired, revoked, good[:-1], good[:16] + good[16:][::-1], "mb_", "x" * 8_000, "Bearer", good.upper()]
    for route in routes:
        for token in others:
            got = ask_about(door, route, token, key)
            assert (got.status, got.error, got.headers["www-authenticate"]) == (401, "unauthorized", "Bearer")
        assert ask_about(door, route, good, key).status in (200, 404)


def test_a_token_is_revoked_at_once_on_an_open_connection(door: RunningDoor) -> None:
    token = door.token("alice")
    assert door.get("/v1/me", token).status == 200
    revoke_token(door.store, token.split("_")[1])
    assert door.get("/v1/me", token).status == 401


@pytest.mark.parametrize("scheme", ["Basic", "Token", "", "bearer,"])
def test_another_scheme_is_no_token(door: RunningDoor, alice: str, scheme: str) -> None:
    assert door.ask("GET", "/v1/me", headers={"Authorization": f"{scheme} {alice}".strip()}).status == 401
    assert door.ask("GET", "/v1/me", headers={"Authorization": f"bearer {alice}"}).status == 200


def test_there_are_no_other_pages(door: RunningDoor, alice: str) -> None:
    for path in ("/", "/docs", "/redoc", "/v1", "/v1/nothing", "/static/x.js"):
        assert (door.get(path).status, door.get(path, alice).error) == (404, "no_such_page")


# -- ids, headers, errors ------------------------------------------------------------------------------------------


def test_every_answer_has_a_request_id_and_the_headers_of_a_closed_door(door: RunningDoor, alice: str) -> None:
    answers = [
        door.get("/healthz"),
        door.get("/v1/me"),
        door.get("/v1/me", alice),
        door.get("/nothing", alice),
        door.get("/v1/status", alice),
        door.ask("DELETE", "/v1/me", alice),
        door.ask("POST", "/v1/lengths", alice, raw=b"{"),
    ]
    for got in answers:
        assert re.fullmatch("[0-9a-f]{16}", got.headers["x-request-id"])
        assert got.headers["x-content-type-options"] == "nosniff" and got.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in got.headers and "server" not in got.headers
        if got.status >= 400:
            assert set(got.data) == {"error", "message", "request_id"}
            assert got.data["request_id"] == got.headers["x-request-id"]
    assert len({got.headers["x-request-id"] for got in answers}) == len(answers)


@pytest.mark.parametrize(
    ("given", "kept"),
    [("abc-123_X.y", True), ("a" * 64, True), ("a" * 65, False), ("a b", False), ('"><script>', False), ("é", False)],
)
def test_a_sane_request_id_is_kept(door: RunningDoor, given: str, kept: bool) -> None:
    got = door.ask("GET", "/healthz", headers={"X-Request-Id": given.encode("latin-1").decode("latin-1")})
    assert (got.headers["x-request-id"] == given) is kept


HEAD = b"GET /v1/me HTTP/1.1\r\n"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /v1/me HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421),
        (b"GET /v1/me HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", 400),
        (b"GET /v1/me HTTP/1.1\r\n\r\n", 400),
        (b"GET /v1/me HTTP/1.0\r\n\r\n", 421),
        (b"GET http://evil.example/v1/me HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"GET //v1/me HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer TOKEN\r\n\r\n", 404),
        (b"GET /v1//me HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer TOKEN\r\n\r\n", 404),
        (b"GET /v1/me/ HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer TOKEN\r\n\r\n", 404),
        (b"GET /v1/%2e%2e/healthz HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer TOKEN\r\n\r\n", 404),
        (b"GET /healthz/../v1/me HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"GET /healthz%2f..%2fv1/me HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"GET /v1/me;x=1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer TOKEN\r\n\r\n", 404),
        (b"GET /V1/ME HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer TOKEN\r\n\r\n", 404),
        (b"GET /v1/me%00 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer TOKEN\r\n\r\n", 404),
        (b"GET /v1/%ff HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer TOKEN\r\n\r\n", 404),
        (b"GET /v1/\xff HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (
            b"GET /v1/me HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer TOKEN\r\nAuthorization: Bearer x\r\n\r\n",
            400,
        ),
        (b"GET /v1/me HTTP/1.1\r\nHost: localhost\r\nAuthorization : Bearer TOKEN\r\n\r\n", 400),
        (b"GET /v1/me HTTP/1.1\r\nHost: localhost\r\nX: a\r\n Authorization: Bearer TOKEN\r\n\r\n", 401),
        (
            b"GET /v1/me HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 127.0.0.1\r\nX-Original-URL: /healthz\r\n\r\n",
            401,
        ),
        (b"GET /v1/me HTTP/9.9\r\nHost: localhost\r\n\r\n", 401),
        (b"TRACE /v1/me HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer TOKEN\r\n\r\n", 405),
        (b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer TOKEN\r\n\r\n", 404),
        (b"CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer TOKEN\r\n\r\n", 404),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 100, 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 70_000 + b"\r\n\r\n", 431),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
        (b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (
            (
                b"POST /v1/lengths HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer TOKEN\r\n"
                b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            ),
            400,
        ),
        (
            (
                b"POST /v1/lengths HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer TOKEN\r\n"
                b"Content-Length: -5\r\n\r\n"
            ),
            400,
        ),
        (
            (
                b"POST /v1/lengths HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer TOKEN\r\n"
                b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}}"
            ),
            400,
        ),
        (
            (
                b"POST /v1/lengths HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer TOKEN\r\n"
                b"Content-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}"
            ),
            415,
        ),
        (
            (
                b"POST /v1/lengths HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer TOKEN\r\n"
                b'Content-Type: text/plain\r\nContent-Length: 15\r\n\r\n{"branches":[]}'
            ),
            415,
        ),
    ],
)
def test_tricks_with_paths_and_headers(door: RunningDoor, alice: str, sent: bytes, status: int) -> None:
    answer = door.say(sent.replace(b"TOKEN", alice.encode()))
    assert status_of(answer) == status, answer
    assert b"Traceback" not in answer and b'"user"' not in answer


def test_what_comes_after_a_request_is_a_request_of_its_own(door: RunningDoor, alice: str) -> None:
    """Nothing of the first one's token is left for the second."""
    first = f"GET /v1/me HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {alice}\r\n\r\n"
    answer = door.say(f"{first}GET /v1/me HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(), answers=2)
    assert re.findall(rb"HTTP/1.1 (\d+)", answer) == [b"200", b"401"]


# -- bodies --------------------------------------------------------------------------------------------------------

GOOD = sources_body(laptop_session("bodies"), some_entries(1))


def deep(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"x"',
        b"\xff\xfe",
        b"NaN",
        json.dumps({**GOOD, "at": float("nan")}).encode(),
        json.dumps({**GOOD, "at": float("inf")}).encode(),
        json.dumps({**GOOD, "at": -1}).encode(),
        json.dumps({**GOOD, "at": 1.5}).encode(),
        json.dumps({**GOOD, "at": True}).encode(),
        json.dumps({**GOOD, "at": "0"}).encode(),
        json.dumps({**GOOD, "at": 10**30}).encode(),
        json.dumps({**GOOD, "more": 1}).encode(),
        json.dumps({**GOOD, "entries": [{}] * 5_001}).encode(),
        json.dumps({**GOOD, "entries": {"0": {}}}).encode(),
        json.dumps({**GOOD, "entries": [None]}).encode(),
        json.dumps({**GOOD, "entries": [{"row": "source"}]}).encode(),
        json.dumps({**GOOD, "before": "x" * 100_000}).encode(),
        json.dumps({**GOOD, "before": "\ud800"}).encode(),
        json.dumps({**GOOD, "session": {**GOOD["session"], "key": "claude_code:../../etc/passwd"}}).encode(),
        json.dumps({**GOOD, "session": {**GOOD["session"], "project": "../../etc"}}).encode(),
        json.dumps({**GOOD, "session": {**GOOD["session"], "project": "/etc"}}).encode(),
        json.dumps({**GOOD, "session": {**GOOD["session"], "host": "../x"}}).encode(),
        json.dumps({**GOOD, "session": {**GOOD["session"], "touched": 1e308 * 10}}).encode(),
        json.dumps({**GOOD, "branch": {**GOOD["branch"], "fork": 2**80}}).encode(),
        json.dumps(GOOD).replace('"at": 0', '"at": ' + "9" * 10_000).encode(),
        deep(500),
        deep(5_000),
        deep(500_000),
        json.dumps({**GOOD, "session": "DEEP"}).encode().replace(b'"DEEP"', deep(700)),
        json.dumps({**GOOD, "entries": ["DEEP"]}).encode().replace(b'"DEEP"', deep(700)),
        b'{"branches": ["' + b"\\u0000" * 2_000 + b'"]}',
    ],
)
@pytest.mark.parametrize("path", ["/v1/sources", "/v1/memory", "/v1/lengths"])
def test_bodies_that_cannot_be_used(door: RunningDoor, alice: str, path: str, raw: bytes) -> None:
    got = door.ask("POST", path, alice, raw=raw)
    assert 400 <= got.status < 500, got.content
    assert len(got.data["message"]) < 600


@pytest.mark.parametrize(
    "text", ["\ud800 alone", "nul \0 in it", "\u202e turned", "😀 wide", "</script>", "a" * 100_000]
)
def test_texts_that_are_odd_come_back_as_they_were(door: RunningDoor, alice: str, text: str) -> None:
    session = laptop_session(f"odd{abs(hash(text))}")
    push(door, alice, session, some_entries(1, words=text))
    (row,) = door.get("/v1/sources", alice, branch=session.key).data["entries"]
    assert row["parts"][0]["text"] == f"{text} 0"


@pytest.mark.parametrize("name", ["../../x", "a b", "\0", "\ud800", "%2e%2e", "x" * 5_000, "é", "a:b:c", "~", "a~b"])
def test_odd_ids_are_unknown_or_refused(door: RunningDoor, alice: str, name: str) -> None:
    for path in ("status", "memory", "sources", "view"):
        assert door.get(f"/v1/{path}", alice, branch=f"claude_code:{name}").status in (404, 422)
    assert door.get("/v1/recall", alice, branch="claude_code:s1", id=name).status == 422


@pytest.mark.parametrize("value", ["-1", "1.5", "x", "9" * 400, "", "NaN", "0x10", "9007199254740992"])
def test_odd_numbers_are_refused(door: RunningDoor, alice: str, key: str, value: str) -> None:
    assert door.get("/v1/memory", alice, branch=key, after=value).status == 422
    assert door.get("/v1/compaction", alice, branch=key, boundary=value).status == 422


# -- how much ------------------------------------------------------------------------------------------------------


def post_head(token: str, length: str) -> bytes:
    lines = ["POST /v1/lengths HTTP/1.1", "Host: localhost", f"Authorization: Bearer {token}", length]
    return "\r\n".join([*lines, "Content-Type: application/json", "", ""]).encode()


def test_a_body_of_50_mb_is_refused_before_it_is_read(door: RunningDoor, alice: str) -> None:
    answer = door.say(post_head(alice, "Content-Length: 50000000") + b"x" * 100_000)
    assert status_of(answer) == 413 and b'"too_large"' in answer
    assert b"connection: close" in answer.lower()


def test_a_client_that_sends_all_of_it_reads_why(door: RunningDoor, alice: str) -> None:
    got = door.ask("POST", "/v1/lengths", alice, raw=b"x" * 50_000_000)
    assert (got.status, got.error) == (413, "too_large")


def test_a_chunked_body_without_end_is_refused_at_the_limit(door: RunningDoor, alice: str) -> None:
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    with socket.create_connection(("127.0.0.1", door.port), timeout=30) as connection:
        connection.sendall(post_head(alice, "Transfer-Encoding: chunked"))
        sent = 0
        try:
            while sent < 100_000_000:
                connection.sendall(chunk)
                sent += len(chunk)
                if sent > 9_000_000:
                    break
        except ConnectionError:
            pass
        answer = received(connection)
    assert status_of(answer) == 413


def test_a_body_is_not_read_for_a_token_that_is_none(door: RunningDoor) -> None:
    assert status_of(door.say(post_head("mb_none", "Content-Length: 50000000"))) == 401


def test_a_client_that_leaves_in_the_middle_harms_nobody(door: RunningDoor, alice: str) -> None:
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", door.port), timeout=5) as connection:
            connection.sendall(post_head(alice, "Content-Length: 1000") + b"{")
    assert door.get("/v1/me", alice).status == 200


def test_too_many_requests_of_one_token_wait_and_others_do_not(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "box.sqlite")
    settings = Settings(serve_requests_per_minute=3, audit_file=str(tmp_path / "audit"))
    with RunningDoor(store, tmp_path / "audit", settings) as door:
        alice, bob = door.token("alice"), door.token("bob")
        statuses = [door.get("/v1/me", alice).status for _ in range(5)]
        late = door.get("/v1/me", alice)
        assert statuses == [200, 200, 200, 429, 429]
        assert late.error == "too_many" and 1 <= int(late.headers["retry-after"]) <= 61
        assert door.get("/v1/me", bob).status == 200
        assert door.get("/healthz").status == 200
    store.close()
