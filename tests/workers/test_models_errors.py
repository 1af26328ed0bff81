"""What errors mean: every class that litellm exports has a meaning; words decide only where class and status do not."""

import inspect
from typing import Any

import pytest

from minutebook.workers.models_errors import KINDS, Failure, classify
from minutebook.workers.models_library import library

NOW = 1_800_000_000.0
VALUES: dict[str, Any] = {
    "status_code": 503,
    "failures": [],
    "max_budget": 1.0,
    "current_cost": 2.0,
    "request_data": {},
    "route_to_model": "m",
    "raw_response": "{}",
}


def exported() -> dict[str, type[BaseException]]:
    found = vars(__import__(f"{library().__name__}.exceptions", fromlist=["x"]))
    return {name: each for name, each in found.items() if inspect.isclass(each) and issubclass(each, BaseException)}


def made(kind: type[BaseException]) -> BaseException:
    """An instance, with whatever its constructor asks for."""
    if kind.__init__ is Exception.__init__:
        return kind("words")
    needed = {
        name: VALUES.get(name, "words")
        for name, parameter in inspect.signature(kind).parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }
    if "response" in needed:
        import httpx

        needed["response"] = httpx.Response(400, request=httpx.Request("POST", "http://127.0.0.1"))
    return kind(**needed)


def test_every_exception_of_litellm_has_a_meaning() -> None:
    """None is taken for a fault of ours, so that none leaves as a foreign error."""
    kinds = {name: classify(made(each), now=NOW).kind for name, each in exported().items()}
    assert len(kinds) > 25 and {name for name, kind in kinds.items() if kind == "bug"} == set()
    assert kinds["ContextWindowExceededError"] == "too_long" and kinds["ContentPolicyViolationError"] == "refused"
    assert kinds["AuthenticationError"] == kinds["PermissionDeniedError"] == "auth"
    assert kinds["RateLimitError"] == "rate" and kinds["BudgetExceededError"] == "quota"
    assert kinds["Timeout"] == kinds["APIConnectionError"] == "network"
    assert kinds["InternalServerError"] == kinds["ServiceUnavailableError"] == kinds["APIError"] == "server"
    assert kinds["NotFoundError"] == "unknown_model" and kinds["BadRequestError"] == "bad_request"


def test_every_exception_of_httpx_and_openai_has_a_meaning() -> None:
    import httpx
    import openai

    request = httpx.Request("POST", "http://127.0.0.1")
    for each in (httpx.ReadTimeout, httpx.ConnectError, httpx.RemoteProtocolError, httpx.ProxyError):
        assert classify(each("words", request=request), now=NOW).kind == "network"
    names = [
        name
        for name, each in list(vars(openai).items())
        if inspect.isclass(each) and issubclass(each, openai.OpenAIError)
    ]
    known = {name: kind for name in names if (kind := classify(_bare(getattr(openai, name)), now=NOW).kind)}
    assert len(known) > 10 and "bug" not in known.values()


def _bare(kind: type[BaseException]) -> BaseException:
    return kind.__new__(kind)


@pytest.mark.parametrize("error", [TypeError("x"), KeyError("x"), AssertionError("x"), RuntimeError("x")])
def test_a_fault_of_the_program_is_a_bug(error: Exception) -> None:
    assert classify(error, now=NOW).kind == "bug"


def test_a_fault_that_litellm_wraps_as_a_lost_connection_is_a_bug() -> None:
    lost = library().exceptions.APIConnectionError(message="words", llm_provider="p", model="m")
    assert classify(lost, now=NOW).kind == "network"
    lost.__cause__ = KeyError("role")
    assert classify(lost, now=NOW).kind == "bug"
    lost.__cause__ = ConnectionResetError("reset")
    assert classify(lost, now=NOW).kind == "network"


