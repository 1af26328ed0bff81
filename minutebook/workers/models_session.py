"""The model of a Pi session, asked through its extension: one more way behind ask_model, without a key of ours.

A request runs beside the user's own turns, one at a time for each session; a session that is busy or limited by its
provider makes the model rest, as any other model does.
"""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from minutebook.errors import ProviderFailed, ThinkingFailed
from minutebook.hosts.relay import relay_path
from minutebook.records import Branch
from minutebook.settings import THINKING_LEVELS, ModelChoice, Settings
from minutebook.settings_loading import session_may_think
from minutebook.store.kernel import Store
from minutebook.tokens import estimate_tokens
from minutebook.workers import models_facts, relaying
from minutebook.workers.exchange import Ended, Reply, Request, Spent, ToolCall
from minutebook.workers.models_call import SLOW_ADVICE, Call, Refusal
from minutebook.workers.models_errors import Failure, Kind, classify
from minutebook.workers.models_facts import OUTPUT_PARTS, OUTPUT_TOKENS_LARGEST

HOST = "pi"
SESSION = "session"
"""The provider of a session's own model: `session/<provider>/<id>` in accounts, cooldowns and records."""
THINKING = "low"
ENDED: Mapping[str, Ended] = {"stop": "stop", "tool_calls": "tool_calls", "length": "length"}
KINDS: Mapping[str, Kind] = {"no_model": "unknown_model", "auth": "auth"}
"""What the session says was wrong → what it means; the kind `provider` is told by its provider's words."""
NOT_USABLE = {"auth": "its key or login is refused", "unknown_model": "there is no such model"}
"""A session without a model, or without a usable key for it: then the extractive mind thinks (003-127)."""
GONE, BUSY = "the Pi session went away", "the Pi session is busy"
WAITS = 3.0
"""Of a request without a deadline: so many times its own time it may wait for others of its session, and be asked."""
ADVICE = {
    "auth": "log in in Pi with /login, or choose another model there",
    "unknown_model": "choose a model in Pi with /model",
    "quota": "add credit at the provider, or choose another model in Pi",
    "network": "it is tried again by itself",
}
WORDED = "it is tried again by itself, set `model` to think with another one"


class SessionModelError(Exception):
    """What the session's provider said. Never leaves this module."""

    def __init__(self, message: str, status_code: int | None) -> None:
        super().__init__(message)
        self.status_code = status_code


class BrokenAnswer(Exception):
    """An answer that is none. Never leaves this module."""


@dataclass(frozen=True, slots=True)
class SessionModel:
    """The model of an open session. window: None where Pi does not know it."""

    choice: ModelChoice
    window: int | None


def path_of(store: Store, session_key: str) -> str:
    """The socket of a session, "" for a store that is no file."""
    scheme, _, path = store.url.partition("://")
    return relay_path(path, session_key) if scheme == "sqlite" and path else ""


def path_of_branch(store: Store, branch: Branch) -> str:
    """The same for a branch; "" where its host has no socket."""
    return path_of(store, f"{HOST}:{branch.session}") if branch.host == HOST else ""


def session_model(role: str, settings: Settings, branch: Branch, store: Store) -> SessionModel | None:
    """Whose model thinks for a role that has none configured; None where it may not, or no session is open."""
    path = path_of_branch(store, branch) if session_may_think(role, settings) else ""
    model = relaying.model_of(path) if path else None
    if model is None:
        return None
    thinking = THINKING if model.get("reasoning") is True else "off"
    choice = ModelChoice(provider=SESSION, id=f"{model['provider']}/{model['id']}", thinking=_level(thinking))
    return SessionModel(choice, _count(model.get("window")))


def _level(name: str) -> Any:
    return name if name in THINKING_LEVELS else "off"


def tell_not_usable(store: Store, branch: Branch, choice: ModelChoice, reason: str) -> None:
    """Say once in a session that its model makes no memory. reason: of NOT_USABLE."""
    why = f"{NOT_USABLE[reason]}, so the extractive mind works instead; {ADVICE[reason]}"
    text = f"Minutebook: the session's own model {choice.id} cannot be used: {why}"
    relaying.notify(path_of_branch(store, branch), "warning", text, once=True)


