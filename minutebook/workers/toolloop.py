"""The bounded conversation of one run: request, reply, receipts, next request, until the model ends it itself.

It ends by a reply without a call, by an explicit ending (`nothing_to_record`), or by a call after which nothing is left
to say (a digest). Every other end raises SpanFailed, or what `ask` raises, and the run commits nothing.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from minutebook.errors import SpanFailed
from minutebook.workers.exchange import Message, Reply, Request, ToolCall, ToolSpec
from minutebook.workers.repetition import repeats_without_end
from minutebook.workers.salvaging import NotJson, read_json
from minutebook.workers.schemas import plain_schema
from minutebook.workers.textcalls import calls_in_text

Ask = Callable[[Request], Reply]
NOT_ENDED = "not ended: something else in this turn was refused; correct it or leave it, then end again"
SHOWN_CHARACTERS = 200


class WrongArguments(Exception):
    """Arguments of the wrong shape; the message names the field, for the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handled:
    """What became of one call. receipt: for the model. trouble: it should have another turn to correct itself.

    ends: the run is complete with this call.
    """

    receipt: Mapping[str, object]
    trouble: bool = False
    ends: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool of one run. arguments: their model, for the schema. handle: the JSON value as it came → what became of it.

    ending: the call says that the run is over and has no arguments. handle may raise WrongArguments.
    """

    name: str
    description: str
    arguments: type[BaseModel]
    handle: Callable[[Any], Handled]
    ending: bool = False

    @property
    def spec(self) -> ToolSpec:
        """As a provider is sent it."""
        return ToolSpec(name=self.name, description=self.description, schema=plain_schema(self.arguments))


def run(ask: Ask, request: Request, tools: Sequence[Tool], *, max_turns: int) -> None:
    """Hold the conversation; at most max_turns replies (003-129).

    request: its messages are the first ones; where its `tools` are empty, calls are read from the text of replies.
    Raises SpanFailed with the reason cut, refused, rubbish, turn_cap or nothing_called, and what ask raises.
    """
    known = {tool.name: tool for tool in tools}
    for turn in range(1, max_turns + 1):
        reply = ask(request)
        _check(reply)
        calls = _numbered(reply.calls, turn)
        if calls:
            handled = _handle_all([(call.name, call.arguments) for call in calls], known)
            over = any(each.ends for each in handled)
            answer = [_echo(reply, calls), *_receipts(calls, handled)]
        else:  # the model has stopped; what it wrote as text is a call only where it can be read as one
            handled, over = _handle_text(reply.text, known, expected=not request.tools), True
            answer = _receipts_as_text(reply, handled)
        if over and not any(each.trouble for each in handled):
            return
        request = replace(request, messages=(*request.messages, *answer))
    raise SpanFailed(f"the model did not end its run within agent_max_turns = {max_turns} replies", reason="turn_cap")


def _check(reply: Reply) -> None:
    """Raise SpanFailed for a reply that is no whole answer, whatever calls it holds."""
    if reply.ended == "length":
        raise SpanFailed(f"the answer of {reply.model} was cut at its output limit", reason="cut")
    if reply.ended == "refused":
        raise SpanFailed(f"{reply.model} refused to answer", reason="refused")
    if any(map(repeats_without_end, (reply.text, *(call.arguments for call in reply.calls)))):
        raise SpanFailed(f"{reply.model} repeated itself without end", reason="rubbish")
    if reply.ended == "tool_calls" and not reply.calls:
        raise SpanFailed(f"{reply.model} said that it calls a tool, and called none", reason="nothing_called")


# -- calls ---------------------------------------------------------------------------------------------------------


def _handle_all(calls: Sequence[tuple[str, str]], known: Mapping[str, Tool]) -> list[Handled]:
    """One after another, in order; the endings last, because they hold only where nothing was refused."""
    done = [None if _is_ending(name, known) else _handle(name, arguments, known) for name, arguments in calls]
    trouble = any(handled.trouble for handled in done if handled)
    return [
        handled or _end(known[_tool_name(name, known)], trouble) for handled, (name, _) in zip(done, calls, strict=True)
    ]


def _handle(name: str, arguments: str, known: Mapping[str, Tool]) -> Handled:
    tool = known.get(_tool_name(name, known))
    if tool is None:
        return _wrong(f"there is no tool {name[:SHOWN_CHARACTERS]!r}; the tools are {', '.join(known)}")
    try:
        return tool.handle(read_json(arguments))
    except NotJson as why:
        return _wrong(
            f"the arguments are not readable as JSON: {why}. Nothing of this call was recorded; send it again"
        )
    except WrongArguments as why:
        return _wrong(str(why))


def _end(tool: Tool, trouble: bool) -> Handled:
    return _wrong(NOT_ENDED) if trouble else replace(tool.handle({}), ends=True)


def _wrong(message: str) -> Handled:
    return Handled(receipt={"error": message}, trouble=True)


def _is_ending(name: str, known: Mapping[str, Tool]) -> bool:
    tool = known.get(_tool_name(name, known))
    return tool is not None and tool.ending


def _handle_text(text: str, known: Mapping[str, Tool], *, expected: bool) -> list[Handled]:
    required = {name: tool.spec.schema.get("required", ()) for name, tool in known.items()}
    try:
        return _handle_all(calls_in_text(text, required, expected=expected), known)
    except NotJson as why:
        return [_wrong(f"your answer is not readable as JSON: {why}. Nothing of it was recorded; send it again")]


def _tool_name(name: str, known: Mapping[str, Tool]) -> str:
    """The name without the prefix that some models put before it: functions.x, default_api:x."""
    bare = re.split(r"[.:/]", name.strip())[-1]
    return bare if bare in known else name


# -- messages ------------------------------------------------------------------------------------------------------


def _numbered(calls: Sequence[ToolCall], turn: int) -> list[ToolCall]:
    """With an id each, where a provider gave none, or one twice."""
    ids = [call.id for call in calls]
    whole = all(ids) and len(set(ids)) == len(ids)
    return list(calls) if whole else [replace(call, id=f"call_{turn}_{at}") for at, call in enumerate(calls, start=1)]


def _echo(reply: Reply, calls: Sequence[ToolCall]) -> Message:
    """The reply as the next request holds it: providers refuse arguments that are no JSON object, and odd names."""
    clean = (
        replace(call, name=re.sub(r"[^\w-]", "_", call.name, flags=re.ASCII)[:64] or "_", arguments=_object(call))
        for call in calls
    )
    return Message(role="assistant", text=reply.text, calls=tuple(clean), carried=reply.carried)


def _object(call: ToolCall) -> str:
    try:
        value = read_json(call.arguments) if call.arguments.strip() else {}
    except NotJson:
        value = {"unreadable": call.arguments[:SHOWN_CHARACTERS]}
    return _compact(value if isinstance(value, dict) else {"arguments": value})


def _receipts(calls: Sequence[ToolCall], handled: Sequence[Handled]) -> Iterator[Message]:
    for call, each in zip(calls, handled, strict=True):
        yield Message(role="tool", text=_compact(each.receipt), call_id=call.id)


def _receipts_as_text(reply: Reply, handled: Sequence[Handled]) -> list[Message]:
    receipts = "\n".join(_compact(each.receipt) for each in handled)
    said = Message(role="assistant", text=reply.text, carried=reply.carried)
    return [said, Message(role="user", text=f"Receipt:\n{receipts}")]


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
