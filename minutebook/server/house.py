"""What one running door has at hand."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from minutebook.server.audit import AuditLog, audit_path
from minutebook.server.limits import HostNames, RateLimit
from minutebook.server.metrics import Metrics
from minutebook.server.threads import Threads
from minutebook.settings import Settings
from minutebook.store.kernel import Store

THREADS = 16
STRANGERS_NOTED = 100
"""So many addresses without a valid token are noted in a minute, each once: a flood does not fill the audit log."""
TAKERS = 2
"""One waits for the Redis server while the other one works; more take the interpreter from one another."""
TAKERS_OF_FILE = 1
"""A file is written to by one at a time anyway."""


@dataclass(frozen=True, slots=True)
class House:
    """clock: seconds since 1970, by which tokens expire and reads are noted.

    threads: where the store is asked. takers: where sources are taken in; nothing else waits for them.
    """

    store: Store
    settings: Settings
    metrics: Metrics
    audit: AuditLog
    rate: RateLimit
    names: HostNames
    threads: Threads
    takers: Threads
    clock: Callable[[], float] = field(default=time.time)
    _strangers: tuple[RateLimit, RateLimit] = field(default_factory=lambda: (RateLimit(1), RateLimit(STRANGERS_NOTED)))

    def notes_stranger(self, address: str) -> bool:
        """Whether a request without a valid token is noted: the first of its address in a minute, and not too many."""
        own, all_of_them = self._strangers
        return not own.wait_seconds(address) and not all_of_them.wait_seconds("")

    def check_store(self) -> None:
        """Raise StoreGone where the store was removed while it is open: nobody's token is wrong then."""
        check: Callable[[], None] | None = getattr(self.store, "check_there", None)
        if check is not None:
            check()


@contextmanager
def opened_house(store: Store, settings: Settings) -> Iterator[House]:
    """The door's parts, by its settings; its threads are gone afterwards."""
    metrics = Metrics(store)
    house = House(
        store=store,
        settings=settings,
        metrics=metrics,
        audit=AuditLog(audit_path(settings), lost=metrics.audit_lost.inc),
        rate=RateLimit(settings.serve_requests_per_minute),
        threads=Threads(THREADS),
        takers=Threads(TAKERS_OF_FILE if store.url.startswith("sqlite:") else TAKERS),
        names=HostNames([settings.serve_host, *settings.serve_names]),
    )
    with house.threads, house.takers:
        yield house
