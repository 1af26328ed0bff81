"""What the assistant states: work completed, decisions with reasons, findings, blockers. Commentary is noise."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from minutebook.records import Relevance
from minutebook.workers.contract import Shown
from minutebook.workers.extractive.calls import text_of
from minutebook.workers.extractive.drafts import Draft
from minutebook.workers.extractive.sentences import prose_of, quoted

SENTENCES_PER_FINAL = 3
SENTENCES_PER_STEP = 1
QUOTE_CHARACTERS = 260
EXAMINED_CHARACTERS = 500
SHORTEST_CHARACTERS = 12

_NOISE = re.compile(
    r"^(?:(?:let me|now let|let's|i'll (?:now|start|check|look|read|also check|explore|take|help|first|begin)|now i|"
    r"i need to|i(?:'m| am) going to|first,? (?:let|i)|next,? (?:let|i)|i can see|i see|looking at|good (?:question|"
    r"catch|idea)|great|perfect|excellent|you'?re (?:absolutely )?right|"
    r"sure|of course|certainly|absolutely|here'?s|here is|here are|would you like|do you want|want me|should i|"
    r"shall i|let me know|feel free|if you|i hope|sorry|i apologi[sz]e|hmm|wait|actually|ah)\b)",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"\b(?:i(?:'ll| will|'m going to| am going to|'ve| have)? ?(?:use|used|chose|choose|chosen|picked|pick|decided|"
    r"opted|kept|keep|went with|go with|going with|avoid(?:ed)?|stick|stuck)|we(?:'ll| will|'re going to)? (?:use|"
    r"keep|go with)|decided (?:to|on|against)|opted (?:for|to)|going with|"
    r"the (?:decision|design|approach) is|chose)\b",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b(?:because|since|so that|to avoid|in order to|due to|as it|which (?:avoids|keeps|means|lets)|rather than|"
    r"instead of|otherwise)\b",
    re.IGNORECASE,
)
_COMPLETION = re.compile(
    r"^\W{0,6}(?:all )?(?:done|finished|complete[d]?|fixed|implemented|all set|ready)\b(?! (?:when|if|once|"
    r"for you to|until))|\b(?:i(?:'ve| have)|we(?:'ve| have)) (?:now |also |just |successfully |properly |"
    r"fully )?(?:\w+ed|built|written|rewritten|made|set up|split|put|run|wired|brought|sent|hidden)\b|\b(?:all|the|"
    r"both|\d+) (?:[\w-]+ ){0,3}(?:tests?|checks?|suites?|specs?|builds?) (?:now |all |still )?(?:pass(?:es|ed|"
    r"ing)?|succeed(?:s|ed)?|(?:is|are) (?:green|passing|clean))\b|"
    r"\b(?:is|are) now (?:\w+ed|in place|working|live|complete|fixed|available|green)\b|\b(?:now|all) works?\b|"
    r"\bsuccessfully\b|^\W{0,4}(?:i )?(?:added|fixed|implemented|updated|created|removed|renamed|replaced|"
    r"refactored|moved|wrote|committed|pushed|merged|migrated|ported|deployed|split|extracted|verified)\b|\b(?:has|"
    r"have) been (?:\w+ed|written|built|set)\b|\bno (?:lint|type|test) (?:issues|errors|failures)\b",
    re.IGNORECASE,
)
_FINDING = re.compile(
    r"\b(?:root cause|the (?:real |actual |underlying )?(?:problem|issue|bug|cause|culprit|reason) (?:is|was)|"
    r"turns out|caused by|this (?:fails|happens|happened|failed|broke) because|found (?:the|that)|confirmed)\b",
    re.IGNORECASE,
)
_BLOCKER = re.compile(
    r"\b(?:blocked|blocker|could ?n[o']t|was ?n[o']t able|unable to|cannot proceed|still (?:fail|failing|fails|"
    r"broken|open|missing|need)|remaining|not yet|todo|left to do|next steps?|waiting (?:for|on)|needs? (?:your|"
    r"a decision|manual)|known (?:issue|limitation))\b",
    re.IGNORECASE,
)
_WEAK_END = re.compile(r":\W*$")


@dataclass(frozen=True, slots=True)
class Answer:
    """An assistant entry with text. final: nothing but the user's next words follows it in its turn."""

    shown: Shown
    final: bool