def bad(message: str, kind: str = "BadRequestError", **more: Any) -> Failure:
    error = getattr(library().exceptions, kind)(message=message, model="m", llm_provider="p")
    for name, value in more.items():
        setattr(error, name, value)
    return classify(error, now=NOW)


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("This model's maximum context length is 8192 tokens.", "too_long"),
        ("prompt is too long: 210000 tokens > 200000 maximum", "too_long"),
        ("the request exceeds the available context size", "too_long"),
        ("Your credit balance is too low to access the API.", "quota"),
        ("Your request was rejected as a result of our safety system.", "refused"),
        ("registry/library/x does not support tools", "no_tools"),
        ("Unsupported parameter: 'tools' is not supported with this model.", "no_tools"),
        ("Unsupported parameter: 'tools'", "no_tools"),
        ("Unrecognized request argument supplied: tools", "no_tools"),
        ("Unknown parameter: 'tools[0].strict'.", "bad_request"),
        ("Unsupported parameter: 'tools.0.input_schema.default'", "bad_request"),
        ("The model `gpt-9` does not exist", "unknown_model"),
        ("messages.3: something odd", "bad_request"),
    ],
)
def test_a_400_means_what_it_says(message: str, kind: str) -> None:
    assert bad(message).kind == kind


def test_a_429_may_be_about_money_or_about_size() -> None:
    assert bad("You exceeded your current quota, please check your plan.", "RateLimitError").kind == "quota"
    assert bad("Request too large for m on tokens per min: Limit 10000", "RateLimitError").kind == "too_long"
    assert bad("Rate limit reached, try again later, or see billing", "RateLimitError").kind == "rate"


@pytest.mark.parametrize(
    ("message", "parameter", "value_only"),
    [
        ("Unsupported parameter: 'max_tokens' is not supported with this model.", "max_tokens", False),
        ("Unsupported value: 'reasoning_effort' does not support 'minimal' with this model.", "reasoning_effort", True),
        ("thinking: Extra inputs are not permitted", "reasoning_effort", False),
        ("system.0.cache_control: Extra inputs are not permitted", "cache_control", False),
    ],
)
def test_a_refused_parameter_is_named(message: str, parameter: str, value_only: bool) -> None:
    found = bad(message)
    assert (found.kind, found.parameter, found.value_only) == ("parameter", parameter, value_only)


def test_a_limit_that_a_message_names_is_read_003_130() -> None:
    too_large = bad("max_tokens is too large: 32000. This model supports at most 16384 completion tokens.")
    assert (too_large.kind, too_large.output_tokens) == ("parameter", 16_384)
    small = bad(
        "This model's maximum context length is 2048 tokens. However, you requested 32500 tokens "
        "(500 in the messages, 32000 in the completion)."
    )
    assert (small.kind, small.output_tokens, small.context_tokens) == ("parameter", 512, 2_048)


def test_retry_after_in_seconds_and_as_a_date() -> None:
    assert bad("slow down", "RateLimitError", litellm_response_headers={"retry-after": "7"}).retry_after == 7.0
    date = {"retry-after": "Fri, 15 Jan 2027 08:00:30 GMT"}
    assert bad("slow down", "RateLimitError", litellm_response_headers=date).retry_after == 30.0
    assert bad("slow down", "RateLimitError", litellm_response_headers={"retry-after": "soon"}).retry_after is None


def test_what_is_said_is_one_line_without_secrets() -> None:
    said = classify(ConnectionError("key abcdef123 is\nwrong " + "x" * 900), now=NOW, secrets=("abcdef123",)).said
    assert said.startswith("key [key] is wrong") and len(said) <= 240 and "\n" not in said


def test_kinds_are_the_words_of_the_error_tree() -> None:
    """Every reason that errors.py names is a kind."""
    from minutebook.errors import ProviderFailed

    named = {"auth", "quota", "rate", "network", "server", "unknown_model", "bad_request", "no_tools"}
    assert named <= set(KINDS) and all(word in (ProviderFailed.__doc__ or "") for word in named)
