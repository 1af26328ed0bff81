"""The heartbeat: one thread a process keeps the leases of all its claims, each no longer than its deadline."""

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from minutebook.errors import StoreError
from minutebook.store.kernel import Claim, Store

BEATS_PER_LEASE = 3


@dataclass(eq=False, slots=True)
class Held:
    """A claim in hand."""

    store: Store
    claim: Claim
    lease_seconds: float
    beat_at: float = 0.0
    lost: bool = False

    def beat(self) -> bool:
        """Extend the lease; False when the claim is no longer ours, and nothing may be committed."""
        self.beat_at = time.monotonic() + self.lease_seconds / BEATS_PER_LEASE
        self.lost = self.lost or not self.store.beat(self.claim, lease_seconds=self.lease_seconds)
        return not self.lost


class Leases:
    """The claims of this process. Its thread starts with the first claim and ends with stop."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._held: set[Held] = set()
        self._changed = threading.Condition()
        self._wakes_at = math.inf
        self._stopping = False
        self._thread: threading.Thread | None = None

    def __enter__(self) -> "Leases":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @contextmanager
    def keeping(self, claim: Claim, lease_seconds: float) -> Iterator[Held]:
        """Beat for a claim while the block runs."""
        held = Held(self._store, claim, lease_seconds, time.monotonic() + lease_seconds / BEATS_PER_LEASE)
        with self._changed:
            self._held.add(held)
            self._start()
            if held.beat_at < self._wakes_at:  # each needless wake costs the job a switch of threads
                self._changed.notify()
        try:
            yield held
        finally:
            with self._changed:
                self._held.discard(held)

    def release_all(self, error: str) -> None:
        """Hand back what is still in hand, so that another worker need not wait for the leases to end."""
        with self._changed:
            held, self._held = self._held, set()
        for one in held:
            one.lost = True
            with suppress(StoreError):  # a store that is full or gone: the lease ends by itself
                self._store.fail(one.claim, retry_seconds=0, error=error)

    def stop(self) -> None:
        """End the thread."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="minutebook-leases", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._stopping:
                    return
                due = self._due()
                if not due:
                    self._wakes_at = min((held.beat_at for held in self._held), default=math.inf)
                    self._changed.wait(self._pause())
            for held in due:
                with suppress(StoreError):  # a busy store: the next beat comes before the lease ends
                    held.beat()

    def _due(self) -> list[Held]:
        return [held for held in self._held if held.beat_at <= time.monotonic()]

    def _pause(self) -> float | None:
        return None if self._wakes_at == math.inf else max(0.0, self._wakes_at - time.monotonic())
