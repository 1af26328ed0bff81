"""What goes wrong around real agents: they are unharmed, nothing stored is lost, doctor names it."""

import json
import os
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from scripted_server import Answer, Asked, ScriptedServer
from surroundings import Disk, small_disk

from minutebook.pipeline.branches import Path as BranchPath
from minutebook.pipeline.branches import list_branches
from minutebook.pipeline.sourcetext import entry_text
from tests.real.claude_lab import PROGRAMS, ClaudeLab, Run, said, shell
from tests.real.claude_machine import Machine, commands, wait_until
from tests.real.codex_api import ScriptedResponses
from tests.real.codex_lab import CodexLab

HOOK = str(PROGRAMS / "om-hook")
TOLD = "Never touch src/ledger.py, because the release depends on it. " * 4


def reply(asked: Asked) -> Answer:
    """One command in a turn, then a word."""
    if not asked.tools:
        return Answer(text='{"title": "a title"}')
    last = json.dumps(asked.body["messages"][-1])
    return said("It has 42 rows.") if "tool_result" in last else shell("echo 42 rows")


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with ScriptedServer() as served:
        made = Machine(tmp_path / "machine", served)
        served.defaults["other"] = reply
        made.install("--user")
        yield made
        made.stop()


def turn(machine: Machine, text: str = TOLD, session: str = "") -> Run:
    """A turn that ends as it does where nobody has Minutebook: with a command, a word, and two requests."""
    before = len(machine.asked)
    run = machine.prompt(text, session=session)
    assert (run.code, run.text, run.errors) == (0, "It has 42 rows.", "")
    assert len(machine.asked) == before + 2
    return run


def prompts(lab: ClaudeLab, session: str) -> list[str]:
    """The prompts of a session that the store holds, in order."""
    with lab.opened() as store:
        (branch,) = list_branches(store, f"claude_code:{session}")
        return [entry_text(placed.entry).strip() for placed in BranchPath(store, branch).walk() if placed.entry.typed]


def doctor(machine: Machine) -> str:
    """Its lines of failures."""
    checks = json.loads(machine.om("doctor", "--json", code=1))["checks"]
    return "\n".join(f"{each['name']}: {each['said']}; {each['fix']}" for each in checks if each["verdict"] == "fail")


def later(machine: Machine) -> None:
    """So long after a worker that failed that hooks start the next one."""
    with suppress(FileNotFoundError):
        os.utime(f"{machine.store}.lock", (1.0, 1.0))


def taken_in(machine: Machine) -> None:
    """Wait until nothing that was rung for is left."""
    wait_until(lambda: not machine.bells())


def test_without_a_fault_a_turn_is_taken_in_and_doctor_is_content(machine: Machine) -> None:
    session = turn(machine).session
    taken_in(machine)
    assert prompts(machine, session) == [TOLD.strip()]
    machine.om("doctor", code=0)


# -- killed --------------------------------------------------------------------------------------------------------


def test_an_agent_killed_in_the_middle_of_a_turn(machine: Machine) -> None:
    """What it had written is taken in, and the session goes on."""
    hangs, over = threading.Event(), threading.Event()

    def hanging(asked: Asked) -> Answer:
        if asked.tools and "second" in json.dumps(asked.body["messages"][-1]):
            hangs.set()
            over.wait(60)
        return reply(asked)

    session = turn(machine).session
    machine.model.defaults["other"] = hanging
    run = machine.start("The second thing.", "--resume", session)
    assert hangs.wait(60)
    wait_until(lambda: "The second thing." in written_prompts(machine, session))  # it asks before it writes
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate()
    over.set()
    machine.model.defaults["other"] = reply
    turn(machine, "The third thing.", session)
    taken_in(machine)
    assert prompts(machine, session) == [TOLD.strip(), "The second thing.", "The third thing."]


