"""What a model's provider refused, learned from its refusals and left out from then on. Kept in the store."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from minutebook.pipeline import workbook
from minutebook.settings import ModelChoice
from minutebook.store import codec
from minutebook.store.kernel import Store
from minutebook.workers.models_errors import Failure

QUIRKS = "model_quirks"
KEPT_SECONDS = 30 * 86_400.0
"""Then it is tried again: providers learn too."""
LIMIT_NAMES = ("max_tokens", "max_completion_tokens")
OUTPUT_TOKENS_SMALLEST = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Quirks:
    """refused: names of parameters, and `reasoning_effort=high` for a value. Limits: None where none was learned."""

    refused: frozenset[str] = field(default_factory=frozenset)
    output_tokens: int | None = None
    context_tokens: int | None = None


def key_of(choice: ModelChoice) -> str:
    """The document key of a model: its thinking level makes no difference."""
    return f"{choice.provider}/{choice.id}"


def read(store: Store, choice: ModelChoice) -> Quirks:
    """What was learned of a model."""
    document = store.get(QUIRKS, key_of(choice))
    if document is None:
        return Quirks()
    body, now = codec.from_json(document.body), store.now()
    refused = {name for name, at in body.get("refused", {}).items() if now - at < KEPT_SECONDS}
    fresh = now - body.get("limits_at", 0.0) < KEPT_SECONDS
    limits = {name: body.get(name) if fresh else None for name in ("output_tokens", "context_tokens")}
    return Quirks(refused=frozenset(refused), **limits)


def learn(store: Store, choice: ModelChoice, failure: Failure, sent: Mapping[str, Any]) -> bool:
    """Keep what a refusal teaches; False when it is nothing that leaves another request to make.

    sent: the parameters of the refused request.
    """
    before, now = read(store, choice), store.now()
    names = _names(failure, sent) - before.refused
    asked = next((sent[name] for name in LIMIT_NAMES if name in sent), 0)
    lower = failure.output_tokens if failure.output_tokens and failure.output_tokens < asked else None
    if lower is not None:
        names = set()
    if not names and lower is None and failure.context_tokens in (None, before.context_tokens):
        return False

    def learned(body: dict[str, Any]) -> dict[str, Any]:
        refused = {**body.get("refused", {}), **dict.fromkeys(names, now)}
        limits = {"output_tokens": lower, "context_tokens": failure.context_tokens}
        found = {name: value for name, value in limits.items() if value}
        return {**body, "refused": refused, **found, **({"limits_at": now} if found else {})}

    workbook.change(store, QUIRKS, key_of(choice), learned)
    return bool(names) or lower is not None


def _names(failure: Failure, sent: Mapping[str, Any]) -> set[str]:
    """What to leave out. litellm renames the output limit for some models: the one that was sent is meant."""
    name = failure.parameter
    if failure.kind == "no_tools":
        return {"tools"}
    if name == "reasoning_effort" and name in sent and failure.value_only:
        return {f"reasoning_effort={sent[name]}"}
    if name in LIMIT_NAMES:
        return {each for each in LIMIT_NAMES if each in sent}
    return {name} if name in sent or name == "cache_control" else set()
