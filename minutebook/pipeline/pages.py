"""A memory as columns of rendered lines: what projections are taken from, and what a checkpoint keeps. Pure.

Row n of each column is the same record, so a whole page is loaded in the time that a few hundred records would take.
Records come from a page again by reading its lines; where a line does not say all of its record, `odd` does.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, TypeVar

from minutebook.pipeline.folding import HeldDigest, HeldObservation, HeldReflection, Memory, Tombstone
from minutebook.pipeline.quoting import harmless
from minutebook.records import RELEVANCES, Observation, Reflection, observation_line, reflection_line

STAMP_CHARACTERS = len("2026-05-02 10:30")
ORDER_BITS = 36
T = TypeVar("T")


Span = Sequence[int]
"""Rows that follow each other and cover the same: since, covers, how many. 0, 0 for what every such boundary shows."""
Tomb = Sequence[Any]
"""A row's tombstone: row, waits_from, immediate_from, immediate_covers, order. As JSON has it, which loads quickest."""


class PageDigest(NamedTuple):
    """A digest that some boundary may use. through: the row of its watermark. beyond, beyond_tokens: of the
    reflections that a checkpoint left out, how many lie after the watermark, and of how many tokens."""

    held: HeldDigest
    through: int
    beyond: int
    beyond_tokens: int


