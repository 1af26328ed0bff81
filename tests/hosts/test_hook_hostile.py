"""What an agent, or whoever pretends to be one, may write to a hook: it exits with 0 and harms nothing."""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from hookkit import PATIENCE_SECONDS, Agent, patient

from minutebook.hosts import slotfile
from minutebook.hosts.bell import safe_name, slot_path
from minutebook.hosts.hook import LIMIT_SECONDS, PAYLOAD_MAX_BYTES, NotForUs, name_in, path_in

DEEP = 200_000


def ring(agent: Agent, given: bytes) -> None:
    """A Stop hook with that stdin, which must go well whatever it is."""
    before = set(agent.transcript.parent.rglob("*"))
    with agent.listening():
        done = agent.hook("Stop", given=given)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    new = set(agent.transcript.parent.rglob("*")) - before
    assert all(path == agent.home or agent.home in path.parents for path in new), new


# -- no JSON, and the wrong one ------------------------------------------------------------------------------------

NO_SESSION = [
    b"",
    b"\0",
    b"null",
    b"[]",
    b'"session_id"',
    b"{}",
    b"not json at all",
    b"\xff\xfe\x00\x80" * 50,
    b'{"session_id": ',
    b'{"session_id": 7}',
    b'{"session_id": ["a"]}',
    b'{"session_id": ""}',
    b'{"session_id": null, "transcript_path": "/t"}',
    b"[" * DEEP,
    b'{"a":' * DEEP,
    b'{"a":' + b"[" * DEEP + b"]" * DEEP + b"}",
    b'{"n": ' + b"9" * 10_000 + b', "session_id": "s"}',
    b'{"session_id": "' + b"x" * 5_000 + b'"}',
]


@pytest.mark.parametrize("given", NO_SESSION, ids=range(len(NO_SESSION)))
def test_a_payload_without_a_session_is_one_line_in_the_log(agent: Agent, given: bytes) -> None:
    ring(agent, given)
    assert not agent.bells
    (line,) = agent.log
    assert "session_id" in line and len(line) < 600


PATHS: list[Any] = [7, ["/t"], {"a": 1}, True, "relative/t.jsonl", "/nul\0/t.jsonl", "/" + "x" * 5_000]


@pytest.mark.parametrize("path", PATHS, ids=range(len(PATHS)))
def test_a_transcript_that_is_no_path_is_one_line_in_the_log(agent: Agent, path: Any) -> None:
    ring(agent, json.dumps(agent.payload(transcript_path=path)).encode())
    assert not agent.bells and len(agent.log) == 1 and "transcript_path" in agent.log[0]


IDS = [
    "../../../../tmp/x",
    "/etc/passwd",
    "a/b",
    "..",
    ".",
    "a\0b",
    "\ud800",
    "é",
    "a b",
    "-rf",
    "+1.x",
    "=x",
    "x" * 400,
]


@pytest.mark.parametrize("session", IDS, ids=range(len(IDS)))
def test_an_id_is_never_a_path(agent: Agent, session: str) -> None:
    ring(agent, json.dumps(agent.payload(session_id=session)).encode())
    ((name, rung),) = agent.bells.items()
    assert name == safe_name("claude_code", session) and rung["session"] == session


@pytest.mark.parametrize("field", ["cwd", "agent_id", "agent_type", "source", "prompt", "hook_event_name"])
@pytest.mark.parametrize("value", [7, None, [], {"a": [1]}, "x" * 100_000, "\ud800\0"])
def test_other_fields_of_any_kind_stop_no_bell(agent: Agent, field: str, value: Any) -> None:
    payload = agent.payload(**{field: value})
    assert name_in(payload, "session_id") == agent.session and path_in(payload, "transcript_path")


def test_all_fields_of_wrong_kinds_at_once(agent: Agent) -> None:
    wrong = {"cwd": 7, "agent_id": ["x"], "agent_type": {}, "source": False, "prompt": 1.5}
    for event in ("Stop", "UserPromptSubmit", "PostToolBatch", "SubagentStop"):
        ring_event = json.dumps(agent.payload(**wrong)).encode()
        with agent.listening():
            done = agent.hook(event, given=ring_event)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(agent.bells) == 1


def test_paths_are_checked_one_by_one() -> None:
    assert path_in({"p": None}, "p") == path_in({}, "p") == path_in({"p": ""}, "p") == ""
    with pytest.raises(NotForUs):
        path_in({"p": "a/b"}, "p")


# -- much of it ----------------------------------------------------------------------------------------------------


