"""One request to one model: whether it can be asked now, its tries, and what its failure does."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tenacity import RetryCallState, Retrying, retry_if_exception

from minutebook.debuglog import DebugLog, current_run
from minutebook.errors import BadSetting, BudgetSpent, MinutebookError, ProviderFailed, SpanFailed, ThinkingFailed
from minutebook.pipeline import notices
from minutebook.places import data_dir
from minutebook.settings import ModelChoice, Settings
from minutebook.store.kernel import Store
from minutebook.workers import (
    models_accounts,
    models_cooldowns,
    models_facts,
    models_hosts,
    models_library,
    models_quirks,
)
from minutebook.workers.exchange import Reply, Request, Spent
from minutebook.workers.models_errors import OF_THE_SPAN, TRANSIENT, Failure, classify
from minutebook.workers.models_keys import Access, access_to
from minutebook.workers.models_request import Abilities, marks_prefix, parameters_of, reply_of, tokens_of

MODEL_CALL = "model_call"
"""The debug log's event: one row for each model that was asked."""
LESSONS_MOST = 8
"""Refused parameters that are left out within one try: more than a request has."""
WAIT_FIRST_SECONDS = 0.5
WAIT_LARGEST_SECONDS = 20.0
"""Between tries of one model. One whose provider asks for a longer pause rests, and the next model is asked."""
SLOW_SHARE = 0.9

ADVICE = {
    "auth": "check the key or log in again, then `om doctor --call` tries it at once",
    "quota": "add credit at the provider, then `om doctor --call` tries it at once",
    "rate": "it is tried again by itself",
    "network": "check the network and model_base_url, it is tried again by itself",
    "server": "it is tried again by itself",
    "unknown_model": "check provider and id in the settings, `om models` shows them",
    "bad_request": "it is tried again ever more rarely, another model may take it",
}
SLOW_ADVICE = (
    "if the model is only slow, raise model_timeout_seconds or lower observer_chunk_max_tokens, "
    "it is tried again by itself"
)

LOGINS = {"bedrock": "aws sso login", "vertex_ai": "gcloud auth application-default login"}
"""How to log in again where a login is no key."""


def advice(failure: Failure, choice: ModelChoice, access: Access) -> str:
    """What a person can do, without a semicolon."""
    if choice.is_program and (own := models_hosts.advice(failure.kind, choice)):
        return own
    if failure.kind == "auth" and access.how == "signed" and choice.provider in LOGINS:
        return f"log in again with `{LOGINS[choice.provider]}`, then `om doctor --call` tries it at once"
    return ADVICE[failure.kind]


class Refusal(Exception):
    """A failed try, with what it means. Never leaves this module."""

    def __init__(self, failure: Failure, error: str) -> None:
        super().__init__(failure.said)
        self.failure = failure
        self.error = error


def supports_tools(choice: ModelChoice, *, store: Store) -> bool:
    """Whether the model takes tools, as far as litellm knows and its refusals taught."""
    return models_facts.takes_tools(choice) and "tools" not in models_quirks.read(store, choice).refused


def wait_seconds(attempt: int, retry_after: float | None) -> float:
    """The pause after a try: doubling, or longer where the provider asks for it."""
    return max(min(WAIT_FIRST_SECONDS * 2.0 ** min(attempt - 1, 30), WAIT_LARGEST_SECONDS), retry_after or 0.0)


