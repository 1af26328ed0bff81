"""Which session a host means by a call, and what its processes go through."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.hosts.mcp_session import Caller, session_named
from minutebook.hosts.processes import FILES_MOST, IDS_KEPT, ancestors, note_process, session_now

ME = [os.getpid()]
CLAUDE = Caller("claude-code")
ENVIRON = {"CLAUDE_CODE_SESSION_ID": "first"}


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "minutebook.sqlite")


def test_claude_code_names_it_in_the_environment(store: str) -> None:
    assert session_named(CLAUDE, ENVIRON, store_path=store) == ("claude_code:first",)
    assert session_named(Caller("x"), ENVIRON, host="claude_code") == ("claude_code:first",)
    assert session_named(CLAUDE, {}) == ()


def test_a_program_that_claude_code_started_inherits_its_variable_and_is_another_one() -> None:
    for client in ("", "cursor", "codex-mcp-client"):
        assert session_named(Caller(client), ENVIRON) == ()


def test_after_clear_the_process_is_in_another_session(store: str) -> None:
    """The server stays, with the id of before in its environment."""
    me = str(os.getpid())
    for session in ("first", "second", "third"):
        assert note_process(store, "claude_code", me, session)
    assert session_named(CLAUDE, ENVIRON, store_path=store, processes=[1, *ME]) == ("claude_code:third",)
    note_process(store, "claude_code", me, "first")  # resumed
    assert session_named(CLAUDE, ENVIRON, store_path=store, processes=ME) == ("claude_code:first",)


def test_a_number_that_was_given_out_again_misleads_nobody(store: str) -> None:
    note_process(store, "claude_code", str(os.getpid()), "of-somebody-else")
    assert session_now(store, "claude_code", ME, "mine") == "mine"


def test_a_note_is_private_bounded_and_survives_rubbish(store: str) -> None:
    me = str(os.getpid())
    for number in range(IDS_KEPT + 20):
        note_process(store, "claude_code", me, f"s{number}")
    file = Path(f"{store}.processes") / f"claude_code.{me}"
    assert len(file.read_text().split()) == IDS_KEPT
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    file.write_bytes(os.urandom(100_000))
    assert session_now(store, "claude_code", ME, "s1") == "s1"
    assert note_process(store, "claude_code", me, "s2") and session_now(store, "claude_code", ME, "s2") == "s2"


@pytest.mark.parametrize("process", ["", "../x", "1/..", "-1", "9" * 40, "１"])
def test_a_process_that_is_none_is_not_noted(store: str, process: str) -> None:
    assert not note_process(store, "claude_code", process, "s")
    assert not Path(f"{store}.processes").exists()


@pytest.mark.parametrize("session", ["", "a/b", "..\n", "x" * 81, "é"])
def test_a_session_that_is_none_is_not_noted(store: str, session: str) -> None:
    assert not note_process(store, "claude_code", str(os.getpid()), session)


def test_notes_of_the_dead_go(store: str) -> None:
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    folder = Path(f"{store}.processes")
    folder.mkdir()
    for number in range(FILES_MOST):
        (folder / f"claude_code.{gone.stdout.strip()}.{number}").touch()
    note_process(store, "claude_code", str(os.getpid()), "s")
    assert [file.name for file in folder.iterdir()] == [f"claude_code.{os.getpid()}"]


def test_a_folder_that_cannot_be_written_harms_nobody(tmp_path: Path) -> None:
    (tmp_path / "s.processes").touch()
    assert not note_process(str(tmp_path / "s"), "claude_code", "77", "s")


def test_ancestors_begin_with_the_parent() -> None:
    assert ancestors()[0] == os.getppid() and 1 not in ancestors()[1:]


def codex(**meta: object) -> tuple[str, ...]:
    return session_named(Caller("codex-mcp-client", meta), ENVIRON)


def test_codex_names_it_with_each_call() -> None:
    assert codex(threadId="t", sessionId="t") == ("codex:t",)
    assert codex(threadId="t") == ("codex:t",)
    assert codex(sessionId="t") == ("codex:t",)
    assert codex(threadId="t", sessionId="s") == ("codex:s/t", "codex:s")
    assert codex() == codex(threadId=7, sessionId=None) == codex(threadId="", sessionId="\n") == ()
    assert session_named(Caller("", {"threadId": "t"}), {}, host="codex") == ("codex:t",)
    assert session_named(Caller("other", {"threadId": "t"}), {}) == ()


@given(meta=st.dictionaries(st.sampled_from(["threadId", "sessionId"]), st.text() | st.integers() | st.none()))
def test_any_meta_names_a_codex_session_or_none(meta: dict[str, object]) -> None:
    assert all(key.startswith("codex:") and len(key) < 500 for key in codex(**meta))
