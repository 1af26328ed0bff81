"""Slots of a statement: of each clause with a value, the words that it is about, and the value. Pure.

"So about the page size cap: 200 was too much, make it 75" has the slots (page size limit, 200), (page size limit, 75).
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from minutebook.workers.extractive.subjects import Value, comparable, content_words, values_of

EXAMINED_CHARACTERS = 400
_CLAUSE = re.compile(
    r"(?<=[\w\"')`])(?P<mark>[,;!?:]|\.(?=\s|$))\s+|\s[—–-]+\s|\s\((?=\S)|\s(?:but|because|since|so that|where|which|while)\s"
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
_AMBIGUOUS = frozenset(("make", "just", "task", "merge", "rebase", "rest", "teams", "solid", "drone", "parcel", "black"))
_LOOSE_KINDS = frozenset(("number",))


@dataclass(frozen=True, slots=True)
class Slot:
    """words: what the value is of. value: the literal. carried: whether the words stand in an earlier clause."""

    words: frozenset[str]
    value: Value
    carried: bool = False


@lru_cache(maxsize=8_192)
def slots_of(text: str) -> tuple[Slot, ...]:
    """The slots of a text, first to last."""
    found: list[Slot] = []
    topic: frozenset[str] = frozenset()
    text = text[:EXAMINED_CHARACTERS].replace("’", "'")
    for clause, glued in _clauses(text):
        values = [*values_of(clause), *_tools(clause)]
        words = content_words(clause) - frozenset(word for value in values for word in content_words(value.text))
        if glued and values:
            words |= topic
        for value in values:
            own = words | _tool_words(values, value)
            found.append(Slot(own or topic, value, carried=not own))
        topic = words or topic
    return tuple(found)


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
    if value.kind in _TOOL_KIND.values():
        return frozenset()
    return frozenset(word for one in values if one.kind.startswith("tool") for word in content_words(one.text))


def refill(new: tuple[Slot, ...], old: tuple[Slot, ...], stale: frozenset[str], *, marked: bool) -> bool:
    """Whether a slot of an old statement gets another value. stale: words that the new statement names as old."""
    given, held = {slot.value.text for slot in new}, {slot.value.text for slot in old}
    named_old = bool(stale) or bool(given & held)
    fresh = [
        slot for slot in new if slot.value.text not in held and not (content_words(slot.value.text) or {""}) <= stale
    ]
    gone = [slot for slot in old if slot.value.text not in given or content_words(slot.value.text) <= stale]
    if named_old:
        gone += [slot for slot in old if slot.value.text in given and _fresh_beside(slot, fresh)]
    return any(_fits(one, other, marked or named_old) for one in fresh for other in gone)


def _fresh_beside(slot: Slot, fresh: list[Slot]) -> bool:
    return any(comparable(one.value, slot.value) for one in fresh)


def _fits(new: Slot, old: Slot, marked: bool) -> bool:
    """The same words, or fewer of them, with a value of the same type."""
    if not comparable(new.value, old.value) or not new.words or not old.words:
        return False
    shared = len(new.words & old.words)
    if new.words == old.words:
        return new.value.kind == old.value.kind or marked
    within = new.words <= old.words or old.words <= new.words
    if marked:
        return within or shared >= max(2, 0.6 * min(len(new.words), len(old.words)))
    same_kind = new.value.kind == old.value.kind
    return within and shared >= 2 and same_kind and len(new.words ^ old.words) <= 2
