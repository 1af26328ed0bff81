"""litellm, loaded on the first use and kept quiet. Nothing else imports it."""

import logging
import os
import threading
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from minutebook.errors import MissingExtra

PURPOSE = "asking a model"
ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # prices from the package, not from the network
    "LITELLM_MODE": "PRODUCTION",  # DEV reads a .env file above the installation, which could name another server
    "LITELLM_DISABLE_BUG_REPORT_LINK": "true",
}
WITH_USUAL_KEY = frozenset(
    {
        "anthropic",
        "cerebras",
        "cohere",
        "deepseek",
        "fireworks_ai",
        "groq",
        "mistral",
        "moonshot",
        "nvidia_nim",
        "openai",
        "openrouter",
        "xai",
    }
)
"""Providers that litellm knows and that want NAME_API_KEY, so that nobody has to load it to learn that."""
OTHER_KEYS = {
    "anthropic": ("ANTHROPIC_AUTH_TOKEN",),
    "fireworks_ai": ("FIREWORKS_API_KEY", "FIREWORKSAI_API_KEY", "FIREWORKS_AI_TOKEN"),
}
"""Variables that litellm takes in place of it."""
GRACE_SECONDS = 1.0


class TookTooLong(Exception):
    """No whole answer within the time of a request. Never leaves the modules models*.py."""


@cache
def library() -> ModuleType:
    """litellm; its import takes 4 s and 200 MB. Raises MissingExtra."""
    os.environ.update(ENVIRONMENT)
    try:
        import litellm
    except ModuleNotFoundError as error:
        if error.name != "litellm":
            raise
        raise MissingExtra("models", PURPOSE) from None
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.disable_hf_tokenizer_download = True
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        quiet = logging.getLogger(name)
        quiet.setLevel(logging.CRITICAL + 1)
        quiet.disabled = True
    return litellm


def need_library() -> None:
    """Raises MissingExtra where litellm is not installed, without loading it."""
    if find_spec("litellm") is None:
        raise MissingExtra("models", PURPOSE)


def complete(parameters: Mapping[str, Any], *, timeout_seconds: float) -> Any:
    """One request, one answer, never retried here. Raises what litellm raises, and TookTooLong.

    Not streamed: litellm ends a stream that was cut with the finish reason "stop", so that half an answer would look
    whole, while a body that was cut is an error of the connection.
    """
    completion = library().completion
    return within(
        timeout_seconds + GRACE_SECONDS,
        lambda: completion(**parameters, timeout=timeout_seconds, num_retries=0, max_retries=0, stream=False),
    )


def within(seconds: float, call: Callable[[], Any]) -> Any:
    """The call's result or error; TookTooLong after so many seconds of a clock on the wall.

    The timeout of an HTTP client ends a silence, not an answer that drips in byte by byte. The thread that was left
    behind ends with its connection, and keeps no process alive.
    """
    results: list[Any] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:  # handed to the caller, whatever it is
            errors.append(error)

    thread = threading.Thread(target=run, name="minutebook-model-call", daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        raise TookTooLong(f"no whole answer within {seconds - GRACE_SECONDS:.0f} s")
    return results[0]


def cost_of(response: Any) -> float | None:
    """What litellm counts for an answer in US dollars, tiers and cache writes included; None where it has no price."""
    cost = (getattr(response, "_hidden_params", None) or {}).get("response_cost")
    return float(cost) if isinstance(cost, (int, float)) else None
