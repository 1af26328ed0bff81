"""Questions to the judge: which of these records help? Each is a document, answered by a worker, taken by its asker.

The ledger gets nothing of it, a judgement being no memory. A question that is lost costs its asker the wait.
"""

import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from minutebook.pipeline.intake import redactor_of
from minutebook.pipeline.quoting import harmless
from minutebook.records import Branch
from minutebook.store import codec
from minutebook.store.kernel import Document, Job, Put, Stale, Store

QUESTIONS = "questions"
JUDGE = "judge"
RECORDS_MOST = 40
RECORD_CHARACTERS = 400
QUERY_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A record or a turn to be judged. id: the record's own, or a label that only this question knows.

    kind, state: as of a search hit. time: local, to the minute, "" where it has none. relevance: of an observation,
    else "". citations: how many current reflections cite it. text: one harmless line.
    """

    id: str
    kind: str
    text: str
    state: str = ""
    time: str = ""
    relevance: str = ""
    citations: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """ids: of the records that help, the best first. mind: who judged. error: why nobody did, "" when it was judged."""

    ids: tuple[str, ...] = ()
    mind: str = ""
    seconds: float = 0.0
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question. candidates: in the search's order. asked_at: the store's seconds. version: of its document."""

    id: str
    branch: str
    lineage: str
    query: str
    candidates: tuple[Candidate, ...]
    limit: int
    asked_at: float
    deadline_seconds: float
    verdict: Verdict | None = None
    version: int = 1

    @property
    def job(self) -> Job:
        """What wakes a worker for it."""
        return Job(JUDGE, self.lineage, self.branch)

    @property
    def ends_at(self) -> float:
        """When nobody waits for it any more, in the store's seconds."""
        return self.asked_at + self.deadline_seconds


def ask(
    store: Store, branch: Branch, query: str, candidates: Sequence[Candidate], *, limit: int, deadline_seconds: float
) -> Question:
    """Put a question on the board; secrets in the query are replaced first. Called by cli and server."""
    question = Question(
        id=secrets.token_hex(8),
        branch=branch.key,
        lineage=branch.lineage,
        query=harmless(redactor_of(store).redact(query))[:QUERY_CHARACTERS],
        candidates=tuple(replace(each, text=each.text[:RECORD_CHARACTERS]) for each in candidates[:RECORDS_MOST]),
        limit=limit,
        asked_at=store.now(),
        deadline_seconds=deadline_seconds,
    )
    store.put(Put(QUESTIONS, question.id, _body(question), if_version=0))
    store.queue(question.job)  # where it runs already, it looks for more questions before and after it ends
    return question


def find_question(store: Store, id_: str) -> Question | None:
    """The question as it stands, with its verdict when there is one; None once it was taken away."""
    document = store.get(QUESTIONS, id_)
    return _question(document) if document else None


def open_questions(store: Store, branch: str = "") -> list[Question]:
    """Those without a verdict for which somebody still waits, of one branch or of all, the most urgent first."""
    now = store.now()
    found = (_question(document) for document in store.documents(QUESTIONS))
    waiting = [each for each in found if each.verdict is None and each.ends_at > now and branch in ("", each.branch)]
    return sorted(waiting, key=lambda each: (each.ends_at, each.id))


def answer(store: Store, question: Question, verdict: Verdict) -> bool:
    """Write the verdict; False when it came too late, or second, and nothing was written."""
    body = _body(replace(question, verdict=verdict))
    return not isinstance(store.put(Put(QUESTIONS, question.id, body, if_version=question.version)), Stale)


def withdraw(store: Store, id_: str) -> None:
    """Take a question away, answered or not."""
    store.delete(QUESTIONS, id_)


def forget_expired(store: Store) -> int:
    """Remove the questions for which nobody waits any more; returns how many."""
    now = store.now()
    gone = [document.key for document in store.documents(QUESTIONS) if _question(document).ends_at <= now]
    return sum(store.delete(QUESTIONS, key) for key in gone)


def _body(question: Question) -> str:
    body = asdict(question)
    return codec.to_json({name: value for name, value in body.items() if name not in ("id", "version")})


def _question(document: Document) -> Question:
    body: dict[str, Any] = codec.from_json(document.body)
    verdict = body.pop("verdict", None)
    candidates = tuple(Candidate(**each) for each in body.pop("candidates"))
    return Question(
        **body,
        id=document.key,
        version=document.version,
        candidates=candidates,
        verdict=Verdict(**{**verdict, "ids": tuple(verdict["ids"])}) if verdict else None,
    )
