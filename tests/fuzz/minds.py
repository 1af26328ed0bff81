"""Minds that do their work, and minds that fail in every way. Each run has one of its own, with a name of its own."""

from collections.abc import Callable, Sequence
from typing import Any
from zlib import crc32

from minutebook.errors import ProviderFailed, SpanFailed
from minutebook.pipeline.questions import JUDGE
from minutebook.workers.contract import (
    Desk,
    DigestBatch,
    DropBatch,
    JudgeBatch,
    Mind,
    ObserveBatch,
    ReflectBatch,
)
from minutebook.workers.extractive.mind import ExtractiveMind

Way = Callable[[Any, Desk], None]


class NamedMind:
    """A mind of one run, which plays one way. sent: ids of the source entries that it was sent."""

    def __init__(self, name: str, way: Way) -> None:
        self.name = name
        self.sent: set[str] = set()
        self._way = way

    def observe(self, batch: ObserveBatch, desk: Desk) -> None:
        self.sent.update(shown.placed.entry.id for shown in batch.sources)
        self._way(batch, desk)

    def reflect(self, batch: ReflectBatch, desk: Desk) -> None:
        self._way(batch, desk)

    def digest(self, batch: DigestBatch, desk: Desk) -> None:
        self._way(batch, desk)

    def drop(self, batch: DropBatch, desk: Desk) -> None:
        self._way(batch, desk)

    def judge(self, batch: JudgeBatch, desk: Desk) -> None:
        self._way(batch, desk)


def extractive(batch: Any, desk: Desk) -> None:
    """The mind that needs no model."""
    mind: Mind = ExtractiveMind()
    match batch:
        case ObserveBatch():
            mind.observe(batch, desk)
        case ReflectBatch():
            mind.reflect(batch, desk)
        case DigestBatch():
            mind.digest(batch, desk)
        case DropBatch():
            mind.drop(batch, desk)
        case _:
            mind.judge(batch, desk)


def diligent(batch: Any, desk: Desk) -> None:
    """Records much, takes older records back, drops all that it may."""
    match batch:
        case ObserveBatch():
            desk.record(_observed(batch))
        case ReflectBatch():
            desk.record(_concluded(batch))
        case DigestBatch():
            desk.record([{"content": f"digest of {len(batch.reflections)} from {batch.reflections[0].id}"}])
        case DropBatch():
            desk.record([{"id": weighed.observation.id} for weighed in batch.observations])
        case _:
            desk.record([{"id": record.id} for record in batch.records])


def _observed(batch: ObserveBatch) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for shown in batch.sources:
        dice = crc32(shown.placed.entry.id.encode())
        row: dict[str, Any] = {
            "content": f"saw {shown.placed.entry.id}, and {shown.text[:40]}",
            "timestamp": "2026-05-02 10:30",
            "relevance": ("low", "medium", "high", "critical")[dice % 4],
            "sources": [shown.alias],
        }
        if batch.observations and dice % 3 == 0:
            row["supersedes"] = [batch.observations[dice % len(batch.observations)].id]
        rows.append(row)
    return rows


def _concluded(batch: ReflectBatch) -> list[dict[str, Any]]:
    ids = [weighed.observation.id for weighed in batch.observations]
    dice = crc32(ids[-1].encode())
    rows: list[dict[str, Any]] = [
        {"content": f"conclusion {number} of {len(ids)} up to {ids[-1]}", "supports": ids[: 1 + (dice + number) % 3]}
        for number in range(2)
    ]
    if batch.reflections and dice % 3 == 0:
        rows[0]["supersedes"] = [batch.reflections[dice % len(batch.reflections)].id]
    return rows


def nothing(batch: Any, desk: Desk) -> None:
    """Says that there is nothing to record."""
    desk.nothing()


def silent(batch: Any, desk: Desk) -> None:
    """Ends without a word."""


def rubbish(batch: Any, desk: Desk) -> None:
    """Proposes what no desk takes."""
    wrong: Sequence[Any] = ["prose", {"content": 5}, {"id": "no such id"}, {"content": "x", "sources": ["s99"]}]
    desk.record(wrong)


def refused(batch: Any, desk: Desk) -> None:
    """The span is the cause: it is too long."""
    raise SpanFailed("the request is too long", reason="too_long")


def unavailable(batch: Any, desk: Desk) -> None:
    """The provider is the cause."""
    raise ProviderFailed("no quota left", reason="quota")


def halfway(batch: Any, desk: Desk) -> None:
    """Records, and then the stream breaks."""
    diligent(batch, desk)
    raise ProviderFailed("the stream ended", reason="network")


def faulty(batch: Any, desk: Desk) -> None:
    """A bug of ours."""
    raise ZeroDivisionError("a bug")


WAYS: dict[str, Way] = {
    way.__name__: way for way in (extractive, diligent, nothing, silent, rubbish, refused, unavailable, halfway, faulty)
}
ROLES = ("observer", "reflector", "digester", "dropper", JUDGE)
