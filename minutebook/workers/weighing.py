"""Active observations with their tiers, as reflector and dropper weigh them. Pure."""

from minutebook.pipeline.folding import Memory
from minutebook.tokens import estimate_tokens
from minutebook.workers.contract import Weighed
from minutebook.workers.showing import weighed_line

REQUEST_TOKENS = 60_000
"""How much memory one request carries when the model's window is not known."""
RESERVE_TOKENS = 8_000


def request_tokens(window: int | None) -> int:
    """Half of the model's window, the rest being for prompt and answer; 60,000 when it is not known.

    A small one leaves more of it: lines of ids, times and paths can take twice the tokens that we estimate.
    """
    if window is None or window <= 0:
        return REQUEST_TOKENS
    return max(1, window // 4, window // 2 - RESERVE_TOKENS)


def weigh(memory: Memory) -> tuple[Weighed, ...]:
    """The active observations in ledger order; the tier is computed here and by nobody else (003-021)."""
    tier = memory.tiers()
    return tuple(Weighed(observation=held.record, tier=tier(held.record.id)) for held in memory.active())


def weighed_cost(weighed: Weighed) -> int:
    """Tokens of its line, tier and line break included."""
    return estimate_tokens(weighed_line(weighed) + "\n")
