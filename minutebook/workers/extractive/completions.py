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
RESULT_SENTENCES = 12
"""A sub-agent's last answer is its whole result; of a long one so many statements are kept."""
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
    r"turns out|caused by|this (?:fails|happens|happened|failed|broke) because|found (?:the|that)|confirmed)\b|"
    r"^\W{0,4}(?:root cause|cause|found(?: it)?|finding|conclusion|diagnosis|verdict|explanation|bug|result|key "
    r"insight)s?\W{0,3}:"
    r"|\bthe (?:bug|problem|issue|culprit|failure|error|crash|leak|regression) (?:is|was|sits|lies|comes|came) "
    r"(?!that you)"
    r"|\b(?:fails?|failed|crash(?:es|ed)?|breaks?|broke|hangs?|is slow|leaks?|flak(?:es|y)) (?:because|since|when|"
    r"whenever|as|due)\b"
    r"|\bthe reason (?:is|was|why)\b|\b(?:introduced|broken) (?:in|by) `?[0-9a-f]{7}\b",
    re.IGNORECASE,
)
_BLOCKER = re.compile(
    r"\b(?:blocked|blocker|could ?n[o']t|was ?n[o']t able|unable to|cannot proceed|still (?:fail|failing|fails|"
    r"broken|open|missing|need)|remaining|not yet|todo|left to do|next steps?|waiting (?:for|on)|needs? (?:your|"
    r"a decision|manual)|known (?:issue|limitation))\b",
    re.IGNORECASE,
)
TASK_REACH = 8
"""A sub-agent's task stands among the first entries; hosts put instructions before it."""
TASK_CHARACTERS = 700
_NEW_TASK = re.compile(r"\s*Message Type: NEW_TASK\b|\s*(?:Task|New task)\b", re.IGNORECASE)
_HOST_TEXT = re.compile(
    r"\s*(?:<[A-Za-z][\w:-]*|\[|/|!|Caveat:|This session is being continued|# (?:AGENTS|CLAUDE)|Base directory for "
    r"this skill)"
)
_LINK_ONLY = re.compile(r"^\W*(?:\[[^\]]{1,200}\]\([^)]{1,400}\)|https?://\S+)\W*$")
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


def task_drafts(sources: Sequence[Shown], told: bool) -> list[Draft]:
    """What a sub-agent was told to do, and what it found; nothing where a person typed a prompt.

    Such a session begins with an entry that nobody typed, and its last answer is what goes back to who asked.
    told: whether the task was recorded before.
    """
    if any(one.placed.entry.typed for one in sources):
        return []
    task = next((one for one in sources[:TASK_REACH] if one.placed.position < TASK_REACH and _is_task(one)), None)
    found: list[Draft] = []
    if task:
        order = (task.placed.position, 0)
        text = quoted(text_of(task.placed.entry)[:8_000], TASK_CHARACTERS)
        found.append(Draft(content=f"Task given: {text}", relevance="medium", sources=(task,), order=order))
    return found + (_results(sources) if task or told else [])


def _is_task(shown: Shown) -> bool:
    entry, text = shown.placed.entry, text_of(shown.placed.entry)
    if entry.role == "custom":
        return bool(_NEW_TASK.match(text[:200]))
    return entry.role == "user" and len(text) >= SHORTEST_CHARACTERS and not _HOST_TEXT.match(text[:200])


def _results(sources: Sequence[Shown]) -> list[Draft]:
    """Statements of the last answer of a batch, if it is long and nothing follows it: a report."""
    answers = [one for one in answers_of(sources) if one.final]
    if not answers or answers[-1].shown.placed.position != sources[-1].placed.position:
        return []
    shown = answers[-1].shown
    sentences = prose_of(text_of(shown.placed.entry), pasted_too=False).sentences
    telling = [text for text in sentences if len(text) > 40 and _says_something(text) and not _LINK_ONLY.match(text)]
    order = shown.placed.position
    return [
        Draft(
            content=f"Assistant: {quoted(text, QUOTE_CHARACTERS)}",
            relevance="high" if at == 0 or _FINDING.search(text[:EXAMINED_CHARACTERS]) else "medium",
            sources=(shown,),
            order=(order, at - RESULT_SENTENCES),
        )
        for at, text in enumerate(_spread(telling))
    ]


def _spread(sentences: list[str]) -> list[str]:
    """At most RESULT_SENTENCES, from everywhere: the first, the findings, then every so many."""
    if len(sentences) <= RESULT_SENTENCES:
        return sentences
    step = len(sentences) / RESULT_SENTENCES
    chosen = {int(at * step) for at in range(RESULT_SENTENCES)}
    found = [at for at, text in enumerate(sentences) if _FINDING.search(text[:EXAMINED_CHARACTERS])]
    first = [0, *found[: RESULT_SENTENCES - 1]]
    rest = [at for at in sorted(chosen) if at not in first]
    return [sentences[at] for at in sorted(dict.fromkeys([*first, *rest[: RESULT_SENTENCES - len(first)]]))]


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
