"""Durable conclusions, quoted from observations: identity, rules, preferences, decisions, finished work."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from minutebook.records import Observation, Reflection
from minutebook.workers.contract import Desk, Proposal, ReflectBatch, Weighed
from minutebook.workers.extractive.corrections import Claim, claim_of, replaced
from minutebook.workers.extractive.corrections import claim as claim_in
from minutebook.workers.extractive.subjects import content_words

REFLECTIONS_MAX = 40
COMMITS_PER_REFLECTION = 4
RECURRING_MIN = 3
SIMILAR_SHARE = 0.8

LABEL_OF = {
    "identity": "Identity",
    "constraint": "Constraint",
    "correction": "Correction",
    "preference": "Preference",
    "decision": "Decision",
    "finished": "Finished",
    "declined": "Declined",
    "fact": "Fact",
}

_COMMITTED = re.compile(r"^Committed ([0-9a-f]{7,40} on .+)$")
_PULL_REQUEST = re.compile(r"^Opened pull request (\S+)$")
_FAILED = re.compile(
    r"^Command failed(?: \(\d+×\))?: (.{1,200}?) → (\".*?\"(?: …)?)(?:; the same command passed later)?$"
)
_FILES = re.compile(r"(?:^(?:Edited|Wrote) |; wrote )(.+?)(?=; (?:wrote|deleted) | and \d+ more files| \(in |$)")
_PASSING = re.compile(
    r"^(?:i|i'll|i'm|i've|i'd|we'll|let me|ok|okay|fine|hm+|ha|next|today|yesterday|tonight|now|just)\b(?! (?:own|lead|"
    r"maintain|am\b|work\b|use\b|need\b))|"
    r"\b(?:tonight|this (?:morning|afternoon|evening)|yesterday|just now|a (?:minute|moment|while|second) ago|earlier "
    r"today|"
    r"right now|at the moment|last (?:night|run|time|week)|sent me|wrote me|told me|gave me)\b|^\W*\w+(?: is| are)? "
    r"(?:ok|fine|good)\W*$|"
    r"^[a-z\d ,-]{2,80}\b(?:start again|then compare|and compare)\b|^(?:\S+ ){0,2}\S+$|not sure\b|(?:^|\s)(?:took|ran|"
    r"run) \S*\d",
    re.IGNORECASE,
)
"""A remark of the day: worth an observation, but no durable fact."""
_QUOTATION = re.compile(r'^[A-Z][^"]{0,40}: (".*"(?: …)?)(?: \(was: .*\))?$', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Conclusion:
    """A reflection to propose, the observations that support it, and where the newest of them stands."""

    content: str
    supports: tuple[str, ...]
    order: int


def reflect(batch: ReflectBatch, desk: Desk) -> None:
    """Propose reflections for what no reflection covers yet, with those that a correction supersedes."""
    conclusions = conclusions_of(batch)
    if not conclusions:
        desk.nothing()
        return
    known = _claims_of_reflections(batch)
    desk.record([_proposal(one, batch, known) for one in conclusions])


def conclusions_of(batch: ReflectBatch) -> list[Conclusion]:
    """Few and durable: at most REFLECTIONS_MAX, the newest if there are more, in order of the observations."""
    found = [*_stated(batch), *_finished(batch.observations), *_recurring(batch.observations)]
    fresh = [one for one in _merged(found) if not _covered(one.content, batch.reflections)]
    return sorted(sorted(fresh, key=lambda one: one.order)[-REFLECTIONS_MAX:], key=lambda one: one.order)


def _stated(batch: ReflectBatch) -> Iterator[Conclusion]:
    """Statements of the user that bind; of another mind's observations the critical ones, in its words."""
    gone = _replaced_ids([weighed.observation for weighed in batch.observations])
    for order, weighed in enumerate(batch.observations):
        observation = weighed.observation
        if weighed.tier == "none" and observation.id not in gone and (content := _conclusion(observation, order)):
            yield Conclusion(content, (observation.id,), order)


def _conclusion(observation: Observation, order: int) -> str:
    found = claim_of(observation, order)
    if not found:
        return ""
    if found.kind == "foreign":
        own = re.match(r"^(?:Tests|User rejected|User showed|Branch summary)", observation.content)
        return observation.content if observation.relevance == "critical" and not own else ""
    if observation.content.startswith("User answered: "):
        return f"Decision: {observation.content}"
    if found.kind == "fact" and _PASSING.search(found.text):
        return ""
    label, quotation = LABEL_OF.get(found.kind), _QUOTATION.match(observation.content)
    return f"{label}: {quotation[1]}" if label and quotation else ""


