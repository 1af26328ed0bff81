"""What provider-reported usage teaches about our token estimate. Pure.

The factor of a model is reported growth ÷ estimated growth, summed over pairs of replies between which the reported
context did not shrink and the model did not change, clamped to 0.5 … 3; 1 where nothing is known (003-054).
"""

from dataclasses import replace
from typing import Any

from minutebook.records import Usage, record

SMALLEST_FACTOR, LARGEST_FACTOR = 0.5, 3.0


@record(kw_only=False)
class Calibration:
    """reply, model, reported, estimated: the reply last seen. growth: model → (reported, estimated) tokens, summed.

    before: model, reported and estimated tokens of the reply before it, until they are settled into growth.
    Reported tokens of 0: nothing to compare with.
    """

    reply: str = ""
    model: str = ""
    reported: int = 0
    estimated: int = 0
    before: tuple[str, int, int] = ("", 0, 0)
    growth: tuple[tuple[str, int, int], ...] = ()


def learn(state: Calibration, usage: Usage, path_tokens: int) -> Calibration:
    """The state after one more row of a reply; path_tokens: estimate of the path with this row.

    A host writes one reply as several rows with the same usage: the last of them completes the estimate.
    """
    if usage.context_tokens is None:
        return state
    if usage.reply_id and usage.reply_id == state.reply:
        return replace(state, estimated=path_tokens)
    before = (state.model, state.reported, state.estimated)
    return Calibration(usage.reply_id, usage.model, usage.context_tokens, path_tokens, before, _growth(state))


def shrunk(state: Calibration) -> Calibration:
    """The state after a compaction: the next reply cannot be compared with the last one."""
    return replace(state, reported=0, before=("", 0, 0), growth=_growth(state))


def factor_of(state: Calibration) -> float:
    """The factor of the model seen last."""
    for model, reported, estimated in _growth(state):
        if model == state.model and estimated > 0:
            return min(LARGEST_FACTOR, max(SMALLEST_FACTOR, reported / estimated))
    return 1.0


def _growth(state: Calibration) -> tuple[tuple[str, int, int], ...]:
    """The sums with what the last reply adds to them."""
    model, reported, estimated = state.before
    grown, guessed = state.reported - reported, state.estimated - estimated
    if reported <= 0 or state.reported <= 0 or model != state.model or grown < 0 or guessed <= 0:
        return state.growth
    sums = {name: (a, b) for name, a, b in state.growth}
    a, b = sums.get(model, (0, 0))
    sums[model] = (a + grown, b + guessed)
    return tuple([(name, *sums[name]) for name in sorted(sums)])


def to_data(state: Calibration) -> dict[str, Any]:
    """As stored in the session's document."""
    return {
        "reply": state.reply,
        "model": state.model,
        "reported": state.reported,
        "estimated": state.estimated,
        "before": list(state.before),
        "growth": [list(row) for row in state.growth],
    }


def from_data(data: dict[str, Any]) -> Calibration:
    """From the session's document."""
    if not data:
        return Calibration()
    name, reported, estimated = data["before"]
    return Calibration(
        reply=data["reply"],
        model=data["model"],
        reported=data["reported"],
        estimated=data["estimated"],
        before=(name, reported, estimated),
        growth=tuple((row[0], row[1], row[2]) for row in data["growth"]),
    )
