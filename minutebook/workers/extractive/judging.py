"""Which records answer a question, by what can be counted: its words, then how much a record weighs."""

from collections.abc import Sequence

from minutebook.pipeline.questions import Candidate
from minutebook.pipeline.search import wanted_words, words_found
from minutebook.records import RELEVANCES, tier_of_citations
from minutebook.workers.contract import Desk, JudgeBatch
from minutebook.workers.extractive.dropping import TIER_RANKS

GONE = ("dropped", "retired")


def judge(batch: JudgeBatch, desk: Desk) -> None:
    """Rank the records that hold a word of the question; nothing when none does."""
    ids = ranked(batch.question, batch.records)[: batch.limit]
    if ids:
        desk.record([{"id": id_} for id_ in ids])
    else:
        desk.nothing()


def ranked(question: str, records: Sequence[Candidate]) -> list[str]:
    """Ids, best first: what stands before what is gone, then more words of the question, relevance, coverage, recency.

    Of equal ones the order of the search holds.
    """
    wanted = wanted_words(question)
    found = [(words_found(record.text, wanted), record) for record in records]
    kept = [(count, record) for count, record in found if count]
    latest_first = sorted(kept, key=lambda pair: pair[1].time, reverse=True)
    return [record.id for _, record in sorted(latest_first, key=lambda pair: _order(*pair))]


def _order(words: int, record: Candidate) -> tuple[bool, int, int, int]:
    return record.state in GONE, -words, -_relevance(record), -_coverage(record)


def _relevance(record: Candidate) -> int:
    """A reflection weighs as much as a weighty observation; a turn less than any record."""
    if record.kind == "reflection":
        return RELEVANCES.index("high")
    return RELEVANCES.index(record.relevance) if record.relevance in RELEVANCES else -1


def _coverage(record: Candidate) -> int:
    """0, 1, 2; a reflection is what covers others."""
    return 2 if record.kind == "reflection" else 2 - TIER_RANKS[tier_of_citations(record.citations)]
