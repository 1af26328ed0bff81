"""Who is dead: told only of processes of this machine, whatever the others are called."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from minutebook.workers import owners
from minutebook.workers.owners import is_dead, new_owner

NO_PROCESS = 2**22 + 1
"""Above the largest number of a process that Linux gives."""


def numbered(owner: str, number: int) -> str:
    here, _, rest = owner.rsplit(":", 2)
    return f"{here}:{number}:{rest}"


def test_a_process_of_another_machine_with_the_same_name_is_not_taken_for_a_dead_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Machines that share a Redis store: cloned, called "localhost", and with the same numbers of name spaces."""
    assert is_dead(numbered(new_owner(), NO_PROCESS))
    monkeypatch.setattr(owners, "_boot", lambda: "another machine's")
    assert socket.gethostname() in (elsewhere := numbered(new_owner(), NO_PROCESS))
    monkeypatch.undo()
    assert not is_dead(elsewhere)


def test_without_an_id_of_the_boot_the_network_address_tells_machines_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(*_: object, **__: object) -> str:
        raise FileNotFoundError

    owners._boot.cache_clear()
    monkeypatch.setattr(Path, "read_text", unreadable)
    assert is_dead(numbered(new_owner(), NO_PROCESS)) and owners._boot()
    owners._boot.cache_clear()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system does not say it")
def test_a_process_that_ended_and_was_not_looked_at_is_dead() -> None:
    """What a long-lived process starts stays in the list of processes until that process looks at it, or ends."""
    with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as child:
        owner = numbered(new_owner(), child.pid)
        assert not is_dead(owner) and not is_dead(new_owner())
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and is still there
        os.kill(child.pid, 0)
        assert is_dead(owner)
