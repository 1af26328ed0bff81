"""Who holds a claim: this process, by a name from which any other on the same machine can tell that it is dead."""

import os
import socket
import uuid
from contextlib import suppress
from functools import cache
from pathlib import Path

from minutebook.store.kernel import Store


def new_owner() -> str:
    """A name for an engine of this process: host:boot:space of process ids:process id:random."""
    return f"{_here()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"


def is_dead(owner: str) -> bool:
    """Whether the owner's process has ended; False for one of another machine or container, of which nothing is known.

    A number that was given to a new process since counts as alive: the lease then ends by itself.
    """
    here, number, _ = ["", "", *owner.rsplit(":", 2)][-3:]
    if here != _here() or not number.isdecimal():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except OSError:  # it is there, and another user's
        return False
    return _is_unreaped(number)


def _is_unreaped(number: str) -> bool:
    """Whether it has ended, and the process that started it has not looked yet; False where the system does not say."""
    with suppress(OSError):
        return Path(f"/proc/{number}/stat").read_bytes().rpartition(b")")[2].split()[:1] == [b"Z"]
    return False


def release_the_dead(store: Store) -> int:
    """Free the jobs that dead processes of this machine held, so that nobody waits for their leases; how many."""
    running = [state for state in store.jobs() if state.state == "running" and is_dead(state.owner)]
    return sum(store.release(state.job, state.owner) for state in running)


def _here() -> str:
    """The host, its boot, and where the system tells it the space in which process numbers mean something.

    Machines that share a store may have the same host name, and the first space has the same number on all of them.
    """
    space = ""
    with suppress(OSError):
        space = os.readlink("/proc/self/ns/pid")  # noqa: PTH115
    return f"{socket.gethostname()}:{_boot()}:{space}"


@cache
def _boot() -> str:
    """What only this machine has: the id of its boot, else its network address."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{uuid.getnode():x}"
