"""Which mind recorded what in a replay, and what its models used and cost."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from minutebook.pipeline import ledger
from minutebook.pipeline.branches import load_branch
from minutebook.records import DIGEST, DROPS, OBSERVATIONS, REFLECTIONS, MemoryEntry
from minutebook.store.kernel import Store
from minutebook.workers import dropper
from minutebook.workers.models_accounts import SUMMED, Account, accounts

COUNTED: Mapping[str, tuple[str, Callable[[MemoryEntry], int]]] = {
    OBSERVATIONS: ("observer", lambda entry: _length(entry, "observations")),
    REFLECTIONS: ("reflector", lambda entry: _length(entry, "reflections")),
    DIGEST: ("digester", lambda entry: 1),
    DROPS: ("dropper", lambda entry: _length(entry, "observationIds") if entry.data.get("by") == dropper.ROLE else 0),
}
"""Kind of a memory entry → the role that makes it, and how many records it holds."""

Records = Counter[tuple[str, str]]
"""(role, mind) → records."""


def records_of(store: Store, branches: Iterable[str]) -> Records:
    """What each mind recorded on these branches, so far."""
    return records_in(entry for key in branches for entry in ledger.read_own(store, load_branch(store, key)))


def records_in(entries: Iterable[MemoryEntry]) -> Records:
    """The records in memory entries; of drops, the ids that the dropper chose."""
    found: Records = Counter()
    for entry in entries:
        if entry.kind in COUNTED:
            role, count = COUNTED[entry.kind]
            found[role, str(entry.data.get("mind") or "imported")] += count(entry)
    return +found


def minds_since(before: Records, after: Records) -> dict[str, dict[str, int]]:
    """Role → mind → records between two counts, the mind that recorded most first."""
    found: dict[str, dict[str, int]] = {}
    for (role, mind), count in (after - before).most_common():
        found.setdefault(role, {})[mind] = count
    return found


def usage_of(store: Store, session: str) -> dict[tuple[str, str], Account]:
    """(role, model) → what its requests for the session used, of all days, so far."""
    found: dict[tuple[str, str], Account] = {}
    for line in accounts(store):
        if line.session == session:
            key = (line.role, line.model)
            found[key] = found[key].plus(line) if key in found else replace(line, day="")
    return found


def usage_since(
    before: Mapping[tuple[str, str], Account], after: Mapping[tuple[str, str], Account]
) -> tuple[Account, ...]:
    """What was used between two counts, by role and model; only what was used."""
    lines = (_less(line, before.get(key)) for key, line in sorted(after.items()))
    return tuple(line for line in lines if line.requests)


def _less(line: Account, before: Account | None) -> Account:
    return replace(line, **{name: getattr(line, name) - getattr(before, name) for name in SUMMED}) if before else line


def _length(entry: MemoryEntry, name: str) -> int:
    value = entry.data.get(name)
    return len(value) if isinstance(value, (list, tuple)) else 0