def _replaced_ids(observations: Sequence[Observation]) -> set[str]:
    """Observations that a later correction among them replaces: they are history, not conclusions."""
    gone: set[str] = set()
    claims: list[Claim] = []
    for order, observation in enumerate(observations):
        found = claim_of(observation, order)
        if found and found.kind == "correction":
            gone.update(one.id for one in replaced(found.text, claims))
        if found:
            claims.append(found)
    return gone


def _finished(observations: Sequence[Weighed]) -> Iterator[Conclusion]:
    """Commits and pull requests: work that must not be done again, several to one reflection."""
    done = [
        (order, weighed.observation.id, found[1])
        for order, weighed in enumerate(observations)
        if weighed.tier == "none"
        and (found := _COMMITTED.match(weighed.observation.content) or _PULL_REQUEST.match(weighed.observation.content))
    ]
    for start in range(0, len(done), COMMITS_PER_REFLECTION):
        some = done[start : start + COMMITS_PER_REFLECTION]
        yield Conclusion(
            "Done: " + "; ".join(what for _, _, what in some), tuple(one for _, one, _ in some), some[-1][0]
        )


def _recurring(observations: Sequence[Weighed]) -> Iterator[Conclusion]:
    """An error met in several batches, and a file edited in several."""
    errors: dict[str, list[tuple[int, str]]] = defaultdict(list)
    files: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for order, weighed in enumerate(observations):
        place = (order, weighed.observation.id)
        if found := _FAILED.match(weighed.observation.content):
            errors[found[2]].append(place)
        for path in _paths(weighed.observation.content):
            files[path].append(place)
    yield from _often("Recurring error: ", errors, RECURRING_MIN)
    yield from _often("Often edited: ", files, RECURRING_MIN + 1)


def _often(label: str, places: dict[str, list[tuple[int, str]]], least: int) -> Iterator[Conclusion]:
    for what, found in places.items():
        if len(found) >= least:
            yield Conclusion(label + what, tuple(one for _, one in found), found[-1][0])


def _paths(content: str) -> set[str]:
    """The files that an observation of edits names, as it names them."""
    listed = [name for found in _FILES.finditer(content[:4_000]) for name in found[1].split(", ")]
    return {re.sub(r" \(\d+×\)$", "", name) for name in listed}


def _merged(conclusions: Sequence[Conclusion]) -> list[Conclusion]:
    """Near repetitions as one conclusion in its newest words, with all supports."""
    kept: dict[str, Conclusion] = {}
    for one in conclusions:
        same = next((other for other in kept.values() if _says_the_same(one.content, other.content)), None)
        if same:
            del kept[same.content]
            one = Conclusion(one.content, tuple(dict.fromkeys((*same.supports, *one.supports))), one.order)
        kept[one.content] = one
    return list(kept.values())


def _covered(content: str, reflections: Sequence[Reflection]) -> bool:
    return any(_says_the_same(content, reflection.content) for reflection in reflections)


def _says_the_same(one: str, other: str) -> bool:
    """The same label and nearly the same words, with all numbers and names of values alike."""
    if one.partition(":")[0] != other.partition(":")[0]:
        return False
    words, others = content_words(one), content_words(other)
    values = {word for word in words ^ others if any(character.isdigit() for character in word)}
    return not values and len(words & others) >= SIMILAR_SHARE * max(1, len(words | others))


def _claims_of_reflections(batch: ReflectBatch) -> list[tuple[Claim, int]]:
    """Reflections as claims, each with the place of its newest support (-1 when that has left active memory)."""
    places = {weighed.observation.id: order for order, weighed in enumerate(batch.observations)}
    claims = []
    for order, reflection in enumerate(batch.reflections):
        newest = max((places.get(support, -1) for support in reflection.support_ids), default=-1)
        if found := claim_in(reflection.id, reflection.content, order):
            claims.append((found, newest))
    return claims


def _proposal(conclusion: Conclusion, batch: ReflectBatch, known: list[tuple[Claim, int]]) -> Proposal:
    shape = {"content": conclusion.content, "supports": list(conclusion.supports)}
    if not conclusion.content.startswith(f"{LABEL_OF['correction']}: "):
        return shape
    corrected = claim_in("", conclusion.content, conclusion.order)
    older = [claim for claim, newest in known if newest < conclusion.order]
    gone = [one.id for one in replaced(corrected.text, older)] if corrected else []
    return {**shape, "supersedes": gone} if gone else shape
