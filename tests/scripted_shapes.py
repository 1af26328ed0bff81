"""What a test tells the scripted model server to do, and what the server saw: plain data for either protocol."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Json = dict[str, Any]
Protocol = Literal["openai", "anthropic"]
Finish = Literal["stop", "tool_calls", "length", "content_filter"]

TOOL_OF = {
    "record_observations": "observer",
    "record_reflections": "reflector",
    "record_digest": "digester",
    "drop_observations": "dropper",
    "rank_records": "judge",
}
"""The tool that tells the role of a request; without tools a line `Role: observer` in the system prompt does."""
MARKER = re.compile(r"^Role:[ \t]*(\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message of a request, the same for both protocols. calls: (id, name, arguments as text)."""

    role: str
    text: str = ""
    calls: tuple[tuple[str, str, str], ...] = ()
    call_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request as it came. tools: name to JSON schema; headers: names in lower case; stream: asked as a stream."""

    number: int
    protocol: Protocol
    path: str
    headers: Mapping[str, str]
    body: Json
    system: str
    messages: tuple[Turn, ...]
    tools: Mapping[str, Json]

    @property
    def role(self) -> str:
        named = [TOOL_OF[name] for name in self.tools if name in TOOL_OF]
        marked = MARKER.search(self.system)
        return named[0] if named else marked[1].lower() if marked else "other"

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @property
    def stream(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def last(self) -> Turn:
        return self.messages[-1]

    @property
    def text(self) -> str:
        """Everything that the model can read, tools aside."""
        return "\n".join([self.system, *(turn.text for turn in self.messages)])

    @property
    def prompt_tokens(self) -> int:
        """The usage that is reported when the script names none: characters / 4, tools and calls included."""
        calls = sum(len(arguments) for turn in self.messages for _, _, arguments in turn.calls)
        return (len(self.text) + calls + len(json.dumps(dict(self.tools)))) // 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the model says.

    calls: (name, arguments); arguments as text go out as they are, JSON or not.
    finish: None for tool_calls where there are calls, else stop. thinking: shown reasoning, before the text.
    usage: prompt_tokens (all of the input), completion_tokens, cached_tokens (of the input), where the script cares.
    delay: seconds before the first byte; gap: seconds between the pieces.
    """

    text: str = ""
    calls: Sequence[tuple[str, Any]] = ()
    finish: Finish | None = None
    thinking: str = ""
    usage: Mapping[str, int] = field(default_factory=dict)
    delay: float = 0
    gap: float = 0

    @property
    def arguments(self) -> list[tuple[str, str]]:
        """The calls with their arguments as text."""
        return [(name, given if isinstance(given, str) else json.dumps(given)) for name, given in self.calls]

    @property
    def ending(self) -> Finish:
        return self.finish or ("tool_calls" if self.calls else "stop")

    def tokens(self, asked: Asked) -> tuple[int, int, int]:
        """Prompt, completion and cached tokens."""
        said = len(self.text) + len(self.thinking) + sum(len(text) for _, text in self.arguments)
        prompt = self.usage.get("prompt_tokens", asked.prompt_tokens)
        return prompt, self.usage.get("completion_tokens", max(1, said // 4)), self.usage.get("cached_tokens", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """An HTTP error in the words of the protocol that was asked. kind, code, param: as providers name them."""

    status: int
    message: str
    kind: str = "invalid_request_error"
    code: str | None = None
    param: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Any bytes with any status: a quota page, an empty body, half JSON."""

    body: bytes
    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """An answer that begins and does not end well.

    after: pieces of the stream that arrive (None: all but the ending); an answer in one body arrives half, or not at
    all for 0. then: close: the connection closes within the body; end: the stream ends as if it were complete, without
    its ending; reset: the peer resets; hang: nothing more comes until the server closes; error: an error event.
    """

    answer: Answer = field(default_factory=Answer)
    after: int | None = None
    then: Literal["close", "end", "reset", "hang", "error"] = "close"


Fault = Refused | Page | Broken
Item = str | Answer | Fault
Scripted = Item | Callable[[Asked], Item]
