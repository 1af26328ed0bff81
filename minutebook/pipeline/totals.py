"""The numbers of a memory: what the clocks compare and what a status shows, so that neither has to fold. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from minutebook.pipeline import ledger
from minutebook.pipeline.folding import BeyondCheckpoint, Gap, HeldDigest, Memory
from minutebook.pipeline.pages import Page, held_digest, held_digest_row
from minutebook.pipeline.projection import UNLIMITED, valid_digests


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Counts are of records, tokens of their rendered lines.

    active, current: neither dropped nor retired. retired: ids taken back, recorded or not. digests: the usable ones at
    the tip, the one that wins first, each with the tokens of the reflections after it; left_out_digests: how many more.
    visible …: of the last confirmed compaction; removed, reflections_removed: of those, dropped or retired since.
    recorded_at: seconds of the latest entry's time.
    """

    observations: int = 0
    active: int = 0
    pool_tokens: int = 0
    reflections: int = 0
    current: int = 0
    current_tokens: int = 0
    reflection_tokens: int = 0
    retired: int = 0
    digests_recorded: int = 0
    digests: Sequence[tuple[HeldDigest, int]] = ()
    left_out_digests: int = 0
    observed: int = 0
    reflected: int = 0
    dropped_through: int = 0
    malformed: int = 0
    compacted: bool = False
    visible: int = 0
    visible_tokens: int = 0
    removed: int = 0
    reflections_visible: int = 0
    reflections_removed: int = 0
    minds: Mapping[str, int] = field(default_factory=dict)
    gaps: Sequence[Gap] = ()
    recorded_at: float = 0.0

    @property
    def added(self) -> int:
        """Active observations that the last confirmed compaction did not show."""
        return self.active - (self.visible - self.removed)

    @property
    def reflections_added(self) -> int:
        """Current reflections that it did not show."""
        return self.current - (self.reflections_visible - self.reflections_removed)

    def digest_within(self, limit_tokens: int) -> tuple[HeldDigest | None, int]:
        """The digest that a projection of the tip uses, and the tokens of the reflections after it.

        Raises BeyondCheckpoint.
        """
        found = next((row for row in self.digests if row[0].tokens <= limit_tokens), None)
        if found is None and self.left_out_digests:
            raise BeyondCheckpoint
        return found or (None, self.current_tokens)


def totals_of(memory: Memory, page: Page) -> Totals:
    """The numbers of a whole memory or of a reduced one, with its page: the same."""
    active = [held.record.tokens for key, held in memory.observations.items() if key not in memory.drops]
    current = [at for at, key in enumerate(memory.reflections) if key not in memory.retirements]
    shown = memory.shown
    return Totals(
        observations=memory.observations_recorded,
        active=len(active) + page.left_out,
        pool_tokens=sum(active) + page.left_out_tokens,
        reflections=memory.reflections_recorded,
        current=len(current) + page.left_out_reflections,
        current_tokens=_tokens_after(page, current, -1) + page.left_out_reflection_tokens,
        reflection_tokens=memory.reflection_tokens,
        retired=memory.retired,
        digests_recorded=memory.digests_recorded,
        digests=_digests(page, current),
        left_out_digests=memory.beyond.digests_at_tip,
        observed=memory.observed,
        reflected=memory.reflected,
        dropped_through=memory.dropped_through,
        malformed=memory.malformed,
        compacted=bool(memory.folds),
        visible=shown.observations,
        visible_tokens=shown.tokens,
        removed=shown.removed + len(shown.observation_ids & memory.drops.keys()),
        reflections_visible=shown.reflections,
        reflections_removed=shown.reflections_removed + len(shown.reflection_ids & memory.retirements.keys()),
        minds=dict(memory.minds),
        gaps=tuple(memory.open_gaps()),
        recorded_at=memory.recorded_at,
    )


def marks_of(totals: Totals) -> dict[str, int]:
    """The marks that the clocks compare."""
    digest, undigested = totals.digest_within(UNLIMITED)
    return {
        ledger.POOL_TOKENS: totals.pool_tokens,
        ledger.UNDIGESTED_TOKENS: undigested,
        ledger.DIGEST_TOKENS: digest.tokens if digest else 0,
        ledger.REFLECTIONS_RECORDED: totals.reflections,
        ledger.REFLECTIONS_RETIRED: totals.retired,
        ledger.DIGESTS_RECORDED: totals.digests_recorded,
        ledger.OBSERVER: totals.observed,
        ledger.REFLECTOR: totals.reflected,
    }


def totals_json(totals: Totals) -> dict[str, Any]:
    """Totals as JSON values."""
    body: dict[str, Any] = {name: getattr(totals, name) for name in _PLAIN}
    body["gaps"] = [asdict(gap) for gap in totals.gaps]
    body["digests"] = [[*held_digest_row(held), tokens] for held, tokens in totals.digests]
    return body


def totals_from(body: Mapping[str, Any]) -> Totals:
    """The totals of such values."""
    return Totals(
        **{name: body[name] for name in _PLAIN},
        gaps=tuple(Gap(**row) for row in body["gaps"]),
        digests=tuple((held_digest(row[:-1]), row[-1]) for row in body["digests"]),
    )


def _digests(page: Page, current: Sequence[int]) -> tuple[tuple[HeldDigest, int], ...]:
    valid = valid_digests(page, current)
    return tuple((each.held, _tokens_after(page, current, each.through) + each.beyond_tokens) for each in valid)


def _tokens_after(page: Page, rows: Sequence[int], through: int) -> int:
    return sum(page.reflection_tokens[row] for row in rows if row > through)


_PLAIN = [each.name for each in fields(Totals) if each.name not in ("gaps", "digests")]
