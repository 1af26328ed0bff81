"""What one sentence of a user does: states, constrains, prefers, decides, corrects, asks; or only chats.

The kind decides the relevance. What no rule recognises is an assertion, of medium relevance (when in doubt).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from minutebook.records import Relevance
from minutebook.workers.extractive import wordings as words
from minutebook.workers.extractive import wordings_context as context
from minutebook.workers.extractive import wordings_other as others
from minutebook.workers.extractive.roles import people_of
from minutebook.workers.extractive.sentences import Prose, prose_of
from minutebook.workers.extractive.subjects import values_of

Kind = Literal[
    "identity",
    "correction",
    "constraint",
    "finished",
    "preference",
    "decision",
    "fact",
    "request",
    "question",
    "assertion",
    "reported",
    "declined",
    "considered",
    "aside",
]

RELEVANCE_OF: dict[Kind, Relevance] = {
    "identity": "critical",
    "correction": "critical",
    "constraint": "critical",
    "finished": "critical",
    "preference": "high",
    "decision": "high",
    "fact": "high",
    "request": "medium",
    "question": "medium",
    "assertion": "medium",
    "reported": "medium",
    "declined": "high",
    "considered": "low",
    "aside": "low",
}
PREFIX_OF: dict[Kind, str] = {
    "correction": "User corrected: ",
    "request": "User asked: ",
    "question": "User's question: ",
    "considered": "User considered: ",
    "declined": "User declined: ",
}
DEFAULT_PREFIX = "User: "
TELLING_VALUES = ("date", "url", "email", "hash", "version", "percent", "size")
"""A sentence that holds one of these states a fact, whatever its verb."""
STATEMENTS_PER_PROMPT = 14
SHORTEST_OPENED = 15
JOINED_MAX_CHARACTERS = 300
EXAMINED_CHARACTERS = 600

_REASONED = ("decision", "constraint", "preference", "correction", "declined")
_LONG_QUOTATION = re.compile(r"[\"“«][^\"”»]{12,300}[\"”»]")
_CODE_SPAN = re.compile(r"`[^`]{1,200}`")
_ANAPHORIC = re.compile(r"^(?:it|that|this|they|these|those|he|she|both|same)\b", re.IGNORECASE)
_QUESTION_END = re.compile(r"[?？]+[\"')\]”’ ]*$")


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence (or two that belong together), verbatim. soft: a correction only if it finds what it corrects."""

    text: str
    kind: Kind
    soft: bool = False

    @property
    def relevance(self) -> Relevance:
        """By kind, 003-019."""
        return RELEVANCE_OF[self.kind]

    @property
    def prefix(self) -> str:
        """What stands before the quotation."""
        return PREFIX_OF.get(self.kind, DEFAULT_PREFIX)


def statements_of(prompt: str) -> tuple[list[Statement], Prose]:
    """What a typed prompt states, in order, and its prose; nothing for a filler, a slash command or only a paste."""
    if words.SLASH_COMMAND.match(prompt[:200]):
        return [], Prose()
    prose = prose_of(prompt)
    texts = [without_opener(text) for paragraph in prose.paragraphs for text in joined(paragraph)]
    found = [classify(text) for text in texts]
    found = list(_without_introducers(found))
    statements = list(_without_taken_back(statement for statement in found if not is_filler(statement.text)))
    return _most_telling(statements), prose


def without_opener(text: str) -> str:
    """Without "While we are in there:" or "One more thing -", which say nothing; the rest is quoted as it stands."""
    opener = context.OPENER.match(text)
    return text[opener.end() :] if opener and len(text) - opener.end() >= SHORTEST_OPENED else text


def is_filler(text: str) -> bool:
    """Whether the sentence says nothing that is worth a record: yes, thanks, go on, or a bare path to a picture."""
    if not any(character.isalnum() for character in text) or words.BARE_PATH.match(text[:400]):
        return True
    return bool(words.FILLER.match(text.lower()[:200]))


def classify(text: str) -> Statement:
    """The kind of one sentence; total, for any text in any language."""
    plain = _matchable(text)
    kind = _kind_of(plain, text)
    soft = kind not in ("correction", "question", "aside", "considered", "reported", "declined") and bool(
        words.SOFT_CORRECTION.search(plain) or words.DENIAL.match(plain)
    )
    return Statement(text, kind, soft)


def as_correction(statement: Statement) -> Statement:
    """The same words, now known to replace something."""
    return replace(statement, kind="correction", soft=False)


def joined(sentences: list[str]) -> Iterator[str]:
    """Sentences as they stand alone: a bare "No." goes with the next one, "It can't move." with the one before."""
    pending: list[str] = []
    for sentence in sentences:
        if (
            words.BARE_CORRECTION.match(sentence.lower()[:200])
            or (pending and _goes_on(sentence, pending[-1]))
            or (pending and _belongs_to_previous(sentence, pending[-1]))
            or (len(pending) > 0 and all(words.BARE_CORRECTION.match(one.lower()[:200]) for one in pending))
        ):
            pending.append(sentence)
        else:
            yield from _flushed(pending)
            pending = [sentence]
    yield from _flushed(pending)


def _flushed(pending: list[str]) -> Iterator[str]:
    if pending:
        yield " ".join(pending)


def _goes_on(sentence: str, previous: str) -> bool:
    """A reason goes with its decision or rule, the user's "no" with the wish that it declines."""
    if len(sentence) + len(previous) > JOINED_MAX_CHARACTERS:
        return False
    plain, before = _matchable(sentence), _matchable(previous)
    if context.DECLINES.search(plain):
        return bool(context.WISH_OF_ANOTHER.search(before)) and not context.OWN_VOICE.match(before)
    return bool(context.REASON.search(plain)) and _kind_of(before, previous) in _REASONED


