"""What every error of a model call means, decided in one place. Pure: errors are known by the names of their classes.

Wording counts only where a status and a class leave it open: providers say "no money", "too long" and "not allowed"
with the same 400 or 429, and litellm takes some for others.
"""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Literal, get_args

from minutebook.redaction import Redactor

Kind = Literal[
    "too_long",
    "refused",
    "auth",
    "quota",
    "rate",
    "network",
    "server",
    "unknown_model",
    "bad_request",
    "parameter",
    "no_tools",
    "bug",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
OF_THE_SPAN = frozenset({"too_long", "refused"})
TRANSIENT = frozenset({"rate", "network", "server"})
"""Worth another try in a moment."""
SAID_CHARACTERS = 240
_REDACTOR = Redactor(os.urandom(16))

BY_CLASS: dict[str, Kind] = {
    # litellm, and openai below it
    "ContextWindowExceededError": "too_long",
    "ContentPolicyViolationError": "refused",
    "RejectedRequestError": "refused",
    "GuardrailRaisedException": "refused",
    "BlockedPiiEntityError": "refused",
    "ModifyResponseException": "refused",
    "SensitiveDataRouteException": "refused",
    "AuthenticationError": "auth",
    "PermissionDeniedError": "auth",
    "OAuthError": "auth",
    "PaymentRequiredError": "quota",
    "BudgetExceededError": "quota",
    "RateLimitError": "rate",
    "Timeout": "network",
    "APITimeoutError": "network",
    "APIConnectionError": "network",
    "MidStreamFallbackError": "server",
    "InternalServerError": "server",
    "ServiceUnavailableError": "server",
    "BadGatewayError": "server",
    "APIResponseValidationError": "server",
    "JSONSchemaValidationError": "server",
    "NotFoundError": "unknown_model",
    "ModelNotMappedError": "unknown_model",
    "LiteLLMUnknownProvider": "unknown_model",
    "UnsupportedEndpointError": "unknown_model",
    "EndpointNotSupportedByModelError": "unknown_model",
    "UnsupportedParamsError": "bad_request",
    "BadRequestError": "bad_request",
    "InvalidRequestError": "bad_request",
    "UnprocessableEntityError": "bad_request",
    "ConflictError": "server",
    "LengthFinishReasonError": "server",
    "ContentFilterFinishReasonError": "refused",
    "APIStatusError": "server",
    "APIError": "server",
    "OpenAIError": "server",
    # httpx, the standard library, our own
    "TimeoutException": "network",
    "TransportError": "network",
    "HTTPStatusError": "server",
    "HTTPError": "network",
    "InvalidURL": "network",
    "StreamError": "network",
    "TookTooLong": "network",
    "OSError": "network",
    "JSONDecodeError": "server",
    "BrokenAnswer": "server",
    "SessionModelError": "server",
}
"""The nearest class up the line decides. A class without a name here is a fault of the program, not of a provider."""

BY_STATUS: dict[int, Kind] = {
    401: "auth",
    402: "quota",
    403: "auth",
    404: "unknown_model",
    408: "network",
    409: "server",
    413: "too_long",
    422: "bad_request",
    429: "rate",
}

_QUOTA = re.compile(
    r"insufficient[ _](quota|credit|balance|funds)|exceeded your current (quota|usage)|credit balance|billing|"
    r"quota (is )?(exceeded|exhausted)|out of credits|payment required|spend(ing)? limit",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"context[ _](length|window|limit)|maximum (context|input|prompt) |prompt is too long|input is too long|"
    r"too many (input )?tokens|request too large|exceeds? the (available context|maximum number of tokens)|"
    r"reduce the length|exceed_context_size",
    re.IGNORECASE,
)
_REFUSED = re.compile(
    r"content[_ ](policy|filter|management)|safety system|usage policies|usage policy|responsible ?ai|"
    r"content was (blocked|flagged)|prohibited[_ ]content|cyber_policy",
    re.IGNORECASE,
)
_NO_TOOLS = re.compile(
    r"(does not|doesn't|not) support (the )?(use of )?(tools?\b|tool[ _](use|calling|choice)|function[ _]call)|"
    r"tools?( use| calling)? (is|are) not supported|support parameters?: \[[^]]*'tools'|"
    r"(unsupported|unknown|unrecognized|unexpected)[ _][a-z_ ]*(parameter|argument|field|name|supplied):? "
    r"['\"`]?tools['\"`]?(?![\w.\[])",
    re.IGNORECASE,
)
_MODEL_UNKNOWN = re.compile(
    r"model.{0,80}(does not exist|not found|not exist|unknown|is not available|decommissioned|no longer|deprecated)|"
    r"(unknown|invalid|no such) model|model_not_found|not a valid model|llm provider not provided",
    re.IGNORECASE | re.DOTALL,
)
_PARAMETER = re.compile(
    r"unsupported (parameter|value)|not supported|n't support|does not support|do not support|unknown (parameter|name)|"
    r"unrecognized|unexpected|not permitted|invalid|not allowed|unsupported_parameter|too large|must be|"
    r"maximum allowed",
    re.IGNORECASE,
)
_BUSY = re.compile(r"overloaded|try again later|temporarily", re.IGNORECASE)

WIRE_NAMES = {
    "max_completion_tokens": "max_completion_tokens",
    "max_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "reasoning_effort": "reasoning_effort",
    "reasoning.effort": "reasoning_effort",
    "thinkingconfig": "reasoning_effort",
    "thinking_budget": "reasoning_effort",
    "budget_tokens": "reasoning_effort",
    "output_config": "reasoning_effort",
    "thinking": "reasoning_effort",
    "cache_control": "cache_control",
}
"""What a provider may call a parameter that we send → our name of it, the more special before the more general."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What an error means. said: one line. parameter: what the provider refuses, for the kind parameter.

    value_only: it refuses this value, and takes the parameter. retry_after: seconds that the provider asks for.
    output_tokens, context_tokens: limits that the message names.
    """

    kind: Kind
    said: str
    parameter: str = ""
    value_only: bool = False
    retry_after: float | None = None
    output_tokens: int | None = None
    context_tokens: int | None = None


def classify(error: BaseException, *, now: float, secrets: tuple[str, ...] = ()) -> Failure:
    """What the error of a call means. now: seconds since 1970, for a Retry-After that is a date. secrets: cut out."""
    if type(error).__name__ == "HostFailed":  # a program's, which its own module has read
        return Failure(getattr(error, "kind", "server"), one_line(str(error), secrets))
    text = _without_answer(message_of(error))
    said = one_line(text, secrets) or type(error).__name__
    kind = _by_class(error)
    if kind == "bug":
        return Failure("bug", f"{type(error).__name__}: {said}")
    status = _status(error)
    if type(error).__name__ in ("APIError", "APIStatusError", "HTTPStatusError", "MockException", "SessionModelError"):
        kind = _by_status(status)
    return _worded(kind, status, f"{text} {_code(error)}", said, _retry_after(error, now))


def message_of(error: BaseException) -> str:
    """The provider's words, without what litellm puts around them; of an empty one, its cause's."""
    for each in _causes(error):
        text = re.sub(_BEFORE, "", str(getattr(each, "message", "") or each)).strip()
        text = re.sub(r"\.? ?Handle with `litellm\.\w+`\.?$", "", text)
        if text:
            return _inner(text)
    return ""


_BEFORE = r"^(litellm\.|\w*(Error|Exception|Timeout)\s*(:|-|$|(?=\w*(Error|Exception)|\{))\s*|Timeout Error:\s*)+"


def _inner(text: str) -> str:
    """The message of a body that came as JSON, with its code and type, which say more than a status."""
    if not text.startswith("{"):
        return text
    try:
        body = json.loads(text)
    except ValueError:
        return text
    inner = body.get("error", body)
    if not isinstance(inner, dict) or not isinstance(inner.get("message"), str):
        return text
    kinds = [str(inner[name]) for name in ("type", "code") if inner.get(name)]
    return f"{inner['message']} ({', '.join(kinds)})" if kinds else str(inner["message"])


def _without_answer(text: str) -> str:
    """litellm quotes an answer that it cannot read: half of what a model said is no message, a web page may be one."""
    found = re.search(r"(?:,? ?Received(?: response)?|,? Original Response)\b.{0,20}", text)
    if found is None or re.search(r"<!doctype|<html", text, re.IGNORECASE):
        return text
    return f"an answer that is no whole JSON: {text[: found.start()]}"


def one_line(text: str, secrets: tuple[str, ...] = ()) -> str:
    """The first line that says something, short, without secrets."""
    for secret in secrets:
        text = text.replace(secret, "[key]") if len(secret) > 3 else text
    text = re.sub(r"<[^>]*>", " ", text.partition("\nTraceback")[0])
    text = " ".join(_REDACTOR.redact(text).split())
    return text if len(text) <= SAID_CHARACTERS else text[: SAID_CHARACTERS - 1] + "…"


def _by_class(error: BaseException) -> Kind:
    for name in [each.__name__ for each in type(error).__mro__]:
        if name in BY_CLASS:
            kind = BY_CLASS[name]
            return _under_connection_error(error) if name == "APIConnectionError" else kind
    return "bug"


def _under_connection_error(error: BaseException) -> Kind:
    """litellm wraps whatever it cannot name into this class, faults of programs too."""
    below = list(_causes(error))[1:]
    if not below or any(BY_CLASS.get(name) == "network" for each in below for name in _ancestors(each)):
        return "network"
    if any("JSONDecodeError" in _ancestors(each) or "ValidationError" in _ancestors(each) for each in below):
        return "server"
    faults = (TypeError, KeyError, AttributeError, IndexError, NameError, AssertionError, UnicodeError)
    return "bug" if isinstance(below[-1], faults) else "server"


def _ancestors(error: BaseException) -> set[str]:
    return {each.__name__ for each in type(error).__mro__} - {"APIConnectionError"}


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def _status(error: BaseException) -> int | None:
    status = getattr(error, "status_code", None)
    if status is None:
        status = getattr(getattr(error, "response", None), "status_code", None)
    return status if isinstance(status, int) else None


def _by_status(status: int | None) -> Kind:
    if status is None or status >= 500:
        return "server"
    return BY_STATUS.get(status, "bad_request")


def _code(error: BaseException) -> str:
    """code, type and param of an error body, which say more than the status."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else {}
    fields = inner if isinstance(inner, dict) else {}
    named: list[Any] = [fields.get(name) for name in ("code", "type", "param")]
    named += [getattr(error, name, None) for name in ("code", "type", "param")]
    return " ".join(str(each) for each in named if each)


def _worded(kind: Kind, status: int | None, text: str, said: str, retry_after: float | None) -> Failure:
    """The kind, made sharper by the words, in the order in which they are sure."""
    if kind in ("network", "unknown_model") and status != 404:
        return Failure(kind, said, retry_after=retry_after)
    if kind in OF_THE_SPAN:
        return _too_long(text, said) if kind == "too_long" else Failure(kind, said)
    if _QUOTA.search(text) and not (kind == "rate" and _BUSY.search(text)):
        return Failure("quota", said, retry_after=retry_after)
    if kind in ("bad_request", "rate") and (_TOO_LONG.search(text) or status == 413):
        return _too_long(text, said)
    if kind in ("bad_request", "auth") and _REFUSED.search(text):
        return Failure("refused", said)
    if kind in ("bad_request", "unknown_model", "server") and _NO_TOOLS.search(text):
        return Failure("no_tools", said)
    if kind == "bad_request":
        return _bad_request(text, said)
    return Failure(kind, said, retry_after=retry_after)


def _bad_request(text: str, said: str) -> Failure:
    parameter = next((ours for name, ours in WIRE_NAMES.items() if name in text.lower()), "")
    if parameter and _PARAMETER.search(text):
        value = re.search(
            r"unsupported value|supported values|does not support '|must be one of|unsupported_value", text, re.I
        )
        return Failure("parameter", said, parameter, value is not None, output_tokens=_output_limit(parameter, text))
    if _MODEL_UNKNOWN.search(text):
        return Failure("unknown_model", said)
    return Failure("bad_request", said)


def _output_limit(parameter: str, text: str) -> int | None:
    """The largest output that a message about a too large one allows: the smaller of its two or more numbers."""
    if "tokens" not in parameter or not re.search(r"too large|maximum|at most|less than|>", text, re.IGNORECASE):
        return None
    numbers = sorted(int(each.replace(",", "")) for each in re.findall(r"\b\d[\d,]{2,}\b", text))
    return numbers[0] if len(numbers) > 1 else None


def _too_long(text: str, said: str) -> Failure:
    """Too long by its output limit, where the message counts it in: then a smaller one mends it."""
    found = re.search(r"(?:maximum context length is|context (?:window|size|length)[^\d]{0,40})\s*(\d[\d,]*)", text)
    window = int(found[1].replace(",", "")) if found else None
    asked = re.search(r"(\d+) in the completion|(\d+) output tokens|max_(?:completion_)?tokens", text)
    if window and asked:
        return Failure("parameter", said, "output_tokens", output_tokens=max(window // 4, 1), context_tokens=window)
    return Failure("too_long", said, context_tokens=window)


def _retry_after(error: BaseException, now: float) -> float | None:
    """Seconds, from the header in either of its forms."""
    for holder in (getattr(error, "litellm_response_headers", None), getattr(error, "response", None)):
        headers: Any = getattr(holder, "headers", holder)
        value = headers.get("retry-after") if hasattr(headers, "get") else None
        if value:
            return _seconds(str(value), now)
    return None


def _seconds(value: str, now: float) -> float | None:
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", value.strip()):
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return None