def answers_of(sources: Sequence[Shown]) -> list[Answer]:
    """Assistant entries with text; the last one of each turn without a tool call of its own is the final one."""
    found: list[Answer] = []
    following = ""
    for shown in reversed(sources):
        entry = shown.placed.entry
        if entry.role == "assistant" and text_of(entry).strip():
            calls = any(part.kind == "tool_call" for part in entry.parts)
            found.append(Answer(shown, not calls and following in ("", "user")))
        if entry.role in ("user", "assistant", "tool_result"):
            following = entry.role
    return found[::-1]


def assistant_drafts(sources: Sequence[Shown]) -> list[Draft]:
    """Quotations of what assistants said they did, decided, found, or could not do."""
    drafts: list[Draft] = []
    for answer in answers_of(sources):
        chosen = list(_telling(answer))
        order = answer.shown.placed.position
        drafts += [
            Draft(
                content=f"Assistant: {quoted(text, QUOTE_CHARACTERS)}",
                relevance=relevance,
                sources=(answer.shown,),
                order=(order, at),
            )
            for at, (text, relevance) in enumerate(chosen)
        ]
    return drafts


def last_question(shown: Shown) -> str:
    """The last sentence of an answer that asks the user something, "" if there is none near its end."""
    sentences = prose_of(text_of(shown.placed.entry)[-3_000:], pasted_too=False).sentences[-6:]
    return next((one for one in reversed(sentences) if one.rstrip("*_ ").endswith(("?", "？"))), "")


def _telling(answer: Answer) -> Iterator[tuple[str, Relevance]]:
    """The weightiest sentences of one answer, in order."""
    sentences = prose_of(text_of(answer.shown.placed.entry), pasted_too=False).sentences
    rated = _leading([(text, rated) for text in sentences if (rated := _rating(text, answer.final))])
    limit = SENTENCES_PER_FINAL if answer.final else SENTENCES_PER_STEP
    ranks: dict[Relevance, int] = {"critical": 0, "high": 1, "medium": 2, "low": 3}
    best = sorted(range(len(rated)), key=lambda at: (ranks[rated[at][1]], at))[:limit]
    if best:
        yield from (rated[at] for at in sorted(best))
    elif answer.final and (opening := next((text for text in sentences if _says_something(text)), "")):
        yield opening, "low"


def _leading(rated: list[tuple[str, Relevance]]) -> list[tuple[str, Relevance]]:
    """Of several completions in one answer the first is the outcome, the others are its details."""
    outcome = next(
        (at for at, (text, _) in enumerate(rated) if _COMPLETION.search(text[:EXAMINED_CHARACTERS])), len(rated)
    )
    return [
        (text, "medium" if at > outcome and not _REASON.search(text) else given)
        for at, (text, given) in enumerate(rated)
    ]


def _says_something(text: str) -> bool:
    return (
        len(text) >= SHORTEST_CHARACTERS
        and not _NOISE.match(text)
        and not _WEAK_END.search(text)
        and not text.rstrip("*_ ").endswith("?")
    )


def _rating(text: str, final: bool) -> Relevance | None:
    """None for a sentence that is no statement of the four kinds."""
    text = text[:EXAMINED_CHARACTERS]
    if len(text) < SHORTEST_CHARACTERS or _WEAK_END.search(text) or text.rstrip("*_ ").endswith(("?", "？")):
        return None
    if _DECISION.search(text) and _REASON.search(text):
        return "high"
    if _NOISE.match(text):
        return None
    if _FINDING.search(text):
        return "high" if final else "medium"
    if not final:
        return None
    if _COMPLETION.search(text):
        return "high"
    return "medium" if _BLOCKER.search(text) else None
