"""What `om models` and `om doctor --call` say: the models of each role, whether they can be asked, what they cost."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from minutebook.errors import BadSetting, MinutebookError
from minutebook.settings import ModelChoice, Settings
from minutebook.settings_loading import session_may_think
from minutebook.store.kernel import Store
from minutebook.workers import models_cooldowns, models_facts, models_quirks
from minutebook.workers.exchange import Message, Request
from minutebook.workers.models_accounts import Account, accounts, by_model, day_of
from minutebook.workers.models_call import Call
from minutebook.workers.models_cooldowns import Cooldown
from minutebook.workers.models_facts import Price
from minutebook.workers.models_keys import access_to, base_url_of
from minutebook.workers.models_library import library
from minutebook.workers.models_quirks import Quirks

ROLES = ("observer", "reflector", "digester", "dropper", "judge")
PROBE_OUTPUT_TOKENS = 1_024
"""Enough for a model that thinks unasked; a shorter limit is an error for some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReport:
    """One model. how: key, header, signed, none or login; missing: why it cannot be asked. cooldown: its last failure.

    rests_seconds: 0 when it may be asked now. server: "" for the provider's own.
    """

    model: str
    how: str
    missing: str
    server: str
    window: int | None
    output_tokens: int
    price: Price | None
    tools: bool
    thinks: bool
    cooldown: Cooldown | None
    rests_seconds: float
    quirks: Quirks
    today: Account | None
    total: Account | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """chains: role → its models in order, none for the extractive mind. others: accounts of models not configured.

    session_roles: those that think with a Pi session's own model, where one is open.
    """

    chains: Mapping[str, Sequence[ModelChoice]]
    models: Sequence[ModelReport]
    others: Sequence[Account]
    budget_usd: float
    spent_usd: float
    session_roles: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Probe:
    """One real call. error: "" when it was answered."""

    model: str
    seconds: float
    error: str


def configured(settings: Settings) -> list[ModelChoice]:
    """Every model that some role may ask, each once whatever its thinking level."""
    found: dict[str, ModelChoice] = {}
    for role in ROLES:
        for choice in settings.chain_of(role):
            found.setdefault(models_quirks.key_of(choice), choice)
    return list(found.values())


def read_report(store: Store, settings: Settings) -> Report:
    """The whole report. Raises MissingExtra when a model is configured and litellm is not installed."""
    today, total = by_model(accounts(store, day=day_of(store))), by_model(accounts(store))
    models = [_model(store, settings, choice, today, total) for choice in configured(settings)]
    named = {each.model for each in models}
    return Report(
        chains={role: settings.chain_of(role) for role in ROLES},
        models=models,
        others=[line for model, line in total.items() if model not in named],
        budget_usd=settings.budget_daily_usd,
        spent_usd=sum(line.cost_usd for line in today.values()),
        session_roles=[role for role in ROLES if session_may_think(role, settings)],
    )


def _model(
    store: Store,
    settings: Settings,
    choice: ModelChoice,
    today: Mapping[str, Account],
    total: Mapping[str, Account],
) -> ModelReport:
    name = models_quirks.key_of(choice)
    how, missing = usable(choice, settings)
    resting = models_cooldowns.resting(store, choice)
    window = models_facts.context_window(choice, settings, store)
    return ModelReport(
        model=name,
        how=how,
        missing=missing,
        server=base_url_of(choice, settings) or "",
        window=window,
        output_tokens=models_facts.output_limit(choice, window),
        price=models_facts.price(choice, settings),
        tools=models_facts.takes_tools(choice),
        thinks=models_facts.can_think(choice),
        cooldown=models_cooldowns.read(store, choice),
        rests_seconds=max(0.0, resting.until - store.now()) if resting else 0.0,
        quirks=models_quirks.read(store, choice),
        today=today.get(name),
        total=total.get(name),
    )


def usable(choice: ModelChoice, settings: Settings) -> tuple[str, str]:
    """How a model is signed for, and why it cannot be asked, "" where it can. MissingExtra without litellm.

    Of the usual providers that is known without loading it, which takes seconds.
    """
    if not models_facts.is_provider(choice.provider):
        return "", f"litellm knows no provider {choice.provider!r}"
    try:
        access = access_to(choice, settings)
    except BadSetting as error:
        return "", str(error)
    return access.how, access.missing


def probes(store: Store, settings: Settings) -> Iterator[Probe]:
    """Ask every configured model one tiny question, resting or not; an answer ends its rest. Raises StoreError."""
    for choice in configured(settings):
        if not choice.is_program:
            library()  # so that its import is no part of the time
        yield probe(store, settings, choice)


def probe(store: Store, settings: Settings, choice: ModelChoice) -> Probe:
    """Ask one model. It is a paid call like any other, under the role `doctor`, and within the budget."""
    request = Request(
        role="doctor",
        session="",
        branch="",
        choice=replace(choice, thinking="off"),
        system="You are asked whether you can be reached.",
        messages=(Message(role="user", text="Answer with the one word: yes"),),
        output_tokens=PROBE_OUTPUT_TOKENS,
    )
    once = replace(settings, model_tries=1)
    began, error = time.monotonic(), ""
    try:
        Call(request, request.choice, store, once, following=()).answer(resting=True)
    except MinutebookError as failed:
        error = " ".join(str(failed).removeprefix(f"{models_quirks.key_of(choice)}: ").split())
    return Probe(models_quirks.key_of(choice), time.monotonic() - began, error)
