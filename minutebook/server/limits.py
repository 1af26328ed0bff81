"""What one client may ask of the door: how much in a minute, and under which names."""

import ipaddress
import re
import threading
import time
from collections.abc import Callable, Iterable

WINDOW_SECONDS = 60.0
KEYS_MAX = 10_000
"""Windows that are over are forgotten when there are so many."""

_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?", re.ASCII)


class RateLimit:
    """So many requests for each key in a minute, counted from the first one."""

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_minute = per_minute
        self._clock = clock
        self._lock = threading.Lock()
        self._windows: dict[str, tuple[float, int]] = {}

    def wait_seconds(self, key: str) -> float:
        """0 where one more request is fine, and it is counted; else the time until the minute is over."""
        now = self._clock()
        with self._lock:
            began, count = self._windows.get(key, (now, 0))
            if now - began >= WINDOW_SECONDS:
                began, count = now, 0
            if count >= self.per_minute:
                return WINDOW_SECONDS - (now - began)
            self._forget(now)
            self._windows[key] = (began, count + 1)
        return 0.0

    def _forget(self, now: float) -> None:
        if len(self._windows) < KEYS_MAX:
            return
        self._windows = {key: each for key, each in self._windows.items() if now - each[0] < WINDOW_SECONDS}
        while len(self._windows) >= KEYS_MAX:
            self._windows.pop(next(iter(self._windows)))


class HostNames:
    """The names by which the door may be addressed. A page in a browser can lead its own name here, but not ours."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = {"localhost", *(name.strip("[]").lower() for name in names)}
        self._any_address = bool(self._names & {"0.0.0.0", "::"})

    def allows(self, header: str) -> bool:
        """Whether a Host header names us, with or without a port."""
        found = _HOST.fullmatch(header)
        if found is None:
            return False
        name = found[1].strip("[]").lower()
        return name in self._names or is_loopback(name) or (self._any_address and is_address(name))


def is_loopback(name: str) -> bool:
    """Whether it is an address of this machine alone, or localhost."""
    return name == "localhost" or (is_address(name) and ipaddress.ip_address(name).is_loopback)


def is_address(name: str) -> bool:
    """Whether it is an IP address: no page can make a browser send one that is not its own."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
