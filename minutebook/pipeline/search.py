"""Words -> records and turns: BM25 (k1 1.2, b 0.75) over observations, reflections and raw source entries.

Any text is a query: there is no syntax, and words that occur nowhere find nothing. One pass over the ledger, and
no text is taken apart: the work an entry is a few look-ups of the words.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from minutebook.pipeline.branches import Path
from minutebook.pipeline.excerpts import is_unobserved
from minutebook.pipeline.folding import Tombstone, fold
from minutebook.pipeline.quoting import harmless
from minutebook.pipeline.remembering import seen_memory
from minutebook.pipeline.sourcetext import entry_text
from minutebook.records import Branch, Observation, Reflection, SourceEntry
from minutebook.store.kernel import Store

K1, B = 1.2, 0.75
RECORD_WEIGHTS = {"critical": 2.2, "high": 2.0, "medium": 1.5, "low": 1.2}
REFLECTION_WEIGHT = 2.0
"""A record is a claim about many words of source: it ranks before a raw entry that matches as well."""
BURIED_WEIGHT = 0.5
"""A dropped or retired record is history: what stands comes first."""
TYPED_WEIGHT, TOOL_WEIGHT = 1.5, 0.7
"""What a person typed says what is wanted; what tools say repeats the same words over and over."""
VERBATIM_WEIGHT = 2.0
"""The query stands in the text as it was given: an error message, a path, a name."""
ENTRY_CHARACTERS = 20_000
QUERY_CHARACTERS = 4_000
WANTED_WORDS = 64
SNIPPET_CHARACTERS = 200
SHORT_HASH = 7
COUNTED_MAX = 20
"""More of the same word in one text changes its score no more."""

_WORD = re.compile(r"[^\W_]+")
_IDENTIFIER = re.compile(r"\w[\w.:/\\-]*\w")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
"""Scripts that are written without spaces, and Korean, whose words carry their particles."""
_LONG_HASH = re.compile(r"(?=.*\d)[0-9a-f]{8,40}")
_COMMON_WORDS = """
a about also am an and any are as at be been but by can could did do does for from had has have he her him his how i if
in into is it its just me my no not of off on or our she should so some than that the their them then there they this
to too us was we were what when where which who whom whose why will with would you your"""
_COMMON = frozenset(_COMMON_WORDS.split())
_ENDINGS = ("ings", "ing", "ed", "es", "s", "e", "")
"""English endings: a word is found in its other forms too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """kind: observation, reflection or a source role. recall: ids to recall for it, for a
    superseded record also the one that replaced it. branch: where it stands.

    state: of a record: active or dropped, current or retired; "" of a source. relevance, citations: of an observation,
    citations being the current reflections that cite it.
    """

    kind: str
    id: str
    score: float
    text: str
    time: str
    branch: str
    recall: tuple[str, ...]
    state: str = ""
    relevance: str = ""
    citations: int = 0


@dataclass(frozen=True, slots=True)
class _Match:
    """A text that holds some of the words: how often each, its length in characters, and what its score is times."""

    hit: Hit
    counts: Mapping[str, int]
    length: int
    weight: float


def search(store: Store, branches: Sequence[Branch], query: str, *, limit: int = 10) -> list[Hit]:
    """The best matches on these branches, best first; of equal ones records first, then the later one."""
    wanted = wanted_words(query)
    if not wanted:
        return []
    verbatim = _composed(query[:QUERY_CHARACTERS].strip()).lower()
    matches, texts, characters = [], 0, 0
    for hit, weight in _documents(store, branches):
        text = _composed(hit.text)
        lowered = text.lower()
        texts, characters = texts + 1, characters + len(text)
        if counts := _counts(text, lowered, wanted):
            weight *= VERBATIM_WEIGHT if verbatim in lowered else 1
            matches.append(_Match(hit, counts, len(text), weight))
    return _ranked(matches, wanted, texts, characters / max(1, texts), max(0, limit))


