"""Slots of a statement: of each clause with a value, the words that it is about, and the value. Pure.

"So about the page size cap: 200 was too much, make it 75" has the slots (page size limit, 200), (page size limit, 75).
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from minutebook.workers.extractive.subjects import (
    BOUNDS,
    Value,
    comparable,
    content_words,
    plain_of,
    values_of,
    without_values,
)

EXAMINED_CHARACTERS = 400
_CLAUSE = re.compile(
    r"(?<=[\w\"')`])(?P<mark>[,;!?:]|\.(?=\s|$))\s+|\s[—–-]+\s|\s\((?=\S)|\s(?:but|because|since|so that|where|which|"
    r"while)\s"
)
_KINDS: tuple[tuple[str, str], ...] = tuple(
    (f"tool{at}", word)
    for at, group in enumerate(
        (
            "yarn npm pnpm bun",
            "postgres postgresql mysql mariadb sqlite mongodb mongo oracle cockroachdb duckdb dynamodb",
            "redis memcached valkey",
            "kafka nats rabbitmq sqs pulsar kinesis",
            "react vue svelte angular solid preact",
            "redux zustand mobx pinia vuex jotai",
            "jest vitest mocha jasmine",
            "pytest unittest nose",
            "webpack vite rollup parcel gulp grunt esbuild turbopack",
            "jenkins circleci buildkite travis drone",
            "terraform pulumi ansible cloudformation",
            "docker podman",
            "aws gcp azure hetzner heroku",
            "rest grpc graphql soap trpc",
            "bcrypt argon2 scrypt pbkdf2",
            "tabs spaces",
            "flask django fastapi starlette",
            "black ruff yapf autopep8",
            "eslint biome prettier",
            "markdown restructuredtext asciidoc",
            "json yaml toml xml csv parquet",
            "english german french spanish italian",
            "github gitlab bitbucket",
            "slack teams discord",
            "celery rq dramatiq huey",
            "elasticsearch opensearch meilisearch solr",
            "sentry datadog grafana newrelic",
            "playwright cypress selenium",
            "pip poetry uv pipenv conda",
            "make just task",
            "merge rebase squash",
        )
    )
    for word in group.split()
)
_TOOL_KIND = {word: kind for kind, word in _KINDS}
_TOOL = re.compile(r"\b(?:" + "|".join(re.escape(word) for _, word in _KINDS) + r")\b", re.IGNORECASE)
MEASURED = frozenset(
    ("number", "duration", "size", "percent", "version", "date", "time", "name", "path", "color", "choice")
)
"""Who repeats such a value beside a new one speaks of the change; the name of a tool may be said again for itself."""
_THINGS = ("path", "url", "hash", "name", "email")
_DENIED = re.compile(r"\b(?:never|don'?t|do not|dont|no|nicht|nie|keine?|ne)\b", re.IGNORECASE)
_HANDLED = re.compile(
    _DENIED.pattern
    + r"|\b(?:touch\w*|edit\w*|modif\w+|delet\w+|remov\w+|read\w*|open\w*|look(?:ing|s)? (?:at|into)|fix\w*|check\w*|"
    r"merg\w+)\b",
    re.IGNORECASE,
)
"""What is done to a thing, or forbidden, is no state of anything: "don't touch a.py" leaves b.py alone."""
_IDENTIFIER = re.compile(r"\b\d+(?= (?:ends?|starts?|begins?|has|goes|needs?|ships?|runs?|covers?)\b)")
"""A number before a verb tells things apart: sprint 14 ends."""
_CAPITALISED = re.compile(r"(?<=[a-zà-ÿ:] )[A-ZÀ-Þ][\w-]{2,}")
_ENTITY = re.compile(
    r"\b(?:in|to|at|from|on|with|via|nach|bei|en|chez|à|is|called|named|ist|es|est|use|using|into|service|for)"
    r"(?: the)? ([^\W\d_][\w-]{2,})(?=[.,;!?]|$| now\b| from\b)"
)
_AMBIGUOUS = frozenset(
    ("make", "just", "task", "merge", "rebase", "rest", "teams", "solid", "drone", "parcel", "black")
)


@dataclass(frozen=True, slots=True)
class Slot:
    """words: what the value is of. value: the literal. lead: the first word of its clause."""

    words: frozenset[str]
    value: Value
    lead: str


@lru_cache(maxsize=8_192)
def slots_of(text: str) -> tuple[Slot, ...]:
    """The slots of a text, first to last."""
    found: list[Slot] = []
    topic: frozenset[str] = frozenset()
    lead = ""
    entities = frozenset(name.lower() for name in _CAPITALISED.findall(text[:EXAMINED_CHARACTERS]))
    text = plain_of(text[:EXAMINED_CHARACTERS])
    for clause, glued in _clauses(text):
        values = _values(clause, entities)
        named = frozenset(word for value in values if value.kind not in MEASURED for word in content_words(value.text))
        words = content_words(without_values(clause)) - named
        if glued and values:
            words |= topic
        if words:
            lead = _first_of(clause, words) or lead
        words = words - BOUNDS or words
        for value in values:
            found.append(Slot(words | _tool_words(values, value) or topic, value, lead))
        topic = words or topic
    return tuple(found)


def _first_of(clause: str, words: frozenset[str]) -> str:
    return next((form for token in clause.split() for form in content_words(token) if form in words), "")


def _values(clause: str, entities: frozenset[str]) -> list[Value]:
    values = [value for value in values_of(_IDENTIFIER.sub(" ", clause)) if value.text != "tomorrow"]
    values += _tools(clause)
    if not values and (found := _ENTITY.search(clause)) and found[1] in entities:
        values.append(Value("entity", found[1]))
    if not _HANDLED.search(clause):
        return values
    denied = bool(_DENIED.search(clause))
    return [value for value in values if value.kind not in _THINGS and not (denied and value.kind.startswith("tool"))]


def _clauses(text: str) -> list[tuple[str, bool]]:
    """Clauses, each with whether it goes on after a colon."""
    clauses: list[tuple[str, bool]] = []
    start, glued = 0, False
    for bound in _CLAUSE.finditer(text):
        clauses.append((text[start : bound.start()], glued))
        start, glued = bound.end(), bound["mark"] == ":"
    return [*clauses, (text[start:], glued)]


def _tools(clause: str) -> list[Value]:
    return [
        Value(_TOOL_KIND[word], word)
        for match in _TOOL.finditer(clause)
        if (word := match.group().lower()) not in _AMBIGUOUS
    ]


def _tool_words(values: list[Value], value: Value) -> frozenset[str]:
    """Beside a measured value the name of a tool is part of what it is about: "postgres is on 5433"."""
    others = [one for one in values if one.kind.startswith("tool") and one.kind != value.kind]
    return frozenset(word for one in others for word in content_words(one.text))


@dataclass(frozen=True, slots=True)
class Filling:
    """The slots of a statement that may refill older ones. stale: words that it names as old. words: of all slots."""

    slots: tuple[Slot, ...]
    stale: frozenset[str]
    given: frozenset[str]
    words: frozenset[str]


def filling_of(text: str, stale: frozenset[str]) -> Filling:
    """What a statement fills, without the values that it names as old."""
    slots = slots_of(text)
    fresh = tuple(slot for slot in slots if not (words := content_words(slot.value.text)) or not words <= stale)
    return Filling(
        fresh,
        stale,
        frozenset(slot.value.text for slot in slots),
        words_of(fresh),
    )


def words_of(slots: tuple[Slot, ...]) -> frozenset[str]:
    """The words of all slots."""
    return frozenset[str]().union(*(slot.words for slot in slots))


def refill(new: Filling, old: tuple[Slot, ...], *, marked: bool) -> bool:
    """Whether a slot of an old statement gets another value."""
    marked = marked or any(slot.value.text in new.given and slot.value.kind in MEASURED for slot in old)
    for one in new.slots:
        for other in old:
            # The cheapest test first: of a hundred pairs hardly one shares a word.
            if not one.words.isdisjoint(other.words) and _fits(one, other, marked):
                held = {slot.value.text for slot in old}
                if one.value.text not in held and (marked or other.value.text not in new.given):
                    return True
    return False


def _fits(new: Slot, old: Slot, marked: bool) -> bool:
    """The same words, or fewer of them, with a value of the same type."""
    same_kind = new.value.kind == old.value.kind
    if new.value.text == old.value.text or not (same_kind or (marked and comparable(new.value, old.value))):
        return False
    if not comparable(new.value, old.value):
        return False
    if new.words == old.words:
        return True
    shared = len(new.words & old.words)
    within = shared in (len(new.words), len(old.words))
    if marked:
        led = new.lead in old.words or old.lead in new.words
        return within or (led and shared >= max(2, 0.6 * min(len(new.words), len(old.words))))
    if new.value.kind == "choice" or new.value.kind.startswith("tool"):
        return within and (shared >= 2 or new.lead == old.lead) and len(new.words ^ old.words) <= 2
    return within and shared >= 2 and len(new.words ^ old.words) <= 2
