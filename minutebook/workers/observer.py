"""The observer: a chunk of new source entries becomes rated observations, and coverage moves on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from minutebook.pipeline import ledger
from minutebook.pipeline.branches import Path, memory_stream
from minutebook.pipeline.folding import Memory
from minutebook.pipeline.outcomes import Outcome
from minutebook.pipeline.remembering import working_memory
from minutebook.pipeline.shapes import counted_observation, cut_content, observation_data, one_line
from minutebook.records import (
    DROPS,
    OBSERVATIONS,
    RELEVANCES,
    RETIREMENTS,
    Branch,
    MemoryEntry,
    Observation,
    Reflection,
    Relevance,
    observation_id,
)
from minutebook.workers.chunking import Chunk, chunk_cap, take_chunk
from minutebook.workers.contract import Mind, ObserveBatch, Proposal
from minutebook.workers.desks import Call, Refusal, RoleDesk, list_field, optional_ids, quoted, text_field
from minutebook.workers.recording import Span
from minutebook.workers.roles import Context
from minutebook.workers.showing import is_minute, line_cost, local_minute, zone_of

ROLE = "observer"
SUPERSEDED = "superseded"
OLD_MEMORY_PARTS = 8
OLD_MEMORY_STEPS = 4
"""In how many steps the whole share of old memory would be left out."""

R = TypeVar("R", Observation, Reflection)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservePrepared:
    """One chunk for a mind.

    read: the coverage that it begins after. known: ids of all observations ever recorded. current: reflections that
    are not retired, shown or not. now: ISO UTC.
    """

    branch: Branch
    read: int
    chunk: Chunk
    batch: ObserveBatch
    known: frozenset[str]
    current: tuple[Reflection, ...]
    now: str

    @property
    def start(self) -> int:
        """Position of the first entry sent: after `read` where entries that are never sent come before it."""
        return self.chunk.start

    @property
    def entries(self) -> int:
        """How many entries are sent."""
        return len(self.chunk.shown)

    @property
    def covers(self) -> int:
        """The coverage after this run."""
        return self.chunk.covers


def prepare(context: Context) -> ObservePrepared | Outcome | None:
    """The next chunk; an Outcome that only covers when nothing in it is to be sent; None at the tip."""
    read = context.store.tip(memory_stream(context.branch.key)).marks.get(ledger.OBSERVER, 0)
    zone = zone_of(context.branch.zone)
    cap = chunk_cap(context.settings.observer_chunk_max_tokens, context.window)
    path = Path(context.store, context.branch)
    chunk = take_chunk(path, read, cap_tokens=cap, zone=zone, max_entries=context.max_entries)
    if chunk.covers == read:
        return None
    if not chunk.shown:
        return _outcome(context.branch, read, [_recorded(_span(read, chunk, context.now), [])], chunk.covers)
    memory = working_memory(context.store, context.branch)
    return ObservePrepared(
        branch=context.branch,
        read=read,
        chunk=chunk,
        batch=_batch(context, chunk, memory, now=local_minute(context.now, zone)),
        known=frozenset(memory.observations),
        current=tuple(held.record for held in memory.current()),
        now=context.now,
    )


def think(prepared: ObservePrepared, mind: Mind) -> Outcome:
    """Let the mind observe the chunk; raises SpanFailed when it ended without a word on it."""
    desk = ObserverDesk(prepared.batch, prepared.known)
    mind.observe(prepared.batch, desk)
    desk.check_end("an accepted observation")
    span = _span(prepared.read, prepared.chunk, prepared.now, mind.name)
    entries = [_recorded(span, list(desk.accepted.values())), *_superseding(span, desk.superseded, prepared.current)]
    return _outcome(prepared.branch, prepared.read, entries, prepared.covers)


def old_memory_cap(max_tokens: int, window: int | None) -> int:
    """The setting, but never more than an eighth of a window that is known.

    It shares the request with the chunk; our estimates are short by a third for code and paths in small vocabularies.
    """
    return max_tokens if window is None or window <= 0 else min(max_tokens, window // OLD_MEMORY_PARTS)


def old_memory(
    reflections: Sequence[Reflection], observations: Sequence[Observation], max_tokens: int
) -> tuple[tuple[Reflection, ...], tuple[Observation, ...]]:
    """The bounded share of old memory, each in ledger order (003-017).

    Reflections: the newest, in at most half of it. Observations: in the rest, the most relevant, of the least relevant
    ones that still have room the newest. What is left out grows in steps, so that one request begins as the one before
    did, and a provider's cache knows it.
    """
    step = max(1, max_tokens // OLD_MEMORY_STEPS)
    recent = newest_in_steps(reflections, max_tokens // 2, step)
    room = max_tokens - sum(map(line_cost, recent))
    kept: set[str] = set()
    for level in reversed(RELEVANCES):
        rated = [each for each in observations if each.relevance == level]
        shown = newest_in_steps(rated, room, step)
        kept.update(each.id for each in shown)
        if len(shown) < len(rated):
            break
        room -= sum(map(line_cost, shown))
    return recent, tuple(each for each in observations if each.id in kept)


def newest_in_steps(records: Sequence[R], max_tokens: int, step_tokens: int) -> tuple[R, ...]:
    """The newest within max_tokens. It begins at a record with which a multiple of step_tokens is reached."""
    over = sum(map(line_cost, records)) - max_tokens
    passed = reached = 0
    for at, record in enumerate(records):
        if passed >= over and (over <= 0 or passed // step_tokens > reached):
            return tuple(records[at:])
        reached = passed // step_tokens
        passed += line_cost(record)
    return ()


class ObserverDesk(RoleDesk):
    """Checks proposals against the chunk that was sent and the observations that exist."""

    def __init__(self, batch: ObserveBatch, known: frozenset[str]) -> None:
        super().__init__()
        self.accepted: dict[str, Observation] = {}
        self.superseded: dict[str, str] = {}
        self._known = known
        self._shown = frozenset(observation.id for observation in batch.observations)
        self._entry_ids = {shown.alias: shown.placed.entry.id for shown in batch.sources}

    def take(self, proposal: Proposal, call: Call) -> bool:
        """Keep one observation; raises Refusal."""
        observation = self._observation(proposal, call)
        if observation.id in self._known or observation.id in self.accepted:
            return False
        self._supersede(optional_ids(proposal, "supersedes"), observation.id, call)
        self.accepted[observation.id] = observation
        return True

    def _observation(self, proposal: Proposal, call: Call) -> Observation:
        content = cut_content(one_line(text_field(proposal, "content")))
        timestamp = timestamp_field(proposal)
        relevance = relevance_field(proposal)
        sources = self._sources(list_field(proposal, "sources"), call)
        return counted_observation(
            Observation(
                id=observation_id(content, timestamp, sources),
                content=content,
                timestamp=timestamp,
                relevance=relevance,
                source_ids=sources,
            )
        )

    def _sources(self, aliases: Sequence[str], call: Call) -> tuple[str, ...]:
        """Entry ids of the known aliases, each once, in ledger order (003-013)."""
        given = {alias.strip("[]") for alias in aliases}
        call.ignored += len(given - self._entry_ids.keys())
        found = tuple(id_ for alias, id_ in self._entry_ids.items() if alias in given)
        if not found:
            raise Refusal(f"sources: none of {quoted(sorted(given))} is a source that was sent")
        return found

    def _supersede(self, ids: Sequence[str], by: str, call: Call) -> None:
        for id_ in (id_.strip("[]") for id_ in ids):
            if id_ in self._shown or id_ in self.accepted:
                self.superseded[id_] = by
            else:
                call.ignored += 1


def timestamp_field(proposal: Proposal) -> str:
    """Exactly YYYY-MM-DD HH:MM, and a time that exists (003-014)."""
    value = proposal.get("timestamp")
    if not isinstance(value, str) or not is_minute(value):
        raise Refusal(f"timestamp: must be a real time as YYYY-MM-DD HH:MM, not {quoted(value)}")
    return value


def relevance_field(proposal: Proposal) -> Relevance:
    """One of low, medium, high, critical."""
    value = proposal.get("relevance")
    if value not in RELEVANCES:
        raise Refusal(f"relevance: must be one of {', '.join(RELEVANCES)}, not {quoted(value)}")
    return cast(Relevance, value)


def _batch(context: Context, chunk: Chunk, memory: Memory, *, now: str) -> ObserveBatch:
    active = [held.record for held in memory.active()]
    current = [held.record for held in memory.current()]
    share = old_memory_cap(context.settings.old_memory_max_tokens, context.window)
    reflections, observations = old_memory(current, active, share)
    return ObserveBatch(
        sources=chunk.shown,
        observations=observations,
        reflections=reflections,
        left_out=len(active) + len(current) - len(observations) - len(reflections),
        now=now,
        zone=context.branch.zone,
    )


def _span(read: int, chunk: Chunk, now: str, mind: str = "") -> Span:
    return Span(since=read, covers=chunk.covers, covers_id=chunk.covers_id, time=now, mind=mind)


def _recorded(span: Span, observations: Sequence[Observation]) -> MemoryEntry:
    return span.entry(OBSERVATIONS, {"observations": [observation_data(each) for each in observations]})


def _superseding(span: Span, superseded: Mapping[str, str], current: Sequence[Reflection]) -> list[MemoryEntry]:
    """What a correction takes back: the observations that it replaces, and the reflections that rest on them."""
    if not superseded:
        return []
    drops = {"observationIds": list(superseded), "by": SUPERSEDED, "replacedBy": superseded}
    entries = [span.entry(DROPS, drops)]
    resting = {each.id: superseded[id_] for each in current for id_ in reversed(each.support_ids) if id_ in superseded}
    if resting:
        retired = {"reflectionIds": list(resting), "by": SUPERSEDED, "replacedBy": resting}
        entries.append(span.entry(RETIREMENTS, retired))
    return entries


def _outcome(branch: Branch, read: int, entries: Sequence[MemoryEntry], covers: int) -> Outcome:
    return Outcome(role=ROLE, branch=branch.key, read=read, advance={ledger.OBSERVER: covers}, entries=tuple(entries))
