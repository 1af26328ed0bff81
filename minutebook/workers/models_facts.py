"""What is known of a model: its window, limits and prices. From litellm's own table, never from the network.

The table is read directly: litellm's look-ups ask a running Ollama, or a hub, for models that it does not list.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from minutebook.settings import ModelChoice, Settings
from minutebook.settings_rules import PROGRAM
from minutebook.store.kernel import Store
from minutebook.workers import models_quirks
from minutebook.workers.models_library import WITH_USUAL_KEY, library, need_library

OUTPUT_TOKENS_LARGEST = 32_000
OUTPUT_PARTS = 4
MILLION = 1_000_000
SPLIT_PROVIDERS = {"vertex_ai": "vertex_ai-", "bedrock": "bedrock_", "azure": "azure_"}
"""Providers that the table lists in parts."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens."""

    input_usd: float
    output_usd: float
    cached_usd: float

    @property
    def free(self) -> bool:
        """Whether a call costs nothing."""
        return self.input_usd == self.output_usd == 0

    def cost_usd(self, input_tokens: int, output_tokens: int, cached_tokens: int) -> float:
        """Of one answer; cached tokens are part of the input."""
        fresh = max(0, input_tokens - cached_tokens)
        return (fresh * self.input_usd + cached_tokens * self.cached_usd + output_tokens * self.output_usd) / MILLION


def context_window(choice: ModelChoice, settings: Settings, store: Store | None = None) -> int | None:
    """The model's window in tokens: set, known to litellm, or learned from a refusal; None where nobody knows."""
    if settings.model_context_tokens is not None and is_named(choice, settings):
        return settings.model_context_tokens
    known = _count(_entry(choice), "max_input_tokens")
    return known or (models_quirks.read(store, choice).context_tokens if store else None)


def output_limit(choice: ModelChoice, window: int | None = None) -> int:
    """The most output tokens to ask for (003-130).

    A model whose own maximum is not known has a quarter of its window: a small one that never stops would fill it up.
    """
    known = _count(_entry(choice), "max_output_tokens")
    return min(OUTPUT_TOKENS_LARGEST, known or (max(1, window // OUTPUT_PARTS) if window else OUTPUT_TOKENS_LARGEST))


def price(choice: ModelChoice, settings: Settings) -> Price | None:
    """What the model costs; None where it is not known."""
    entry = _entry(choice)
    per_token = [entry.get(name) for name in ("input_cost_per_token", "output_cost_per_token")]
    known = [each * MILLION if isinstance(each, (int, float)) else None for each in per_token]
    given = [settings.model_price_input_usd, settings.model_price_output_usd]
    if not is_named(choice, settings):
        given = [None, None]
    paid_in, paid_out = (ours if ours is not None else theirs for ours, theirs in zip(given, known, strict=True))
    if paid_in is None or paid_out is None:
        return None
    cached = entry.get("cache_read_input_token_cost")
    if given[0] is not None or not isinstance(cached, (int, float)):
        return Price(paid_in, paid_out, paid_in)
    return Price(paid_in, paid_out, cached * MILLION)


def priced_by_settings(choice: ModelChoice, settings: Settings) -> bool:
    """Whether a price that a person set is in force for the model."""
    given = (settings.model_price_input_usd, settings.model_price_output_usd)
    return is_named(choice, settings) and any(each is not None for each in given)


def is_named(choice: ModelChoice, settings: Settings) -> bool:
    """Whether it is `model` or a role's model, to which the settings of window and price belong; no fallback is."""
    roles = ("observer", "reflector", "digester", "dropper", "judge")
    return any(each and same_model(each, choice) for each in map(settings.model_of, roles))


def same_model(one: ModelChoice, other: ModelChoice) -> bool:
    """The same but for the thinking level."""
    return (one.provider, one.id) == (other.provider, other.id)


def can_think(choice: ModelChoice) -> bool:
    """Whether a thinking level may be sent (003-128)."""
    if choice.is_program:
        return True
    return _entry(choice).get("supports_reasoning") is True and "reasoning_effort" in _parameters(choice)


def takes_tools(choice: ModelChoice) -> bool:
    """Whether litellm can hand tools to the model at all."""
    return "tools" in _parameters(choice)


def is_provider(name: str) -> bool:
    """Whether litellm knows the provider; an installed program is asked without it. MissingExtra."""
    if name == PROGRAM:
        return True
    need_library()
    return name in WITH_USUAL_KEY or name in {str(getattr(each, "value", each)) for each in library().provider_list}


def _parameters(choice: ModelChoice) -> frozenset[str]:
    if choice.is_program or not is_provider(choice.provider):
        return frozenset()
    listed = library().get_supported_openai_params(model=choice.id, custom_llm_provider=choice.provider)
    return frozenset(listed or ())


def _entry(choice: ModelChoice) -> Mapping[str, Any]:
    if choice.is_program:
        return {}
    table: Mapping[str, Mapping[str, Any]] = library().model_cost
    entry = table.get(f"{choice.provider}/{choice.id}") or table.get(choice.id) or {}
    listed = str(entry.get("litellm_provider", ""))
    part = SPLIT_PROVIDERS.get(choice.provider)
    return entry if listed == choice.provider or (part and listed.startswith(part)) else {}


def _count(entry: Mapping[str, Any], name: str) -> int | None:
    value = entry.get(name)
    return value if isinstance(value, int) and value > 0 else None
