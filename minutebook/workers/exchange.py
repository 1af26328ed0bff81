"""What goes to a model, and what comes back: plain data between models.py, the tool loop and the model mind."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from minutebook.settings import ModelChoice

Ended = Literal["stop", "tool_calls", "length", "refused"]
"""stop: the model said it is done; length: cut at the output limit; refused: by the model or a content filter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool that the model may call. schema: JSON schema of its arguments, in the plain subset all providers take."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call as the model made it. arguments: the text as it came, JSON or not."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation.

    role: user, assistant or tool. calls: of an assistant message. call_id: the call that a tool message answers.
    carried: of an assistant message, the reply's `carried`.
    """

    role: Literal["user", "assistant", "tool"]
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    carried: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request. role: observer, reflector, … for the accounts; session, branch: on whose behalf.

    system: the stable prefix, which providers cache. output_tokens: the most that the answer may take (None: 003-130).
    deadline: seconds of time.monotonic() after which no further try is made; None for no deadline.
    """

    role: str
    session: str
    branch: str
    choice: ModelChoice
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    output_tokens: int | None = None
    deadline: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Tokens and money of one reply, as the provider reported them. cached: of the input, read from its cache."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer. model: provider/id that really gave it (perhaps a fallback).

    carried: what the provider wants back, unread, with the next request of the conversation (signed thinking).
    """

    text: str
    calls: tuple[ToolCall, ...]
    ended: Ended
    model: str
    spent: Spent = field(default_factory=Spent)
    carried: Mapping[str, Any] = field(default_factory=dict)
