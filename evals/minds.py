"""The mind that is examined: the extractive one, or a model through the same tool loop that a worker uses."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from evals.running import MindFor
from minutebook.records import Branch
from minutebook.settings import Settings
from minutebook.settings_loading import load
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store
from minutebook.workers import models
from minutebook.workers.contract import Mind
from minutebook.workers.exchange import Reply, Request
from minutebook.workers.extractive import ExtractiveMind
from minutebook.workers.model_mind import ModelMind

ROLES = ("observer", "reflector", "digester", "dropper")


@dataclass
class Bill:
    """What the run used, as the provider reported it. priced: the model's price is known."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float = 0.0
    priced: bool = False

    def add(self, reply: Reply) -> None:
        """One answer more."""
        self.requests += 1
        self.input_tokens += reply.spent.input_tokens
        self.output_tokens += reply.spent.output_tokens
        self.cached_tokens += reply.spent.cached_tokens
        self.cost_usd += reply.spent.cost_usd


@contextmanager
def minds_of(model: str, bill: Bill, *, base_url: str = "", prompts: str = "") -> Iterator[MindFor]:
    """The minds of a model name; its accounts and cooldowns last as long as the context. Raises BadSetting."""
    settings = settings_of(model, base_url, prompts)
    if settings.model_of("observer") is None:
        yield lambda role, branch: ExtractiveMind()
        return
    with TemporaryDirectory() as folder, closing(open_store(str(Path(folder) / "accounts.sqlite"))) as store:
        yield lambda role, branch: _model_mind(role, branch, settings, store, bill)


def settings_of(model: str, base_url: str, prompts: str) -> Settings:
    """The user's own settings, with this model for every role and nothing that would answer in its stead."""
    flags = {
        "model": model,
        "model_base_url": base_url or None,
        "prompts_folder": str(Path(prompts).resolve()) if prompts else None,
    }
    settings = load(None, flags).settings
    own = {f"{role}_{what}": None for role in ROLES for what in ("model", "fallbacks")}
    return replace(settings, model_fallbacks=(), without_provider="wait", over_budget="wait", **own)  # type: ignore[arg-type]


def _model_mind(role: str, branch: Branch, settings: Settings, store: Store, bill: Bill) -> Mind:
    choice = settings.model_of(role)
    assert choice is not None
    bill.priced = models.price(choice, settings) is not None

    def ask(request: Request) -> Reply:
        reply = models.ask_model(request, store=store, settings=settings)
        bill.add(reply)
        return reply

    return ModelMind(
        choice,
        ask,
        settings,
        session=branch.session,
        branch=branch.key,
        window=models.context_window(choice, settings, store),
        tools_supported=models.supports_tools(choice, store=store),
    )
