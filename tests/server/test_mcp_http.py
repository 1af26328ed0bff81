"""MCP on the box: by the protocol's own client over a real socket, for a token's own sessions."""

import json
from typing import Any

import anyio
import httpx2
import pytest
from asking import call_tool
from builders import observed, remember
from doors import BILLS, ORDERS, Got, RunningDoor, laptop_session, push, some_entries
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextContent

from minutebook.pipeline.agenttools import TOOLS
from minutebook.pipeline.boxkeys import box_key
from minutebook.pipeline.branches import load_branch
from minutebook.server.mcp_http import BODY_MAX_BYTES, NO_SESSION
from minutebook.server.refusals import NOTHING_HERE
from minutebook.server.tokens import share, unshare


def plant(door: RunningDoor, user: str, name: str, project: str = ORDERS, words: str = "plain") -> tuple[str, str]:
    """Key and record of a session."""
    key = push(door, door.token(user), laptop_session(name, project), some_entries(4, words=words))
    seen = observed(f"{words} was observed", sources=("e0", "e1"))
    remember(door.store, load_branch(door.store, box_key(user, key)), observations=[seen])
    return key, seen.id


def asked(door: RunningDoor, token: str, key: str, talk: Any, *, mode: str = "auto") -> Any:
    async def go() -> Any:
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http:
            address = f"http://127.0.0.1:{door.port}/mcp?session={key}"
            async with Client(streamable_http_client(address, http_client=http), mode=mode) as client:
                return await talk(client)

    return anyio.run(go)


def answer_of(got: Got) -> tuple[str, bool]:
    """The text of a tool's answer, without the id of the request."""
    result = got.data["result"]
    return result["content"][0]["text"].partition(" (request ")[0], result.get("isError", False)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_tools_of_a_session_by_the_protocols_own_client(door: RunningDoor, alice: str, mode: str) -> None:
    key, record = plant(door, "alice", f"mcp-{mode}", words="the port is 8443")

    async def talk(client: Client) -> None:
        assert [tool.name for tool in (await client.list_tools()).tools] == [tool.name for tool in TOOLS]
        for name, arguments, said in (
            ("recall", {"id": record}, "\nthe port is 8443 1\n"),
            ("memory_search", {"words": "8443"}, f"[{record}] observation"),
            ("memory_view", {"full": True}, f"[{record}]"),
            ("memory_status", {}, "1 recorded"),
        ):
            got = await client.call_tool(name, arguments)
            (content,) = got.content
            assert isinstance(content, TextContent) and said in content.text and not got.is_error
            assert "alice~" not in content.text

    asked(door, alice, key, talk, mode=mode)


def test_each_call_is_in_the_audit_log_with_its_request(door: RunningDoor, alice: str) -> None:
    key, record = plant(door, "alice", "mcp-audit")
    got = call_tool(door, alice, key, "recall", {"id": record}, **{"X-Request-Id": "r-audit-1"})
    assert got.headers["x-request-id"] == "r-audit-1"
    call_tool(door, alice, key, "recall", {"id": "0" * 12}, **{"X-Request-Id": "r-audit-2"})
    rows = [row for row in map(json.loads, door.audit.read_text().splitlines()) if row["route"] == "/mcp"]
    noted = {row["request_id"]: (row["user"], row["about"], row["count"], row["status"]) for row in rows}
    assert noted["r-audit-1"] == ("alice", key, 2, 200)
    assert noted["r-audit-2"] == ("alice", key, 0, 404)


def test_what_a_token_may_not_read_is_answered_like_what_is_not_there(door: RunningDoor) -> None:
    narrow = door.token("alice", ORDERS)
    foreign, record = plant(door, "bob", "mcp-foreign", words="canary")
    other, _ = plant(door, "alice", "mcp-other", BILLS, words="canary")
    for tool, arguments in (
        ("recall", {"id": record}),
        ("memory_search", {"words": "canary"}),
        ("memory_view", {"full": True}),
        ("memory_status", {}),
    ):
        answers = [
            answer_of(call_tool(door, narrow, key, tool, arguments))
            for key in ("claude_code:none", foreign, f"bob~{foreign}", other, f"alice~{other}", "..", "~")
        ]
        assert set(answers) == {(NOTHING_HERE, True)}


def test_a_shared_project_is_read_by_the_team(door: RunningDoor, alice: str) -> None:
    plant(door, "dora", "mcp-team", words="teamwork")
    share(door.store, ORDERS)
    try:
        text, failed = answer_of(
            call_tool(door, alice, "dora~claude_code:mcp-team", "memory_search", {"words": "teamwork"})
        )
        assert "teamwork" in text and not failed
    finally:
        unshare(door.store, ORDERS)


def test_without_a_session_it_is_said_where_to_put_one(door: RunningDoor, alice: str) -> None:
    assert answer_of(call_tool(door, alice, "", "memory_status")) == (NO_SESSION, True)
    wrong = answer_of(call_tool(door, alice, "", "recall", {"id": "x"}))
    assert wrong[1] and "no record id" in wrong[0]


def test_no_token_no_answer(door: RunningDoor) -> None:
    for token in ("", "mb_000000000000_" + "x" * 43):
        got = call_tool(door, token, "claude_code:s1", "memory_status")
        assert (got.status, got.error) == (401, "unauthorized")


def test_what_is_no_message_is_refused(door: RunningDoor, alice: str) -> None:
    accept = {"Accept": "application/json"}
    large = b'{"pad": "' + b"x" * BODY_MAX_BYTES + b'"}'
    assert door.ask("POST", "/mcp", alice, raw=large, headers=accept).status == 413
    assert door.ask("POST", "/mcp", alice, raw=b"{" * 9_000, headers=accept).error == "bad_json"
    assert door.ask("POST", "/mcp", alice, body={"jsonrpc": "2.0"}, headers=accept).status == 400
    assert door.ask("POST", "/mcp", alice, body={}, headers={**accept, "Content-Type": "text/plain"}).status == 415
    assert door.ask("POST", "/mcp", alice, body=[], headers=accept).status == 400
    assert door.ask("POST", "/mcp", alice, body={}, headers={**accept, "Host": "evil.example"}).status == 421
    for method in ("GET", "DELETE"):
        got = door.ask(method, "/mcp", alice, headers={"Accept": "text/event-stream"})
        assert (got.status, got.headers["allow"]) == (405, "POST")


def test_arguments_of_any_kind_are_answered(door: RunningDoor, alice: str) -> None:
    key, _ = plant(door, "alice", "mcp-odd")
    for tool, arguments in (
        ("recall", {"id": {"a": 1}}),
        ("memory_search", {"words": ["x"]}),
        ("memory_view", {"page": 10**30}),
        ("memory_view", {"page": -1}),
        ("nope", {}),
    ):
        got = call_tool(door, alice, key, tool, arguments)
        assert got.status == 200 and answer_of(got)[1], (tool, arguments)