@dataclass(slots=True, kw_only=True)
class Page:
    """Rows of observations and of reflections, in the order recorded.

    floor: the first boundary that it answers for. reference: boundary of the full fold in force. observed: how far
    observation got. keys: the keep key of each observation, with the citations that every such boundary shows.
    orders: of each reflection, where its entry stands. citing: row of a reflection that not every such boundary shows →
    rows that it cites.
    odd, odd_reflections: row → id, content (and time) where its line says them differently.
    left_out, left_out_tokens, best: observations that a checkpoint left out, with the highest keep key among them.
    left_out_reflections, newest: likewise, and the order of the newest of them. left_out_digests: digests that lose to
    those that are there.
    """

    floor: int = 0
    reference: int | None = None
    observed: int = 0
    observations: list[str] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    keys: list[int] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    drops: list[Tomb] = field(default_factory=list)
    reflections: list[str] = field(default_factory=list)
    reflection_tokens: list[int] = field(default_factory=list)
    orders: list[int] = field(default_factory=list)
    reflection_spans: list[Span] = field(default_factory=list)
    retirements: list[Tomb] = field(default_factory=list)
    citing: dict[int, list[int]] = field(default_factory=dict)
    digests: list[PageDigest] = field(default_factory=list)
    odd: dict[int, list[str]] = field(default_factory=dict)
    odd_reflections: dict[int, list[str]] = field(default_factory=dict)
    left_out: int = 0
    left_out_tokens: int = 0
    best: int = -1
    left_out_reflections: int = 0
    left_out_reflection_tokens: int = 0
    newest: int = -1
    left_out_digests: int = 0

    def observation(self, row: int) -> Observation:
        """The observation of a row, without its sources: recall reads those from the ledger."""
        line, relevance = self.observations[row], RELEVANCES[(self.keys[row] >> ORDER_BITS) // 3]
        key, content, stamp = self.odd[row] if row in self.odd else _observation_parts(line, relevance)
        return Observation(
            id=key, content=content, timestamp=stamp, relevance=relevance, source_ids=(), tokens=self.tokens[row]
        )

    def reflection(self, row: int) -> Reflection:
        """The reflection of a row, without its supports."""
        odd = self.odd_reflections.get(row)
        key, content = odd if odd is not None else _reflection_parts(self.reflections[row])
        return Reflection(id=key, content=content, support_ids=(), tokens=self.reflection_tokens[row])


def keep_key(relevance: int, citations: int, order: int) -> int:
    """Greater for what is to be kept rather: most relevant first, then least covered, then newest."""
    return (3 * relevance + 2 - min(2, citations)) << ORDER_BITS | order


def citations_in(key: int) -> int:
    """The citations that a keep key counts, at most 2."""
    return 2 - (key >> ORDER_BITS) % 3


def order_in(key: int) -> int:
    """Where the entry of an observation stands, by its keep key."""
    return key & (1 << ORDER_BITS) - 1


def key_with(key: int, more: int) -> int:
    """The keep key with so many more citations."""
    return key - (min(2 - citations_in(key), more) << ORDER_BITS)


def page_of(memory: Memory, *, floor: int | None = None) -> Page:
    """The page of a memory for boundaries from the floor on (unless given, the memory's own)."""
    floor = memory.beyond.floor if floor is None else floor
    rows = {key: at for at, key in enumerate(memory.observations)}
    places = {key: at for at, key in enumerate(memory.reflections)}
    observations, reflections = list(memory.observations.values()), list(memory.reflections.values())
    lines = [harmless(observation_line(held.record)) for held in observations]
    conclusions = [harmless(reflection_line(held.record)) for held in reflections]
    certain = citations(certain_reflections(memory, floor), memory.beyond.cited)
    beyond = memory.beyond
    return Page(
        floor=floor,
        reference=memory.folds[-1].reference if memory.folds else None,
        observed=memory.observed,
        observations=lines,
        tokens=[held.record.tokens for held in observations],
        keys=[keep_key(RELEVANCES.index(h.record.relevance), certain[h.record.id], h.order) for h in observations],
        spans=_spans(((held.since, held.covers) for held in observations), floor),
        drops=[_tomb(rows[key], stone) for key, stone in memory.drops.items() if key in rows],
        reflections=conclusions,
        reflection_tokens=[held.record.tokens for held in reflections],
        orders=[held.order for held in reflections],
        reflection_spans=_spans(((held.covers, held.covers) for held in reflections), floor),
        retirements=[_tomb(places[key], stone) for key, stone in memory.retirements.items() if key in places],
        citing=_citing(memory, floor, rows),
        digests=_digests(memory, places),
        odd=_odd(observations, lines),
        odd_reflections=_odd_reflections(reflections, conclusions),
        left_out=beyond.observations,
        left_out_tokens=beyond.tokens,
        best=beyond.best,
        left_out_reflections=beyond.reflections,
        left_out_reflection_tokens=beyond.reflection_tokens,
        newest=beyond.newest,
        left_out_digests=beyond.digests,
    )


def certain_reflections(memory: Memory, floor: int) -> list[HeldReflection]:
    """The reflections that every boundary from the floor on shows."""
    return [held for held in memory.current() if held.covers <= floor]


def citations(reflections: Iterable[HeldReflection], more: Mapping[str, int]) -> Counter[str]:
    """Observation → how many of the reflections cite it, each once, and what is to be added."""
    found = Counter(key for held in reflections for key in set(held.record.support_ids))
    found.update(more)
    return found


def _citing(memory: Memory, floor: int, rows: Mapping[str, int]) -> dict[int, list[int]]:
    return {
        at: sorted({rows[key] for key in held.record.support_ids if key in rows})
        for at, (name, held) in enumerate(memory.reflections.items())
        if held.covers > floor or name in memory.retirements
    }


def _digests(memory: Memory, places: Mapping[str, int]) -> list[PageDigest]:
    after = memory.beyond.after
    return [
        PageDigest(held, places[held.through], *after.get(held.order, (0, 0)))
        for held in memory.digests
        if held.through in places
    ]


def _spans(rows: Iterable[tuple[int, int]], floor: int) -> list[Span]:
    found: list[list[int]] = []
    for since, covers in rows:
        span = [0, 0] if since < floor or covers <= floor else [since, covers]
        if found and found[-1][:2] == span:
            found[-1][2] += 1
        else:
            found.append([*span, 1])
    return [*found]


def _odd(observations: Sequence[HeldObservation], lines: Sequence[str]) -> dict[int, list[str]]:
    said = [[held.record.id, held.record.content, held.record.timestamp] for held in observations]
    relevances = (held.record.relevance for held in observations)
    read = (_observation_parts(line, relevance) for line, relevance in zip(lines, relevances, strict=True))
    return {at: true for at, (true, found) in enumerate(zip(said, read, strict=True)) if true != found}


def _odd_reflections(reflections: Sequence[HeldReflection], lines: Sequence[str]) -> dict[int, list[str]]:
    said = [[held.record.id, held.record.content] for held in reflections]
    read = map(_reflection_parts, lines)
    return {at: true for at, (true, found) in enumerate(zip(said, read, strict=True)) if true != found}


def _observation_parts(line: str, relevance: str) -> list[str]:
    """Id, content and time of a line, as records.observation_line wrote it."""
    key, rest = _reflection_parts(line)
    return [key, rest[STAMP_CHARACTERS + len(relevance) + 4 :], rest[:STAMP_CHARACTERS]]


def _reflection_parts(line: str) -> list[str]:
    key, _, content = line[1:].partition("] ")
    return [key, content]


def page_values(page: Page) -> tuple[dict[str, Any], str]:
    """A page as JSON values and its lines as one text, which loads quickest."""
    body: dict[str, Any] = {name: getattr(page, name) for name in _PLAIN}
    body["digests"] = [[*held_digest_row(held), *rest] for held, *rest in page.digests]
    return body, "\n".join([*page.observations, *page.reflections])


def page_from(body: Mapping[str, Any], text: str) -> Page:
    """The page of such values and lines."""
    page = Page(**{name: body[name] for name in _PLAIN})
    lines = text.split("\n") if text else []
    page.observations, page.reflections = lines[: len(page.keys)], lines[len(page.keys) :]
    page.digests = [PageDigest(held_digest(row[:5]), *row[5:]) for row in body["digests"]]
    page.citing = _by_row(page.citing)
    page.odd, page.odd_reflections = _by_row(page.odd), _by_row(page.odd_reflections)
    return page


_SHAPED = ("observations", "reflections", "digests")
_PLAIN = [each.name for each in fields(Page) if each.name not in _SHAPED]


def _by_row(body: Mapping[Any, T]) -> dict[int, T]:
    return {int(row): value for row, value in body.items()}


def stone_of(tomb: Tomb) -> Tombstone:
    """The tombstone of a row, without whose it is."""
    _, waits_from, immediate_from, immediate_covers, order = tomb
    return Tombstone(
        waits_from=waits_from, immediate_from=immediate_from, immediate_covers=immediate_covers, order=order
    )


def _tomb(row: int, stone: Tombstone) -> Tomb:
    return [row, stone.waits_from, stone.immediate_from, stone.immediate_covers, stone.order]


def held_digest_row(held: HeldDigest) -> list[Any]:
    """A digest as JSON values."""
    return [held.content, held.through, held.tokens, held.order, held.imported]


def held_digest(row: Sequence[Any]) -> HeldDigest:
    """The digest of such values."""
    content, through, tokens, order, imported = row
    return HeldDigest(content=content, through=through, tokens=tokens, order=order, imported=imported)
