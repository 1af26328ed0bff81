"""Which older statements a correction replaces.

Kinds of evidence, strongest first, and only the first that finds something counts:
the old value is named ("not 8080", "instead of yarn"); the same subject gets another value of the same type ("the
deadline moved to Monday"); what was said is denied or allowed ("you no longer have to…"); or the words point back
("scratch that").
Each asks for a shared subject wherever the correction names one, so that a fact that merely shares a word stays.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from minutebook.records import Observation
from minutebook.workers.extractive.labels import tells_apart
from minutebook.workers.extractive.oldstates import old_values
from minutebook.workers.extractive.roles import People, hands_over, people_of
from minutebook.workers.extractive.slots import Slot, filling_of, refill, slots_of, words_of
from minutebook.workers.extractive.statements import Kind, classify
from minutebook.workers.extractive.subjects import (
    BOUNDS,
    Subject,
    Value,
    comparable,
    content_words,
    same_subject,
    subject_of,
)
from minutebook.workers.extractive.wordings import CORRECTION

SUPERSEDED_MAX = 6
UNNAMED_MAX = 2
"""A bare "not X" that shares no subject with what holds X means at most so many statements."""
ANAPHORA_REACH = 3
"""How many of the user's last statements "scratch that" can mean."""

_QUOTED_CONTENT = re.compile(
    r"^(User[^\":]{0,20}|User's question|Assistant[^\":]{0,20}|[A-Z][a-z]{2,12}(?: [a-z]{2,12})?): "
    r'"(.*)"(?: …)?(?: \(was: ".*"(?: …)?\))?$',
    re.DOTALL,
)
_EVENT = re.compile(
    r"^(?:Edited|Wrote|Deleted|Moved|Command failed|Command printed|Task given|Tests|Committed|Pushed|Tagged|Created "
    r"branch|Opened pull request|"
    r"User showed|User rejected|Assistant finished|Recurring error|Often edited|Done)\b"
)
_DENIES = re.compile(
    r"\bno longer\b|\bno more\b|\bany ?more\b|\b(?:don'?t|doesn'?t|do not) (?:need|have) to\b|\bno need\b|\b(?:it'?s|"
    r"is) (?:fine|ok|okay|allowed) (?:now )?to\b|\b(?:can|may|allowed to)\b(?! not| only)|"
    r"\b(?:we|i|you|they) do (?:need|want|support|use|have)\b|\bout of (?:the )?(?:mvp|scope|release|plan|roadmap|"
    r"v1)\b",
    re.IGNORECASE,
)
_POINTS_BACK = re.compile(
    r"\b(?:scratch that|strike that|forget (?:that|it|what i said)|never ?mind|ignore (?:that|what i)|"
    r"disregard that|make (?:it|that)|change (?:it|that|this) to|i meant|i mean\b|on second thought|chang(?:ed|"
    r"ing) my mind|my mistake|"
    r"that'?s (?:wrong|not right|incorrect)|i was wrong|i misspoke)\b|^(?:oh |well |sorry,? |wait,? )*(?:no|nope|"
    r"correction|sorry|wait|oops|actually)\b",
    re.IGNORECASE,
)
_NEGATION = re.compile(r"\b(?:don'?t|do not|never|stop|no longer)\b", re.IGNORECASE)
_AFTER_ALL = re.compile(r"\bafter all\b", re.IGNORECASE)
_USE_FOR = re.compile(
    r"^(?:please |let's |we |we'll |ok,? |and )*(?:use|go with|using) (?P<thing>[^,.;]{1,40}) (?:for|as|"
    r"in) (?P<purpose>[^,.;]{1,60})",
    re.IGNORECASE,
)
_RETRACTS = re.compile(
    r"\b(?:scratch|strike|forget|ignore|disregard) (?:that|it|what i)|\bnever ?mind\b|\bi was wrong\b", re.IGNORECASE
)
_CHOOSES = re.compile(r"\b(?:use|go with|let's|let us|take|pick|choose|call it|keep)\b", re.IGNORECASE)
_PERSON_CUE = re.compile(
    r"\bwho\b|\bsigns?\b|\bowns?\b|\bowner\b|\bapprov|\breview|\bcontact\b|\bask\b|\bperson\b|\bleads?\b|"
    r"\bmanager\b|\bon call\b",
    re.IGNORECASE,
)
_SETS = re.compile(
    r"\b(?:is|are|be|called|named|set|make|keep|kept|use|limit|cap|max|at most|at least|go(?:es)? (?:to|out|into)|"
    r"lives?|runs?|listens?|publish|store[ds]?|puts?|want|prefer|must|should|costs?|every|after|has|have|covers?|"
    r"contains?|goes|steht|liegt|läuft|for|below|under|up to|"
    r"minimum|maximum|ist|sind|soll|nehmen|es|est|debe|usamos|utilise)\b|[:=]|\d \w+ \w+$",
    re.IGNORECASE,
)
_ACTS = re.compile(
    r"^\W*(?:(?:please|pls|now|then|next|ok|can you|could you)[, ]+)*(?:fix|add|review|read|look|run|check|open|close|"
    r"work|do|show|test|write|create|implement|build|merge|rebase|commit|push|revert|explain|investigate|delete|remove|"
    r"try|start|stop|continue|debug|update|refactor)\b",
    re.IGNORECASE,
)
_STATES = frozenset[str](
    (
        "decision",
        "constraint",
        "preference",
        "correction",
        "request",
        "fact",
        "assertion",
        "identity",
        "foreign",
        "assistant",
        "finished",
    )
)
_RULES = frozenset[str](
    ("decision", "constraint", "preference", "correction", "request", "foreign", "assistant", "assertion")
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A recorded statement that a later one may replace. asserted: its words without an old value that it names."""

    id: str
    text: str
    kind: Kind | str
    subject: Subject
    asserted: frozenset[str]
    order: int
    people: People
    slots: tuple[Slot, ...]
    slot_words: frozenset[str]


def claim_of(observation: Observation, order: int) -> Claim | None:
    """The claim of an observation; None for an event (an edit, a commit, a failed command), which nothing unsays."""
    return claim(observation.id, observation.content, order)


def claim(record_id: str, content: str, order: int) -> Claim | None:
    """The claim in a record's content: of the user, the assistant, or in another mind's words."""
    parsed = _parsed(content)
    return replace(parsed, id=record_id, order=order) if parsed else None


@lru_cache(maxsize=8_192)
def _parsed(content: str) -> Claim | None:
    """A claim without its id and place; kept, since every run meets the same active observations again."""
    if _EVENT.match(content):
        return None
    found = _QUOTED_CONTENT.match(content)
    text = found[2] if found else content
    subject, slots = subject_of(text), slots_of(text)
    asserted = subject.words - _named_as_old(text)
    kind = _kind(found[1] if found else "", text)
    return Claim("", text, kind, subject, asserted, 0, people_of(text), slots, words_of(slots))


def replaced(correction: str, claims: Sequence[Claim], *, marked: bool = True) -> tuple[Claim, ...]:
    """The claims that a statement replaces, oldest first; none when the evidence is weak.

    claims: in order of time. marked: whether the words say that something changes; an unmarked restatement replaces
    only a claim about exactly the same subject with another value of the same type.
    """
    subject = subject_of(correction)
    others = (claim for claim in claims if claim.kind in _STATES and claim.text != correction)
    standing = [claim for claim in others if not tells_apart(correction, claim.text)]
    near = [claim for claim in standing if not claim.subject.words.isdisjoint(subject.words)]
    if not marked:
        return tuple(_unmarked(correction, subject, near))[-SUPERSEDED_MAX:]
    for evidence in _EVIDENCE:
        if found := evidence(correction, subject, near):
            return tuple(found[-SUPERSEDED_MAX:])
    return tuple(_by_pointing_back(correction, subject, standing))


def _unmarked(correction: str, subject: Subject, near: Sequence[Claim]) -> list[Claim]:
    """What a plain statement replaces: the same slot with another value, the same duty of another person."""
    stated = [claim for claim in near if claim.kind != "assistant"]
    restated = [claim for claim in stated if claim.kind != "request" and _restates(correction, subject, claim)]
    return restated or _by_person(correction, subject, stated, marked=False) or _by_setting(correction, stated)


def _by_person(correction: str, subject: Subject, claims: Sequence[Claim], marked: bool = True) -> list[Claim]:
    """The same duty goes to another person."""
    people = people_of(correction)
    if not people.duties:
        return []
    return [claim for claim in claims if claim.people.duties and hands_over(people, claim.people, marked=marked)]


def _by_slot(correction: str, subject: Subject, claims: Sequence[Claim]) -> list[Claim]:
    """The same words get another value of the same type."""
    new = filling_of(correction, _named_as_old(correction))
    return [
        claim
        for claim in claims
        if claim.kind != "assistant"
        and not claim.slot_words.isdisjoint(new.words)
        and refill(new, claim.slots, marked=True)
        and not _contrasts(subject, claim, new.stale)
    ]


def _by_setting(correction: str, claims: Sequence[Claim]) -> list[Claim]:
    """The same slot, of a text that sets a value and not one that merely speaks of a number ("fix page 2")."""
    if _ACTS.match(correction):
        return []
    new = filling_of(correction, _named_as_old(correction))
    return [
        claim
        for claim in claims
        if not claim.slot_words.isdisjoint(new.words)
        and refill(new, claim.slots, marked=False)
        and _sets_value(claim.text)
    ]


def _sets_value(text: str) -> bool:
    return bool(_SETS.search(text)) and not _ACTS.match(text)


@lru_cache(maxsize=256)
def _named_as_old(text: str) -> frozenset[str]:
    """The words of the old states that a text names."""
    return frozenset[str]().union(*(content_words(span) for _, span in old_values(text)))


def _kind(speaker: str, text: str) -> Kind | str:
    if speaker.startswith("Assistant"):
        return "assistant"
    if speaker == "User's question":
        return "question"
    if speaker == "User considered":
        return "considered"
    if speaker == "User corrected":
        return "correction"
    if speaker in ("User asked", "User answered"):
        return "request"
    return classify(text).kind if speaker else "foreign"


def _by_old_value(correction: str, subject: Subject, claims: Sequence[Claim]) -> list[Claim]:
    found: dict[str, Claim] = {}
    for form, span in old_values(correction):
        old = content_words(span)
        holding = [claim for claim in claims if old <= claim.asserted and (form != "rename" or _names(claim))]
        for claim in _about_it(correction, subject, holding, old, form, len(claims)):
            found[claim.id] = claim
    return sorted(found.values(), key=lambda claim: claim.order)


def _about_it(
    correction: str, subject: Subject, holding: list[Claim], old: frozenset[str], form: str, total: int
) -> list[Claim]:
    """Of the claims that hold the old value, those about the correction's subject."""
    topic = subject.topic - old
    shared = {claim.id: len(topic & (claim.subject.topic - old)) for claim in holding}
    best = max(shared.values(), default=0)
    if best:
        return [
            claim for claim in holding if shared[claim.id] >= max(1, 0.6 * best) and not _contrasts(subject, claim, old)
        ]
    value_like = all(word[:1].isdigit() for word in old) or any(
        value.kind in ("date", "time") for value in subject_of(" ".join(old)).values
    )
    if value_like or _PERSON_CUE.search(correction):
        missed = form == "move" and len(holding) == 1
        return holding[-1:] if not topic or missed else []
    if (total >= 6 and len(holding) > total / 2) or (form == "not" and len(holding) > UNNAMED_MAX):
        return []
    kinds = _STATES - {"identity", "finished"} if form in ("move", "rename", "arrow", "gone") else _RULES
    return [claim for claim in holding if claim.kind in kinds]


def _names(claim: Claim) -> bool:
    """Whether the statement gives something its name."""
    return bool(re.search(r"\b(?:call|name)", claim.text, re.IGNORECASE))


def _contrasts(subject: Subject, claim: Claim, old: frozenset[str]) -> bool:
    """Two noun phrases with one last word and different first ones: the read timeout is not the write timeout."""
    one, other = subject.phrase - old, claim.subject.phrase - old
    return bool(one and other and subject.head == claim.subject.head and one - other - BOUNDS and other - one)


def _by_new_value(correction: str, subject: Subject, claims: Sequence[Claim]) -> list[Claim]:
    new = _new_values(correction, subject)
    if subject.values and not new:
        return []
    return [claim for claim in claims if claim.kind != "assistant" and _another_value(subject, claim.subject, new)]


def _new_values(text: str, subject: Subject) -> list[Value]:
    """The values of a statement without those that it names as old, and without things that are only handled."""
    old = _named_as_old(text)
    placed = {slot.value for slot in slots_of(text)}
    stated = [value for value in subject.values if value in placed]
    return [value for value in stated if not (content_words(value.text) and content_words(value.text) <= old)]


def _another_value(subject: Subject, other: Subject, new: Sequence[Value]) -> bool:
    if not same_subject(subject, other):
        return False
    if new:
        return _differ(new, other.values)
    return not other.values and subject.words != other.words and subject.states and other.states


def _differ(new: Sequence[Value], old: Sequence[Value]) -> bool:
    """Whether a new value could take an old one's place, and the old state does not already hold it."""
    held, given = {value.text for value in old}, {value.text for value in new}
    fresh = [value for value in new if value.text not in held]
    stale = [value for value in old if value.text not in given]
    return any(comparable(one, other) for one in fresh for other in stale)


def _restates(text: str, subject: Subject, claim: Claim) -> bool:
    if (one := _USE_FOR.match(text)) and (other := _USE_FOR.match(claim.text)):
        purpose = content_words(one["purpose"])
        same_purpose = bool(purpose) and purpose == content_words(other["purpose"])
        return same_purpose and not content_words(one["thing"]) & content_words(other["thing"])
    exact = bool(subject.phrase) and subject.phrase == claim.subject.phrase and subject.head == claim.subject.head
    return (
        exact
        and same_subject(subject, claim.subject)
        and bool(subject.values)
        and len(subject.values) == len(claim.subject.values)
        and _differ(_new_values(text, subject), claim.subject.values)
    )


def _by_denial(correction: str, subject: Subject, claims: Sequence[Claim]) -> list[Claim]:
    if not _DENIES.search(correction):
        return []
    said = [claim for claim in claims if claim.kind != "assistant"]
    overlaps = [(len(subject.words & claim.subject.words), claim) for claim in said]
    return [
        claim
        for shared, claim in overlaps
        if shared >= 2 and shared >= 0.6 * min(len(subject.words), len(claim.subject.words))
    ]


def _by_all_its_words(correction: str, subject: Subject, claims: Sequence[Claim]) -> list[Claim]:
    """A change that repeats every word of a statement is about that statement, and carries it on."""
    least = 1 if _AFTER_ALL.search(correction) else 3
    denies = bool(_NEGATION.search(correction))
    repeated = [claim for claim in claims if claim.kind != "assistant" and claim.subject.words <= subject.words]
    return [
        claim
        for claim in repeated
        if len(claim.subject.words) >= (min(least, 2) if denies and not _NEGATION.search(claim.text) else least)
    ]


def _by_topic(correction: str, subject: Subject, claims: Sequence[Claim]) -> list[Claim]:
    """The newest statement on the same topic with another value; of an outright correction also without a value."""
    new = _new_values(correction, subject)
    names_old = bool(old_values(correction))
    outright = bool(CORRECTION.search(correction.lower()))
    least = 1 if _AFTER_ALL.search(correction) else 2 if outright else len(subject.topic) + 1
    for claim in reversed(claims):
        one, other = subject.topic, claim.subject.topic
        shared = len(one & other)
        if not shared or claim.kind == "assistant" or _contrasts(subject, claim, frozenset()):
            continue
        apart = subject.head not in other and claim.subject.head not in one
        if (one <= other or other <= one or (shared >= 2 and not apart)) and _differ(new, claim.subject.values):
            return [claim]
        if not names_old and shared >= max(least, 0.5 * len(other)) and claim.kind in _RULES:
            return [claim]
    return []


def _by_pointing_back(correction: str, subject: Subject, claims: Sequence[Claim]) -> list[Claim]:
    """The last statement that the words can mean; none if the correction names a subject of its own, not there."""
    if not _POINTS_BACK.search(correction):
        return []
    recent = [claim for claim in claims if claim.kind not in ("assistant", "foreign", "finished", "identity")][
        -ANAPHORA_REACH:
    ]
    new = _new_values(correction, subject)
    for claim in reversed(recent):
        shares = bool(subject.topic & claim.subject.topic)
        if new and _differ(new, claim.subject.values) and (shares or not subject.topic):
            return [claim]
        if not subject.values and not subject.topic and _RETRACTS.search(correction):
            return [claim]
        short = not subject.values and len(subject.topic) <= 3
        if short and claim.kind == "decision" and claim is recent[-1] and _CHOOSES.search(correction):
            return [claim]
    return []


_EVIDENCE: tuple[Callable[[str, Subject, Sequence[Claim]], list[Claim]], ...] = (
    _by_old_value,
    _by_person,
    _by_new_value,
    _by_slot,
    _by_denial,
    _by_all_its_words,
    _by_topic,
)
