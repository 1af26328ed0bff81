"""Which older statements a correction replaces.

Four kinds of evidence, strongest first, and only the first that finds something counts:
the old value is named ("not 8080", "instead of yarn"); the same subject gets another value of the same type ("the
deadline moved to Monday"); what was said is denied or allowed ("you no longer have to…"); or the words point back
("scratch that").
Each asks for a shared subject wherever the correction names one, so that a fact that merely shares a word stays.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from minutebook.records import Observation
from minutebook.workers.extractive.statements import Kind, classify
from minutebook.workers.extractive.subjects import Subject, Value, comparable, content_words, same_subject, subject_of
from minutebook.workers.extractive.wordings import CORRECTION

SUPERSEDED_MAX = 6
ANAPHORA_REACH = 3
"""How many of the user's last statements "scratch that" can mean."""

_QUOTED_CONTENT = re.compile(
    r"^(User[^\":]{0,20}|User's question|Assistant[^\":]{0,20}|[A-Z][a-z]{2,12}(?: [a-z]{2,12})?): "
    r'"(.*)"(?: …)?(?: \(was: ".*"(?: …)?\))?$',
    re.DOTALL,
)
_EVENT = re.compile(
    r"^(?:Edited|Wrote|Deleted|Moved|Command failed|Tests|Committed|Pushed|Tagged|Created branch|Opened pull request|"
    r"User showed|User rejected|Assistant finished|Recurring error|Often edited|Done)\b"
)
_STOP = (
    r"(?=\s*(?:[,;!?)—–。，；！\"”]|\.(?:\s|$)|\s-\s|->|→|$|\b(?:but|and|to|with|because|since|as|for|so|any ?more|"
    r"any longer|either|please|which|that|when|like|we|it|it's|use|by|in the|then|now|who|here|there|at all)\b))"
)
_ARTICLE = r"(?:(?:the|a|an|on|in|at|by|via|using|use|our|my|to|like|old|from|with|about) )*"
_SPAN = _ARTICLE + r"(?P<old>\S.{0,48}?)" + _STOP
_OLD_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (form, re.compile(pattern + _SPAN, re.IGNORECASE))
    for form, pattern in (
        (
            "move",
            (
                r"\b(?:instead of|rather than|in place of|as opposed to|in lieu of|no longer(?: use| using| want| on|"
                r" need)?|stop(?:ped)? using|away from|off of|moving off|get rid of|no more|don'?t use|do not use|"
                r"not using|doesn'?t use|drop(?:ped|ping)?|ditch(?:ed|ing)?|scrap(?:ped|ping)?|abandon(?:ed|ing)?|"
                r"forget(?: about)?|replac(?:e|ed|es|ing)|swap(?:ped)?|used to (?:be|use)|en (?:vez|lugar) de|"
                r"au lieu de|plut[ôo]t que(?: de)?|statt|anstatt) "
            ),
        ),
        ("move", r"\b(?:from|off) (?=\S+.{0,60}\b(?:to|into|onto|and use)\b)"),
        (
            "not",
            (
                r"(?<!if )(?<!or )(?<!why )(?<!that's )(?<!that is )(?<!this is )(?:\bnot|(?<=, )no(?= \S*\d)|"
                r"\bisn'?t|\baren'?t|"
                r"\bwasn'?t|\bnicht|\bne pas|\bpas) (?!only\b|"
                r"sure\b|just\b|yet\b|really\b)"
            ),
        ),
        (
            "was",
            (r"\b(?:was|were|previously|formerly|i said|said) (?!wrong|incorrect|not\b|moved|changed|that\b)"),
        ),
        ("rename", r"\brenam(?:e|ed|ing) (?=\S+ (?:to|into|as)\b)"),
        ("move", r"(?:不是|而不是|不再用|不用|ではなく) ?"),
    )
)
_ARROW = re.compile(r"(?P<old>[\w./@:-]{1,60}) ?(?:->|→|=>) ?\S")
_GONE = re.compile(
    r"(?P<old>[\w./@ -]{2,50}?) (?:is|are|has been|was) (?:now )?(?:off the table|dead|out|gone|dropped|cancelled|"
    r"canceled|deprecated|removed|no longer)\b",
    re.IGNORECASE,
)
_CONTRAST = re.compile(r"[,;—–]|\s-\s|\bbut\b|\buse\b|\bit'?s\b|\bany ?more\b|\bsondern\b|\bsino\b", re.IGNORECASE)
_DENIES = re.compile(
    r"\bno longer\b|\bany ?more\b|\b(?:don'?t|doesn'?t|do not) (?:need|have) to\b|\bno need\b|\b(?:it'?s|"
    r"is) (?:fine|ok|okay|allowed) (?:now )?to\b|\b(?:can|may|allowed to)\b(?! not| only)",
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
_AFTER_ALL = re.compile(r"\bafter all\b", re.IGNORECASE)
_USE_FOR = re.compile(
    r"^(?:please |let's |we |we'll |ok,? |and )*(?:use|go with|using) (?P<thing>[^,.;]{1,40}) (?:for|as|"
    r"in) (?P<purpose>[^,.;]{1,60})",
    re.IGNORECASE,
)
_PERSON_CUE = re.compile(
    r"\bwho\b|\bsigns?\b|\bowns?\b|\bowner\b|\bapprov|\breview|\bcontact\b|\bask\b|\bperson\b|\bleads?\b|"
    r"\bmanager\b|\bon call\b",
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


def claim_of(observation: Observation, order: int) -> Claim | None:
    """The claim of an observation; None for an event (an edit, a commit, a failed command), which nothing unsays."""
    return claim(observation.id, observation.content, order)


def claim(record_id: str, content: str, order: int) -> Claim | None:
    """The claim in a record's content: of the user, the assistant, or in another mind's words."""
    if _EVENT.match(content):
        return None
    found = _QUOTED_CONTENT.match(content)
    text = found[2] if found else content
    subject = subject_of(text)
    old = frozenset[str]().union(*(content_words(span) for _, span in old_values(text)))
    return Claim(record_id, text, _kind(found[1] if found else "", text), subject, subject.words - old, order)


def replaced(correction: str, claims: Sequence[Claim], *, marked: bool = True) -> tuple[Claim, ...]:
    """The claims that a statement replaces, oldest first; none when the evidence is weak.

    claims: in order of time. marked: whether the words say that something changes; an unmarked restatement replaces
    only a claim about exactly the same subject with another value of the same type.
    """
    subject = subject_of(correction)
    standing = [claim for claim in claims if claim.kind in _STATES and claim.text != correction]
    if not marked:
        return tuple(claim for claim in standing if _restates(correction, subject, claim))[-SUPERSEDED_MAX:]
    for evidence in _EVIDENCE:
        if found := evidence(correction, subject, standing):
            return tuple(found[-SUPERSEDED_MAX:])
    return ()


def old_values(text: str) -> list[tuple[str, str]]:
    """The old states that a text names, each with the form that names it (move, not, was, arrow, gone)."""
    text = text[:600]
    found = [(form, match["old"].strip()) for form, pattern in _OLD_FORMS for match in pattern.finditer(text)]
    found += [("arrow", match["old"]) for match in _ARROW.finditer(text)]
    found += [("gone", match["old"].strip()) for match in _GONE.finditer(text)]
    return [(form, span) for form, span in found if _is_old_state(form, span, text)]


def _is_old_state(form: str, span: str, text: str) -> bool:
    """Whether the span can be a state: "was X" needs a value, "not X" a value or what stands in its place."""
    if not content_words(span):
        return False
    if form == "was":
        return bool(subject_of(span).values)
    return form != "not" or bool(subject_of(span).values) or bool(_CONTRAST.search(text))


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
        return holding[-1:] if not topic or topic <= subject.numbers_only else []
    if total >= 6 and len(holding) > total / 2:
        return []
    kinds = _STATES if form in ("move", "rename", "arrow", "gone") else _RULES
    return [claim for claim in holding if claim.kind in kinds]


def _names(claim: Claim) -> bool:
    """Whether the statement gives something its name."""
    return bool(re.search(r"\b(?:call|name)", claim.text, re.IGNORECASE))


def _contrasts(subject: Subject, claim: Claim, old: frozenset[str]) -> bool:
    """Two noun phrases with one last word and different first ones: the read timeout is not the write timeout."""
    one, other = subject.phrase - old, claim.subject.phrase - old
    return bool(one and other and subject.head == claim.subject.head and one - other and other - one)


def _by_new_value(correction: str, subject: Subject, claims: Sequence[Claim]) -> list[Claim]:
    new = _new_values(correction, subject)
    return [claim for claim in claims if claim.kind != "assistant" and _another_value(subject, claim.subject, new)]


def _new_values(text: str, subject: Subject) -> list[Value]:
    """The values of a statement without those that it names as old."""
    old = frozenset[str]().union(*(content_words(span) for _, span in old_values(text)))
    return [value for value in subject.values if not content_words(value.text) <= old]


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
        return (
            same_purpose
            and claim.kind != "assistant"
            and not content_words(one["thing"]) & content_words(other["thing"])
        )
    if claim.kind == "assistant":
        return False
    exact = bool(subject.phrase) and subject.phrase == claim.subject.phrase and subject.head == claim.subject.head
    return (
        exact
        and bool(subject.values)
        and len(subject.values) == len(claim.subject.values)
        and _differ(subject.values, claim.subject.values)
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
    said = [claim for claim in claims if claim.kind != "assistant" and len(claim.subject.words) >= least]
    return [claim for claim in said if claim.subject.words <= subject.words]


def _by_topic(correction: str, subject: Subject, claims: Sequence[Claim]) -> list[Claim]:
    """The newest statement on the same topic with another value; of an outright correction also without a value."""
    new = _new_values(correction, subject)
    outright = bool(CORRECTION.search(correction.lower()))
    least = 1 if _AFTER_ALL.search(correction) else 2 if outright else len(subject.topic) + 1
    for claim in reversed(claims):
        one, other = subject.topic, claim.subject.topic
        shared = len(one & other)
        if not shared or claim.kind == "assistant" or _contrasts(subject, claim, frozenset()):
            continue
        if (one <= other or other <= one or shared >= 2) and _differ(new, claim.subject.values):
            return [claim]
        if shared >= max(least, 0.5 * len(other)) and claim.kind in _RULES:
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
        if not subject.values and not subject.topic:
            return [claim]
        if not subject.values and len(subject.topic) <= 3 and claim.kind == "decision" and claim is recent[-1]:
            return [claim]
    return []


_EVIDENCE: tuple[Callable[[str, Subject, Sequence[Claim]], list[Claim]], ...] = (
    _by_old_value,
    _by_new_value,
    _by_denial,
    _by_all_its_words,
    _by_topic,
    _by_pointing_back,
)
