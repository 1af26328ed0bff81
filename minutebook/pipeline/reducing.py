"""A memory -> what of it a later rendering may still show. Pure.

What is settled at the floor (the last confirmed compaction's boundary) stays so at every boundary after it: drops that
hold by then are gone for good, and of the observations and reflections that every later boundary shows, the least ones
are left out and only counted. Where those might have had their turn after all, BeyondCheckpoint is raised, and the
whole memory is folded. New entries may be applied to a reduced memory as to a whole one, as far as `may_apply` says.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from minutebook.pipeline.folding import (
    NOTHING_SHOWN,
    Beyond,
    HeldDigest,
    HeldObservation,
    HeldReflection,
    Memory,
    Shown,
    Tombstone,
)
from minutebook.pipeline.pages import certain_reflections, citations, keep_key
from minutebook.pipeline.projection import Projection
from minutebook.records import (
    DIGEST,
    FOLD,
    RELEVANCES,
    RETIREMENTS,
    MemoryEntry,
    Observation,
    Reflection,
)

ROW_BYTES = 224 * 1024
"""Digests and rows of both kinds. A rendering shows at most compaction_max_tokens: 128,000 bytes at its default."""
REFLECTION_BYTES = 108 * 1024
"""Of these, rows of reflections: without a digest they may fill what few observations leave of a rendering."""
OBSERVATION_OVERHEAD_BYTES, REFLECTION_OVERHEAD_BYTES = 62, 28
"""What a row takes in a page beside its content: its id, time, relevance and numbers."""
DIGESTS_KEPT = 2
SERVED_BYTES = 48 * 1024
"""Rows of reflections that are served before the observations: a little over reflection_context_max_tokens."""
THIN_BYTES = 150 * 1024
"""Observations, and reflections served before them, under which a rendering might come to what was left out."""


def reduced(memory: Memory, *, floor: int | None = None) -> Memory:
    """The memory without what no boundary from the floor on shows, and without the least of what all of them show.

    floor: a later one than the last confirmed compaction's, for a memory that is too large otherwise.
    """
    settled = max(memory.beyond.floor, memory.folds[-1].boundary if memory.folds else 0, floor or 0)
    return _Reduction(memory, settled).result()


def is_thin(memory: Memory) -> bool:
    """Whether a reduced memory left observations out that may soon have their turn: better to fold it again."""
    served = min(SERVED_BYTES, sum(map(_reflection_bytes, memory.reflections.values())))
    observations = sum(map(_observation_bytes, memory.observations.values()))
    return bool(memory.beyond.observations) and observations + served < THIN_BYTES


def shown_of(memory: Memory, visible: Projection) -> Shown:
    """What a compaction showed, as the memory at hand has it."""
    observations = frozenset(record.id for record in visible.observation_records())
    reflections = frozenset(record.id for record in visible.reflection_records())
    return Shown(
        observations=len(observations) + visible.page.left_out,
        tokens=visible.pool_tokens,
        reflections=len(reflections) + visible.page.left_out_reflections,
        observation_ids=observations & memory.observations.keys(),
        reflection_ids=reflections & memory.reflections.keys(),
    )


def mentions(entry: MemoryEntry) -> tuple[set[str], set[str]]:
    """What an entry records or takes back, and what its reflections cite, as o:ID of observations, r:ID of reflections.

    Malformed rows may add some.
    """
    data = entry.data
    observations, reflections = _rows(data.get("observations")), _rows(data.get("reflections"))
    named = {f"o:{key}" for key in _texts([row.get("id") for row in observations]) | _texts(data.get("observationIds"))}
    named |= {f"r:{key}" for key in _texts([row.get("id") for row in reflections]) | _texts(data.get("reflectionIds"))}
    cited = {f"o:{key}" for row in reflections for key in _texts(row.get("supportingObservationIds"))}
    return named, cited


def holds(memory: Memory, mention: str) -> bool:
    """Whether the memory has the record that is mentioned."""
    kind, key = mention[:2], mention[2:]
    return key in (memory.observations if kind == "o:" else memory.reflections)


def may_apply(memory: Memory, entries: Sequence[MemoryEntry], known: Collection[str], length: int) -> bool:
    """Whether applying the entries to this reduced memory gives what the whole memory with them would.

    known: which of the ids that the entries name were named before. length: of the branch's own stream, so far.
    """
    if not all(holds(memory, mention) for mention in known):
        return False
    return all(_is_plain(memory, entry, alone=len(entries) == 1, length=length) for entry in entries)


def _is_plain(memory: Memory, entry: MemoryEntry, *, alone: bool, length: int) -> bool:
    if entry.kind == RETIREMENTS:
        return not memory.beyond.observations  # with fewer citations one left out might be worth more than one kept
    if entry.kind == DIGEST:
        held = memory.reflections.get(str(entry.data.get("coversThroughReflectionId")))
        return held is not None and held.order > memory.beyond.newest
    if entry.kind == FOLD:
        return alone and entry.data.get("length") == length and "ids" not in entry.data
    return True


class _Reduction:
    """One run of `reduced`: the parts of its result in the order in which they hang on each other."""

    def __init__(self, memory: Memory, floor: int) -> None:
        self.memory = memory
        self.floor = floor
        self.reference = memory.folds[-1].reference if memory.folds else None

    def result(self) -> Memory:
        """A new memory; the one given stays as it is."""
        memory, old = self.memory, self.memory.beyond
        digests, lost, lost_at_tip = self._digests()
        reflections, older = self._reflections(digests)
        taken = [*map(_reflection_bytes, reflections.values()), *(_text_bytes(digest) for digest in digests)]
        observations, least = self._observations(ROW_BYTES - sum(taken))
        cited = citations(older, old.cited)
        return replace(
            memory,
            observations=observations,
            reflections=reflections,
            drops={key: tomb for key, tomb in memory.drops.items() if key in observations},
            retirements={key: tomb for key, tomb in memory.retirements.items() if key in reflections},
            digests=digests,
            folds=memory.folds[-1:],
            gaps=memory.open_gaps(),
            filled=set(),
            beyond=Beyond(
                floor=self.floor,
                observations=old.observations + len(least),
                tokens=old.tokens + sum(held.record.tokens for _, held in least),
                best=max([old.best, *(key for key, _ in least)]),
                reflections=old.reflections + len(older),
                reflection_tokens=old.reflection_tokens + sum(held.record.tokens for held in older),
                newest=max([old.newest, *(held.order for held in older)]),
                after=self._after(digests, older),
                digests=old.digests + lost,
                digests_at_tip=old.digests_at_tip + lost_at_tip,
                cited={key: count for key, count in cited.items() if key in observations},
            ),
            shown=_shown_less(memory, observations, reflections),
        )

    def _digests(self) -> tuple[list[HeldDigest], int, int]:
        """The digests to keep, the one that wins first; how many more some later boundary, and the tip, may use."""
        memory, place = self.memory, {key: at for at, key in enumerate(self.memory.reflections)}

        def usable(digest: HeldDigest, retired: Collection[str]) -> bool:
            through = memory.reflections.get(digest.through)
            if through is None or digest.through in retired or through.order >= digest.order:
                return False
            told = (key for key in retired if key in place and place[key] <= place[digest.through])
            return all(memory.retirements[key].order <= digest.order for key in told)

        settled = [key for key in memory.retirements if self._retired(key)]
        valid = [digest for digest in memory.digests if usable(digest, settled)]
        valid.sort(key=lambda digest: (place[digest.through], not digest.imported, digest.order), reverse=True)
        at_tip = [digest for digest in valid if usable(digest, memory.retirements.keys())]
        kept = [each for at, each in enumerate(valid) if at < DIGESTS_KEPT or each in at_tip[:1]]
        return kept, len(valid) - len(kept), sum(each not in kept for each in at_tip)

    def _reflections(self, digests: Sequence[HeldDigest]) -> tuple[dict[str, HeldReflection], list[HeldReflection]]:
        """The reflections to keep, in their order, and the oldest settled ones, which are left out.

        A digest that every later boundary shows tells the older ones: then only what comes after it may be served.
        """
        memory, watermarks = self.memory, {digest.through for digest in digests}
        held = [each for key, each in memory.reflections.items() if not self._retired(key)]
        told = any(memory.reflections[key].covers <= self.floor for key in watermarks)
        start, free = len(held), SERVED_BYTES if told else REFLECTION_BYTES
        while start and (free := free - _reflection_bytes(held[start - 1])) >= 0:
            start -= 1

        def stays(each: HeldReflection) -> bool:
            return each.record.id in watermarks or each.record.id in memory.retirements or each.covers > self.floor

        older = [each for each in held[:start] if not stays(each)]
        kept = [each for each in held[:start] if stays(each)] + held[start:]
        return {each.record.id: each for each in kept}, older

    def _observations(self, room: int) -> tuple[dict[str, HeldObservation], list[tuple[int, HeldObservation]]]:
        """What to keep, in its order, and what is left out: settled ones that come last whatever is recorded later."""
        memory = self.memory
        held = {key: each for key, each in memory.observations.items() if not self._dropped(key)}
        fewest = citations(certain_reflections(memory, self.floor), memory.beyond.cited)
        settled = [
            (keep_key(RELEVANCES.index(each.record.relevance), fewest[key], each.order), at, each)
            for at, (key, each) in enumerate(held.items())
            if key not in memory.drops and self._is_before(each)
        ]
        free, least = room, []
        for key, _, each in sorted(settled, key=lambda row: row[:2], reverse=True):
            free -= _observation_bytes(each)
            if free < 0:
                least.append((key, each))
        gone = {each.record.id for _, each in least}
        return {key: each for key, each in held.items() if key not in gone}, least

    def _after(self, digests: Iterable[HeldDigest], older: Sequence[HeldReflection]) -> dict[int, tuple[int, int]]:
        """Of the reflections left out, how many lie after each digest's watermark, and their tokens."""
        place = {key: at for at, key in enumerate(self.memory.reflections)}
        found = {}
        for digest in digests:
            later = [held.record.tokens for held in older if place[held.record.id] > place[digest.through]]
            count, tokens = self.memory.beyond.after.get(digest.order, (0, 0))
            found[digest.order] = (count + len(later), tokens + sum(later))
        return found

    def _dropped(self, key: str) -> bool:
        tomb: Tombstone | None = self.memory.drops.get(key)
        limit = None if self.reference is None else min(self.reference, self.floor)
        return tomb is not None and (tomb.at_once(self.floor) or tomb.after_fold(limit))

    def _retired(self, key: str) -> bool:
        tomb = self.memory.retirements.get(key)
        return tomb is not None and tomb.at_once(self.floor)

    def _is_before(self, held: HeldObservation) -> bool:
        return held.since < self.floor or held.covers <= self.floor


def _shown_less(
    memory: Memory, observations: Mapping[str, HeldObservation], reflections: Mapping[str, HeldReflection]
) -> Shown:
    """The same when of the memory only these are at hand."""
    shown = memory.shown
    if shown == NOTHING_SHOWN:
        return shown
    return replace(
        shown,
        removed=shown.removed + len((shown.observation_ids - observations.keys()) & memory.drops.keys()),
        reflections_removed=shown.reflections_removed
        + len((shown.reflection_ids - reflections.keys()) & memory.retirements.keys()),
        observation_ids=shown.observation_ids & observations.keys(),
        reflection_ids=shown.reflection_ids & reflections.keys(),
    )


def _observation_bytes(held: HeldObservation) -> int:
    return OBSERVATION_OVERHEAD_BYTES + _text_bytes(held.record)


def _reflection_bytes(held: HeldReflection) -> int:
    return REFLECTION_OVERHEAD_BYTES + _text_bytes(held.record)


def _text_bytes(record: Observation | Reflection | HeldDigest) -> int:
    text = record.content
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _rows(value: object) -> list[Mapping[str, object]]:
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []


def _texts(value: object) -> set[str]:
    return {each for each in value if isinstance(each, str) and each} if isinstance(value, list) else set()
