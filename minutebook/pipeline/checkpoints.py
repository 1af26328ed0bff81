"""A memory folded in advance, so that a compaction does not have to: only what a rendering may show.

Written in the transaction of every commit, from the whole fold that the commit makes anyway. It answers for every
boundary at or after `floor` (the last confirmed compaction's), because what is settled there stays so: drops that hold
by then are gone from it, and of the observations and reflections that every later boundary shows, the least ones are
left out and only counted. Where those might have had their turn after all, rendering raises BeyondCheckpoint, and the
whole memory is folded. A cache: a test holds it against the whole fold.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from minutebook.pipeline.folding import (
    Beyond,
    Fold,
    HeldDigest,
    HeldObservation,
    HeldReflection,
    Memory,
    Tombstone,
)
from minutebook.pipeline.projection import may_tell
from minutebook.pipeline.rendering import keep_key
from minutebook.records import Branch, Observation, Reflection, tier_of_citations
from minutebook.store import codec
from minutebook.store.kernel import Put, Store

CHECKPOINTS = "checkpoints"
FOLD_VERSION = 1
"""Raised when folding or this shape changes: an older checkpoint is then not used."""
CHECKPOINT_BYTES = 256 * 1024
ROW_BYTES = 228 * 1024
"""Rows of both kinds: more than compaction_max_tokens can show at its default."""
REFLECTION_BYTES = 80 * 1024
"""Of these, rows of reflections: more than reflection_context_max_tokens can show at its default."""
DIGESTS_KEPT = 3


def checkpoint_put(branch: Branch, memory: Memory, length: int) -> Put | None:
    """The write of a branch's checkpoint at that length of its memory stream; None when it would be too large."""
    body = codec.to_json({"v": codec.VERSION, "fold": FOLD_VERSION, "length": length, **_reduced(memory)})
    return Put(CHECKPOINTS, branch.key, body) if len(body) <= CHECKPOINT_BYTES else None


def read_checkpoint(store: Store, branch: Branch, length: int, boundary: int) -> Memory | None:
    """The memory at that length, as far as boundaries from this one on need it; None when no checkpoint says."""
    document = store.get(CHECKPOINTS, branch.key)
    if document is None:
        return None
    body = codec.from_json(document.body)
    if body["fold"] != FOLD_VERSION or body["length"] != length or boundary < body["floor"]:
        return None
    return _memory(body)


def _reduced(memory: Memory) -> dict[str, Any]:
    floor = memory.folds[-1].boundary if memory.folds else 0
    reference = memory.folds[-1].reference if memory.folds else None
    place = {key: at for at, key in enumerate(memory.reflections)}
    digests = _usable(memory, floor, place)
    reflections, older = _newest(memory, floor, {digest.through for digest in digests[:DIGESTS_KEPT]})
    room = ROW_BYTES - sum(_bytes(_reflection_row(held)) for held in reflections)
    observations, beyond = _served(memory, floor, reference, room)
    ids = {held.record.id for held in observations}
    kept = [held.record.id for held in reflections]
    return {
        "floor": floor,
        "reference": reference,
        "observed": memory.observed,
        "observations": [_observation_row(held) for held in observations],
        "drops": {key: _tomb_row(memory.drops[key]) for key in ids if key in memory.drops},
        "reflections": [_reflection_row(held) for held in reflections],
        "retirements": {key: _tomb_row(memory.retirements[key]) for key in kept if key in memory.retirements},
        "digests": [_digest_row(digest) for digest in digests[:DIGESTS_KEPT]],
        "beyond": {
            **beyond,
            "reflections": len(older),
            "newest": max((held.order for held in older), default=-1),
            "after": [
                [digest.order, sum(place[held.record.id] > place[digest.through] for held in older)]
                for digest in digests[:DIGESTS_KEPT]
            ],
            "digests": len(digests[DIGESTS_KEPT:]),
            "cited": {key: count for key, count in _citations(older).items() if key in ids},
        },
    }


def _usable(memory: Memory, floor: int, place: Mapping[str, int]) -> list[HeldDigest]:
    """The digests that some later boundary may use, the one that wins first."""
    retired = [held for key, held in memory.reflections.items() if _gone(memory.retirements.get(key), floor, None)]
    valid = [
        digest
        for digest in memory.digests
        if digest.through in place and not any(may_tell(memory, digest, held, place) for held in retired)
    ]
    return sorted(valid, key=lambda digest: (place[digest.through], not digest.imported, digest.order), reverse=True)


def _gone(tomb: Tombstone | None, floor: int, reference: int | None) -> bool:
    """Dropped before every boundary from the floor on."""
    if tomb is None:
        return False
    return tomb.at_once(floor) or tomb.after_fold(None if reference is None else min(reference, floor))


