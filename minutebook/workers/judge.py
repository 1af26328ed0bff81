"""The judge: which of the records that a search found help with its question, the most helpful first.

It reads questions instead of the ledger and commits nothing to it: its verdict goes into the question's document.
"""

import logging
import time
from collections.abc import Callable

from minutebook.errors import MinutebookError, MissingExtra, ProviderFailed, SpanFailed, StoreError
from minutebook.pipeline.questions import JUDGE, Question, Verdict, answer, open_questions
from minutebook.store.kernel import Store
from minutebook.tokens import estimate_tokens
from minutebook.workers.contract import JudgeBatch, Mind, Proposal
from minutebook.workers.desks import Call, Refusal, RoleDesk, text_field
from minutebook.workers.showing import candidate_line, fitting
from minutebook.workers.weighing import request_tokens

ROLE = JUDGE
LEASE_SECONDS = 5
"""Somebody waits for it: when its worker dies, another one takes over soon."""
SPARE_SECONDS = 0.5
"""Of the asker's time, for a mind to take the place of one that cannot be asked, and for the way back."""
Told = Callable[[Verdict, Exception | None], None]
logger = logging.getLogger(__name__)


def serve(store: Store, branch: str, mind_of: Callable[[], Mind], told: Told, goes_on: Callable[[], bool]) -> None:
    """Answer the open questions of a branch, one after another, until none is left.

    mind_of: makes the mind for one question. told: hears of each verdict and its error. goes_on: whether the claim
    still holds. Raises StoreError.
    """
    while goes_on() and (waiting := open_questions(store, branch)):
        verdict, error = judge(waiting[0], mind_of, now=store.now())
        answer(store, waiting[0], verdict)
        told(verdict, error)


def judge(question: Question, mind_of: Callable[[], Mind], *, now: float) -> tuple[Verdict, Exception | None]:
    """The verdict on one question; what went wrong stands in it, and comes with it. Raises StoreError."""
    began, mind = time.monotonic(), ""
    ids: tuple[str, ...] = ()
    failed: Exception | None = None
    try:
        asked = mind_of()
        mind = asked.name
        batch = batch_of(question, now=now, window=getattr(asked, "window", None))
        ids, mind = _think(batch, asked)
    except StoreError:
        raise
    except Exception as error:
        failed = error
    seconds = round(time.monotonic() - began, 3)
    return Verdict(ids=ids, mind=mind, seconds=seconds, error=said(failed) if failed else ""), failed


def said(error: Exception) -> str:
    """Why there is no verdict, as its asker reads it; a fault of the program goes to the log too."""
    if isinstance(error, MinutebookError):
        return " ".join(str(error).split()) or type(error).__name__
    logger.error("a question was not judged", exc_info=error)
    return f"{type(error).__name__}: {error}"


def batch_of(question: Question, *, now: float, window: int | None) -> JudgeBatch:
    """What the mind reads: of the records the first that fit."""
    shown = fitting(
        question.candidates,
        request_tokens(window),
        cost=lambda each: estimate_tokens(candidate_line(each) + "\n"),
        tried=range(len(question.candidates)),
    )
    return JudgeBatch(
        question=question.query,
        records=shown,
        limit=min(question.limit, len(shown)),
        seconds=max(0.0, question.ends_at - now - SPARE_SECONDS),
    )


def think(batch: JudgeBatch, mind: Mind) -> tuple[str, ...]:
    """Ids in the mind's order, none when it said that nothing helps; SpanFailed when it did not rank at all."""
    desk = JudgeDesk(batch)
    mind.judge(batch, desk)
    if not (desk.ranked or desk.said_nothing):
        refused = f" but {desk.refusals} ids of no record" if desk.refusals else ""
        reason = "all_refused" if desk.refusals else "nothing_called"
        raise SpanFailed(f"{mind.name} ranked nothing{refused}", reason=reason)
    return tuple(desk.ranked)[: batch.limit]


def _think(batch: JudgeBatch, mind: Mind) -> tuple[tuple[str, ...], str]:
    """The ranking, and the name of the mind that made it: where no model can be asked, of the one named `instead`."""
    try:
        return think(batch, mind), mind.name
    except (ProviderFailed, MissingExtra) as error:
        other: Mind | None = getattr(mind, "instead", lambda error: None)(error)
        if other is None:
            raise
        return think(batch, other), other.name


class JudgeDesk(RoleDesk):
    """Takes ids of the records that were shown, each once, in the order in which they come."""

    def __init__(self, batch: JudgeBatch) -> None:
        super().__init__()
        self.ranked: dict[str, None] = {}
        self._shown = {record.id for record in batch.records}

    def take(self, proposal: Proposal, call: Call) -> bool:
        """Keep one id; raises Refusal."""
        id_ = text_field(proposal, "id").strip("[]")
        if id_ not in self._shown:
            raise Refusal(f"id: {id_[:40]} is no record that was shown")
        if id_ in self.ranked:
            return False
        self.ranked[id_] = None
        return True
