"""Short ways to make sources, sessions and memory for tests: real values, delivered through the real doors."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from minutebook.pipeline.branches import Path, load_branch
from minutebook.pipeline.deliveries import HostCompaction, ImportedMemory, Reading, SessionHead
from minutebook.pipeline.folding import Memory, fold
from minutebook.pipeline.intake import accept_turns
from minutebook.pipeline.ledger import read_memory
from minutebook.pipeline.outcomes import Entry, append_memory, memory_entry
from minutebook.pipeline.pages import page_of
from minutebook.pipeline.sessions import load_session
from minutebook.pipeline.shapes import counted_observation, counted_reflection, observation_data, reflection_data
from minutebook.pipeline.totals import marks_of, totals_of
from minutebook.records import (
    DIGEST,
    DROPS,
    OBSERVATIONS,
    REFLECTIONS,
    RETIREMENTS,
    Branch,
    MemoryEntry,
    Observation,
    Part,
    Reflection,
    Relevance,
    SourceEntry,
    content_id,
    observation_id,
    reflection_id,
)
from minutebook.store.kernel import Store
from minutebook.tokens import estimate_tokens
from minutebook.workers.contract import (
    Desk,
    DigestBatch,
    DropBatch,
    JudgeBatch,
    ObserveBatch,
    Proposal,
    Receipt,
    ReflectBatch,
)

TIME = "2026-05-02T10:30:00Z"
MINUTE = "2026-05-02 10:30"

# -- sources -------------------------------------------------------------------------------------------------------


def entry(role: str, *parts: Part, id: str = "", time: str = TIME, **more: Any) -> SourceEntry:
    """Any source entry; without an id, one from role, time and text (so the same text twice needs ids)."""
    text = "\n".join(f"{part.kind}{part.name}{part.text}{part.call_id}" for part in parts)
    return SourceEntry(id=id or f"e-{content_id(role, time, text)}", role=role, time=time, parts=parts, **more)


def say(text: str, *, id: str = "", time: str = TIME, **more: Any) -> SourceEntry:
    """A prompt that a person typed."""
    return entry("user", Part(kind="text", text=text), id=id, time=time, **{"typed": True, **more})


def reply(text: str, *, id: str = "", time: str = TIME, thinking: str = "", **more: Any) -> SourceEntry:
    """An assistant's answer, with thinking before it where given."""
    thought = [Part(kind="thinking", text=thinking)] if thinking else []
    return entry("assistant", *thought, Part(kind="text", text=text), id=id, time=time, **more)


def call(name: str, arguments: str = "{}", *, call_id: str = "c1", id: str = "", time: str = TIME) -> SourceEntry:
    """An assistant's tool call. arguments: JSON text."""
    return entry("assistant", Part(kind="tool_call", text=arguments, name=name, call_id=call_id), id=id, time=time)


def result(text: str, *, tool: str = "Bash", call_id: str = "c1", id: str = "", time: str = TIME, **more: Any) -> Any:
    """A tool's result; is_error=True for a failed one."""
    part = Part(kind="text", text=text)
    return entry("tool_result", part, id=id, time=time, tool_name=tool, call_id=call_id, **more)


def deliver(
    store: Store,
    events: Iterable[SourceEntry | HostCompaction | ImportedMemory],
    session: str = "s1",
    host: str = "neutral",
    *,
    zone: str = "UTC",
    ended: bool = False,
    **head: Any,
) -> Branch:
    """Take events into the ledger through intake; the branch on which the session now stands."""
    told = SessionHead(host=host, session=session, zone=zone, **head)
    accepted = accept_turns(store, Reading(head=told, events=list(events), ended=ended))
    return load_branch(store, load_session(store, accepted.session).branch)


# -- memory --------------------------------------------------------------------------------------------------------


def observed(
    content: str, relevance: Relevance = "medium", *, timestamp: str = MINUTE, sources: Sequence[str] = ("e1",)
) -> Observation:
    """An observation with its id and tokens."""
    key = observation_id(content, timestamp, tuple(sources))
    return counted_observation(
        Observation(id=key, content=content, timestamp=timestamp, relevance=relevance, source_ids=tuple(sources))
    )


