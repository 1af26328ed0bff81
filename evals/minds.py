"""The mind that is examined: the extractive one, or a model through the same tool loop that a worker uses."""

from dataclasses import dataclass

from evals.running import MindFor
from minutebook.records import Branch
from minutebook.workers.contract import Mind
from minutebook.workers.extractive import ExtractiveMind


@dataclass
class Bill:
    """What the run used, as the provider reported it."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float = 0.0


def extractive(role: str, branch: Branch) -> Mind:
    """The mind that needs no model."""
    return ExtractiveMind()


def minds_of(model: str, base_url: str, bill: Bill) -> MindFor:
    """The minds of a model name."""
    return extractive
