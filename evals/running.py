"""One case through the real role module: prepare, think, commit, and what stands afterwards."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from evals.case_files import Case
from evals.checks import Record, Seen
from evals.staging import Staged, stage
from minutebook.errors import SpanFailed
from minutebook.pipeline.outcomes import Outcome, commit_outcome
from minutebook.pipeline.shapes import ids_of, observations_of, reflections_of
from minutebook.records import DIGEST, DROPS, OBSERVATIONS, REFLECTIONS, RETIREMENTS, Branch, MemoryEntry
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store
from minutebook.workers.contract import Mind
from minutebook.workers.roles import Context
from minutebook.workers.runner import role_module

RUNS_MAX = 8
MindFor = Callable[[str, Branch], Mind]
"""Role and branch -> the mind that is examined."""


def run_case(case: Case, mind_for: MindFor) -> Seen:
    """Stage the case in a store of its own and let the mind think; passes on ProviderFailed."""
    with TemporaryDirectory() as folder:
        store = open_store(str(Path(folder) / "case.sqlite"))
        try:
            return run_staged(store, stage(store, case), mind_for)
        finally:
            store.close()


def run_staged(store: Store, staged: Staged, mind_for: MindFor) -> Seen:
    """The observer until all entries are covered, another role once."""
    mind = mind_for(staged.case.role, staged.branch)
    outcomes: list[Outcome] = []
    try:
        for _ in range(RUNS_MAX if staged.case.role == "observer" else 1):
            outcome = _run(store, staged, mind)
            if outcome is None:
                break
            outcomes.append(outcome)
    except SpanFailed as error:
        return Seen(failed=f"failed: {error}")
    if not outcomes:
        return Seen(failed="there was nothing to do: the case does not reach its role")
    return seen_of(staged, [entry for outcome in outcomes for entry in outcome.entries])


def seen_of(staged: Staged, entries: list[MemoryEntry]) -> Seen:
    """What stands: what a later record of the same case replaced is left out."""
    replaced = dict(_replaced(entries))
    gone = {id_ for entry in entries if entry.kind in (DROPS, RETIREMENTS) for id_ in _gone(entry)}
    standing = [record for id_, record in _records(staged, entries, replaced) if id_ not in gone]
    return Seen(records=standing, dropped=frozenset(staged.keys[id_] for id_ in gone if id_ in staged.keys))


def _run(store: Store, staged: Staged, mind: Mind) -> Outcome | None:
    """One run, committed; None when nothing was left to do."""
    role = role_module(staged.case.role)
    settings: dict[str, Any] = dict(staged.case.settings)
    context = Context(
        store=store,
        branch=staged.branch,
        settings=Settings(**settings),
        now=_now(staged.case),
        window=getattr(mind, "window", None),
    )
    prepared = role.prepare(context)
    if prepared is None:
        return None
    outcome = prepared if isinstance(prepared, Outcome) else role.think(prepared, mind)
    commit_outcome(store, staged.branch, outcome)
    return outcome


def _now(case: Case) -> str:
    last = datetime.fromisoformat(case.now or [case.start, *case.times()][-1])
    return (last if case.now else last + timedelta(minutes=5)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _replaced(entries: list[MemoryEntry]) -> Iterator[tuple[str, str]]:
    for entry in entries:
        if entry.kind in (DROPS, RETIREMENTS):
            yield from entry.data.get("replacedBy", {}).items()


def _gone(entry: MemoryEntry) -> list[str]:
    return ids_of(entry.data, "observationIds" if entry.kind == DROPS else "reflectionIds")[0]


def _records(staged: Staged, entries: list[MemoryEntry], replaced: dict[str, str]) -> Iterator[tuple[str, Record]]:
    def superseded_by(id_: str) -> tuple[str, ...]:
        return tuple(staged.keys[old] for old, new in replaced.items() if new == id_ and old in staged.keys)

    for entry in entries:
        if entry.kind == OBSERVATIONS:
            for seen in observations_of(entry.data)[0]:
                yield (
                    seen.id,
                    Record(
                        content=seen.content,
                        relevance=seen.relevance,
                        timestamp=seen.timestamp,
                        sources=seen.source_ids,
                        supersedes=superseded_by(seen.id),
                    ),
                )
        elif entry.kind == REFLECTIONS:
            for made in reflections_of(entry.data)[0]:
                supports = tuple(staged.keys[id_] for id_ in made.support_ids)
                yield made.id, Record(content=made.content, supports=supports, supersedes=superseded_by(made.id))
        elif entry.kind == DIGEST:
            yield from ((line, Record(content=line)) for line in str(entry.data["content"]).splitlines() if line)
