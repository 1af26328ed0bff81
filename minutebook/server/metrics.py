"""What `/metrics` tells, in Prometheus' text form: of this process, and what the store has on its board."""

import threading
import time
from collections import Counter as Counts
from collections.abc import Callable, Iterator

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from minutebook.errors import StoreError
from minutebook.pipeline.sessions import SESSIONS
from minutebook.store.kernel import Store

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
LATENCY_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
SESSIONS_COUNTED_SECONDS = 30.0
"""Counting them reads all their documents: not at every look."""

disable_created_metrics()  # type: ignore[no-untyped-call]  # a line for each line, of when it was first written


class Metrics:
    """The numbers of one server. A registry of its own: two servers in one process do not share any."""

    def __init__(self, store: Store) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "minutebook_http_requests", "Requests answered.", ["route", "method", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "minutebook_http_request_seconds",
            "From a request's headers to its answer.",
            ["route"],
            buckets=LATENCY_SECONDS,
            registry=self.registry,
        )
        self.taken = self._counter("minutebook_entries_taken_in", "Source entries that were new here.")
        self.offered = self._counter("minutebook_memory_taken_in", "Memory entries that laptops sent and were new.")
        self.pulled = self._counter("minutebook_memory_pulled", "Memory entries that laptops fetched.")
        self.audit_lost = self._counter(
            "minutebook_audit_lines_lost", "Reads that could not be noted in the audit log."
        )
        self.in_flight = Gauge("minutebook_http_in_flight", "Requests that are being answered.", registry=self.registry)
        self.registry.register(_Board(store))

    def _counter(self, name: str, text: str) -> Counter:
        return Counter(name, text, registry=self.registry)

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request. route: its template, so that there are few of them."""
        self.requests.labels(route, method, str(status)).inc()
        self.seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """All of it; reads the store."""
        return generate_latest(self.registry)


class _Board(Collector):
    """What the store has, read when it is asked for; nothing where it does not answer."""

    def __init__(self, store: Store, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        self._counted_at = float("-inf")
        self._sessions = 0

    def describe(self) -> Iterator[Metric]:
        """Without it the registry would read the store when it is made."""
        yield from (self._jobs_family(), self._sessions_family(0))

    def collect(self) -> Iterator[Metric]:
        try:
            jobs = Counts((job.job.role, job.state) for job in self._store.jobs())
            family = self._jobs_family()
            for (role, state), count in sorted(jobs.items()):
                family.add_metric([role, state], count)
            yield family
            yield self._sessions_family(self._count_sessions())
        except StoreError:
            return

    def _jobs_family(self) -> GaugeMetricFamily:
        return GaugeMetricFamily("minutebook_jobs", "Jobs on the board.", labels=["role", "state"])

    def _sessions_family(self, count: int) -> GaugeMetricFamily:
        return GaugeMetricFamily("minutebook_sessions", "Sessions in the store.", value=count)

    def _count_sessions(self) -> int:
        with self._lock:
            if self._clock() - self._counted_at >= SESSIONS_COUNTED_SECONDS:
                self._sessions = len(self._store.documents(SESSIONS))
                self._counted_at = self._clock()
            return self._sessions
