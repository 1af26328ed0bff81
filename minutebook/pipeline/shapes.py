"""The content of each memory kind <-> records. The names are those of the Pi ledger, so that both can be read.

Leniency is per record: a malformed one is counted and left out, the valid one beside it is kept (003-155).
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeGuard, TypeVar

from minutebook.records import (
    CONTENT_MAX_CHARACTERS,
    RELEVANCES,
    Observation,
    Reflection,
    observation_line,
    reflection_line,
)
from minutebook.tokens import estimate_tokens

TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}")
CUT_MARK = " […{cut:,} characters cut]"
T = TypeVar("T")


def one_line(text: str) -> str:
    """The text with every line break (CR, LF, CRLF and the Unicode ones) as one space, trimmed."""
    return " ".join(filter(None, map(str.strip, text.splitlines())))


def cut_content(content: str) -> str:
    """At most 10,000 characters, with a mark that says how many were cut (003-015, 003-023)."""
    cut = len(content) - CONTENT_MAX_CHARACTERS
    return content if cut <= 0 else content[:CONTENT_MAX_CHARACTERS] + CUT_MARK.format(cut=cut)


def observation_data(observation: Observation) -> dict[str, Any]:
    """An observation as it is stored."""
    return {
        "id": observation.id,
        "content": observation.content,
        "timestamp": observation.timestamp,
        "relevance": observation.relevance,
        "sourceEntryIds": list(observation.source_ids),
        "tokenCount": observation.tokens,
    }


def reflection_data(reflection: Reflection) -> dict[str, Any]:
    """A reflection as it is stored."""
    return {
        "id": reflection.id,
        "content": reflection.content,
        "supportingObservationIds": list(reflection.support_ids),
        "tokenCount": reflection.tokens,
    }


def observations_of(data: Mapping[str, Any]) -> tuple[list[Observation], int]:
    """The valid observations of an entry's data, and how many were malformed."""
    return _valid(data.get("observations"), observation_of)


def reflections_of(data: Mapping[str, Any]) -> tuple[list[Reflection], int]:
    """The valid reflections of an entry's data, and how many were malformed."""
    return _valid(data.get("reflections"), reflection_of)


def ids_of(data: Mapping[str, Any], name: str) -> tuple[list[str], int]:
    """The ids of a list in an entry's data, and how many were none."""
    return _valid(data.get(name), lambda row: row if isinstance(row, str) and row else None)


def observation_of(row: Any) -> Observation | None:
    """One stored observation, or None when a field is missing or wrong (003-149)."""
    if not isinstance(row, Mapping):
        return None
    content, relevance, tokens = row.get("content"), row.get("relevance"), row.get("tokenCount")
    if not (_text(row.get("id")) and _text(content) and _timestamp(row.get("timestamp")) and relevance in RELEVANCES):
        return None
    sources = row.get("sourceEntryIds")
    if not _texts(sources) or not _count(tokens):
        return None
    return counted_observation(
        Observation(
            id=row["id"],
            content=one_line(row["content"]),
            timestamp=row["timestamp"],
            relevance=row["relevance"],
            source_ids=tuple(sources),
        )
    )


def reflection_of(row: Any) -> Reflection | None:
    """One stored reflection, or None when a field is missing or wrong (003-149)."""
    if not isinstance(row, Mapping) or not (_text(row.get("id")) and _text(row.get("content"))):
        return None
    supports = row.get("supportingObservationIds")
    if not _texts(supports) or not _count(row.get("tokenCount")):
        return None
    return counted_reflection(Reflection(id=row["id"], content=one_line(row["content"]), support_ids=tuple(supports)))


def counted_observation(observation: Observation) -> Observation:
    """The same observation with the tokens of its rendered line, computed in code whatever was offered (003-149)."""
    return Observation(
        id=observation.id,
        content=observation.content,
        timestamp=observation.timestamp,
        relevance=observation.relevance,
        source_ids=observation.source_ids,
        tokens=estimate_tokens(observation_line(observation)),
    )


def counted_reflection(reflection: Reflection) -> Reflection:
    """The same reflection with the tokens of its rendered line, its id counted (003-085)."""
    return Reflection(
        id=reflection.id,
        content=reflection.content,
        support_ids=reflection.support_ids,
        tokens=estimate_tokens(reflection_line(reflection)),
    )


def _valid(rows: Any, parse: Callable[[Any], T | None]) -> tuple[list[T], int]:
    if not isinstance(rows, list):
        return [], 1
    parsed: Iterable[T | None] = map(parse, rows)
    kept = [record for record in parsed if record is not None]
    return kept, len(rows) - len(kept)


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _texts(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and bool(value) and all(_text(item) for item in value)


def _timestamp(value: Any) -> bool:
    return isinstance(value, str) and bool(TIMESTAMP.fullmatch(value))


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