def _without_introducers(statements: list[Statement]) -> Iterator[Statement]:
    """A line that only announces what stands below it ("I just got this from support:") states nothing itself."""
    for statement in statements:
        announces = statement.text.rstrip().endswith((":", "：")) and statement.kind in (
            "fact",
            "assertion",
            "decision",
        )
        yield replace(statement, kind="aside", soft=False) if announces else statement


def _belongs_to_previous(sentence: str, previous: str) -> bool:
    """Without its antecedent a rule about "it" says nothing."""
    if len(sentence) + len(previous) > JOINED_MAX_CHARACTERS or not _ANAPHORIC.match(sentence):
        return False
    return _kind_of(_matchable(sentence), sentence) in ("constraint", "finished", "fact") and not is_filler(previous)


def _without_taken_back(statements: Iterator[Statement]) -> Iterator[Statement]:
    """An idea that its own next words take back ("Maybe Mongo. No, scratch that.") is at most considered."""
    for statement in statements:
        lowered = statement.text.lower()
        if statement.kind == "correction" and words.HYPOTHETICAL.search(lowered[: len(lowered) // 2 + 1]):
            yield replace(statement, kind="considered")
        else:
            yield statement


def _most_telling(statements: list[Statement]) -> list[Statement]:
    """A long prompt gives its opening and its weightiest statements, in order; equal ones by place."""
    if len(statements) <= STATEMENTS_PER_PROMPT:
        return statements
    ranks = {"critical": 0, "high": 1, "medium": 2, "low": 3}
    chosen = sorted(range(len(statements)), key=lambda at: (at > 0, ranks[statements[at].relevance], at))
    return [statements[at] for at in sorted(chosen[:STATEMENTS_PER_PROMPT])]


def _matchable(text: str) -> str:
    """Lower case, with long quotations and code blanked: what another said or wrote does not make the user's rule."""
    plain = text[:EXAMINED_CHARACTERS].replace("’", "'").replace("‘", "'")
    return _CODE_SPAN.sub("`x`", _LONG_QUOTATION.sub('"…"', plain)).lower().strip(" *_\"'“”#-")


def _kind_of(plain: str, text: str) -> Kind:
    if asks := _asking_kind(plain):
        return asks
    if context.DECLINES.search(plain) and not words.DECISION.search(plain):
        return "declined"
    if context.REPORTED.search(plain) or _is_wish_of_another(plain):
        return "reported"
    if words.HYPOTHETICAL.search(plain) and not _overrules_doubt(plain) and not words.COURTEOUS.search(plain):
        return "considered"
    if _is_correction(plain):
        return "correction"
    if words.ASIDE.search(plain) and not words.CONSTRAINT.search(plain):
        return "aside"
    return _stating_kind(plain, text)


def _asking_kind(plain: str) -> Kind | None:
    if words.WHAT_IF.match(plain):
        return "considered"
    polite, question = words.POLITE.match(plain), _QUESTION_END.search(plain)
    if not (polite or question or words.QUESTION_START.match(plain)):
        return None
    if words.CONSTRAINT.search(plain) and (polite or not question) and not words.QUESTION_START.match(plain):
        return "constraint"
    return "request" if polite or others.OTHER_REQUEST.search(plain) else "question"


def _is_wish_of_another(plain: str) -> bool:
    """What others want is told, and not yet a rule; what binds anyway ("legal wants us to…, so we must") stays one."""
    if context.OWN_VOICE.match(plain) or words.CORRECTION.search(plain) or words.SOFT_CORRECTION.search(plain):
        return False
    return bool(context.WISH_OF_ANOTHER.search(plain)) and not words.CONSTRAINT.search(plain)


def _overrules_doubt(plain: str) -> bool:
    return bool(
        words.BARE_CORRECTION.match(plain) or re.match(words.LEAD + r"(?:scratch|correction|forget|actually)", plain)
    )


def _is_correction(plain: str) -> bool:
    if words.CORRECTION.search(plain) or others.OTHER_CORRECTION.search(plain):
        return True
    denial = words.DENIAL.match(plain)
    return bool(denial and words.DENIAL_SUBSTANCE.search(plain[denial.end() :]) and len(plain) - denial.end() > 15)


def _stating_kind(plain: str, text: str) -> Kind:
    rules: tuple[tuple[Kind, tuple[re.Pattern[str], ...]], ...] = (
        ("finished", (words.FINISHED,)),
        ("constraint", (words.CONSTRAINT, others.OTHER_CONSTRAINT)),
        ("identity", (words.IDENTITY, others.OTHER_IDENTITY)),
        ("preference", (words.PREFERENCE, others.OTHER_PREFERENCE)),
        ("decision", (words.DECISION, others.OTHER_DECISION)),
        ("request", (words.IMPERATIVE, others.OTHER_REQUEST)),
    )
    for kind, patterns in rules:
        if any(pattern.search(plain) for pattern in patterns):
            return kind
    if words.SELF_NAMED.search(text[:EXAMINED_CHARACTERS]):
        return "identity"
    if context.TICKET_HEADER.match(plain):
        return "assertion"
    if people_of(text).duties or others.OTHER_FACT.search(plain):
        return "fact"
    if words.NAMED.search(plain) or (words.FACT_VERB.search(plain) and words.HARD_VALUE.search(text)):
        return "fact"
    if text.isascii() and len(plain.split()) < 2:
        return "aside"
    return (
        "fact" if any(value.kind in TELLING_VALUES for value in values_of(text[:EXAMINED_CHARACTERS])) else "assertion"
    )
