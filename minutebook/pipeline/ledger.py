"""The memory entries of a branch, inherited ones included, and its marks.

Merge order: the inherited entries of each ancestor, root first, then the branch's own. A fork inherits exactly the
parent's entries that stood at the fork and whose coverage lies within the shared prefix (003-157).
"""

from itertools import pairwise

from minutebook.pipeline.branches import load_branch, memory_stream
from minutebook.records import Branch, MemoryEntry
from minutebook.store import codec
from minutebook.store.kernel import Store

# Marks of a memory stream. Positions on the path:
OBSERVER = "observer"
REFLECTOR = "reflector"
COMPACTED_FROM = "compacted_from"  # first kept entry of the last compaction
COMPACTED_AT = "compacted_at"  # the path's length when it happened
# Counts of reflections recorded, as a role last read them:
REFLECTIONS_RECORDED = "reflections_recorded"
DROPPER = "dropper"
DIGESTER = "digester"
# Sums that due_roles compares, kept by every commit so that a clock never has to fold:
POOL_TOKENS = "pool_tokens"
UNDIGESTED_TOKENS = "undigested_tokens"
DIGEST_TOKENS = "digest_tokens"
REFLECTIONS_RETIRED = "reflections_retired"  # counts: a digest is committed only while these two stand still
DIGESTS_RECORDED = "digests_recorded"
DIGEST_BUDGET = "digest_budget"  # reflection_context_max_tokens that the digester last ran with
BOX = "box"  # whose this memory is: this store's (0), a box's (BOXED), this store's again after they parted (PARTED)
BOXED, PARTED = 1, 2
TAKEN = "taken"  # 1 where the branch came from another machine, which alone goes on with its sources

COVERED = (OBSERVER, REFLECTOR, DROPPER, DIGESTER, COMPACTED_FROM, COMPACTED_AT)
"""Marks that only move forward, and not by entries alone: with DIGEST_BUDGET and BOX the ones that no fold can give."""
COVERAGE_OF_ROLE = {"observer": OBSERVER, "reflector": REFLECTOR, "dropper": DROPPER, "digester": DIGESTER}


def chain_of(store: Store, branch: Branch) -> list[Branch]:
    """The branch and its ancestors, root first."""
    found = [branch]
    while found[-1].parent:
        found.append(load_branch(store, found[-1].parent))
    return found[::-1]


def read_memory(store: Store, branch: Branch) -> list[MemoryEntry]:
    """Every memory entry that this branch sees, in merge order."""
    return [*read_inherited(store, branch), *read_own(store, branch)]


def read_inherited(store: Store, branch: Branch) -> list[MemoryEntry]:
    """Those that it shares with its ancestors."""
    entries: list[MemoryEntry] = []
    for ancestor, child in pairwise(chain_of(store, branch)):
        entries += read_own(store, ancestor, child.parent_memory)
        entries = [entry for entry in entries if entry.covers <= child.fork]
    return entries


def read_own(store: Store, branch: Branch, stop: int | None = None, *, start: int = 0) -> list[MemoryEntry]:
    """The branch's own memory entries at start ≤ index < stop."""
    return [codec.memory_entry(branch.key, stored) for stored in store.read(memory_stream(branch.key), start, stop)]
