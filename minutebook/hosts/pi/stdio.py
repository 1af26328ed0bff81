"""`om-hook pi --stdio`: the child that Pi's extension keeps for one session. It ends when its input does."""

import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

from minutebook.hosts import bell
from minutebook.hosts.pi.pipe import Writer, read_objects

if TYPE_CHECKING:
    from minutebook.hosts.pi.child import Child

NO_STORE = "the store is on a server; in Pi the memory needs one on this machine (MINUTEBOOK_STORE)"
INPUT, OUTPUT = 0, 1


def main() -> int:
    """Answer lines until there are no more; the exit code."""
    signal.signal(signal.SIGINT, lambda *_: None)  # meant for Pi; not SIG_IGN, which a worker would inherit
    send = Writer(OUTPUT)
    store_path = local_store_path()
    if not store_path:
        send({"type": "off", "why": "" if _is_off() else NO_STORE})
        return 0
    from minutebook.hosts.pi.child import Child

    child = Child(store_path, send)
    signal.signal(signal.SIGTERM, lambda *_: _leave(child))
    try:
        for line in read_objects(INPUT):
            child.handle(line)
    finally:
        child.close()
    return 0


def _leave(child: "Child") -> NoReturn:
    """It took too long at the session's end: a worker does the rest, which a bell tells where it is."""
    try:
        child.leave_to_worker()
    finally:
        os._exit(0)


def _is_off() -> bool:
    return os.environ.get("MINUTEBOOK_OFF", "0") not in ("", "0")


def local_store_path() -> str:
    """The store of this machine; "" where Minutebook is switched off, or the store is on a server."""
    if _is_off():
        return ""
    found = bell.local_store_path(os.environ)
    if found is None:
        bell.complain(f"pi: {NO_STORE}")
    return found or ""


if __name__ == "__main__":
    sys.exit(main())
