"""A Request as litellm takes it, and its answer as a Reply. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from minutebook.settings import ModelChoice
from minutebook.tokens import estimate_tokens
from minutebook.workers.exchange import Ended, Message, Reply, Request, Spent, ToolCall
from minutebook.workers.models_quirks import LIMIT_NAMES, Quirks

BROKEN_ENDS = ("error", "malformed_response", "finish_reason_unspecified")
"""Reasons for an end that litellm shows as "stop", though no model said so."""
ENDED: Mapping[str, Ended] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "content_filter": "refused",
}
SEVERAL_TURNS = frozenset({"observer", "reflector", "dropper"})
"""Roles that send their first message again with each turn: read from the cache it costs a tenth, written a quarter
more. The others are done with one answer."""
LOWER = {"max": "xhigh", "xhigh": "high", "high": "medium", "medium": "low", "minimal": "low"}
"""The thinking level to try when a provider has not got one. Below low nothing is sent."""


class BrokenAnswer(Exception):
    """A 200 that is no answer. Never leaves the modules models*.py."""


@dataclass(frozen=True, slots=True)
class Abilities:
    """What the model can do. output_tokens: the most to ask for. marks: its prompt cache wants the prefix marked."""

    output_tokens: int
    thinks: bool
    marks: bool


def parameters_of(request: Request, choice: ModelChoice, abilities: Abilities, quirks: Quirks) -> dict[str, Any]:
    """The arguments of litellm.completion, without keys, server and timeout. What was refused before is left out."""
    found: dict[str, Any] = {"model": f"{choice.provider}/{choice.id}"}
    marked = abilities.marks and "cache_control" not in quirks.refused
    found["messages"] = [_system(request.system, marked), *map(_sendable(choice), request.messages)]
    if marked and request.role in SEVERAL_TURNS and request.messages:
        found["messages"][1] |= {"content": [_marked(request.messages[0].text)]}
    if request.tools and "tools" not in quirks.refused:
        found["tools"] = [_tool(each.name, each.description, each.schema) for each in request.tools]
    limit = next((name for name in LIMIT_NAMES if name not in quirks.refused), None)
    if limit:
        limits = (abilities.output_tokens, request.output_tokens, quirks.output_tokens)
        found[limit] = min(each for each in limits if each)
    effort = _effort(choice, quirks) if abilities.thinks and _may_think(request, choice) else None
    if effort:
        found["reasoning_effort"] = effort
    return found


def marks_prefix(choice: ModelChoice) -> bool:
    """Whether the model's provider caches only what is marked: Claude, wherever it is served."""
    return choice.provider == "anthropic" or "claude" in choice.id.lower()


def _effort(choice: ModelChoice, quirks: Quirks) -> str | None:
    level: str | None = None if choice.thinking == "off" else choice.thinking
    while level and f"reasoning_effort={level}" in quirks.refused:
        level = LOWER.get(level)
    return None if "reasoning_effort" in quirks.refused else level


def _may_think(request: Request, choice: ModelChoice) -> bool:
    """Claude goes on thinking only after its own signed thinking; another model's turns have none."""
    acted = [message for message in request.messages if message.role == "assistant" and message.calls]
    return not marks_prefix(choice) or all(_carried(message, choice).get("thinking_blocks") for message in acted)


def _carried(message: Message, choice: ModelChoice) -> Mapping[str, Any]:
    """Signed thinking is of use only to the model that signed it."""
    own = message.carried.get("model") == f"{choice.provider}/{choice.id}"
    return {name: value for name, value in message.carried.items() if name != "model"} if own else {}


def _system(text: str, marked: bool) -> dict[str, Any]:
    if not marked:
        return {"role": "system", "content": _utf8(text)}
    return {"role": "system", "content": [_marked(text)]}


def _marked(text: str) -> dict[str, Any]:
    return {"type": "text", "text": _utf8(text), "cache_control": {"type": "ephemeral"}}


def _sendable(choice: ModelChoice) -> Any:
    def sent(message: Message) -> dict[str, Any]:
        if message.role == "tool":
            return {"role": "tool", "tool_call_id": message.call_id, "content": _utf8(message.text)}
        found: dict[str, Any] = {"role": message.role, "content": _utf8(message.text)}
        if message.calls:
            found["content"] = found["content"] or None
            found["tool_calls"] = [_call(call) for call in message.calls]
        return {**found, **_carried(message, choice)}

    return sent


def _call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _utf8(call.arguments)}}


def _tool(name: str, description: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": description, "parameters": dict(schema)}}


def _utf8(text: str) -> str:
    """Half a surrogate pair cannot be sent."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


# -- the answer ----------------------------------------------------------------------------------------------------


def reply_of(response: Any, choice: ModelChoice, spent: Spent) -> Reply:
    """The answer in our words. Raises BrokenAnswer for one that no model can have finished."""
    choices: Sequence[Any] = getattr(response, "choices", None) or ()
    if not choices or getattr(choices[0], "message", None) is None:
        raise BrokenAnswer("an answer without any choice")
    message, native = choices[0].message, _native(choices[0])
    if any(word in native.lower() for word in BROKEN_ENDS) and native != "ERROR_TOXIC":
        raise BrokenAnswer(f"the provider ended the answer with {native!r}")
    refusal = getattr(message, "refusal", None)
    model = f"{choice.provider}/{choice.id}"
    thinking = getattr(message, "thinking_blocks", None)
    return Reply(
        text=str(message.content or refusal or ""),
        calls=tuple(_calls(message)),
        ended="refused" if refusal else _ended(choices[0]),
        model=model,
        spent=spent,
        carried={"model": model, "thinking_blocks": thinking} if thinking else {},
    )


def _ended(choice: Any) -> Ended:
    reason = str(choice.finish_reason or "")
    if reason not in ENDED:
        raise BrokenAnswer(f"an answer that ended with {reason!r}")
    return ENDED[reason]


def _native(choice: Any) -> str:
    fields = getattr(choice, "provider_specific_fields", None) or {}
    return str(fields.get("native_finish_reason") or "")


def _calls(message: Any) -> Iterator[ToolCall]:
    for call in message.tool_calls or ():
        function = call.function
        arguments = function.arguments
        text = arguments if isinstance(arguments, str) else _json(arguments)
        yield ToolCall(id=str(call.id or ""), name=str(function.name or ""), arguments=text)


def _json(value: Any) -> str:
    import json

    return json.dumps(value if value is not None else {}, ensure_ascii=False)


def tokens_of(response: Any, request: Request) -> tuple[int, int, int]:
    """Input, output and cached tokens as reported; an estimate where a server reports none."""
    usage = getattr(response, "usage", None)
    given, made = _int(usage, "prompt_tokens"), _int(usage, "completion_tokens")
    if given == made == 0:
        return _estimated(request), _said(response), 0
    return given, made, _int(getattr(usage, "prompt_tokens_details", None), "cached_tokens")


def _estimated(request: Request) -> int:
    texts = [request.system, *(message.text for message in request.messages)]
    texts += [call.arguments for message in request.messages for call in message.calls]
    return sum(map(estimate_tokens, texts))


def _said(response: Any) -> int:
    messages = [each.message for each in getattr(response, "choices", None) or () if each.message]
    return sum(estimate_tokens(str(m.content or "") + "".join(c.arguments for c in _calls(m))) for m in messages)


def _int(holder: Any, name: str) -> int:
    value = getattr(holder, name, 0)
    return value if isinstance(value, int) and value > 0 else 0
