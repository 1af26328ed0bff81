"""Opening a store whose server may be away just now: it loads its data, another takes over, or it is not up yet.

For programs that stay; whoever only asks something is told at once.
"""

import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from minutebook.errors import StoreBusy, StoreReadOnly, StoreUnreachable
from minutebook.store.kernel import Store
from minutebook.store.opening import REDIS_SCHEMES, WORKER_BUSY_SECONDS, open_store
from minutebook.workers.outages import WORK_GOES_ON, Outage

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PASSING = (StoreBusy, StoreReadOnly, StoreUnreachable)
"""What a server says that is there soon. A wrong password, an old server, another program's keys do not pass."""


class _Left(BaseException):
    """A signal to stop."""


def open_patiently(
    url: str, *, busy_seconds: float = WORKER_BUSY_SECONDS, wait_seconds: float = math.inf
) -> Store | None:
    """The store; None when a signal to stop came first, which is obeyed at once (in the main thread).

    A server that is away is tried again for so long, and that is said once. Raises as open_store does: in the end, and
    at once what does not pass by itself, or of a file.
    """
    tries = url.partition("://")[0] in REDIS_SCHEMES
    again = WORK_GOES_ON if wait_seconds == math.inf else f"it is tried again for {wait_seconds:.0f} s"
    outage, give_up_at = Outage(again), time.monotonic() + wait_seconds
    try:
        with _signals_leave():
            while True:
                try:
                    store = open_store(url, busy_seconds=busy_seconds)
                    outage.over()
                    return store
                except PASSING as error:
                    left = give_up_at - time.monotonic()
                    if not tries or left <= 0:
                        raise
                    outage.begun(error)
                    time.sleep(min(left, outage.next_pause()))
    except _Left:
        return None


@contextmanager
def _signals_leave() -> Iterator[None]:
    """Nothing is in hand yet: a signal breaks off whatever is being waited for."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise _Left

    is_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in SIGNALS if is_main}
    heard = {number: handler for number, handler in before.items() if handler != signal.SIG_IGN}
    for number in heard:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number, handler in heard.items():
            signal.signal(number, handler)
