"""What an installed program said, in words that both programs share. Pure."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from minutebook.workers.models_errors import BY_STATUS, Kind
from minutebook.workers.models_process import Finished


class HostFailed(Exception):
    """A program that gave no answer, with what it means. Never leaves the modules models*.py."""

    def __init__(self, kind: Kind, said: str) -> None:
        super().__init__(said)
        self.kind = kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """An answer. finish_reason: stop, length or content_filter. cost_usd: None where the program tells none."""

    text: str
    finish_reason: str = "stop"
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None


WORDS: Mapping[Kind, str] = {
    "quota": r"(hit|reached) your .{0,40}limit|(usage|session|weekly|spend\w*) limit|limit (was |is |has been )?reached"
    r"|quota|credit balance|billing",
    "auth": r"not logged in|/login|log ?in again|codex login|api key|401 unauthorized|403 forbidden|authenticat|oauth"
    r"|missing environment variable|token .{0,30}(expired|revoked|invalid)|refresh token",
    "too_long": r"(prompt|input) is too long|context window|out of room",
    "refused": r"can't help with|unable to respond|usage polic|flagged|content[_ ]policy",
    "rate": r"\b429\b|rate limit|too many requests",
    "unknown_model": r"selected model|model.{0,60}(does not exist|not supported|not found)|unrecognized_model",
    "bad_request": r"unknown (option|argument|feature)|unexpected argument|invalid (value|option)|error loading config",
    "server": r"\b5\d\d\b|overloaded|internal server error",
    "network": r"connection|econn|enotfound|stream disconnected|timed? ?out|error sending request|dns",
}
"""In the order in which they are sure; neither program tells its failures apart in any other way."""


def failure_of(text: str, status: int | None = None) -> HostFailed:
    """What a program's last word means. status: the HTTP status that it names, which counts where words do not."""
    for kind, words in WORDS.items():
        if re.search(words, text, re.IGNORECASE):
            return HostFailed(kind, text)
    if status is None or status >= 500:
        return HostFailed("server", text)
    return HostFailed(BY_STATUS.get(status, "bad_request"), text)


def silent(done: Finished, program: str) -> HostFailed:
    """A program that ended without an answer in the form that was asked for."""
    if done.status < 0:
        return HostFailed("server", f"`{program}` was ended by signal {-done.status}")
    lines = [line.strip() for line in (done.errors or done.output).splitlines() if line.strip()]
    if done.status and lines:
        return failure_of(f"`{program}` ended with status {done.status}: {lines[0]}")
    return HostFailed("server", f"`{program}` ended with status {done.status} and without an answer that can be read")


def objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects among the lines; anything else is left out."""
    for line in text.splitlines():
        if line.lstrip().startswith("{"):
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                yield value


def count(holder: object, name: str) -> int:
    """A number of tokens, 0 where there is none."""
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, int) and value > 0 else 0


def text_of(value: object) -> str:
    """A text, "" for anything else."""
    return value if isinstance(value, str) else ""
