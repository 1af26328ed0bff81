"""What one running door has at hand."""

import time
from asyncio import get_running_loop
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import TypeVar

from minutebook.server.audit import AuditLog, audit_path
from minutebook.server.limits import HostNames, RateLimit
from minutebook.server.metrics import Metrics
from minutebook.settings import Settings
from minutebook.store.kernel import Store

THREADS = 16
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class House:
    """clock: seconds since 1970, by which tokens expire and reads are noted. threads: where the store is asked."""

    store: Store
    settings: Settings
    metrics: Metrics
    audit: AuditLog
    rate: RateLimit
    names: HostNames
    threads: ThreadPoolExecutor
    clock: Callable[[], float] = field(default=time.time)

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Do what may wait for the store."""
        return await get_running_loop().run_in_executor(self.threads, copy_context().run, work)


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
        threads=ThreadPoolExecutor(THREADS, "om-serve"),
        names=HostNames([settings.serve_host, *settings.serve_names]),
    )
    with house.threads:
        yield house
