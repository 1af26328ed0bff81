"""An id -> the record and its exact source. Recall is no search: one id, this branch's whole history (003-093)."""

import re
from dataclasses import dataclass

from minutebook.errors import BadRecordId
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import Path, memory_stream
from minutebook.pipeline.excerpts import head_and_tail
from minutebook.pipeline.folding import HeldObservation, HeldReflection, Memory, fold
from minutebook.pipeline.mentions import named_entries
from minutebook.pipeline.outbox import waiting_after
from minutebook.pipeline.remembering import seen_memory
from minutebook.pipeline.shapes import observations_of, reflections_of
from minutebook.pipeline.sourcetext import renders_to_nothing
from minutebook.records import OBSERVATIONS, REFLECTIONS, Branch, MemoryEntry, Observation, Placed, Reflection
from minutebook.store.kernel import Store

RECORD_ID = re.compile(r"[0-9a-f]{12}")
GIVEN_CHARACTERS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledObservation:
    """status: active or dropped. why: by whom it left active memory, "" while it is active.

    replaced_by: id of the record that says it now, "" for none.
    """

    record: Observation
    status: str
    why: str = ""
    replaced_by: str = ""
    mind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledReflection:
    """status: current or retired. why: by whom it was retired, "" while it is current.

    replaced_by: id of the record that says it now, "" for none.
    """

    record: Reflection
    status: str
    why: str = ""
    replaced_by: str = ""
    mind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """The answer to one id.

    kind: observation, reflection or mixed; "" when the branch has no such id. collision: several records share it.
    observations: the recalled ones, or those that support a recalled reflection. sources: united, each once, in ledger
    order. missing: source ids that the branch lacks; foreign: ids that exist and are no source; unknown_supports:
    supporting observations that it lacks. Any of the three makes the answer partial.
    """

    id: str
    kind: str = ""
    collision: bool = False
    observations: tuple[RecalledObservation, ...] = ()
    reflections: tuple[RecalledReflection, ...] = ()
    sources: tuple[Placed, ...] = ()
    missing: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    unknown_supports: tuple[str, ...] = ()

    @property
    def found(self) -> bool:
        """Whether this branch has the id at all."""
        return bool(self.kind)

    @property
    def partial(self) -> bool:
        """Whether something that the record names is not there."""
        return bool(self.missing or self.foreign or self.unknown_supports)

    @property
    def empty_reason(self) -> str:
        """Why no source text can be shown, in words; "" when there is some (003-091)."""
        if self.kind == "reflection" and not self.observations:
            return "None of the observations that support it is on this branch."
        cited = [id_ for each in self.observations for id_ in each.record.source_ids]
        if not cited:
            return "The record names no source entries."
        if self.sources and all(renders_to_nothing(placed.entry) for placed in self.sources):
            return "The source entries hold no text."
        return ""


def checked_id(text: str) -> str:
    """The id as it is; BadRecordId unless it is exactly twelve lowercase hex characters (003-086)."""
    if not RECORD_ID.fullmatch(text):
        given = head_and_tail(text, GIVEN_CHARACTERS)
        raise BadRecordId(f"{given!r} is no record id: twelve characters 0-9 a-f, as shown in brackets by `om view`")
    return text


def recall(store: Store, branch: Branch, record_id: str) -> Recalled:
    """Everything behind one id. Raises BadRecordId before the ledger is read."""
    checked_id(record_id)
    entries = _entries(store, branch, record_id)
    memory = fold(entries)
    observations = _observations(entries, record_id)
    reflections = _reflections(entries, record_id)
    if not observations and not reflections:
        return Recalled(id=record_id)
    supports, unknown = _supports(memory, reflections)
    shown = list(dict.fromkeys([*observations, *supports]))
    sources, missing, foreign = _sources(store, branch, shown)
    return Recalled(
        id=record_id,
        kind="mixed" if observations and reflections else "observation" if observations else "reflection",
        collision=len(observations) + len(reflections) > 1,
        observations=tuple(_recalled_observation(memory, record) for record in shown),
        reflections=tuple(_recalled_reflection(memory, record) for record in reflections),
        sources=tuple(sources),
        missing=tuple(missing),
        foreign=tuple(foreign),
        unknown_supports=tuple(unknown),
    )


def _entries(store: Store, branch: Branch, record_id: str) -> list[MemoryEntry]:
    """The memory entries that name the record, or an observation that supports it; all where nobody can say which."""
    wanted = [f"o:{record_id}", f"r:{record_id}"]
    found = named_entries(store, branch, wanted)
    if found:
        supports = dict.fromkeys(id_ for each in _reflections(found, record_id) for id_ in each.support_ids)
        found = named_entries(store, branch, [*wanted, *(f"o:{id_}" for id_ in supports)])
    if found is None:
        return seen_memory(store, branch)
    return [*found, *waiting_after(store, branch, store.tip(memory_stream(branch.key)).length)]


def _observations(entries: list[MemoryEntry], record_id: str) -> list[Observation]:
    """All observations of that id, in the order recorded, the same one once."""
    rows = (row for entry in entries if entry.kind == OBSERVATIONS for row in observations_of(entry.data)[0])
    return list(dict.fromkeys(row for row in rows if row.id == record_id))


def _reflections(entries: list[MemoryEntry], record_id: str) -> list[Reflection]:
    rows = (row for entry in entries if entry.kind == REFLECTIONS for row in reflections_of(entry.data)[0])
    return list(dict.fromkeys(row for row in rows if row.id == record_id))


def _supports(memory: Memory, reflections: list[Reflection]) -> tuple[list[Observation], list[str]]:
    cited = dict.fromkeys(id_ for reflection in reflections for id_ in reflection.support_ids)
    known = [memory.observations[id_].record for id_ in cited if id_ in memory.observations]
    return known, [id_ for id_ in cited if id_ not in memory.observations]


def _sources(
    store: Store, branch: Branch, observations: list[Observation]
) -> tuple[list[Placed], list[str], list[str]]:
    cited = dict.fromkeys(id_ for observation in observations for id_ in observation.source_ids)
    found = Path(store, branch).find(cited)
    absent = [id_ for id_ in cited if id_ not in found]
    no_sources = _memory_ids(ledger.read_memory(store, branch)) if absent else frozenset()
    ordered = sorted(found.values(), key=lambda placed: placed.position)
    return ordered, [id_ for id_ in absent if id_ not in no_sources], [id_ for id_ in absent if id_ in no_sources]


def _memory_ids(entries: list[MemoryEntry]) -> frozenset[str]:
    memory = fold(entries)
    return frozenset([*(entry.id for entry in entries), *memory.observations, *memory.reflections])


def _recalled_observation(memory: Memory, record: Observation) -> RecalledObservation:
    tomb = memory.drops.get(record.id)
    held: HeldObservation | None = memory.observations.get(record.id)
    mind = held.mind if held else ""
    if tomb is None:
        return RecalledObservation(record=record, status="active", mind=mind)
    return RecalledObservation(record=record, status="dropped", why=tomb.by, mind=mind, replaced_by=tomb.replaced_by)


def _recalled_reflection(memory: Memory, record: Reflection) -> RecalledReflection:
    held: HeldReflection | None = memory.reflections.get(record.id)
    mind = held.mind if held else ""
    tomb = memory.retirements.get(record.id)
    if tomb is None:
        return RecalledReflection(record=record, status="current", mind=mind)
    return RecalledReflection(record=record, status="retired", why=tomb.by, mind=mind, replaced_by=tomb.replaced_by)
