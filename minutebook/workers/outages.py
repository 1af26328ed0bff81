"""A store that cannot be used just now: said once, waited for longer and longer, and said when it is over."""

import logging
import random
import threading
import time

from minutebook.errors import StoreError

FIRST_SECONDS, LARGEST_SECONDS = 1.0, 10.0
WORK_GOES_ON = "work goes on by itself when it can be used again"
logger = logging.getLogger(__name__)


class Outage:
    """What one process knows of it; every thread may tell.

    The pauses double, and are shortened by chance, so that many workers do not come back at one moment.
    """

    def __init__(self, then: str = WORK_GOES_ON) -> None:
        """then: what happens next, said behind what is wrong."""
        self._then = then
        self._lock = threading.Lock()
        self._said = ""
        self._since = 0.0
        self._pause = FIRST_SECONDS

    def begun(self, error: StoreError) -> None:
        """Say what is wrong, unless it was said."""
        with self._lock:
            if not self._said:
                self._since = time.monotonic()
            if type(error).__name__ != self._said:
                self._said = type(error).__name__
                logger.warning("%s; %s", error, self._then)

    def next_pause(self) -> float:
        """Seconds to wait before the next try."""
        with self._lock:
            pause, self._pause = self._pause, min(2 * self._pause, LARGEST_SECONDS)
        return pause * random.uniform(0.5, 1.0)

    def over(self) -> None:
        """It did what was asked."""
        with self._lock:
            said, self._said, self._pause = self._said, "", FIRST_SECONDS
        if said:
            logger.warning("the store can be used again, after %.0f s", time.monotonic() - self._since)
