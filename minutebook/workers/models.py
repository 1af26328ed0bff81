"""ask_model: the one door to a model. It asks a role's models in order, and says why when none of them can answer.

What it raises: SpanFailed, ProviderFailed, MissingExtra without litellm, StoreError; ThinkingFailed with the reason
"bug" for a fault of the program, which no provider is to blame for. No foreign error leaves the modules models*.py.
"""

from collections.abc import Sequence

from minutebook.errors import BudgetSpent, ProviderFailed
from minutebook.settings import ModelChoice, Settings
from minutebook.store.kernel import Store
from minutebook.workers.exchange import Reply, Request
from minutebook.workers.models_accounts import budget_left, spent_today
from minutebook.workers.models_call import Call, supports_tools
from minutebook.workers.models_facts import context_window, price
from minutebook.workers.models_session import SESSION, SessionCall

__all__ = ["ask_model", "budget_left", "chain_of", "context_window", "price", "spent_today", "supports_tools"]


def ask_model(request: Request, *, store: Store, settings: Settings) -> Reply:
    """Ask the request's model, else its fallbacks in order, and account for the answer.

    Raises SpanFailed (too_long, refused), ProviderFailed when none of them can be asked, BudgetSpent when money is
    what is missing.
    """
    failed: list[ProviderFailed] = []
    chain = chain_of(request, settings)
    for at, choice in enumerate(chain):
        try:
            return _call_of(choice)(request, choice, store, settings, following=chain[at + 1 :]).answer()
        except ProviderFailed as error:
            failed.append(error)
    raise _none_left(failed)


def _call_of(choice: ModelChoice) -> type[Call]:
    """How a model is asked: through litellm, or through the host whose model it is."""
    return SessionCall if choice.provider == SESSION else Call


def chain_of(request: Request, settings: Settings) -> tuple[ModelChoice, ...]:
    """The models to ask in order, each once."""
    return tuple(dict.fromkeys((request.choice, *settings.chain_of(request.role)[1:])))


def _none_left(failed: Sequence[ProviderFailed]) -> ProviderFailed:
    if len(failed) == 1:
        return failed[0]
    said = f"no model is left to ask: {'; '.join(map(str, failed))}"
    if any(isinstance(error, BudgetSpent) for error in failed):  # money, or the next day, would mend it
        return BudgetSpent(said, reason="quota")
    return ProviderFailed(said, reason=failed[0].reason)