class Call:
    """following: the models after this one in the chain, the first of which a notice names."""

    def __init__(
        self, request: Request, choice: ModelChoice, store: Store, settings: Settings, following: Sequence[ModelChoice]
    ) -> None:
        self.request = request
        self.choice = choice
        self.store = store
        self.settings = settings
        self.following = following
        self.name = models_quirks.key_of(choice)
        self.access = Access()
        self.slow = False

    def answer(self, *, resting: bool = False) -> Reply:
        """This model's answer; with `resting` it is asked during a cooldown too.

        Raises SpanFailed, ProviderFailed, ThinkingFailed, MissingExtra, StoreError.
        """
        if not resting:
            self._rested()
        self._reach()
        self._afford()
        began = time.monotonic()
        try:
            reply = self._tries()
        except Refusal as refusal:
            self._log({"ended": refusal.failure.kind, "error": refusal.error}, began)
            failure = refusal.failure
        else:
            self._log({"ended": reply.ended, "input": reply.spent.input_tokens}, began)
            models_cooldowns.clear(self.store, self.choice)
            return reply
        raise self._failed(failure)

    # -- before ----------------------------------------------------------------------------------------------------

    def _rested(self) -> None:
        cooldown = models_cooldowns.resting(self.store, self.choice)
        if cooldown:
            seconds = cooldown.until - self.store.now()
            raise ProviderFailed(f"{self.name} rests for {seconds:.0f} s more: {cooldown.said}", reason=cooldown.kind)

    def _reach(self) -> None:
        if not models_facts.is_provider(self.choice.provider):
            raise self._failed(
                Failure("unknown_model", f"litellm knows no provider {self.choice.provider!r}"), rests=False
            )
        try:
            self.access = access_to(self.choice, self.settings)
            missing = self.access.missing
        except BadSetting as error:
            missing = str(error)
        if missing:
            raise self._failed(Failure("auth", missing), rests=False)
        if self.request.tools and not supports_tools(self.choice, store=self.store):
            raise self._failed(Failure("no_tools", "the model cannot call tools"))

    def _afford(self) -> None:
        """A model that is known to cost nothing is always asked."""
        paid, budget = self._price(), self.settings.budget_daily_usd
        if (paid and paid.free) or models_accounts.spent_today(self.store) < budget:
            return
        models_accounts.warn(self.store, self.settings)
        why = f"budget_daily_usd = {budget:g} is spent for today (UTC)"
        if budget == 0 and paid is None:
            why = "budget_daily_usd = 0 and its price is not known; for a free model set both model_price_… to 0"
        raise BudgetSpent(f"{self.name} is not asked: {why}", reason="quota")

    def _price(self) -> models_facts.Price | None:
        return models_facts.price(self.choice, self.settings)

    # -- the call --------------------------------------------------------------------------------------------------

    def _tries(self) -> Reply:
        tries = Retrying(
            retry=retry_if_exception(self._again), stop=self._enough, wait=_wait, sleep=time.sleep, reraise=True
        )
        return tries(self._try)

    def _again(self, error: BaseException) -> bool:
        """Another try in a moment may do; not when it used up the whole time of a request."""
        return isinstance(error, Refusal) and error.failure.kind in TRANSIENT and not self.slow

    def _enough(self, state: RetryCallState) -> bool:
        waiting, left = _wait(state), self._left_seconds()
        too_long = waiting > WAIT_LARGEST_SECONDS or (left is not None and waiting >= left)
        return too_long or state.attempt_number >= self.settings.model_tries

    def _left_seconds(self) -> float | None:
        return None if self.request.deadline is None else self.request.deadline - time.monotonic()

    def _try(self) -> Reply:
        """One try. A parameter that the provider refuses is left out at once, and from then on."""
        for _ in range(LESSONS_MOST):
            sent = self._parameters()
            try:
                with models_hosts.turn(self.choice, self.request.deadline):
                    return self._once(sent)
            except Refusal as refusal:
                last = refusal
                learned = models_quirks.learn(self.store, self.choice, refusal.failure, sent)
                if not learned or refusal.failure.kind == "no_tools":
                    break
        raise last

    def _parameters(self) -> dict[str, Any]:
        abilities = Abilities(
            output_tokens=models_facts.output_limit(
                self.choice, models_facts.context_window(self.choice, self.settings, self.store)
            ),
            thinks=models_facts.can_think(self.choice),
            marks=marks_prefix(self.choice),
        )
        return parameters_of(self.request, self.choice, abilities, models_quirks.read(self.store, self.choice))

    def _once(self, sent: dict[str, Any]) -> Reply:
        left, timeout = self._left_seconds(), float(self.settings.model_timeout_seconds)
        if left is not None and left <= 0:
            raise ProviderFailed(f"{self.name}: no time is left before the job's deadline", reason="network")
        seconds = timeout if left is None else min(timeout, left)
        began = time.monotonic()
        try:
            response = self._complete(sent, seconds)
            return reply_of(response, self.choice, self._account(response))
        except MinutebookError:
            raise
        except Exception as error:
            self.slow = time.monotonic() - began >= SLOW_SHARE * seconds
            failure = classify(error, now=time.time(), secrets=self.access.secrets)
            name = type(error).__name__
        raise Refusal(failure, name)  # outside of the handler: a traceback would show the request, perhaps with its key

    def _complete(self, sent: Mapping[str, Any], seconds: float) -> Any:
        if self.choice.is_program:
            return models_hosts.complete(self.request, self.choice, timeout_seconds=seconds)
        return models_library.complete({**sent, **self.access.parameters}, timeout_seconds=seconds)

    def _account(self, response: Any) -> Spent:
        given, made, cached = tokens_of(response, self.request)
        paid = self._price()
        cost = paid.cost_usd(given, made, cached) if paid else 0.0
        if not models_facts.priced_by_settings(self.choice, self.settings):
            cost = models_library.cost_of(response) or cost
        spent = Spent(input_tokens=given, output_tokens=made, cached_tokens=cached, cost_usd=cost)
        self._record(spent, priced=paid is not None or cost > 0)
        return spent

    def _record(self, spent: Spent, *, priced: bool) -> None:
        models_accounts.record(
            self.store,
            session=self.request.session,
            role=self.request.role,
            model=self.name,
            spent=spent,
            priced=priced,
        )
        models_accounts.warn(self.store, self.settings)

    # -- its failure -----------------------------------------------------------------------------------------------

    def _failed(self, failure: Failure, *, rests: bool = True) -> ThinkingFailed:
        """Let the model rest, and tell it once. rests: False where nothing was sent: it is looked at anew each time."""
        said = f"{self.name}: {failure.said}"
        if failure.kind in OF_THE_SPAN:
            return SpanFailed(said, reason=failure.kind)
        if failure.parameter == "output_tokens":
            return SpanFailed(said, reason="too_long")
        if failure.kind == "bug":
            return ThinkingFailed(f"asking {said}", reason="bug")
        if failure.kind == "no_tools":
            return ProviderFailed(said, reason="no_tools")
        if failure.kind == "parameter":
            failure = replace(failure, kind="bad_request")
        hurried = self.slow and self._left_seconds() is not None and (self._left_seconds() or 0.0) <= 0.0
        if hurried and failure.kind == "network":  # our own deadline cut it short
            return ProviderFailed(said, reason="network")
        text = self._told(failure)
        if models_cooldowns.note_failure(self.store, self.choice, failure, self.settings, rests=rests, text=text):
            notices.tell(self.store, f"{self.name} {self.store.now()}", text, about=self.request.branch)
        return ProviderFailed(f"{said.rstrip(' .;')}; {self._advice(failure)}", reason=failure.kind)

    def _advice(self, failure: Failure) -> str:
        """A request that used up its time failed as if the network had, and often only waited for a small machine."""
        late = self.slow and failure.kind == "network"
        return SLOW_ADVICE if late else advice(failure, self.choice, self.access)

    def _told(self, failure: Failure) -> str:
        """What a person is told."""
        then = "its work waits"
        if self.following:
            then = f"{models_quirks.key_of(self.following[0])} is asked instead"
        elif self.settings.without_provider == "extractive":
            then = "the extractive mind works instead"
        return f"{self.name} cannot be asked: {failure.said.rstrip(' .;')}; {then}; {self._advice(failure)}"

    def _log(self, data: dict[str, object], began: float) -> None:
        request, seconds = self.request, round(time.monotonic() - began, 3)
        row = {"role": request.role, "model": self.name, "seconds": seconds, **data}
        log = DebugLog(self.settings.debug_log, data_dir())
        about = current_run() or {"session": request.session, "branch": request.branch}
        log.row(MODEL_CALL, **about, data=row)


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    retry_after = error.failure.retry_after if isinstance(error, Refusal) else None
    return wait_seconds(state.attempt_number, retry_after)
