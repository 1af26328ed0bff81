"""What a person adds to memory or takes back. It holds at once, in every projection, and nothing is erased."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from minutebook.errors import BadInput, NotFound, StoreBusy
from minutebook.pipeline import ledger
from minutebook.pipeline.boxkeys import owner_of
from minutebook.pipeline.branches import memory_stream, source_stream, still_there
from minutebook.pipeline.folding import Memory, Tombstone, fold
from minutebook.pipeline.folds import PRODUCER
from minutebook.pipeline.intake import redactor_of
from minutebook.pipeline.outcomes import Entry, append_memory, memory_entry
from minutebook.pipeline.readings import session_of
from minutebook.pipeline.recall import checked_id
from minutebook.pipeline.remembering import seen_memory
from minutebook.pipeline.shapes import counted_observation, cut_content, observation_data, one_line
from minutebook.private_spans import without_private
from minutebook.records import (
    DROPS,
    NOTE,
    OBSERVATIONS,
    RELEVANCES,
    RETIREMENTS,
    Branch,
    MemoryEntry,
    Observation,
    Part,
    Relevance,
    SourceEntry,
    content_id,
    observation_id,
)
from minutebook.store import codec
from minutebook.store.kernel import Stale, Store

PERSON = "user"
NOTE_TRIES = 20


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

    timestamp: local YYYY-MM-DD HH:MM. time: ISO UTC. Covers nothing, so that it belongs to every projection. BadInput
    on a branch that is another machine's, and for what is no text or no relevance.
    """
    if owner_of(branch.key):
        raise BadInput(f"{branch.key} is {owner_of(branch.key)}'s; a note is written on the machine of its session")
    if _goes_on_elsewhere(store, branch):
        raise BadInput(f"{branch.key} came from another machine of yours; a note about it is written there")
    if not isinstance(text, str) or relevance not in RELEVANCES:
        raise BadInput(f"a note is a text, and its relevance one of {', '.join(RELEVANCES)}")
    clean = redactor_of(store).redact(text.strip())
    said = cut_content(one_line(clean))
    if not said:
        raise BadInput("a note needs some text: om note 'what to remember'")
    source = SourceEntry(
        id=f"note-{content_id(clean, time)}",
        role="custom",
        custom_type=NOTE,
        time=time,
        parts=(Part(kind="text", text=clean),),
        text_sha256=sha256(without_private(text.strip()).encode("utf-8", "surrogatepass")).hexdigest(),
    )
    _append_source(store, branch, source)
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


def _goes_on_elsewhere(store: Store, branch: Branch) -> bool:
    """Whether another machine orders the branch's sources: it would have something else where the note is put."""
    marks = store.tip(memory_stream(branch.key)).marks
    if not marks.get(ledger.TAKEN, 0) or marks.get(ledger.BOX, 0) != ledger.BOXED:
        return False
    session = session_of(store, branch)
    return session is None or not session.path  # with a path its file is here


def _append_source(store: Store, branch: Branch, source: SourceEntry) -> None:
    for _ in range(NOTE_TRIES):
        puts = [still_there(store, branch)]
        items = [codec.source_item(source, 0)]
        if not isinstance(store.append(source_stream(branch.key), items, dirty=branch.key, puts=puts), Stale):
            return
    raise StoreBusy(f"{branch.key}: {NOTE_TRIES} others wrote to it first; try again")


def retire(store: Store, branch: Branch, record_id: str, *, time: str) -> Retired:
    """Take an observation or a reflection back: it leaves what is visible at once; recall still finds it.

    A reflection that rests on nothing but observations taken back goes with its last one. What the dropper dropped was
    not taken back: it only gave way. Raises BadRecordId, NotFound; BadInput on a branch that is another user's.
    """
    checked_id(record_id)
    if owner_of(branch.key) and store.tip(memory_stream(branch.key)).marks.get(ledger.BOX, 0) == ledger.BOXED:
        raise BadInput(f"{branch.key} is {owner_of(branch.key)}'s, who alone takes something back there")
    memory = fold(seen_memory(store, branch))
    reflection, observation = memory.reflections.get(record_id), memory.observations.get(record_id)
    if reflection is not None:
        append_memory(store, branch, [_taken_back(RETIREMENTS, "reflectionIds", [record_id], time)])
        return Retired("reflection", reflection.record.content, _was_taken_back(memory.retirements, record_id))
    if observation is None:
        raise NotFound(f"no record {record_id} on this branch; `om view --full` and `om search` show ids")
    entries = [_taken_back(DROPS, "observationIds", [record_id], time)]
    if left := _left_without_support(memory, record_id):
        entries.append(_taken_back(RETIREMENTS, "reflectionIds", left, time))
    append_memory(store, branch, entries)
    return Retired("observation", observation.record.content, _was_taken_back(memory.drops, record_id))


def _left_without_support(memory: Memory, record_id: str) -> list[str]:
    """Current reflections that cite this observation and none that still stands."""

    def gone(id_: str) -> bool:
        return id_ == record_id or _was_taken_back(memory.drops, id_)

    cite = [held.record for held in memory.current() if record_id in held.record.support_ids]
    return [record.id for record in cite if all(map(gone, record.support_ids))]


def _was_taken_back(tombs: Mapping[str, Tombstone], id_: str) -> bool:
    tomb = tombs.get(id_)
    return tomb is not None and tomb.immediate_covers is not None


def _taken_back(kind: str, name: str, ids: list[str], time: str) -> MemoryEntry:
    data = {name: ids, "by": PERSON, "producer": PRODUCER}
    return memory_entry(Entry(kind=kind, covers=0, since=0, data=data, time=time))
