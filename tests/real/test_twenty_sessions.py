"""Twenty sessions of the real Claude Code at once, in two worktrees of one repository: one worker, one project."""

import json
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from scripted_server import Answer, Asked, ScriptedServer

from minutebook.pipeline.branches import list_branches
from minutebook.pipeline.quoting import CLOSING, OPENING
from minutebook.pipeline.viewing import view_lines, viewed
from minutebook.settings import Settings
from tests.real.claude_lab import is_summarizing, said, shell, words
from tests.real.claude_machine import Machine, wait_until

SESSIONS = 20
COMPACTED = (0, SESSIONS - 1)
"""Which sessions compact: one in each worktree."""
LOOK_SECONDS = 0.1


def canary(number: int) -> str:
    """What is said in one session alone."""
    return f"src/canary{number:02}/keeper{number:02}.py"


def prompt(number: int) -> str:
    """Rules that are worth keeping, about this session's own file."""
    rules = [f"Never touch {canary(number)}, because step {step} of the release depends on it." for step in range(24)]
    return f"{' '.join(rules)} Then say how many rows ledger {number} has."


def reply(asked: Asked) -> Answer:
    """One command in a turn, then a word."""
    if not asked.tools:
        return Answer(text='{"title": "a title"}')
    if is_summarizing(asked):
        return Answer(text="<summary>\nSUMMARY OF THE HOST\n</summary>")
    last = json.dumps(asked.body["messages"][-1])
    return said("The ledger has its rows.") if "tool_result" in last else shell("echo 42 rows")


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with ScriptedServer() as served:
        made = Machine(tmp_path, served)
        served.defaults["other"] = reply
        made.install("--user")
        yield made
        made.stop()


def second_worktree(machine: Machine) -> Path:
    """As `git worktree add` makes it."""
    folder = machine.root / "trees" / "fix"
    author = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    for arguments in (
        (*author, "commit", "-q", "--allow-empty", "-m", "first"),
        ("worktree", "add", "-q", str(folder)),
    ):
        subprocess.run(["git", *arguments], cwd=machine.project, env=machine.environ(), check=True)
    return folder


@contextmanager
def watched(machine: Machine) -> Iterator[set[int]]:
    """How many workers of the store ran at each look."""
    seen: set[int] = set()
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            seen.add(len(machine.workers()))
            time.sleep(LOOK_SECONDS)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


def at_once(machine: Machine, turns: Sequence[tuple[str, Path, tuple[str, ...]]]) -> list[str]:
    """The sessions' ids. turns: prompt, folder, and further arguments of each."""
    runs = [machine.start(text, *more, folder=folder) for text, folder, more in turns]
    ended = [(run.communicate(timeout=180), run.returncode) for run in runs]
    assert [code for _, code in ended] == [0] * len(turns), ended
    return [str(json.loads(output)["session_id"]) for (output, _), _ in ended]


@pytest.mark.timeout(400)
def test_twenty_sessions_at_once(machine: Machine) -> None:
    """No bleeding, exactly one worker whenever one runs, and one key for both worktrees."""
    folders = [machine.project, second_worktree(machine)]
    places = [folders[number * 2 // SESSIONS] for number in range(SESSIONS)]
    with watched(machine) as workers:
        sessions = at_once(machine, [(prompt(number), places[number], ()) for number in range(SESSIONS)])
        wait_until(lambda: not machine.bells())
        wait_until(lambda: observed(machine, sessions))
    assert max(workers) == 1, "one worker, never two"
    listed = machine.listed()
    assert {line["key"] for line in listed} == {f"claude_code:{session}" for session in sessions}
    assert {line["project"] for line in listed} == {str(folder) for folder in folders}
    assert len({line["project_key"] for line in listed}) == 1
    for number, session in enumerate(sessions):
        assert canaries_in(memory_of(machine, session)) == {number}, f"session {number}"
    for number in COMPACTED:
        status = json.loads(machine.om("status", "--json", folder=places[number]))
        assert status["session"] in {
            f"claude_code:{each}" for each, place in zip(sessions, places, strict=True) if place == places[number]
        }
        compacted = after_compaction(machine, sessions[number], places[number])
        assert canaries_in(compacted) == {number}


def observed(machine: Machine, sessions: Sequence[str]) -> bool:
    """Whether all of them have memory."""
    return len([line for line in machine.listed() if line["observations"]]) == len(sessions)


def memory_of(machine: Machine, session: str) -> str:
    """What `om view --full` shows of a session."""
    with machine.opened() as store:
        (branch,) = list_branches(store, f"claude_code:{session}")
        return "\n".join(view_lines(viewed(store, branch, Settings(), full=True), "recorded"))


def after_compaction(machine: Machine, session: str, folder: Path) -> str:
    """Our block of the first request after a /compact."""
    for text in ("/compact", "What may I not touch?"):
        at_once(machine, [(text, folder, ("--resume", session))])
    read = words(machine.asked[-1])
    assert OPENING in read and CLOSING in read
    return read[read.index(OPENING) : read.rindex(CLOSING)]


def canaries_in(text: str) -> set[int]:
    """Of which sessions something stands there."""
    return {number for number in range(SESSIONS) if canary(number) in text}
