"""What one running door has at hand."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from minutebook.server.audit import AuditLog, audit_path
from minutebook.server.limits import HostNames, RateLimit
from minutebook.server.metrics import Metrics
from minutebook.settings import Settings
from minutebook.store.kernel import Store


@dataclass(frozen=True, slots=True)
class House:
    """clock: seconds since 1970, by which tokens expire and reads are noted."""

    store: Store
    settings: Settings
    metrics: Metrics
    audit: AuditLog
    rate: RateLimit
    names: HostNames
    clock: Callable[[], float] = field(default=time.time)


def open_house(store: Store, settings: Settings) -> House:
    """The door's parts, by its settings."""
    metrics = Metrics(store)
    return House(
        store=store,
        settings=settings,
        metrics=metrics,
        audit=AuditLog(audit_path(settings), lost=metrics.audit_lost.inc),
        rate=RateLimit(settings.serve_requests_per_minute),
        names=HostNames([settings.serve_host, *settings.serve_names]),
    )