def wanted_words(query: str) -> list[str]:
    """The distinct words to look for: without common ones, unless there are no others."""
    words = dict.fromkeys(terms(query[:QUERY_CHARACTERS]))
    rare = [word for word in words if word not in _COMMON] or list(words)
    rare = list(dict.fromkeys(map(stem, rare)))
    short = [word[:SHORT_HASH] for word in rare if _LONG_HASH.fullmatch(word)]
    return list(dict.fromkeys(rare + short))[:WANTED_WORDS]


def words_found(text: str, wanted: Sequence[str]) -> int:
    """How many of the wanted words stand in a text."""
    text = _composed(text)
    return len(_counts(text, text.lower(), wanted))


def terms(text: str) -> Iterator[str]:
    """The words of a text, in lower case: identifiers whole and in parts, unspaced scripts as pairs of characters."""
    text = _composed(text)
    for match in _IDENTIFIER.finditer(text):
        if not _WORD.fullmatch(match.group()):
            yield match.group().lower()
    for match in _WORD.finditer(text):
        yield from _pieces(match.group())


def _pieces(word: str) -> Iterator[str]:
    start = 0
    for match in _UNSPACED.finditer(word):
        yield from _spaced(word[start : match.start()])
        run = match.group().lower()
        yield from (run[at : at + 2] for at in range(max(1, len(run) - 1)))
        start = match.end()
    yield from _spaced(word[start:])


def _spaced(word: str) -> Iterator[str]:
    if not word:
        return
    yield word.lower()
    parts = _CAMEL.split(word)
    if len(parts) > 1:
        yield from (part.lower() for part in parts)


def stem(word: str) -> str:
    """An English word without its ending, if enough is left of it; anything else as it is."""
    if not (word.isascii() and word.isalpha()):
        return word
    return next(
        word.removesuffix(end) for end in _ENDINGS if (word.endswith(end) and len(word) - len(end) > 3) or not end
    )


def _counts(text: str, lowered: str, wanted: Sequence[str]) -> dict[str, int]:
    """How often each wanted word stands in a text, up to COUNTED_MAX; the words that do not are left out."""
    text = text if len(text) == len(lowered) else lowered
    counts = {word: _count(word, text, lowered) for word in wanted if word in lowered}
    return {word: count for word, count in counts.items() if count}


def _count(word: str, text: str, lowered: str) -> int:
    anywhere, found = _anywhere(word), 0
    endings = _ENDINGS if len(word) > 3 and word.isascii() and word.isalpha() else ("",)
    at = lowered.find(word)
    while at >= 0 and found < COUNTED_MAX:
        found += anywhere or (_is_bound(text, at) and _ends(text, lowered, at + len(word), endings))
        at = lowered.find(word, at + 1)
    return found


def _ends(text: str, lowered: str, at: int, endings: Sequence[str]) -> bool:
    """Whether the word ends here, or after one of the endings."""
    return any(lowered.startswith(end, at) and _is_bound(text, at + len(end)) for end in endings)


def _is_bound(text: str, at: int) -> bool:
    """Whether a word may begin or end here: as `terms` would part the text."""
    if at in (0, len(text)):
        return True
    before, after = text[at - 1], text[at]
    if not (before.isalnum() and after.isalnum()):
        return True
    if after.isupper() and (not before.isupper() or text[at + 1 : at + 2].islower()):
        return True
    return not (before + after).isascii() and bool(_UNSPACED.match(before) or _UNSPACED.match(after))


def _anywhere(word: str) -> bool:
    """A commit hash, a path, a dotted name: it counts inside a longer one too."""
    return len(word) >= SHORT_HASH - 1 and not word.isalpha()


