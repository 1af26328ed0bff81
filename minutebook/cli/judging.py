"""Asking the judge about what a search found: a question on the board, and the wait for its verdict."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from minutebook.cli.place import Place
from minutebook.cli.showing import UNKNOWN_TIME, minute
from minutebook.errors import StoreError
from minutebook.pipeline import questions
from minutebook.pipeline.questions import JUDGE, RECORDS_MOST, Candidate, Question, Verdict
from minutebook.pipeline.search import Hit

POLL_SECONDS = 0.05
PATIENCE_SECONDS = 2.0
"""A worker that serves the judge takes a question at once; after this, it is worked on here."""
STOP_SECONDS = 1.0
RECORDS = ("observation", "reflection")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """hits: the best first. helpful: how many of them, from the first on, the judge named. why_not: "" when judged."""

    hits: Sequence[Hit]
    helpful: int = 0
    mind: str = ""
    seconds: float = 0.0
    why_not: str = ""

    @property
    def summary(self) -> str:
        """One line for people."""
        if self.why_not:
            return f"not judged, so in the order of the search: {self.why_not}"
        found = {0: "none of them helps", 1: "the first one helps"}.get(self.helpful, f"the first {self.helpful} help")
        return f"{found}, as {self.mind} judged in {self.seconds:.1f} s"


def judged(place: Place, query: str, hits: Sequence[Hit], limit: int, zones: dict[str, str]) -> Judged:
    """The hits that the judge named, the others after them in the search's order; at most `limit`."""
    if not hits:
        return Judged(hits=hits, why_not="nothing was found")
    named = {_label(hit, at): hit for at, hit in enumerate(hits[:RECORDS_MOST], start=1)}
    candidates = [_candidate(id_, hit, zones.get(hit.branch, "UTC")) for id_, hit in named.items()]
    try:
        verdict = _ask(place, query, candidates, limit)
    except StoreError as error:  # a question must be written; what was found can be shown without
        verdict = Verdict(error=str(error))
    if verdict.error:
        return Judged(hits=hits[:limit], mind=verdict.mind, seconds=verdict.seconds, why_not=verdict.error)
    first = [named[id_] for id_ in verdict.ids]
    rest = [hit for hit in hits if not any(hit is one for one in first)]
    return Judged(
        hits=[*first, *rest][:limit], helpful=min(limit, len(first)), mind=verdict.mind, seconds=verdict.seconds
    )


def _label(hit: Hit, at: int) -> str:
    """A record's own id; a turn's id may be long, and another host's may be the same."""
    return hit.id if hit.kind in RECORDS else f"t{at}"


def _candidate(id_: str, hit: Hit, zone: str) -> Candidate:
    return Candidate(
        id=id_,
        kind=hit.kind,
        text=hit.text,
        state=hit.state,
        time=_time(hit, zone),
        relevance=hit.relevance,
        citations=hit.citations,
    )


def _time(hit: Hit, zone: str) -> str:
    """To the minute; "" where it is not known. A record's is that already."""
    time = hit.time if hit.kind in RECORDS or not hit.time else minute(hit.time, zone)
    return "" if time == UNKNOWN_TIME else time


def _ask(place: Place, query: str, candidates: Sequence[Candidate], limit: int) -> Verdict:
    seconds = place.settings.judge_deadline_seconds
    question = questions.ask(place.store, place.branch, query, candidates, limit=limit, deadline_seconds=seconds)
    try:
        return _wait(place, question) or Verdict(error=f"no answer within judge_deadline_seconds = {seconds}")
    finally:
        questions.withdraw(place.store, question.id)


def _wait(place: Place, question: Question) -> Verdict | None:
    """The verdict, or None at the deadline. Where no worker takes the question, one is run in this process."""
    listening = place.wake_worker()
    began = time.monotonic()
    with ExitStack() as stack:
        helped = False
        while True:
            passed = time.monotonic() - began
            found = questions.find_question(place.store, question.id)
            if found is None or found.verdict is not None or passed >= question.deadline_seconds:
                return found.verdict if found else None
            if not helped and (not listening or (passed >= PATIENCE_SECONDS and _untaken(place, question))):
                stack.enter_context(_judge_here(place))
                helped = True
            time.sleep(POLL_SECONDS)


def _untaken(place: Place, question: Question) -> bool:
    """Nobody took the job, or who did has died."""
    return any(state.job == question.job for state in place.store.ready([JUDGE], 1_000))


@contextmanager
def _judge_here(place: Place) -> Iterator[None]:
    """An engine for the judge alone. Hooks do not find it: it does none of their work."""
    from minutebook.workers.choosing import ProjectSettings, minds_of
    from minutebook.workers.engine import Engine

    engine = Engine(
        place.store,
        settings_for=ProjectSettings(place.flags),
        minds=minds_of(place.store),
        roles=[JUDGE],
        concurrency=1,
    )
    engine.listen(False)
    engine.start()
    try:
        yield
    finally:
        engine.stop(STOP_SECONDS)