def concluded(content: str, *supports: str | Observation) -> Reflection:
    """A reflection with its id and tokens, on at least one observation."""
    ids = tuple(each if isinstance(each, str) else each.id for each in supports) or (content_id("support"),)
    return counted_reflection(Reflection(id=reflection_id(content), content=content, support_ids=ids))


def remember(
    store: Store,
    branch: Branch,
    *,
    observations: Sequence[Observation] = (),
    reflections: Sequence[Reflection] = (),
    dropped: Sequence[str | Observation] = (),
    retired: Sequence[str | Reflection] = (),
    digest: tuple[str, Reflection] | None = None,
    since: int | None = None,
    covers: int | None = None,
    by: str = "dropper",
    mind: str = "test",
) -> None:
    """Append memory entries in this order; they cover the whole path unless covers says otherwise.

    digest: its text and the last reflection folded in. by: who dropped; only the dropper's drops wait for a full fold.
    """
    reach = Path(store, branch).length() if covers is None else covers
    start = since if since is not None else fold(read_memory(store, branch)).observed
    entries: list[MemoryEntry] = []

    def add(kind: str, first: int, data: dict[str, Any]) -> None:
        made = Entry(kind=kind, covers=reach, since=min(first, reach), data={**data, "mind": mind})
        entries.append(memory_entry(made))

    if observations:
        add(OBSERVATIONS, start, {"observations": [observation_data(each) for each in observations]})
    if reflections:
        add(REFLECTIONS, reach, {"reflections": [reflection_data(each) for each in reflections]})
    if digest:
        text, through = digest
        data = {"content": text, "coversThroughReflectionId": through.id, "tokenCount": estimate_tokens(text)}
        add(DIGEST, reach, data)
    if dropped:
        add(DROPS, reach, {"observationIds": _ids(dropped), "by": by})
    if retired:
        add(RETIREMENTS, reach, {"reflectionIds": _ids(retired), "by": "user"})
    append_memory(store, branch, entries)


def memory_of(store: Store, branch: Branch) -> Memory:
    """The whole memory of a branch, folded."""
    return fold(read_memory(store, branch))


def sums(memory: Memory) -> dict[str, int]:
    """The marks that the clocks compare, from the whole memory."""
    return marks_of(totals_of(memory, page_of(memory)))


def _ids(records: Sequence[Any]) -> list[str]:
    return [each if isinstance(each, str) else each.id for each in records]


# -- minds ---------------------------------------------------------------------------------------------------------

NOTHING = "nothing"
Step = Sequence[Proposal] | str | Exception
Script = Sequence[Step] | Callable[[Any, Desk], None]


@dataclass
class ScriptedMind:
    """A mind that plays a script in every run: recording calls, the word NOTHING, an error to raise; or a function.

    batches and receipts are kept, so that a test can look at what it was sent and told.
    """

    script: Script = ()
    name: str = "scripted"
    batches: list[Any] = field(default_factory=list)
    receipts: list[Receipt] = field(default_factory=list)

    def observe(self, batch: ObserveBatch, desk: Desk) -> None:
        self._play(batch, desk)

    def reflect(self, batch: ReflectBatch, desk: Desk) -> None:
        self._play(batch, desk)

    def digest(self, batch: DigestBatch, desk: Desk) -> None:
        self._play(batch, desk)

    def drop(self, batch: DropBatch, desk: Desk) -> None:
        self._play(batch, desk)

    def judge(self, batch: JudgeBatch, desk: Desk) -> None:
        self._play(batch, desk)

    def _play(self, batch: Any, desk: Desk) -> None:
        self.batches.append(batch)
        if callable(self.script):
            self.script(batch, desk)
            return
        for step in self.script:
            if isinstance(step, Exception):
                raise step
            if isinstance(step, str):
                desk.nothing()
            else:
                self.receipts.append(desk.record(step))
