"""Which roles are due, and whether a compaction is: the only place where a threshold is compared. Pure."""

from dataclasses import dataclass

from minutebook.pipeline.projection import digest_budget
from minutebook.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchState:
    """One branch as the clocks see it. Tokens are estimates; factor is what provider usage taught (0.5 … 3).

    observed, reflected: coverages. pool_tokens: active observations, rendered. undigested_tokens: reflections after the
    digest. reflections_recorded: how many ever; dropper_read, digester_read: how many of them that role has read.
    idle_seconds: since the last entry. compacted_from_tokens: tokens from the last compaction's first kept entry on
    (from the first entry without one); since_compaction_tokens: appended since that compaction.
    elsewhere: its memory is made on a box, or is still to come from the machine that made it so far.
    """

    unobserved_tokens: int = 0
    unreflected_tokens: int = 0
    factor: float = 1.0
    observed: int = 0
    reflected: int = 0
    pool_tokens: int = 0
    undigested_tokens: int = 0
    digest_tokens: int = 0
    digest_budget: int = 0
    reflections_recorded: int = 0
    dropper_read: int = 0
    digester_read: int = 0
    ended: bool = False
    idle_seconds: float = 0.0
    subagent: bool = False
    compacted_from_tokens: int = 0
    since_compaction_tokens: int = 0
    compacted: bool = False
    elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """A clock: what it shows, and the threshold that it is compared with."""

    tokens: int
    threshold: int

    @property
    def reached(self) -> bool:
        """At the threshold counts as reached."""
        return self.tokens >= self.threshold


def observe_reading(state: BranchState, settings: Settings) -> Reading:
    """Tokens of sources after the observation coverage, by the learned factor (003-049, 003-054)."""
    return Reading(round(state.unobserved_tokens * state.factor), settings.observe_after_tokens)


def reflect_reading(state: BranchState, settings: Settings) -> Reading:
    """Tokens of sources after the reflection coverage, by the learned factor (003-051, 003-054)."""
    return Reading(round(state.unreflected_tokens * state.factor), settings.reflect_after_tokens)


def compact_reading(state: BranchState, settings: Settings, window: int | None = None) -> Reading:
    """The pure estimate from the last compaction's first kept entry on (003-057), by mode (003-058, 003-059)."""
    threshold = settings.compact_after_tokens
    if settings.compact_after_tokens_mode == "ratio" and window is not None and window > 0:
        threshold = max(1, int(window * settings.compact_after_tokens_ratio))
    return Reading(state.compacted_from_tokens, threshold)


def compaction_due(state: BranchState, settings: Settings, window: int | None = None) -> bool:
    """Whether a host that can be asked should compact.

    Where the kept entries alone reach the threshold, not before observe_after_tokens of new sources (003-063).
    """
    reading = compact_reading(state, settings, window)
    if settings.passive or not reading.reached:
        return False
    kept = state.compacted_from_tokens - state.since_compaction_tokens
    enough_by_itself = state.compacted and kept >= reading.threshold
    return not enough_by_itself or state.since_compaction_tokens >= settings.observe_after_tokens


def due_roles(state: BranchState, settings: Settings) -> dict[str, str]:
    """Role → why it is due; empty in passive mode (003-139) and for sub-agents that are not to be observed.

    Empty, too, for a branch whose memory is made elsewhere.
    """
    if settings.passive or (state.subagent and not settings.observe_subagents):
        return {}
    if state.elsewhere:
        return {}
    reasons = {
        "observer": _observer(state, settings),
        "reflector": _reflector(state, settings),
        "digester": _digester(state, settings),
        "dropper": _dropper(state, settings),
    }
    return {role: reason for role, reason in reasons.items() if reason}


def _observer(state: BranchState, settings: Settings) -> str:
    reading = observe_reading(state, settings)
    if reading.reached:
        return f"{reading.tokens:,} unobserved tokens ≥ {reading.threshold:,}"
    quiet = state.ended or state.idle_seconds >= settings.flush_idle_seconds
    if quiet and reading.tokens >= settings.flush_min_tokens:
        return f"session {'ended' if state.ended else 'idle'} with {reading.tokens} unobserved tokens"
    return ""


def _reflector(state: BranchState, settings: Settings) -> str:
    reading = reflect_reading(state, settings)
    if reading.reached and state.observed > state.reflected and state.pool_tokens > 0:
        return f"{reading.tokens:,} unreflected tokens ≥ {reading.threshold:,}"
    return ""


def _digester(state: BranchState, settings: Settings) -> str:
    budget = digest_budget(settings.reflection_context_max_tokens)
    unread = state.reflections_recorded > state.digester_read
    if unread and state.undigested_tokens > budget.high_water:
        return f"{state.undigested_tokens:,} undigested tokens > {budget.high_water:,}"
    lowered = state.digest_budget != settings.reflection_context_max_tokens
    if state.digest_tokens > budget.digest and (unread or lowered):
        return f"digest of {state.digest_tokens:,} tokens > {budget.digest:,}"
    return ""


def _dropper(state: BranchState, settings: Settings) -> str:
    target = settings.observations_pool_target_tokens
    if state.pool_tokens > target and state.reflections_recorded > state.dropper_read:
        return f"pool of {state.pool_tokens:,} tokens > {target:,}"
    return ""
