"""The reflector: observations become few, durable conclusions; an outdated conclusion is retired."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from minutebook.pipeline import ledger
from minutebook.pipeline.branches import Path, memory_stream
from minutebook.pipeline.folding import Memory, fold
from minutebook.pipeline.outcomes import Outcome
from minutebook.pipeline.remembering import working_memory
from minutebook.pipeline.shapes import counted_reflection, cut_content, reflection_data
from minutebook.records import REFLECTIONS, RETIREMENTS, MemoryEntry, Reflection, reflection_id
from minutebook.workers.contract import Mind, Proposal, ReflectBatch
from minutebook.workers.desks import Call, Refusal, RoleDesk, list_field, optional_ids, text_field
from minutebook.workers.recording import Span
from minutebook.workers.roles import Context
from minutebook.workers.showing import fitting, line_cost, newest_first
from minutebook.workers.weighing import request_tokens, weigh, weighed_cost

ROLE = "reflector"
SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectPrepared:
    """All that is to be reflected on. read: the reflection coverage. covers: the observation coverage that was read.

    known: ids of all reflections ever recorded. now: ISO UTC.
    """

    branch: str
    read: int
    covers: int
    covers_id: str
    batch: ReflectBatch
    known: frozenset[str]
    now: str

    @property
    def start(self) -> int:
        """The coverage that it begins after."""
        return self.read

    @property
    def entries(self) -> int:
        """None: it is sent no source entries."""
        return 0


def prepare(context: Context) -> ReflectPrepared | None:
    """Memory as it is; None without an active observation, or none past the reflection coverage (003-024)."""
    read = context.store.tip(memory_stream(context.branch.key)).marks.get(ledger.REFLECTOR, 0)
    memory = working_memory(context.store, context.branch)
    if memory.observed <= read or not memory.active():
        return None
    last = Path(context.store, context.branch).at(memory.observed - 1)
    return ReflectPrepared(
        branch=context.branch.key,
        read=read,
        covers=memory.observed,
        covers_id=last.entry.id if last else "",
        batch=reflect_batch(memory, request_tokens(context.window)),
        known=_known(context, memory),
        now=context.now,
    )


def think(prepared: ReflectPrepared, mind: Mind) -> Outcome:
    """Let the mind reflect; raises SpanFailed when it ended without a word."""
    desk = ReflectorDesk(prepared.batch, prepared.known)
    mind.reflect(prepared.batch, desk)
    desk.check_end("an accepted reflection")
    span = Span(
        since=prepared.covers,
        covers=prepared.covers,
        covers_id=prepared.covers_id,
        time=prepared.now,
        mind=mind.name,
    )
    return Outcome(
        role=ROLE,
        branch=prepared.branch,
        read=prepared.read,
        advance={ledger.REFLECTOR: prepared.covers},
        entries=_entries(span, desk.accepted, desk.superseded),
    )


def reflect_batch(memory: Memory, max_tokens: int) -> ReflectBatch:
    """All current reflections and active observations; where they do not fit, the newest of each (003-020).

    Reflections get at most half, observations what is left.
    """
    current = [held.record for held in memory.current()]
    active = weigh(memory)
    reflections = fitting(current, max_tokens // 2, cost=line_cost, tried=newest_first(current))
    room = max_tokens - sum(map(line_cost, reflections))
    observations = fitting(active, room, cost=weighed_cost, tried=newest_first(active))
    left_out = len(current) + len(active) - len(reflections) - len(observations)
    return ReflectBatch(reflections=reflections, observations=observations, left_out=left_out)


class ReflectorDesk(RoleDesk):
    """Checks proposals against the observations that were shown and the reflections that exist."""

    def __init__(self, batch: ReflectBatch, known: frozenset[str]) -> None:
        super().__init__()
        self.accepted: dict[str, Reflection] = {}
        self.superseded: dict[str, str] = {}
        self._known = known
        self._supports = tuple(weighed.observation.id for weighed in batch.observations)
        self._current = frozenset(reflection.id for reflection in batch.reflections)

    def take(self, proposal: Proposal, call: Call) -> bool:
        """Keep one reflection; raises Refusal."""
        content = _content_field(proposal)
        supports = self._support_ids(list_field(proposal, "supports"))
        key = reflection_id(content)
        if key in self._known or key in self.accepted:
            return False
        self._supersede(optional_ids(proposal, "supersedes"), key, call)
        self.accepted[key] = counted_reflection(Reflection(id=key, content=content, support_ids=supports))
        return True

    def _support_ids(self, ids: Sequence[str]) -> tuple[str, ...]:
        """Each id once, in the order of the active observations; one that was not shown refuses all (003-022)."""
        given = dict.fromkeys(id_.strip("[]") for id_ in ids)
        wrong = [id_ for id_ in given if id_ not in self._supports]
        if wrong:
            raise Refusal(f"supports: {', '.join(map(_named, wrong))} is no active observation that was shown")
        return tuple(id_ for id_ in self._supports if id_ in given)

    def _supersede(self, ids: Sequence[str], by: str, call: Call) -> None:
        for id_ in (id_.strip("[]") for id_ in ids):
            if id_ in self._current or id_ in self.accepted:
                self.superseded[id_] = by
            else:
                call.ignored += 1


def _known(context: Context, memory: Memory) -> frozenset[str]:
    """Ids of all reflections ever recorded; working memory may lack those that were retired for good (003-023)."""
    if memory.reflections_recorded > len(memory.reflections):
        memory = fold(ledger.read_memory(context.store, context.branch))
    return frozenset(memory.reflections)


def _content_field(proposal: Proposal) -> str:
    content = text_field(proposal, "content")
    if len(content.splitlines()) > 1:
        raise Refusal("content: must be one line")
    return cut_content(content)


def _named(id_: str) -> str:
    return id_[:40] or '""'


def _entries(span: Span, accepted: Mapping[str, Reflection], superseded: Mapping[str, str]) -> tuple[MemoryEntry, ...]:
    recorded = span.entry(REFLECTIONS, {"reflections": [reflection_data(each) for each in accepted.values()]})
    if not superseded:
        return (recorded,)
    return recorded, span.entry(
        RETIREMENTS, {"reflectionIds": list(superseded), "by": SUPERSEDED, "replacedBy": superseded}
    )
