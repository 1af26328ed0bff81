"""One call of each method of a store, for tests of what goes wrong whatever was called."""

from collections.abc import Callable
from typing import Any

from contract_values import JOB, items

from minutebook.store.kernel import Claim, Dirty, Put

CLAIM = Claim(JOB, "me", 1, 1, 0.0)
CALLS: dict[str, Callable[[Any], object]] = {
    "append": lambda store: store.append("s", items("a"), advance={"m": 1}),
    "read": lambda store: store.read("s"),
    "find": lambda store: store.find("s", ["a"]),
    "find_among": lambda store: store.find_among(["s"], ["a"]),
    "tip": lambda store: store.tip("s"),
    "total_before": lambda store: store.total_before("s", 1),
    "get": lambda store: store.get("c", "k"),
    "get_among": lambda store: store.get_among("c", ["k"]),
    "put": lambda store: store.put(Put("c", "k", "1")),
    "delete": lambda store: store.delete("c", "k"),
    "documents": lambda store: store.documents("c"),
    "changes": lambda store: store.changes("c"),
    "mark_dirty": lambda store: store.mark_dirty("d"),
    "take_dirty": lambda store: store.take_dirty(1),
    "settle_dirty": lambda store: store.settle_dirty(Dirty("d", 1)),
    "queue": lambda store: store.queue(JOB),
    "ready": lambda store: store.ready(["observer"], 1),
    "next_ready_at": lambda store: store.next_ready_at(["observer"]),
    "claim": lambda store: store.claim(JOB, "me", lease_seconds=1, deadline_seconds=1),
    "beat": lambda store: store.beat(CLAIM, lease_seconds=1),
    "finish": lambda store: store.finish(CLAIM),
    "fail": lambda store: store.fail(CLAIM, retry_seconds=1, error="e"),
    "release": lambda store: store.release(JOB, "me"),
    "rewind_times": lambda store: store.rewind_times(),
    "jobs": lambda store: store.jobs(),
    "wipe_board": lambda store: store.wipe_board(),
    "erase": lambda store: store.erase(["s"], [("c", "k")], ["d"], [Put("c", "stone", "1")]),
    "data_version": lambda store: store.data_version(),
}
READS = {"read", "find", "tip", "total_before", "get", "documents", "changes", "take_dirty", "ready", "next_ready_at"}
READS |= {"jobs", "data_version", "find_among", "get_among"}
WRITES = sorted(CALLS.keys() - READS)
