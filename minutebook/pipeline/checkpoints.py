"""A memory folded in advance, so that neither a compaction nor a commit nor a status has to fold it.

Three documents a branch, written in the transaction of every commit: the page from which a compaction renders, the
totals that a status shows, and the links that the next commit needs beside them. Each is of one length of the memory
stream, and answers for no other. All of it is a cache: tests hold it against the whole fold, and without it everything
is folded.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import chain, groupby, repeat
from typing import Any

from minutebook.pipeline.folding import (
    Beyond,
    Fold,
    HeldObservation,
    HeldReflection,
    Memory,
    Shown,
)
from minutebook.pipeline.pages import Page, order_in, page_from, page_of, page_values, stone_of
from minutebook.pipeline.reducing import reduced
from minutebook.pipeline.totals import Totals, totals_from, totals_json, totals_of
from minutebook.records import Branch, Reflection
from minutebook.store import codec
from minutebook.store.kernel import Put, Store

PAGES, TOTALS, LINKS = "checkpoint_pages", "checkpoint_totals", "checkpoint_links"
FOLD_VERSION = 3
"""Raised when folding or these shapes change: older documents are then not used."""
CHECKPOINT_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A reduced memory, its totals, and the writes that keep them; no writes when they would be too large."""

    memory: Memory
    totals: Totals
    puts: tuple[Put, ...]


def checkpoint_of(branch: Branch, memory: Memory, length: int) -> Checkpoint:
    """The checkpoint of a memory, whole or reduced before, at that length of the branch's own stream.

    Where nothing is settled yet and the memory is too large, what lies before the tip of coverage counts as settled;
    the checkpoint then answers only for boundaries from there on.
    """
    found = _checkpoint(branch, reduced(memory), length)
    return found if found.puts else _checkpoint(branch, reduced(memory, floor=memory.observed), length)


def read_page(store: Store, branch: Branch, length: int) -> Page | None:
    """The page at that length; None when there is none."""
    found = _stored(store, PAGES, branch, length)
    return None if found is None else page_from(*found)


def read_totals(store: Store, branch: Branch, length: int) -> Totals | None:
    """The totals at that length; None when there are none."""
    found = _stored(store, TOTALS, branch, length)
    return None if found is None else totals_from(found[0])


def read_reduced(store: Store, branch: Branch, length: int) -> Memory | None:
    """The reduced memory at that length, as new entries may be applied to it; None when there is none.

    Its records have no sources, and its tombstones do not say whose they are: recall reads those from the ledger.
    """
    page, totals = read_page(store, branch, length), read_totals(store, branch, length)
    links = _stored(store, LINKS, branch, length)
    if page is None or totals is None or links is None:
        return None
    return _memory(page, totals, links[0])


def forgotten(branch_key: str) -> list[Put]:
    """The writes that leave a branch without a checkpoint."""
    nothing = codec.text_to_store({"v": codec.VERSION, "fold": FOLD_VERSION, "length": -1}, "")
    return [Put(name, branch_key, nothing) for name in (PAGES, TOTALS, LINKS)]


def _stored(store: Store, collection: str, branch: Branch, length: int) -> tuple[dict[str, Any], str] | None:
    document = store.get(collection, branch.key)
    if document is None:
        return None
    body, text = codec.text_from_store(document.body)
    return (body, text) if (body.get("fold"), body.get("length")) == (FOLD_VERSION, length) else None


def _checkpoint(branch: Branch, memory: Memory, length: int) -> Checkpoint:
    page = page_of(memory)
    totals = totals_of(memory, page)
    bodies = {PAGES: page_values(page), TOTALS: (totals_json(totals), ""), LINKS: (_links(memory), "")}
    head = {"v": codec.VERSION, "fold": FOLD_VERSION, "length": length}
    puts = tuple(
        Put(name, branch.key, codec.text_to_store({**head, **body}, text)) for name, (body, text) in bodies.items()
    )
    fits = all(len(put.body.encode("utf-8", "surrogatepass")) <= CHECKPOINT_BYTES for put in puts)
    return Checkpoint(memory=memory, totals=totals, puts=puts if fits else ())


