"""What `om doctor` checks of a store on a Redis server."""

import time
from collections.abc import Iterator, Mapping
from statistics import median
from typing import TYPE_CHECKING, cast

from minutebook.cli.check import Check
from minutebook.cli.checks import BUSY_SECONDS, intake, roles, store_failed, worker
from minutebook.cli.place import Place
from minutebook.errors import MinutebookError, StoreReadOnly
from minutebook.store.kernel import Put, Store
from minutebook.store.opening import open_store

if TYPE_CHECKING:
    from minutebook.store.redis import RedisStore

PINGS = 9
SLOW_MILLISECONDS = 20.0
CLOCK_SLACK_SECONDS = 60.0
Facts = Mapping[str, str]
"""What the server says of itself."""


def server_checks(place: Place) -> Iterator[Check]:
    """The server, and the store on it; one that cannot be opened is one line."""
    try:
        store = open_store(place.url, busy_seconds=BUSY_SECONDS)
    except MinutebookError as error:
        yield store_failed(place.shown_url, error)
        return
    try:
        yield from _opened(store, place.shown_url)
    except MinutebookError as error:
        yield store_failed(place.shown_url, error)
    finally:
        store.close()


def _opened(store: Store, where: str) -> Iterator[Check]:
    server = cast("RedisStore", store)
    yield writing(store, where)
    facts = facts_of(server)
    yield Check("server", "ok", f"Redis {facts.get('redis_version', 'of an unknown version')}")
    yield replication(facts)
    yield eviction(facts)
    yield persistence(facts)
    yield from torn_end(server)
    yield latency(_milliseconds(server))
    yield clocks(store.now() - time.time())
    yield worker(server.listeners() > 0)
    yield from intake(store)
    yield from roles(store)


def facts_of(server: "RedisStore") -> dict[str, str]:
    """INFO, field by field."""
    lines = bytes(server.ask("INFO")).decode(errors="replace").splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)


def writing(store: Store, where: str) -> Check:
    """Whether the store takes a write."""
    try:
        store.put(Put("doctor", "probe", "{}"))
        store.delete("doctor", "probe")
    except StoreReadOnly as error:
        return store_failed(where, error)
    return Check("store", "ok", f"{where}: opens and can be written")


def replication(facts: Facts) -> Check:
    """The one that is written to, and how many copy it."""
    copies = facts.get("connected_slaves", "0")
    if facts.get("role") != "master":
        return Check("replication", "fail", "a replica", "give the address of the server that it copies")
    return Check("replication", "ok", f"the main server, {copies} replica{'' if copies == '1' else 's'}")


def eviction(facts: Facts) -> Check:
    """A server that frees memory by itself would throw parts of the ledger away."""
    policy, most = facts.get("maxmemory_policy", ""), facts.get("maxmemory_human", "0B")
    used = f"{facts.get('used_memory_human', '?')} used of {'all there is' if most == '0B' else most}"
    if policy != "noeviction":
        fix = "redis-cli CONFIG SET maxmemory-policy noeviction, and the same in its redis.conf"
        return Check("memory policy", "fail", f"{policy or 'unknown'}: when memory is short, it removes keys", fix)
    return Check("memory policy", "ok", f"noeviction; {used}")


def persistence(facts: Facts) -> Check:
    """Whether what was written outlives the server's process."""
    if facts.get("aof_enabled") != "1":
        fix = "redis-cli CONFIG SET appendonly yes, and the same in its redis.conf"
        return Check("append-only file", "fail", "off: what was written last is lost with the server's process", fix)
    if facts.get("aof_last_write_status", "ok") != "ok":
        return Check("append-only file", "fail", "its last write failed", "free space where the server writes it")
    return Check("append-only file", "ok", "on")


def torn_end(server: "RedisStore") -> Iterator[Check]:
    """Whether half of a transaction could be done after a power cut; nothing where the server does not tell."""
    try:
        found = server.ask("CONFIG", "GET", "aof-load-truncated")
    except MinutebookError:
        return  # a server that somebody else runs
    if found and bytes(found[-1]) == b"yes":
        said = "aof-load-truncated is yes: what a power cut tore is done by half at a later start"
        yield Check("torn writes", "info", said, "set it to no in redis.conf; see docs/operating.md")


def latency(milliseconds: float) -> Check:
    """A compaction asks some ten times."""
    said = f"{milliseconds:.1f} ms for question and answer"
    return Check("latency", "ok" if milliseconds < SLOW_MILLISECONDS else "info", said)


def clocks(ahead_seconds: float) -> Check:
    """Leases go by the server's clock, so that this is only worth knowing."""
    if abs(ahead_seconds) < CLOCK_SLACK_SECONDS:
        return Check("clock of the server", "ok", "as here")
    how = "ahead of" if ahead_seconds > 0 else "behind"
    said = f"{abs(ahead_seconds):,.0f} s {how} this machine's; leases and pauses go by the server's"
    return Check("clock of the server", "info", said)


def _milliseconds(server: "RedisStore") -> float:
    times = []
    for _ in range(PINGS):
        began = time.perf_counter()
        server.ask("PING")
        times.append(1e3 * (time.perf_counter() - began))
    return median(times)