def _served(
    memory: Memory, floor: int, reference: int | None, room: int
) -> tuple[list[HeldObservation], dict[str, Any]]:
    """What to keep, in its order, and what is left out: settled ones that come last whatever is recorded later."""
    held = [each for key, each in memory.observations.items() if not _gone(memory.drops.get(key), floor, reference)]
    fewest = _citations(each for each in memory.current() if each.covers <= floor)
    settled = [each for each in held if each.record.id not in memory.drops and _is_before(each, floor)]
    keys = [keep_key(each, tier_of_citations(fewest[each.record.id])) for each in settled]
    left, free = [], room
    for key, at in sorted(zip(keys, range(len(settled)), strict=True), reverse=True):
        free -= _bytes(_observation_row(settled[at]))
        if free < 0:
            left.append((key, settled[at].record))
    gone = {record.id for _, record in left}
    beyond = {
        "observations": len(left),
        "tokens": sum(record.tokens for _, record in left),
        "best": list(max((key for key, _ in left), default=(-1, -1, -1))),
    }
    return [each for each in held if each.record.id not in gone], beyond


def _newest(memory: Memory, floor: int, watermarks: set[str]) -> tuple[list[HeldReflection], list[HeldReflection]]:
    """The reflections to keep, in their order, and the oldest settled ones, which are left out."""
    held = [each for key, each in memory.reflections.items() if not _gone(memory.retirements.get(key), floor, None)]
    start, free = len(held), REFLECTION_BYTES
    while start and (free := free - _bytes(_reflection_row(held[start - 1]))) >= 0:
        start -= 1

    def stays(each: HeldReflection) -> bool:
        return each.record.id in watermarks or each.record.id in memory.retirements or each.covers > floor

    older = [each for each in held[:start] if not stays(each)]
    return [each for each in held[:start] if stays(each)] + held[start:], older


def _citations(reflections: Iterable[HeldReflection]) -> Counter[str]:
    return Counter(key for held in reflections for key in set(held.record.support_ids))


def _is_before(held: HeldObservation, floor: int) -> bool:
    return held.since < floor or held.covers <= floor


def _bytes(row: list[Any]) -> int:
    return len(codec.to_json(row)) + 1


def _observation_row(held: HeldObservation) -> list[Any]:
    record = held.record
    said = [record.id, record.content, record.timestamp, record.relevance, record.tokens]
    return [*said, held.since, held.covers, held.order]


def _reflection_row(held: HeldReflection) -> list[Any]:
    record = held.record
    return [record.id, record.content, list(record.support_ids), record.tokens, held.covers, held.order]


def _digest_row(digest: HeldDigest) -> list[Any]:
    return [digest.content, digest.through, digest.tokens, digest.order, digest.imported]


def _tomb_row(tomb: Tombstone) -> list[int | None]:
    return [tomb.waits_from, tomb.immediate_from, tomb.immediate_covers, tomb.order]


def _memory(body: Mapping[str, Any]) -> Memory:
    """The memory of a checkpoint. Its records have no sources: recall reads those from the ledger."""
    memory = Memory(observed=body["observed"])
    for key, content, stamp, relevance, tokens, since, covers, order in body["observations"]:
        record = Observation(
            id=key, content=content, timestamp=stamp, relevance=relevance, source_ids=(), tokens=tokens
        )
        memory.observations[key] = HeldObservation(record=record, since=since, covers=covers, order=order)
    for key, content, supports, tokens, covers, order in body["reflections"]:
        reflection = Reflection(id=key, content=content, support_ids=tuple(supports), tokens=tokens)
        memory.reflections[key] = HeldReflection(record=reflection, covers=covers, order=order)
    memory.drops = {key: _tomb(row) for key, row in body["drops"].items()}
    memory.retirements = {key: _tomb(row) for key, row in body["retirements"].items()}
    memory.digests = [
        HeldDigest(content=content, through=through, tokens=tokens, order=order, imported=imported)
        for content, through, tokens, order, imported in body["digests"]
    ]
    memory.folds = [Fold(boundary=body["floor"], full_fold=False, reference=body["reference"], branch="", length=0)]
    memory.beyond = _beyond(body["beyond"])
    return memory


def _beyond(row: Mapping[str, Any]) -> Beyond:
    relevance, coverage, order = row["best"]
    return Beyond(
        observations=row["observations"],
        tokens=row["tokens"],
        best=(relevance, coverage, order),
        reflections=row["reflections"],
        newest=row["newest"],
        after=dict(row["after"]),
        digests=row["digests"],
        cited=row["cited"],
    )


def _tomb(row: list[Any]) -> Tombstone:
    waits_from, immediate_from, immediate_covers, order = row
    return Tombstone(
        waits_from=waits_from, immediate_from=immediate_from, immediate_covers=immediate_covers, order=order
    )