def _composed(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _documents(store: Store, branches: Sequence[Branch]) -> Iterator[tuple[Hit, float]]:
    """Every text once, with its weight; what branches share belongs to the first that has it."""
    seen: set[tuple[str, str, str]] = set()
    for branch in branches:
        for owner, hit, weight in _of_branch(store, branch):
            key = (owner, hit.kind, hit.id)
            if key not in seen:
                seen.add(key)
                yield hit, weight


def _of_branch(store: Store, branch: Branch) -> Iterator[tuple[str, Hit, float]]:
    """Texts with the branch on which they were delivered, "" for a record, whose id says what it is."""

    memory = fold(seen_memory(store, branch))
    citations = Counter(key for held in memory.current() for key in set(held.record.support_ids))
    cited: dict[str, list[str]] = {}
    for key, held in memory.observations.items():
        for source in held.record.source_ids:
            cited.setdefault(source, []).append(key)
        weight, gone = RECORD_WEIGHTS[held.record.relevance], memory.drops.get(key)
        state = "active" if gone is None else "dropped"
        hit, weight = _record(branch, "observation", held.record, held.record.timestamp, state, weight, gone)
        yield "", replace(hit, relevance=held.record.relevance, citations=citations[key]), weight
    for key, reflection in memory.reflections.items():
        gone = memory.retirements.get(key)
        state = "current" if gone is None else "retired"
        yield "", *_record(branch, "reflection", reflection.record, "", state, REFLECTION_WEIGHT, gone)
    path = Path(store, branch)
    for placed in path.walk():
        if not is_unobserved(placed):
            yield path.owner(placed.position).key, *_source(branch, placed.entry, cited.get(placed.entry.id, ()))


def _record(
    branch: Branch,
    kind: str,
    record: Observation | Reflection,
    time: str,
    state: str,
    weight: float,
    gone: Tombstone | None,
) -> tuple[Hit, float]:
    recall = (record.id, gone.replaced_by) if gone and gone.replaced_by else (record.id,)
    hit = Hit(
        kind=kind,
        id=record.id,
        score=0.0,
        text=record.content,
        time=time,
        branch=branch.key,
        recall=recall,
        state=state,
    )
    return hit, weight * (BURIED_WEIGHT if gone else 1)


def _source(branch: Branch, entry: SourceEntry, recall: Iterable[str]) -> tuple[Hit, float]:
    text = entry_text(entry)[:ENTRY_CHARACTERS]
    hit = Hit(
        kind=entry.role, id=entry.id, score=0.0, text=text, time=entry.time, branch=branch.key, recall=tuple(recall)
    )
    tools = entry.role == "tool_result" or all(part.kind == "tool_call" for part in entry.parts)
    return hit, TYPED_WEIGHT if entry.typed else TOOL_WEIGHT if tools else 1.0


def _ranked(matches: Sequence[_Match], wanted: Sequence[str], texts: int, average: float, limit: int) -> list[Hit]:
    having = Counter(word for match in matches for word in match.counts)
    rarity = {word: math.log(1 + (texts - having[word] + 0.5) / (having[word] + 0.5)) for word in wanted}
    scores = [_score(match, rarity, average) for match in matches]
    best = sorted(range(len(matches)), key=lambda at: (-scores[at], not _is_record(matches[at].hit), -at))[:limit]
    rarest_first = sorted(wanted, key=lambda word: -rarity[word])
    return [
        replace(matches[at].hit, score=round(scores[at], 3), text=snippet(matches[at].hit.text, rarest_first))
        for at in best
    ]


def _is_record(hit: Hit) -> bool:
    return hit.kind in ("observation", "reflection")


def _score(match: _Match, rarity: Mapping[str, float], average: float) -> float:
    norm = K1 * (1 - B + B * match.length / max(1.0, average))
    return match.weight * sum(
        rarity[word] * count * (K1 + 1) / (count + norm) for word, count in sorted(match.counts.items())
    )


def snippet(text: str, wanted: Sequence[str]) -> str:
    """A window of the text around the first of the wanted words that it holds, on one harmless line."""
    lowered = _composed(text).lower()
    at = next((place for place in (lowered.find(word) for word in wanted) if place >= 0), 0)
    start = max(0, min(at - SNIPPET_CHARACTERS // 4, len(text) - SNIPPET_CHARACTERS))
    start += text[start:at].find(" ") + 1 if start else 0
    piece = harmless(" ".join(text[start : start + SNIPPET_CHARACTERS].split()))
    return ("…" if start else "") + piece + ("…" if start + SNIPPET_CHARACTERS < len(text) else "")
