"""The dropper: brings the pool of active observations down to its target, the best covered and least relevant first."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from minutebook.pipeline import ledger
from minutebook.pipeline.branches import Path, memory_stream
from minutebook.pipeline.folding import Memory
from minutebook.pipeline.outcomes import Outcome
from minutebook.pipeline.remembering import working_memory
from minutebook.records import DROPS, RELEVANCES, Tier
from minutebook.workers.contract import DropBatch, Mind, Proposal, Weighed
from minutebook.workers.desks import Call, Refusal, RoleDesk, text_field
from minutebook.workers.recording import Span
from minutebook.workers.roles import Context
from minutebook.workers.showing import fitting, is_minute, line_cost, newest_first
from minutebook.workers.weighing import request_tokens, weigh, weighed_cost

ROLE = "dropper"
STRONGEST_FIRST: tuple[Tier, ...] = ("strong", "partial", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class DropPrepared:
    """A pool over its target. read: the role's mark. recorded: how many reflections there were when it read.

    covers: as far as both observations and reflections reach. now: ISO UTC.
    """

    branch: str
    read: int
    recorded: int
    covers: int
    covers_id: str
    batch: DropBatch
    now: str

    @property
    def start(self) -> int:
        """Where its coverage ends: it is sent no source entries."""
        return self.covers

    @property
    def entries(self) -> int:
        """None."""
        return 0


def prepare(context: Context) -> DropPrepared | None:
    """The pool; None at or under the target, and before the first reflection."""
    read = context.store.tip(memory_stream(context.branch.key)).marks.get(ledger.DROPPER, 0)
    memory = working_memory(context.store, context.branch)
    batch = drop_batch(
        memory, context.settings.observations_pool_target_tokens, max_tokens=request_tokens(context.window)
    )
    if not batch.max_drops or not memory.reflections_recorded:
        return None
    covers = min(memory.observed, memory.last_reflections_covers)
    last = Path(context.store, context.branch).at(covers - 1) if covers else None
    return DropPrepared(
        branch=context.branch.key,
        read=read,
        recorded=memory.reflections_recorded,
        covers=covers,
        covers_id=last.entry.id if last else "",
        batch=batch,
        now=context.now,
    )


def think(prepared: DropPrepared, mind: Mind) -> Outcome:
    """Let the mind propose drops and cut them to the maximum; raises SpanFailed when it ended without a word."""
    desk = DropperDesk(prepared.batch)
    mind.drop(prepared.batch, desk)
    desk.check_end("an accepted drop")
    chosen = first_to_go(desk.proposed.values(), prepared.batch.max_drops)
    span = Span(
        since=prepared.covers,
        covers=prepared.covers,
        covers_id=prepared.covers_id,
        time=prepared.now,
        mind=mind.name,
    )
    ids = [weighed.observation.id for weighed in chosen]
    return Outcome(
        role=ROLE,
        branch=prepared.branch,
        read=prepared.read,
        advance={ledger.DROPPER: prepared.recorded},
        entries=(span.entry(DROPS, {"observationIds": ids, "by": ROLE}),) if ids else (),
    )


def max_drops(pool_tokens: int, target_tokens: int, count: int) -> int:
    """The most observations that one run may drop: what is over, in average observations, rounded up (003-041)."""
    over = pool_tokens - target_tokens
    if over <= 0 or count <= 0:
        return 0
    return min(count, max(1, -(-over * count // pool_tokens)))


def first_to_go(proposed: Iterable[Weighed], maximum: int) -> list[Weighed]:
    """The proposals that go, at most `maximum`; of equal ones those proposed first (003-044)."""
    return sorted(proposed, key=drop_order)[:maximum]


def drop_order(weighed: Weighed) -> tuple[int, int, bool, str]:
    """Best covered, then least relevant, then oldest; an unreadable time counts as newest (003-044)."""
    record = weighed.observation
    covered = STRONGEST_FIRST.index(weighed.tier)
    return covered, RELEVANCES.index(record.relevance), not is_minute(record.timestamp), record.timestamp


def drop_batch(memory: Memory, target_tokens: int, *, max_tokens: int) -> DropBatch:
    """The pool as the mind is sent it. Where it does not fit, the first to go are shown.

    The pool is the sum of rendered lines, whether shown or not (003-040).
    """
    active = weigh(memory)
    current = [held.record for held in memory.current()]
    reflections = fitting(current, max_tokens // 2, cost=line_cost, tried=newest_first(current))
    room = max_tokens - sum(map(line_cost, reflections))
    shown = fitting(active, room, cost=weighed_cost, tried=_indexes_to_go(active))
    pool = sum(weighed.observation.tokens for weighed in active)
    return DropBatch(
        reflections=reflections,
        observations=shown,
        pool_tokens=pool,
        target_tokens=target_tokens,
        max_drops=min(len(shown), max_drops(pool, target_tokens, len(active))),
        left_out=len(current) + len(active) - len(reflections) - len(shown),
    )


class DropperDesk(RoleDesk):
    """Takes ids of active observations that were shown, and nothing else: no text is written here."""

    def __init__(self, batch: DropBatch) -> None:
        super().__init__()
        self.proposed: dict[str, Weighed] = {}
        self._shown = {weighed.observation.id: weighed for weighed in batch.observations}

    def take(self, proposal: Proposal, call: Call) -> bool:
        """Keep one id; raises Refusal."""
        id_ = text_field(proposal, "id").strip("[]")
        if id_ not in self._shown:
            raise Refusal(f"id: {id_[:40]} is no active observation that was shown")
        if id_ in self.proposed:
            return False
        self.proposed[id_] = self._shown[id_]
        return True


def _indexes_to_go(active: Sequence[Weighed]) -> list[int]:
    return sorted(range(len(active)), key=lambda at: drop_order(active[at]))
