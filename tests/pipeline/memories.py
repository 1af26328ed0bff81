"""Memory of any shape on a real store: entries with the span they cover, and what is composed from them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from builders import deliver, reply, say

from minutebook.pipeline.compaction import Composition, look_at_memory
from minutebook.pipeline.deliveries import HostCompaction
from minutebook.pipeline.folding import HeldObservation, HeldReflection, Memory
from minutebook.pipeline.outcomes import Entry, append_memory, memory_entry
from minutebook.pipeline.shapes import observation_data, reflection_data
from minutebook.records import (
    DIGEST,
    DROPS,
    GAP,
    OBSERVATIONS,
    REFLECTIONS,
    RETIREMENTS,
    Branch,
    Observation,
    Reflection,
    SourceEntry,
)
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.tokens import estimate_tokens


class Clock:
    """The store's clock, set by hand."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def turns(count: int, start: int = 0) -> list[SourceEntry]:
    """Prompts and replies with ids e0, e1, …"""
    return [
        (say if at % 2 == 0 else reply)(f"turn {at}: " + "words about the parser " * 4, id=f"e{at}")
        for at in range(start, start + count)
    ]


def conversation(store: Store, count: int, session: str = "s1", **more: Any) -> Branch:
    """A branch of that many turns."""
    return deliver(store, turns(count), session, **more)


def record(store: Store, branch: Branch, kind: str, data: Mapping[str, Any], *, covers: int, since: int) -> None:
    """One memory entry."""
    append_memory(store, branch, [memory_entry(Entry(kind=kind, covers=covers, since=since, data=data))])


def batch(store: Store, branch: Branch, since: int, covers: int, *observations: Observation) -> None:
    """An observer's outcome over sources since ≤ p < covers; without observations it found nothing to record."""
    rows = [observation_data(each) for each in observations]
    record(store, branch, OBSERVATIONS, {"observations": rows, "mind": "test"}, covers=covers, since=since)


def reflected(store: Store, branch: Branch, covers: int, *reflections: Reflection) -> None:
    rows = [reflection_data(each) for each in reflections]
    record(store, branch, REFLECTIONS, {"reflections": rows, "mind": "test"}, covers=covers, since=covers)


def digested(store: Store, branch: Branch, covers: int, content: str, through: Reflection, **more: Any) -> None:
    data = {"content": content, "coversThroughReflectionId": through.id, "tokenCount": estimate_tokens(content), **more}
    record(store, branch, DIGEST, data, covers=covers, since=covers)


def dropped(store: Store, branch: Branch, covers: int, *observations: Observation | str) -> None:
    """By the dropper: waits for a full fold."""
    record(store, branch, DROPS, {"observationIds": _ids(observations), "by": "dropper"}, covers=covers, since=covers)


def superseded(
    store: Store, branch: Branch, since: int, covers: int, observation: Observation, *reflections: Reflection
) -> None:
    """A correction in the batch since ≤ p < covers takes an observation back, with the reflections that rest on it."""
    data = {"observationIds": [observation.id], "by": "superseded"}
    record(store, branch, DROPS, data, covers=covers, since=since)
    if reflections:
        data = {"reflectionIds": _ids(reflections), "by": "superseded"}
        record(store, branch, RETIREMENTS, data, covers=covers, since=since)


def gap(store: Store, branch: Branch, since: int, covers: int, reason: str = "refused") -> None:
    record(store, branch, GAP, {"reason": reason}, covers=covers, since=since)


def host_compacted(
    store: Store, first_kept: str = "", *, after: str = "", id: str = "c1", session: str = "s1"
) -> Branch:
    """The host's own record that it compacted."""
    return deliver(store, [HostCompaction(id=id, first_kept=first_kept, after=after)], session)


def look(store: Store, branch: Branch, boundary: int, settings: Settings | None = None, **changes: Any) -> Composition:
    """What a compaction would show; it must show something."""
    found = look_at_memory(store, branch, boundary, replace(settings or Settings(), **changes))
    assert found is not None
    return found


def memory_holding(observations: Sequence[Observation], reflections: Sequence[Reflection]) -> Memory:
    """A memory of these records, each from an entry of its own that covers the first source."""
    return Memory(
        observations={
            each.id: HeldObservation(record=each, since=0, covers=1, order=at) for at, each in enumerate(observations)
        },
        reflections={each.id: HeldReflection(record=each, covers=1, order=at) for at, each in enumerate(reflections)},
    )


def lines_under(text: str, heading: str) -> list[str]:
    """The lines of a part of the rendered text."""
    lines = text.split("\n")
    if heading not in lines:
        return []
    rest = lines[lines.index(heading) + 1 :]
    return rest[: next((at for at, line in enumerate(rest) if not line or line.startswith("</")), len(rest))]


def _ids(records: Sequence[Any]) -> list[str]:
    return [each if isinstance(each, str) else each.id for each in records]