@contextmanager
def killing(words: str) -> Iterator[list[int]]:
    """Kills every process that has this word in its command line, as soon as it is seen; which those were."""
    killed: list[int] = []
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            for pid in [pid for pid, line in commands() if any(words in part for part in line) and pid != os.getpid()]:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def test_hooks_that_are_killed_while_they_run(machine: Machine) -> None:
    """The next one that lives brings everything."""
    turn(machine)
    slow = machine.root / "slow-hook"  # of this machine alone, and long enough there to be seen
    replace_hook(machine, str(slow))
    slow.write_text(f'#!/bin/sh\nsleep 0.2\nexec {HOOK} "$@"\n')
    slow.chmod(0o755)
    with killing(str(slow)) as killed:
        session = turn(machine).session
    assert killed
    turn(machine, "And now?", session)
    taken_in(machine)
    assert prompts(machine, session) == [TOLD.strip(), "And now?"]


def replace_hook(machine: Machine, program: str) -> None:
    """Another program at every event."""
    file = machine.folder / "settings.json"
    file.write_text(file.read_text().replace(HOOK, program))


def test_a_worker_that_is_killed_again_and_again(machine: Machine) -> None:
    with killing(str(machine.store)) as killed:
        session = turn(machine).session
        turn(machine, "And now?", session)
    assert killed
    later(machine)
    turn(machine, "Once more.", session)
    taken_in(machine)
    assert prompts(machine, session) == [TOLD.strip(), "And now?", "Once more."]


# -- files ---------------------------------------------------------------------------------------------------------


def test_a_transcript_that_is_deleted(machine: Machine) -> None:
    """What was taken in stays; a session whose file is gone before anybody read it is named."""
    session = turn(machine).session
    taken_in(machine)
    transcript(machine, session).unlink()
    lost = turn_without_worker(machine)
    transcript(machine, lost).unlink()
    turn(machine)
    taken_in(machine)
    assert prompts(machine, session) == [TOLD.strip()]
    assert lost in machine.hook_log() and lost in doctor(machine)


def transcript(machine: Machine, session: str) -> Path:
    (found,) = machine.folder.glob(f"projects/*/{session}.jsonl")
    return found


def written_prompts(machine: Machine, session: str) -> list[object]:
    """What the agent's own file has of its prompts; a row that is being written is none yet."""
    rows = []
    for line in transcript(machine, session).read_text().splitlines():
        with suppress(ValueError):
            rows.append(json.loads(line))
    return [row["message"]["content"] for row in rows if row.get("type") == "user"]


def turn_without_worker(machine: Machine) -> str:
    """Another process holds the lock, and listens to nothing."""
    from minutebook.hosts.starting import hold, open_lock

    lock = open_lock(str(machine.store))
    try:
        wait_until(lambda: hold(lock) or machine.stop())
        return turn(machine).session
    finally:
        os.close(lock)


@contextmanager
def on_a_disk(machine: Machine, size: str) -> Iterator[Disk]:
    """Minutebook's data folder on a small disk of its own."""
    with small_disk(machine.root / "disk", size) as disk:
        machine.minutebook, machine.store = disk.folder, disk.folder / "minutebook.sqlite"
        try:
            yield disk
        finally:
            machine.stop()


def make_read_only(machine: Machine, disk: Disk) -> None:
    """As soon as nobody has a file open there: a worker may have been started at the very end."""

    def done() -> bool:
        machine.stop()
        with suppress(subprocess.CalledProcessError):
            disk.remount("ro")
            return True
        return False

    wait_until(done)


def test_a_data_folder_that_cannot_be_written(machine: Machine) -> None:
    with on_a_disk(machine, "8m") as disk:
        session = turn(machine).session
        taken_in(machine)
        make_read_only(machine, disk)
        turn(machine, "And now?", session)
        assert "data folder: " in (said := doctor(machine)) and "cannot be written" in said
        assert prompts(machine, session) == [TOLD.strip()]
        disk.remount("rw")
        later(machine)
        turn(machine, "Once more.", session)
        taken_in(machine)
        assert prompts(machine, session) == [TOLD.strip(), "And now?", "Once more."]


