"""The checks, mechanical and pure: what was seen of a run against what its case asks for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from evals.case_files import Case, Must, MustNot, Phrase
from evals.staging import entry_id
from minutebook.records import RELEVANCES, Relevance

SHOWN_CHARACTERS = 90


@dataclass(frozen=True, kw_only=True)
class Record:
    """An observation, a reflection or a line of a digest that stands after the run.

    sources: entry ids. supports, supersedes: keys of old records.
    """

    content: str
    relevance: Relevance = "critical"
    timestamp: str = ""
    sources: tuple[str, ...] = ()
    supports: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What came of a case. dropped: keys of old records. failed: why no outcome came of it, "" for none."""

    records: Sequence[Record] = ()
    dropped: frozenset[str] = field(default_factory=frozenset)
    failed: str = ""


def faults(case: Case, seen: Seen) -> list[str]:
    """What is wrong, a line each; none for a case that passes."""
    if seen.failed:
        return [seen.failed]
    return [*_counted(case, seen), *_missing(case, seen.records), *_forbidden(case, seen.records), *_drops(case, seen)]


def _counted(case: Case, seen: Seen) -> Iterator[str]:
    count = len(seen.records)
    if case.nothing and count:
        yield f"there was nothing to record, but: {_short(seen.records[0].content)}"
    if case.nothing and case.role == "dropper" and seen.dropped:
        yield f"there was no safe drop, but {', '.join(sorted(seen.dropped))} went"
    if case.max_records is not None and count > case.max_records:
        yield f"{count} records, at most {case.max_records} wanted"


def _missing(case: Case, records: Sequence[Record]) -> Iterator[str]:
    for row in case.must:
        found = [record for record in records if _holds(record.content, row.all)]
        found = [record for record in found if not any(_has(record.content, text) for text in row.without)] or found
        wrong = [list(_shortcomings(row, record)) for record in found]
        if not found:
            yield f"no record holds {_named(row.all)}"
        elif all(wrong):
            yield f"{_named(row.all)}: {'; '.join(sorted(wrong, key=len)[0])}"


def _shortcomings(row: Must, record: Record) -> Iterator[str]:
    if present := [text for text in row.without if _has(record.content, text)]:
        yield f"holds {_named(present)} as well"
    if row.relevance and RELEVANCES.index(record.relevance) < RELEVANCES.index(row.relevance):
        yield f"is {record.relevance}, not {row.relevance}"
    if uncited := [number for number in row.cites if entry_id(number) not in record.sources]:
        yield f"does not cite entry {', '.join(map(str, uncited))}"
    if row.timestamp and record.timestamp != row.timestamp:
        yield f"is dated {record.timestamp}, not {row.timestamp}"
    if kept := [key for key in row.supersedes if key not in record.supersedes]:
        yield f"does not supersede {', '.join(kept)}"
    if row.supports and set(record.supports) != set(row.supports):
        yield f"rests on {', '.join(record.supports) or 'nothing'}, not on {', '.join(row.supports)}"


def _forbidden(case: Case, records: Sequence[Record]) -> Iterator[str]:
    for row in case.must_not:
        if record := next((record for record in records if _breaks(row, record)), None):
            yield f"must not record: {_short(record.content)}"


def _breaks(row: MustNot, record: Record) -> bool:
    weighty = row.relevance is None or RELEVANCES.index(record.relevance) >= RELEVANCES.index(row.relevance)
    return weighty and _holds(record.content, row.all) and not any(_has(record.content, text) for text in row.unless)


def _drops(case: Case, seen: Seen) -> Iterator[str]:
    if lost := [key for key in case.keeps if key in seen.dropped]:
        yield f"dropped {', '.join(lost)}, to be kept"
    if kept := [key for key in case.drops if key not in seen.dropped]:
        yield f"kept {', '.join(kept)}, to be dropped"


def _holds(text: str, phrases: Sequence[Phrase]) -> bool:
    return all(any(_has(text, one) for one in ([phrase] if isinstance(phrase, str) else phrase)) for phrase in phrases)


def _has(text: str, phrase: str) -> bool:
    return phrase.casefold() in text.casefold()


def _named(phrases: Sequence[Phrase]) -> str:
    return " + ".join(f'"{phrase}"' if isinstance(phrase, str) else f'"{"|".join(phrase)}"' for phrase in phrases)


def _short(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"