def _links(memory: Memory) -> dict[str, Any]:
    shown = memory.shown
    return {
        "order": memory.order,
        "reflectionsCovers": memory.last_reflections_covers,
        "spans": _runs((held.since, held.covers) for held in memory.observations.values()),
        "covers": _runs((held.covers,) for held in memory.reflections.values()),
        "supports": [list(held.record.support_ids) for held in memory.reflections.values()],
        "cited": dict(memory.beyond.cited),
        "lastFold": {**asdict(memory.folds[-1]), "ids": None} if memory.folds else None,
        "shown": [shown.observations, shown.tokens, shown.reflections, shown.removed, shown.reflections_removed],
        "shownObservations": _flags(memory.observations, shown.observation_ids),
        "shownReflections": _flags(memory.reflections, shown.reflection_ids),
    }


def _flags(keys: Iterable[str], chosen: frozenset[str]) -> str:
    return "".join("1" if key in chosen else "0" for key in keys)


def _flagged(keys: Iterable[str], flags: str) -> frozenset[str]:
    return frozenset(key for key, flag in zip(keys, flags, strict=True) if flag == "1")


def _memory(page: Page, totals: Totals, links: Mapping[str, Any]) -> Memory:
    observations, reflections = _observations(page, links), _reflections(page, links)
    names, conclusions = list(observations), list(reflections)
    return Memory(
        observations=observations,
        reflections=reflections,
        drops={names[tomb[0]]: stone_of(tomb) for tomb in page.drops},
        retirements={conclusions[tomb[0]]: stone_of(tomb) for tomb in page.retirements},
        digests=[digest.held for digest in page.digests],
        folds=[Fold(**links["lastFold"])] if links["lastFold"] else [],
        gaps=list(totals.gaps),
        observed=totals.observed,
        reflected=totals.reflected,
        dropped_through=totals.dropped_through,
        last_reflections_covers=links["reflectionsCovers"],
        malformed=totals.malformed,
        order=links["order"],
        observations_recorded=totals.observations,
        reflections_recorded=totals.reflections,
        reflection_tokens=totals.reflection_tokens,
        digests_recorded=totals.digests_recorded,
        retired=totals.retired,
        minds=dict(totals.minds),
        recorded_at=totals.recorded_at,
        beyond=_beyond(page, totals, links["cited"]),
        shown=_shown(links, names, conclusions),
    )


def _observations(page: Page, links: Mapping[str, Any]) -> dict[str, HeldObservation]:
    found = {}
    for row, (since, covers) in enumerate(_each(links["spans"])):
        record = page.observation(row)
        found[record.id] = HeldObservation(record=record, since=since, covers=covers, order=order_in(page.keys[row]))
    return found


def _reflections(page: Page, links: Mapping[str, Any]) -> dict[str, HeldReflection]:
    found = {}
    for row, ((covers,), supports) in enumerate(zip(_each(links["covers"]), links["supports"], strict=True)):
        said = page.reflection(row)
        record = Reflection(id=said.id, content=said.content, support_ids=tuple(supports), tokens=said.tokens)
        found[record.id] = HeldReflection(record=record, covers=covers, order=page.orders[row])
    return found


def _runs(rows: Iterable[tuple[int, ...]]) -> list[list[int]]:
    """Rows that follow each other and are equal, once, with how many they are."""
    return [[*row, sum(1 for _ in equal)] for row, equal in groupby(rows)]


def _each(runs: Iterable[list[int]]) -> Iterator[list[int]]:
    return chain.from_iterable(repeat(row, count) for *row, count in runs)


def _beyond(page: Page, totals: Totals, cited: Mapping[str, int]) -> Beyond:
    return Beyond(
        floor=page.floor,
        observations=page.left_out,
        tokens=page.left_out_tokens,
        best=page.best,
        reflections=page.left_out_reflections,
        reflection_tokens=page.left_out_reflection_tokens,
        newest=page.newest,
        after={digest.held.order: (digest.beyond, digest.beyond_tokens) for digest in page.digests},
        digests=page.left_out_digests,
        digests_at_tip=totals.left_out_digests,
        cited=cited,
    )


def _shown(links: Mapping[str, Any], names: list[str], conclusions: list[str]) -> Shown:
    observations, tokens, reflections, removed, reflections_removed = links["shown"]
    return Shown(
        observations=observations,
        tokens=tokens,
        reflections=reflections,
        removed=removed,
        reflections_removed=reflections_removed,
        observation_ids=_flagged(names, links["shownObservations"]),
        reflection_ids=_flagged(conclusions, links["shownReflections"]),
    )