def test_a_full_disk(machine: Machine) -> None:
    with on_a_disk(machine, "2m") as disk:
        session = turn(machine).session
        taken_in(machine)
        machine.stop()
        disk.fill()
        turn(machine, "And now?", session)
        assert "disk is full" in doctor(machine)
        disk.free()
        later(machine)
        turn(machine, "Once more.", session)
        taken_in(machine)
        assert prompts(machine, session) == [TOLD.strip(), "And now?", "Once more."]


def test_a_home_that_cannot_be_written(machine: Machine) -> None:
    """The agent says what it says to that without us: its run is compared with one whose hooks leave at once."""
    with small_disk(machine.root / "home-disk", "16m") as disk:
        subprocess.run(["cp", "-a", f"{machine.home}/.", disk.folder], check=True)
        machine.home, machine.minutebook = disk.folder, disk.folder / ".minutebook"
        machine.folder, machine.store = machine.home / ".claude", machine.minutebook / "minutebook.sqlite"
        turn(machine)
        taken_in(machine)
        make_read_only(machine, disk)
        runs = [machine.run("-p", TOLD, "--output-format", "json", MINUTEBOOK_OFF=off) for off in ("1", "0")]
        ended = [(run.code, run.text if run.output else "", run.errors) for run in runs]
        assert ended[0] == ended[1]
        assert f"data folder: {machine.minutebook}: cannot be written: Read-only file system" in doctor(machine)
        disk.remount("rw")
        later(machine)
        turn(machine)


# -- programs ------------------------------------------------------------------------------------------------------


def test_om_that_is_gone_and_its_hooks_left_behind(machine: Machine) -> None:
    replace_hook(machine, "/gone/bin/om-hook")
    turn(machine)
    assert "/gone/bin/om-hook" in (said := doctor(machine)) and "om install claude-code" in said
    machine.install("--user")
    session = turn(machine).session
    taken_in(machine)
    assert prompts(machine, session) == [TOLD.strip()]


def test_a_store_that_a_newer_version_wrote(machine: Machine) -> None:
    session = turn(machine).session
    taken_in(machine)
    machine.stop()
    version = with_version(machine.store, 999)
    turn(machine, "And now?", session)
    time.sleep(1)
    assert "upgrade minutebook" in doctor(machine)
    with_version(machine.store, version)
    later(machine)
    turn(machine, "Once more.", session)
    taken_in(machine)
    assert prompts(machine, session) == [TOLD.strip(), "And now?", "Once more."]


def with_version(store: Path, version: int) -> int:
    """Write the format's number; the one before."""
    connection = sqlite3.connect(store)
    try:
        before = int(connection.execute("PRAGMA user_version").fetchone()[0])
        connection.execute(f"PRAGMA user_version = {version}")
        connection.commit()
        return before
    finally:
        connection.close()


# -- two hosts -----------------------------------------------------------------------------------------------------


def test_two_agents_on_one_project(machine: Machine) -> None:
    """At once, each with its own memory and one worker for both."""
    with ScriptedResponses() as api:
        lab = CodexLab(machine.root / "codex", api)
        lab.project, lab.minutebook, lab.store = machine.project, machine.minutebook, machine.store
        lab.configure()
        lab.install()
        runs: list[str] = []
        codex = threading.Thread(target=lambda: runs.append(lab.exec("Codex: never touch src/codex.py.").thread))
        codex.start()
        session = turn(machine).session
        codex.join()
        assert len(machine.workers()) <= 1
        taken_in(machine)
    listed = {line["key"]: line for line in machine.listed()}
    assert listed.keys() == {f"claude_code:{session}", f"codex:{runs[0]}"}
    assert {line["project_key"] for line in listed.values()} == {str((machine.project / ".git").resolve())}
    assert prompts(machine, session) == [TOLD.strip()]
    for key, line in listed.items():
        assert ("src/codex.py" in line["title"]) == key.startswith("codex:")
