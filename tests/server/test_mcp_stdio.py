"""`om mcp` as agents start it: the real program over its stdin and stdout, asked by the protocol's own client."""

import json
import os
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from builders import deliver, observed, remember, reply, say
from commands import run as run_om
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, Implementation, TextContent

from minutebook.errors import BadSetting, StoreBusy
from minutebook.hosts.processes import note_process
from minutebook.pipeline.agenttools import INSTRUCTIONS, TOOLS
from minutebook.server.mcp_stdio import NO_SESSION, NO_STORE, Desk
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store

OM = str(Path(sys.executable).with_name("om"))
SECRET_WORD = "zanzibar"
"""Stands in a session that is not the caller's."""


def text_of(got: CallToolResult) -> str:
    (content,) = got.content
    assert isinstance(content, TextContent)
    return content.text


def filled(store: Store, session: str, words: str, host: str = "claude_code", **more: Any) -> str:
    """A session with one observation; its id."""
    branch = deliver(store, [say(f"{words} one", id="e0"), reply(f"{words}\n two", id="e1")], session, host, **more)
    seen = observed(f"{words} was observed", sources=("e0", "e1"))
    remember(store, branch, observations=[seen])
    return seen.id


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with three sessions of two hosts in its store."""
    folder = tmp_path / "minutebook"
    folder.mkdir()
    with closing(open_store(str(folder / "minutebook.sqlite"))) as store:
        for session, words in (("first", "apple"), ("second", "pear"), ("other", SECRET_WORD)):
            filled(store, session, words)
        filled(store, "thread", "plum", "codex")
    return folder


def ask(
    home: Path,
    talk: Callable[[Client], Any],
    *arguments: str,
    client: str = "",
    environ: Mapping[str, str] | None = None,
) -> Any:
    """Start `om mcp`, and let talk speak with it."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("CLAUDE")}
    server = StdioServerParameters(
        command=OM, args=["mcp", *arguments], env={**own, "MINUTEBOOK_HOME": str(home), **(environ or {})}
    )
    named = Implementation(name=client, version="1") if client else None

    async def go() -> Any:
        async with Client(server, client_info=named) as opened:
            return await talk(opened)

    return anyio.run(go)


async def recalled_by_words(client: Client, words: str, **more: Any) -> list[str]:
    """Search, then recall the first record that was found: both texts."""
    found = text_of(await client.call_tool("memory_search", {"words": words}, **more))
    id_ = re.search(r"^\[([0-9a-f]{12})\]", found, re.MULTILINE)
    return [found, text_of(await client.call_tool("recall", {"id": id_[1]}, **more)) if id_ else ""]


def test_claude_code_is_answered_from_its_session_and_after_clear_from_the_new_one(home: Path) -> None:
    """003-093: never another's. The server is one process, whose environment keeps the first id."""

    async def talk(client: Client) -> None:
        assert client.server_info.name == "minutebook" and client.instructions == INSTRUCTIONS
        assert [tool.name for tool in (await client.list_tools()).tools] == [tool.name for tool in TOOLS]
        found, recalled = await recalled_by_words(client, f"apple {SECRET_WORD}")
        assert SECRET_WORD not in found and "\napple\n two\n" in recalled
        note_process(str(home / "minutebook.sqlite"), "claude_code", str(os.getpid()), "first")
        note_process(str(home / "minutebook.sqlite"), "claude_code", str(os.getpid()), "second")
        found, recalled = await recalled_by_words(client, f"pear apple {SECRET_WORD}")
        assert "\npear\n two\n" in recalled and "apple" not in found and SECRET_WORD not in found
        for wrong in ({"id": "x"}, {"id": "0" * 12, "page": 2.5}, {"nonsense": {"a": [1]}}):
            got = await client.call_tool("recall", wrong)
            assert got.is_error and "\n" not in text_of(got)
        assert (await client.call_tool("no_such_tool", {})).is_error
        assert "1 recorded" in text_of(await client.call_tool("memory_status", {}))

    ask(home, talk, client="claude-code", environ={"CLAUDE_CODE_SESSION_ID": "first"})


def test_codex_is_answered_by_the_thread_of_each_call(home: Path) -> None:
    async def talk(client: Client) -> None:
        meta: Any = {"threadId": "thread", "sessionId": "thread"}
        _, recalled = await recalled_by_words(client, "plum", meta=meta)
        assert "\nplum\n two\n" in recalled
        sub_agent: Any = {"threadId": "sub", "sessionId": "thread"}
        assert "plum" in text_of(await client.call_tool("memory_search", {"words": "plum"}, meta=sub_agent))
        unknown: Any = {"threadId": "new", "sessionId": "new"}
        got = await client.call_tool("memory_search", {"words": "plum"}, meta=unknown)
        assert not got.is_error and "Nothing of this session" in text_of(got)
        got = await client.call_tool("memory_search", {"words": "plum"})
        assert got.is_error and text_of(got) == NO_SESSION

    ask(home, talk, "--host", "codex")