class SessionCall(Call):
    """One request to the session's own model."""

    def _reach(self) -> None:
        """Only asking shows whether the session is there; which tools its model takes Pi knows."""
        self.path = path_of(self.store, self.request.session.partition("/")[0])

    def _price(self) -> models_facts.Price | None:
        return None

    def _try(self) -> Reply:
        left, timeout = self._left_seconds(), float(self.settings.model_timeout_seconds)
        if left is not None and left <= 0:
            raise ProviderFailed(f"{self.name}: no time is left before the job's deadline", reason="network")
        seconds = timeout if left is None else min(timeout, left)
        try:
            answer = relaying.ask(self.path, self._asked(), seconds, left or WAITS * timeout)
            return self._replied(answer)
        except (OSError, SessionModelError, BrokenAnswer) as error:
            self.slow = isinstance(error, TimeoutError)
            failure, name = _failure(error), type(error).__name__
        raise Refusal(failure, name)

    def _asked(self) -> dict[str, Any]:
        model = relaying.model_of(self.path) or {}
        request = self.request
        return {
            "role": request.role,
            "system": request.system,
            "messages": [_message(each) for each in map(asdict, request.messages)],
            "tools": [asdict(tool) for tool in request.tools],
            "max_tokens": output_limit(model, request.output_tokens),
            "thinking": self.choice.thinking,
        }

    def _replied(self, answer: Mapping[str, Any]) -> Reply:
        """Raises SessionModelError, BrokenAnswer. What was paid is accounted, whatever the answer is worth."""
        if _text(answer.get("model")):  # the user may have chosen another one since
            self.name = f"{SESSION}/{answer['model']}"
        spent, priced = spent_of(answer, self.request)
        if spent is not None:
            self._record(spent, priced=priced)
        _check(answer)
        if answer.get("ended") not in ENDED:
            raise BrokenAnswer(f"an answer that ended with {answer.get('ended')!r}")
        return Reply(
            text=_text(answer.get("text")),
            calls=tuple(_call(each) for each in _list(answer.get("calls"))),
            ended=ENDED[answer["ended"]],
            model=self.name,
            spent=spent or Spent(),
            carried=_table(answer.get("carried")),
        )

    def _again(self, error: BaseException) -> bool:
        """Not a session that has gone, or is busy: that does not change within seconds."""
        return super()._again(error) and not (isinstance(error, Refusal) and _is_no_failure(error.failure))

    def _failed(self, failure: Failure, *, rests: bool = True) -> ThinkingFailed:
        """A session that has gone, or is busy, is no failure of its model: nothing rests, and nobody is told."""
        if _is_no_failure(failure):
            return ProviderFailed(f"{self.name}: {failure.said}; {ADVICE['network']}", reason="network")
        return super()._failed(failure, rests=rests)

    def _advice(self, failure: Failure) -> str:
        return SLOW_ADVICE if self.slow else ADVICE.get(failure.kind, WORDED)


def output_limit(model: Mapping[str, Any], wanted: int | None) -> int:
    """The most output tokens to ask for, as of any other model (003-130)."""
    window, known = _count(model.get("window")), _count(model.get("max_tokens"))
    own = known or (max(1, window // OUTPUT_PARTS) if window else OUTPUT_TOKENS_LARGEST)
    return min(each for each in (own, OUTPUT_TOKENS_LARGEST, wanted) if each)


def spent_of(answer: Mapping[str, Any], request: Request) -> tuple[Spent | None, bool]:
    """What an answer used and cost, as Pi reports it, and whether it named a cost; None where no model answered.

    Pi counts the cached tokens beside the input; an answer without any numbers is estimated.
    """
    usage = _table(answer.get("usage"))
    given, made = _number(usage, "input"), _number(usage, "output")
    read, written = _number(usage, "cache_read"), _number(usage, "cache_write")
    cost = usage.get("cost_usd")
    priced = isinstance(cost, (int, float)) and cost > 0
    if not given + made + read + written:
        if answer.get("error"):
            return None, False
        texts = (request.system, *(message.text for message in request.messages))
        given, made = sum(map(estimate_tokens, texts)), estimate_tokens(_text(answer.get("text")))
    return (
        Spent(
            input_tokens=given + read + written,
            output_tokens=made,
            cached_tokens=read,
            cost_usd=float(cost) if priced and cost is not None else 0.0,
        ),
        priced,
    )


def _check(answer: Mapping[str, Any]) -> None:
    """Raise what an answer with an error means."""
    error = answer.get("error")
    if error is None and answer.get("ended") not in ("error", "aborted"):
        return
    told = error if isinstance(error, dict) else {"kind": "provider", "message": _text(error)}
    kind, message = str(told.get("kind", "")), _text(told.get("message")) or "no reason was given"
    if kind == "gone" or (answer.get("ended") == "aborted" and kind in ("", "provider")):
        raise ConnectionError(message)
    if kind == "busy":
        raise BlockingIOError(message)
    if kind == "timeout":
        raise TimeoutError(message)
    if kind in KINDS:
        raise SessionModelError(message, _STATUS_OF[KINDS[kind]])
    if kind == "bug":
        raise BrokenAnswer(message)
    raise SessionModelError(message, status_of(message))


_STATUS_OF: Mapping[Kind, int] = {"unknown_model": 404, "auth": 401}


def status_of(message: str) -> int | None:
    """The HTTP status that a provider's words begin with; 400 where only the words tell that a request was refused."""
    found = re.match(r"\W*(?:error:?\s*)?(?:status(?: code)?:?\s*)?([45]\d\d)\b", message, re.IGNORECASE)
    if found:
        return int(found[1])
    worded = classify(SessionModelError(message, 400), now=0.0).kind
    return None if worded == "bad_request" else 400


def _failure(error: OSError | SessionModelError | BrokenAnswer) -> Failure:
    if isinstance(error, TimeoutError):
        return Failure("network", "no answer in time")
    if isinstance(error, OSError):
        what = BUSY if isinstance(error, BlockingIOError) else GONE
        return Failure("network", f"{what}: {error.strerror or error}")
    return classify(error, now=time.time())


def _is_no_failure(failure: Failure) -> bool:
    return failure.said.startswith((GONE, BUSY))


# -- lines ---------------------------------------------------------------------------------------------------------


def _message(message: dict[str, Any]) -> dict[str, Any]:
    """As it goes through the socket: without what is empty."""
    return {"role": message["role"], "text": message["text"]} | {
        name: message[name] for name in ("calls", "call_id", "carried") if message[name]
    }


def _call(call: Any) -> ToolCall:
    given = _table(call)
    return ToolCall(id=_text(given.get("id")), name=_text(given.get("name")), arguments=_text(given.get("arguments")))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _number(usage: Mapping[str, Any], name: str) -> int:
    return _count(usage.get(name)) or 0
