"""Which observations may leave active memory: what reflections carry, then what is replaced, then the routine."""

from collections.abc import Sequence

from minutebook.records import RELEVANCES, Tier, observation_line
from minutebook.tokens import estimate_tokens
from minutebook.workers.contract import Desk, DropBatch, Weighed
from minutebook.workers.extractive.corrections import Claim, claim_of, replaced

TIER_RANKS: dict[Tier, int] = {"strong": 0, "partial": 1, "none": 2}
REASONS: dict[Tier, str] = {"strong": "two or more reflections cite it", "partial": "a reflection cites it"}
_BINDING = frozenset(("constraint", "correction", "preference", "identity", "finished", "decision", "declined", "fact"))


def drop(batch: DropBatch, desk: Desk) -> None:
    """Propose drops until the pool reaches its target, at most max_drops; nothing when none is safe."""
    chosen = drops_of(batch)
    if chosen:
        desk.record([{"id": weighed.observation.id, "reason": reason} for weighed, reason in chosen])
    else:
        desk.nothing()


def drops_of(batch: DropBatch) -> list[tuple[Weighed, str]]:
    """The chosen observations with a reason each, first to go first."""
    replaced_ids = _replaced_or_repeated(batch.observations)
    safe = [
        (_order(weighed, at, replaced_ids), weighed)
        for at, weighed in enumerate(batch.observations)
        if _is_safe(weighed, at, replaced_ids)
    ]
    over = batch.pool_tokens - batch.target_tokens
    chosen: list[tuple[Weighed, str]] = []
    for _, weighed in sorted(safe, key=lambda pair: pair[0]):
        if len(chosen) >= batch.max_drops or over <= 0:
            break
        chosen.append((weighed, _reason(weighed, replaced_ids)))
        over -= weighed.observation.tokens or estimate_tokens(observation_line(weighed.observation))
    return chosen


def _order(weighed: Weighed, at: int, replaced_ids: set[str]) -> tuple[int, int, int, int]:
    """Coverage, replaced before standing, low before critical, old before new."""
    relevance = RELEVANCES.index(weighed.observation.relevance)
    return TIER_RANKS[weighed.tier], 0 if weighed.observation.id in replaced_ids else 1, relevance, at


def _is_safe(weighed: Weighed, at: int, replaced_ids: set[str]) -> bool:
    """Keeping is the default: an uncovered rule, correction, decision or critical record stays, whatever the pool."""
    if weighed.tier != "none" or weighed.observation.id in replaced_ids:
        return True
    if weighed.observation.relevance in ("high", "critical"):
        return False
    found = claim_of(weighed.observation, at)
    return found is None or found.kind not in _BINDING


def _reason(weighed: Weighed, replaced_ids: set[str]) -> str:
    if weighed.observation.id in replaced_ids:
        return "replaced by a later statement"
    return REASONS.get(weighed.tier, "routine, and not cited")


def _replaced_or_repeated(observations: Sequence[Weighed]) -> set[str]:
    """Ids of observations that a later correction replaces, or that a later one repeats word for word."""
    gone: set[str] = set()
    claims: list[Claim] = []
    last: dict[str, str] = {}
    for at, weighed in enumerate(observations):
        observation = weighed.observation
        if earlier := last.get(observation.content):
            gone.add(earlier)
        last[observation.content] = observation.id
        found = claim_of(observation, at)
        if found and found.kind == "correction":
            gone.update(one.id for one in replaced(found.text, claims))
        if found:
            claims.append(found)
    return gone
