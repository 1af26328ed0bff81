"""What a person adds to memory or takes back. It holds at once, in every projection, and nothing is erased."""

from dataclasses import dataclass

from minutebook.errors import BadInput, NotFound
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import source_stream
from minutebook.pipeline.folding import fold
from minutebook.pipeline.folds import PRODUCER
from minutebook.pipeline.intake import redactor_of
from minutebook.pipeline.outcomes import Entry, append_memory, memory_entry
from minutebook.pipeline.recall import checked_id
from minutebook.pipeline.shapes import counted_observation, observation_data, one_line
from minutebook.records import (
    CONTENT_MAX_CHARACTERS,
    DROPS,
    NOTE,
    OBSERVATIONS,
    RETIREMENTS,
    Branch,
    Observation,
    Part,
    Relevance,
    SourceEntry,
    content_id,
    observation_id,
)
from minutebook.store import codec
from minutebook.store.kernel import Store

PERSON = "user"


@dataclass(frozen=True, slots=True)
class Retired:
    """What was taken back: observation or reflection, and whether it had been before."""

    kind: str
    content: str
    already: bool


def note(
    store: Store, branch: Branch, text: str, *, timestamp: str, time: str, relevance: Relevance = "critical"
) -> Observation:
    """A person's own note as an observation, with the note itself as its source.

    timestamp: local YYYY-MM-DD HH:MM. time: ISO UTC. Covers nothing, so that it belongs to every projection.
    """
    said = redactor_of(store).redact(one_line(text))[:CONTENT_MAX_CHARACTERS]
    if not said:
        raise BadInput("a note needs some text: om note 'what to remember'")
    source = SourceEntry(
        id=f"note-{content_id(said, time)}",
        role="custom",
        custom_type=NOTE,
        time=time,
        parts=(Part(kind="text", text=said),),
    )
    store.append(source_stream(branch.key), [codec.source_item(source, 0)], dirty=branch.key)
    observation = counted_observation(
        Observation(
            id=observation_id(said, timestamp, (source.id,)),
            content=said,
            timestamp=timestamp,
            relevance=relevance,
            source_ids=(source.id,),
        )
    )
    data = {"observations": [observation_data(observation)], "mind": PERSON, "producer": PRODUCER}
    append_memory(store, branch, [memory_entry(Entry(kind=OBSERVATIONS, covers=0, since=0, data=data, time=time))])
    return observation


def retire(store: Store, branch: Branch, record_id: str, *, time: str) -> Retired:
    """Take an observation or a reflection back: it leaves what is visible at once; recall still finds it.

    A reflection that rests on nothing but retired observations goes with its last one. Raises BadRecordId, NotFound.
    """
    checked_id(record_id)
    memory = fold(ledger.read_memory(store, branch))
    reflection, observation = memory.reflections.get(record_id), memory.observations.get(record_id)
    if reflection is not None:
        already = record_id in memory.retirements
        _bury(store, branch, RETIREMENTS, "reflectionIds", [record_id], time)
        return Retired("reflection", reflection.record.content, already)
    if observation is None:
        raise NotFound(f"no record {record_id} on this branch; `om view --full` and `om search` show ids")
    gone = {record_id, *memory.drops}
    left = [
        held.record.id
        for held in memory.current()
        if record_id in held.record.support_ids and gone.issuperset(held.record.support_ids)
    ]
    _bury(store, branch, DROPS, "observationIds", [record_id], time)
    if left:
        _bury(store, branch, RETIREMENTS, "reflectionIds", left, time)
    return Retired("observation", observation.record.content, record_id in memory.drops)


def _bury(store: Store, branch: Branch, kind: str, name: str, ids: list[str], time: str) -> None:
    data = {name: ids, "by": PERSON, "producer": PRODUCER}
    append_memory(store, branch, [memory_entry(Entry(kind=kind, covers=0, since=0, data=data, time=time))])