def test_only_protocol_is_on_stdout_and_the_end_of_stdin_ends_it(home: Path) -> None:
    """Lines that are no protocol, a message of a wrong shape, a huge one: answered or passed over, never a crash.

    An unknown client is told how to bind a session, also where it has inherited a variable of Claude Code.
    """
    start = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    call = {"name": "memory_status", "arguments": {"pad": "y" * 2_000_000}}
    messages: list[Any] = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": start},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "method": "no/such"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": 7, "arguments": "x"}},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call},
        {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "memory_status"}},
    ]
    lines = [b"no json", b"[" * 5_000, b"\xff\xfe", *(json.dumps(each).encode() for each in messages), b"null", b"{}"]
    environ = {**os.environ, "MINUTEBOOK_HOME": str(home), "CLAUDE_CODE_SESSION_ID": "first"}
    with subprocess.Popen(
        [OM, "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environ,
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        watchdog = threading.Timer(100, process.kill)
        watchdog.start()
        process.stdin.write(b"\n".join(lines) + b"\n")
        process.stdin.flush()
        answers: dict[Any, Any] = {}
        while 4 not in answers:  # all were answered by then: calls are answered one at a time
            answer = json.loads(process.stdout.readline())
            answers[answer.get("id")] = answer
        process.stdin.close()
        rest, said = process.stdout.read(), process.stderr.read()
        watchdog.cancel()
    assert process.returncode == 0 and b"Traceback" not in said, said
    assert all("jsonrpc" in json.loads(line) for line in rest.splitlines())
    assert "error" in answers[1] and "error" in answers[2]
    assert answers[4]["result"]["content"][0]["text"] == NO_SESSION and answers[4]["result"]["isError"]


def test_without_its_extra_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("mcp.", "minutebook.server.mcp_"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)
    done = run_om("mcp", code=1)
    assert done.stderr.strip() == "om: om mcp needs an extra: pip install 'minutebook[mcp]'" and done.stdout == ""


# -- a store that is not as it should be, on a desk of this process ----------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite"


@pytest.fixture
def desk(path: Path) -> Iterator[Desk]:
    made = desk_of(path)
    yield made
    made.close()


def desk_of(path: Path) -> Desk:
    return Desk(
        opened=lambda: open_store(str(path), create=False, busy_seconds=0.2) if path.exists() else None,
        keys=lambda client, meta: ("claude_code:s1",),
        settings=lambda project: Settings(),
    )


def test_no_store_then_one_without_the_session_then_with_it(path: Path, desk: Desk) -> None:
    assert desk.answered("memory_status", {}, "", {}) == (NO_STORE, False)
    assert not path.exists()
    with closing(open_store(str(path))) as store:
        assert "Nothing of this session" in desk.answered("memory_status", {}, "", {})[0]
        filled(store, "s1", "apple")
    assert "1 recorded" in desk.answered("memory_status", {}, "", {})[0]


def test_a_store_that_was_replaced_is_opened_anew(path: Path, desk: Desk) -> None:
    with closing(open_store(str(path))) as store:
        filled(store, "s1", "apple")
    assert not desk.answered("memory_status", {}, "", {})[1]
    for file in path.parent.glob("store.sqlite*"):
        file.unlink()
    with closing(open_store(str(path))) as store:
        filled(store, "s1", "pear")
    answers = [desk.answered("memory_search", {"words": "pear"}, "", {}) for _ in range(2)]
    assert "hit" in answers[-1][0] and not answers[-1][1]


def test_a_file_that_is_no_store_is_an_answer(path: Path, desk: Desk) -> None:
    path.write_bytes(b"nothing of a store" * 500)
    text, failed = desk.answered("memory_status", {}, "", {})
    assert failed and str(path) in text and "\n" not in text


def test_a_store_of_a_newer_version_is_an_answer(path: Path, desk: Desk) -> None:
    with closing(open_store(str(path))) as store:
        filled(store, "s1", "apple")
    newer = sqlite3.connect(path)
    newer.execute("PRAGMA user_version = 9999")
    newer.close()
    text, failed = desk.answered("memory_status", {}, "", {})
    assert failed and "newer" in text and "\n" not in text


def test_a_busy_store_is_an_answer_and_the_next_call_works(path: Path, desk: Desk) -> None:
    with closing(open_store(str(path))) as store:
        filled(store, "s1", "apple")
    busy, opened = [StoreBusy("another process holds it; try again")], desk.opened

    def opening() -> Store | None:
        if busy:
            raise busy.pop()
        return opened()

    desk.opened = opening
    assert desk.answered("memory_status", {}, "", {}) == ("another process holds it; try again", True)
    assert not desk.answered("memory_status", {}, "", {})[1]


def test_wrong_settings_are_said_and_recall_does_without_them(path: Path, desk: Desk) -> None:
    with closing(open_store(str(path))) as store:
        record = filled(store, "s1", "apple")

    def wrong(project: str) -> Settings:
        raise BadSetting("minutebook.toml, line 2: unknown setting modle; the nearest is model")

    desk.settings = wrong
    text, failed = desk.answered("memory_status", {}, "", {})
    assert failed and "line 2" in text
    assert "\napple one\n" in desk.answered("recall", {"id": record}, "", {})[0]


def test_a_fault_of_ours_ends_no_host(desk: Desk) -> None:
    def broken() -> Store | None:
        raise RuntimeError("private words")

    desk.opened = broken
    text, failed = desk.answered("memory_status", {}, "", {})
    assert failed and "fault of Minutebook" in text and "private words" not in text
