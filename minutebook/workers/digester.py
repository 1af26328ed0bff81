"""The digester: older reflections and the previous digest become one bounded text; the newest stay word for word."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from minutebook.pipeline import ledger
from minutebook.pipeline.branches import Path, memory_stream
from minutebook.pipeline.excerpts import head_and_tail_tokens
from minutebook.pipeline.folding import HeldDigest, HeldReflection, Memory
from minutebook.pipeline.outcomes import Outcome
from minutebook.pipeline.pages import page_of
from minutebook.pipeline.projection import UNLIMITED, DigestBudget, digest_budget, full_projection
from minutebook.pipeline.remembering import working_memory
from minutebook.records import DIGEST, MemoryEntry, Reflection
from minutebook.tokens import estimate_tokens
from minutebook.workers.contract import DigestBatch, Mind, Proposal
from minutebook.workers.desks import Call, Refusal, RoleDesk, text_field
from minutebook.workers.extractive.digesting import lines_of
from minutebook.workers.recording import Span
from minutebook.workers.roles import Context
from minutebook.workers.showing import line_cost
from minutebook.workers.weighing import request_tokens

ROLE = "digester"
OVER_LONG_MAX = 2
"""After so many over-long answers the digest is made by selection."""
SELECTED = "no digest within its budget came from the model, so lines of the reflections were selected instead"


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestPrepared:
    """What is to be folded in.

    read: the role's mark. previous: the digest to go on from, "" on a rebuild. before: the reflections that it tells.
    steps: the reflections to fold, in portions that fit the window. advance: the marks that the run moves.
    unmoved: marks that must still be as they were read (003-036).
    """

    branch: str
    read: int
    previous: str
    before: tuple[Reflection, ...]
    steps: tuple[tuple[Reflection, ...], ...]
    budget_tokens: int
    advance: Mapping[str, int]
    unmoved: Mapping[str, int]
    covers: int
    covers_id: str
    now: str

    @property
    def start(self) -> int:
        """Where its coverage ends: it is sent no source entries."""
        return self.covers

    @property
    def entries(self) -> int:
        """None."""
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Folding:
    """Which reflections a digest goes on from and which it folds in; what is after them stays word for word."""

    previous: str
    before: tuple[HeldReflection, ...]
    older: tuple[HeldReflection, ...]


def prepare(context: Context) -> DigestPrepared | Outcome | None:
    """What to fold; an Outcome that only notes the look when nothing is older; None without reflections."""
    marks = context.store.tip(memory_stream(context.branch.key)).marks
    memory = working_memory(context.store, context.branch)
    if not memory.current():
        return None
    total = context.settings.reflection_context_max_tokens
    budget = digest_budget(total)
    read = marks.get(ledger.DIGESTER, 0)
    advance = {ledger.DIGESTER: memory.reflections_recorded, ledger.DIGEST_BUDGET: total}
    folding = what_to_fold(memory, budget)
    if not folding.older:
        return Outcome(role=ROLE, branch=context.branch.key, read=read, advance=advance)
    covers = max(held.covers for held in (*folding.before, *folding.older))
    last = Path(context.store, context.branch).at(covers - 1) if covers else None
    return DigestPrepared(
        branch=context.branch.key,
        read=read,
        previous=folding.previous,
        before=_records(folding.before),
        steps=in_steps(_records(folding.older), max(1, request_tokens(context.window) - budget.digest)),
        budget_tokens=budget.digest,
        advance=advance,
        unmoved={name: marks.get(name, 0) for name in (ledger.REFLECTIONS_RETIRED, ledger.DIGESTS_RECORDED)},
        covers=covers,
        covers_id=last.entry.id if last else "",
        now=context.now,
    )


def think(prepared: DigestPrepared, mind: Mind) -> Outcome:
    """Fold step by step, each going on from the text of the one before; raises SpanFailed on a step without a text."""
    text, told, remark = prepared.previous, prepared.before, ""
    for step in prepared.steps:
        told += step
        answer = _fold_step(mind, DigestBatch(previous=text, reflections=step, budget_tokens=prepared.budget_tokens))
        if answer is None:
            return _outcome(prepared, ())
        text, remark = answer or selected(told, prepared.budget_tokens), remark if answer else SELECTED
    span = Span(
        since=prepared.covers,
        covers=prepared.covers,
        covers_id=prepared.covers_id,
        time=prepared.now,
        mind=mind.name,
    )
    entry = _recorded(span, text, through=told[-1].id, read=prepared.advance[ledger.DIGESTER])
    return _outcome(prepared, (entry,), remark)


def what_to_fold(memory: Memory, budget: DigestBudget) -> Folding:
    """The older reflections after the digest; with an over-large digest all of them, at least to its watermark."""
    current = memory.current()
    digest = full_projection(page_of(memory), digest_tokens=UNLIMITED).digest
    fits = digest is not None and digest.tokens <= budget.digest
    recent = current[_watermark(current, digest) if fits else 0 :]
    kept = kept_verbatim([held.record.tokens for held in recent], budget.target)
    count = max(len(recent) - kept, 0 if fits else _watermark(current, digest))
    return Folding(
        previous=digest.content if digest is not None and fits else "",
        before=tuple(current[: len(current) - len(recent)]),
        older=tuple(recent[:count]),
    )


def kept_verbatim(sizes: Sequence[int], target_tokens: int) -> int:
    """How many of the newest reflections stay out of the digest: those that fit, the newest in any case (003-032)."""
    kept = used = 0
    for size in reversed(sizes):
        if kept and used + size > target_tokens:
            break
        kept += 1
        used += size
    return kept


def in_steps(reflections: Sequence[Reflection], max_tokens: int) -> tuple[tuple[Reflection, ...], ...]:
    """Whole reflections, in order, in portions of at most max_tokens; a larger one is a portion of its own."""
    steps: list[list[Reflection]] = []
    used = 0
    for reflection in reflections:
        if not steps or used + line_cost(reflection) > max_tokens:
            steps.append([])
            used = 0
        steps[-1].append(reflection)
        used += line_cost(reflection)
    return tuple(map(tuple, steps))


def selected(reflections: Sequence[Reflection], budget_tokens: int) -> str:
    """A digest that no mind wrote: chosen lines of the reflections that it covers, within the budget."""
    lines = lines_of(DigestBatch(previous="", reflections=tuple(reflections), budget_tokens=budget_tokens))
    return "\n".join(lines) or head_and_tail_tokens(reflections[-1].content, budget_tokens)


class DigesterDesk(RoleDesk):
    """Takes one complete text within the budget; a later one replaces an earlier one."""

    def __init__(self, budget_tokens: int) -> None:
        super().__init__()
        self.content = ""
        self.over_long = 0
        self._budget_tokens = budget_tokens

    def take(self, proposal: Proposal, call: Call) -> bool:
        """Keep the text; raises Refusal."""
        content = text_field(proposal, "content").replace("\r", "").strip()
        tokens = estimate_tokens(content)
        if tokens > self._budget_tokens:
            raise self._too_long(tokens)
        if not content:
            raise Refusal("content: must be a text that is not empty")
        if content == self.content:
            return False
        self.content = content
        return True

    def _too_long(self, tokens: int) -> Refusal:
        """The second time the run has its digest, by selection: its total says so; a shorter one may still come."""
        self.over_long += 1
        self.total += self.over_long == OVER_LONG_MAX
        advice = "shorten it" if self.over_long < OVER_LONG_MAX else "lines are selected instead, you can end"
        return Refusal(f"content: about {tokens} tokens, {tokens - self._budget_tokens} over the budget; {advice}")


def _fold_step(mind: Mind, batch: DigestBatch) -> str | None:
    """The mind's text; "" when it was over-long too often; None when it said that there is nothing to fold."""
    desk = DigesterDesk(batch.budget_tokens)
    mind.digest(batch, desk)
    if desk.content:
        return desk.content
    if desk.over_long >= OVER_LONG_MAX:
        return ""
    desk.check_end("a digest within its budget")
    return None


def _recorded(span: Span, text: str, *, through: str, read: int) -> MemoryEntry:
    return span.entry(
        DIGEST,
        {
            "content": text,
            "coversThroughReflectionId": through,
            "tokenCount": estimate_tokens(text),
            "reflectionsRead": read,
        },
    )


def _outcome(prepared: DigestPrepared, entries: tuple[MemoryEntry, ...], remark: str = "") -> Outcome:
    return Outcome(
        role=ROLE,
        branch=prepared.branch,
        read=prepared.read,
        advance=prepared.advance,
        entries=entries,
        unmoved=prepared.unmoved,
        remark=remark,
    )


def _records(held: Sequence[HeldReflection]) -> tuple[Reflection, ...]:
    return tuple(each.record for each in held)


def _watermark(current: Sequence[HeldReflection], digest: HeldDigest | None) -> int:
    """How many reflections a digest tells."""
    if digest is None:
        return 0
    return [held.record.id for held in current].index(digest.through) + 1
