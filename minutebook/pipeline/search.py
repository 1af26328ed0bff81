"""Words -> records and turns: BM25 (k1 1.2, b 0.75) over observations, reflections and raw source entries.

Any text is a query: there is no syntax, and words that occur nowhere find nothing.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from minutebook.pipeline import ledger
from minutebook.pipeline.branches import Path
from minutebook.pipeline.folding import fold
from minutebook.pipeline.sourcetext import entry_text
from minutebook.records import Branch
from minutebook.store.kernel import Store

K1, B = 1.2, 0.75
RECORD_WEIGHT = 1.5
"""A record is a claim about many words of source: it ranks before a raw entry that matches as well."""
ENTRY_CHARACTERS = 20_000
SNIPPET_CHARACTERS = 200

_WORD = re.compile(r"[^\W_]+", re.UNICODE)
_IDENTIFIER = re.compile(r"[\w][\w.:/\\-]*[\w]", re.UNICODE)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_COMMON_WORDS = """
a an and are as at be by did do does for from has have i in is it its me my of on or our that the this to was we were
what when which who why will with you your"""
_COMMON = frozenset(_COMMON_WORDS.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """kind: observation, reflection or a source role. recall: ids to recall for it. branch: where it stands."""

    kind: str
    id: str
    score: float
    text: str
    time: str
    branch: str
    recall: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Document:
    hit: Hit
    words: Counter[str]
    length: int
    weight: float


def search(store: Store, branches: Sequence[Branch], query: str, *, limit: int = 10) -> list[Hit]:
    """The best matches on these branches, best first."""
    wanted = [word for word in dict.fromkeys(terms(query)) if word not in _COMMON]
    wanted = wanted or list(dict.fromkeys(terms(query)))
    documents = list(_documents(store, branches))
    return _rank(documents, wanted, limit) if wanted else []


def terms(text: str) -> Iterator[str]:
    """The words of a text, lower case: identifiers whole and in parts, unspaced scripts as pairs of characters."""
    for match in _IDENTIFIER.finditer(text):
        whole = match.group().lower()
        if not _WORD.fullmatch(match.group()):
            yield whole
    for match in _WORD.finditer(text):
        word = match.group()
        yield from _pieces(word)


def _pieces(word: str) -> Iterator[str]:
    unspaced = _UNSPACED.search(word)
    if unspaced:
        run = unspaced.group()
        yield from (run[at : at + 2] for at in range(max(1, len(run) - 1)))
        return
    yield word.lower()
    parts = _CAMEL.split(word)
    if len(parts) > 1:
        yield from (part.lower() for part in parts)


def _documents(store: Store, branches: Sequence[Branch]) -> Iterator[_Document]:
    seen: set[tuple[str, str]] = set()
    for branch in branches:
        for document in _of_branch(store, branch):
            key = (document.hit.kind, document.hit.id)
            if key not in seen:
                seen.add(key)
                yield document


def _of_branch(store: Store, branch: Branch) -> Iterator[_Document]:
    memory = fold(ledger.read_memory(store, branch))
    cited: dict[str, list[str]] = {}
    for key, held in memory.observations.items():
        record = held.record
        for source in record.source_ids:
            cited.setdefault(source, []).append(key)
        yield _document("observation", key, record.content, record.timestamp, branch, (key,), RECORD_WEIGHT)
    for key, reflection in memory.reflections.items():
        yield _document("reflection", key, reflection.record.content, "", branch, (key,), RECORD_WEIGHT)
    for placed in Path(store, branch).walk():
        entry = placed.entry
        text = entry_text(entry)[:ENTRY_CHARACTERS]
        recall = tuple(cited.get(entry.id, ()))
        yield _document(entry.role, entry.id, text, entry.time, branch, recall, 1.0)


def _document(
    kind: str, id_: str, text: str, time: str, branch: Branch, recall: tuple[str, ...], weight: float
) -> _Document:
    words = Counter(terms(text))
    hit = Hit(kind=kind, id=id_, score=0.0, text=text, time=time, branch=branch.key, recall=recall)
    return _Document(hit, words, max(1, words.total()), weight)


def _rank(documents: list[_Document], wanted: list[str], limit: int) -> list[Hit]:
    if not documents:
        return []
    average = sum(document.length for document in documents) / len(documents)
    rarity = {word: _idf(documents, word) for word in wanted}
    scored = ((_score(document, rarity, average), index) for index, document in enumerate(documents))
    best = sorted((-score, index) for score, index in scored if score > 0)[:limit]
    return [_scored(documents[index].hit, -score, wanted) for score, index in best]


def _idf(documents: Iterable[_Document], word: str) -> float:
    total = having = 0
    for document in documents:
        total += 1
        having += word in document.words
    return math.log(1 + (total - having + 0.5) / (having + 0.5))


def _score(document: _Document, rarity: dict[str, float], average: float) -> float:
    score = 0.0
    for word, idf in rarity.items():
        count = document.words.get(word, 0)
        score += idf * count * (K1 + 1) / (count + K1 * (1 - B + B * document.length / average))
    return score * document.weight


def _scored(hit: Hit, score: float, wanted: Sequence[str]) -> Hit:
    return Hit(
        kind=hit.kind,
        id=hit.id,
        score=round(score, 3),
        text=snippet(hit.text, wanted),
        time=hit.time,
        branch=hit.branch,
        recall=hit.recall,
    )


def snippet(text: str, wanted: Sequence[str]) -> str:
    """A window of the text around the first wanted word, on one line."""
    lowered = text.lower()
    places = [at for at in (lowered.find(word) for word in wanted) if at >= 0]
    start = max(0, min(places, default=0) - SNIPPET_CHARACTERS // 4)
    piece = " ".join(text[start : start + SNIPPET_CHARACTERS].split())
    return ("…" if start else "") + piece + ("…" if start + SNIPPET_CHARACTERS < len(text) else "")