def test_a_payload_of_many_megabytes_is_read_to_its_end(agent: Agent) -> None:
    """The agent can write all of it, however much there is."""
    head = json.dumps(agent.payload())[:-1].encode()
    ring(agent, head + b', "last_assistant_message": "' + b"x" * (2 * PAYLOAD_MAX_BYTES) + b'"}')
    assert len(agent.bells) == 1 and not agent.log


def test_a_payload_without_end_is_left_after_a_second(agent: Agent) -> None:
    """The bell rings all the same: the session stands at its beginning."""
    with agent.listening(), agent.start_hook("claude-code", "Stop", program=patient(3)) as hook:
        assert hook.stdin is not None
        written = 0
        try:
            hook.stdin.write(json.dumps(agent.payload())[:-1].encode() + b', "x": "')
            while written < 1 << 34:
                written += hook.stdin.write(b"y" * (1 << 20))
        except BrokenPipeError:
            pass
        assert hook.wait(PATIENCE_SECONDS) == 0
        assert hook.stdout is not None and hook.stdout.read() == b""
    assert written > PAYLOAD_MAX_BYTES and len(agent.bells) == 1 and len(agent.log) == 1


def test_a_stdin_that_stays_open_rings_at_once_and_is_left_after_a_second(agent: Agent) -> None:
    with agent.listening(), agent.start_hook("claude-code", "Stop", program=patient(3)) as hook:
        assert hook.stdin is not None
        hook.stdin.write(json.dumps(agent.payload()).encode())
        while not agent.bells and hook.poll() is None:
            time.sleep(0.005)
        assert agent.bells and hook.poll() is None
        assert hook.wait(PATIENCE_SECONDS) == 0
    assert LIMIT_SECONDS < 1


def test_a_hook_that_is_given_nothing_leaves_after_a_second(agent: Agent) -> None:
    with agent.start_hook("claude-code", "Stop") as hook:
        assert hook.wait(PATIENCE_SECONDS) == 0
    assert len(agent.log) == 1 and "within a second" in agent.log[0]


# -- closed, full, read-only ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2), (1, 2)])
def test_closed_handles_are_no_others(agent: Agent, closed: tuple[int, ...]) -> None:
    """What the hook opens first must not take the place of its stdin or stdout."""
    agent.say("hello")
    words = " ".join(f"{handle}{'<' if handle == 0 else '>'}&-" for handle in closed)
    script = f'"$0" "$@" claude-code UserPromptSubmit {words}'
    with agent.listening():
        done = subprocess.run(
            ["sh", "-c", script, *patient()],
            input=json.dumps(agent.payload()).encode(),
            env=agent.environment,
            capture_output=True,
        )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(agent.bells) == (0 not in closed) and len(agent.log) == (0 in closed)
    assert len(agent.transcript.read_text().splitlines()) == 1


def test_an_agent_that_does_not_listen_is_no_error(agent: Agent) -> None:
    slotfile.add(slot_path(agent.store, "claude_code", agent.session), {"kind": "steer", "text": "x" * 100_000})
    with agent.listening(), agent.start_hook("claude-code", "UserPromptSubmit", program=patient()) as hook:
        assert hook.stdin is not None and hook.stdout is not None
        hook.stdout.close()
        hook.stdin.write(json.dumps(agent.payload()).encode())
        hook.stdin.close()
        assert hook.wait(PATIENCE_SECONDS) == 0
    assert len(agent.bells) == len(agent.log) == 1


def test_a_home_that_is_a_file_is_no_error(agent: Agent) -> None:
    agent.home.write_text("mine")
    done = agent.hook("Stop")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"") and agent.home.read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="for root, permission bits mean nothing")
def test_a_read_only_home_is_no_error(agent: Agent) -> None:
    agent.home.mkdir()
    agent.home.chmod(0o500)
    done = agent.hook("Stop")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_what_lies_in_the_way_is_one_line_in_the_log(agent: Agent) -> None:
    agent.home.mkdir()
    Path(f"{agent.store}.bells").write_text("in the way")
    done = agent.hook("Stop")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(agent.log) == 1 and Path(f"{agent.store}.bells").read_text() == "in the way"


def test_a_link_in_the_place_of_the_lock_is_not_followed(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    agent.home.mkdir()
    Path(f"{agent.store}.lock").symlink_to(tmp_path / "precious")
    agent.hook("Stop")
    assert (tmp_path / "precious").read_text() == "mine" and len(agent.log) == 1
    assert not agent.workers()
