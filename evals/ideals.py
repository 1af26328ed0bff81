"""The perfect answer of each case as the calls that a model would make: it shows that a case can be passed."""

from collections.abc import Iterator
from typing import Any

from evals.case_files import Case, Ideal
from evals.staging import entry_id, old_ids
from minutebook.workers.contract import DigestBatch, DropBatch, ObserveBatch, ReflectBatch

Batch = ObserveBatch | ReflectBatch | DigestBatch | DropBatch
Call = tuple[str, dict[str, Any]]
NOTHING: dict[str, Call] = {
    "observer": ("nothing_to_record", {}),
    "reflector": ("nothing_to_record", {}),
    "dropper": ("no_safe_drops", {}),
}


def ideal_call(case: Case, batch: Batch) -> Call:
    """The one call that answers a batch."""
    ids = old_ids(case)
    if isinstance(batch, ObserveBatch):
        rows: list[dict[str, Any]] = list(_observations(case, batch, ids))
        call: Call = ("record_observations", {"observations": rows})
    elif isinstance(batch, ReflectBatch):
        rows = [_reflection(row, ids) for row in case.ideal]
        call = ("record_reflections", {"reflections": rows})
    elif isinstance(batch, DropBatch):
        rows = [{"id": ids[key], "reason": "not needed any more"} for key in case.ideal_drops]
        call = ("drop_observations", {"observations": rows})
    else:
        return "record_digest", {"content": case.ideal[0].content}
    return call if rows else NOTHING[case.role]


def _observations(case: Case, batch: ObserveBatch, ids: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Each record in the run that is sent the first entry it cites; of its entries those that this run is sent."""
    sent = {shown.placed.entry.id: shown for shown in batch.sources}
    for row in case.ideal:
        cited = [sent[entry_id(number)] for number in row.cites if entry_id(number) in sent]
        if cited and entry_id(min(row.cites)) in sent:
            yield {
                "content": row.content,
                "timestamp": row.at or cited[-1].time,
                "relevance": row.relevance,
                "sources": [shown.alias for shown in cited],
                "supersedes": [ids[key] for key in row.supersedes],
            }


def _reflection(row: Ideal, ids: dict[str, str]) -> dict[str, Any]:
    return {
        "content": row.content,
        "supports": [ids[key] for key in row.supports],
        "supersedes": [ids[key] for key in row.supersedes],
    }
