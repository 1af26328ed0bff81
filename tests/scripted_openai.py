"""The chat-completions protocol, as far as an agent's client uses it: request in, JSON or server-sent events out."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from scripted_shapes import Answer, Asked, Json, Refused, Turn

PIECE = 60
"""Characters of text or arguments in one event."""


def read(number: int, path: str, headers: Mapping[str, str], body: Json) -> Asked:
    turns = tuple(_turn(message) for message in body.get("messages") or [])
    functions = [tool["function"] for tool in body.get("tools") or []]
    return Asked(
        number=number,
        protocol="openai",
        path=path,
        headers=headers,
        body=body,
        system="\n".join(turn.text for turn in turns if turn.role in ("system", "developer")),
        messages=tuple(turn for turn in turns if turn.role not in ("system", "developer")),
        tools={function["name"]: function.get("parameters") or {} for function in functions},
    )


def _turn(message: Json) -> Turn:
    calls = [(call["id"], call["function"]) for call in message.get("tool_calls") or []]
    return Turn(
        role=message["role"],
        text=plain_text(message.get("content")),
        calls=tuple((call_id, function["name"], function["arguments"]) for call_id, function in calls),
        call_id=message.get("tool_call_id", ""),
    )


def plain_text(content: Any) -> str:
    """The text of a message's content: a string, a list of blocks, or nothing."""
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content or [])


def whole(asked: Asked, answer: Answer) -> Json:
    message: Json = {"role": "assistant", "content": answer.text or None}
    if answer.thinking:
        message["reasoning_content"] = answer.thinking
    if answer.calls:
        message["tool_calls"] = [
            {"id": _id(asked, index), "type": "function", "function": {"name": name, "arguments": arguments}}
            for index, (name, arguments) in enumerate(answer.arguments)
        ]
    choice = {"index": 0, "message": message, "finish_reason": answer.ending}
    return {**_head(asked, "chat.completion"), "choices": [choice], "usage": _usage(asked, answer)}


def begin(asked: Asked, answer: Answer) -> Iterator[bytes]:
    """The events of a stream up to its last piece of content."""
    yield _chunk(asked, {"role": "assistant", "content": ""})
    for piece in pieces(answer.thinking):
        yield _chunk(asked, {"reasoning_content": piece})
    for piece in pieces(answer.text):
        yield _chunk(asked, {"content": piece})
    for index, (name, arguments) in enumerate(answer.arguments):
        opened = {"id": _id(asked, index), "type": "function", "function": {"name": name, "arguments": ""}}
        yield _chunk(asked, {"tool_calls": [{"index": index, **opened}]})
        for piece in pieces(arguments):
            yield _chunk(asked, {"tool_calls": [{"index": index, "function": {"arguments": piece}}]})


def finish(asked: Asked, answer: Answer) -> Iterator[bytes]:
    """The ending of a stream; usage only where it was asked for, as the real service does."""
    yield _chunk(asked, {}, answer.ending)
    if (asked.body.get("stream_options") or {}).get("include_usage"):
        yield _event({**_head(asked, "chat.completion.chunk"), "choices": [], "usage": _usage(asked, answer)})
    yield b"data: [DONE]\n\n"


def error(refused: Refused) -> Json:
    named = {"type": refused.kind, "param": refused.param, "code": refused.code}
    return {"error": {"message": refused.message, **named}}


def error_event(refused: Refused) -> bytes:
    return _event(error(refused))


def pieces(text: str) -> Iterator[str]:
    return (text[at : at + PIECE] for at in range(0, len(text), PIECE))


def _id(asked: Asked, index: int) -> str:
    return f"call_{asked.number}_{index}"


def _head(asked: Asked, kind: str) -> Json:
    return {"id": f"chatcmpl-{asked.number}", "object": kind, "created": 1_767_225_600, "model": asked.model}


def _chunk(asked: Asked, delta: Json, ending: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": ending}
    return _event({**_head(asked, "chat.completion.chunk"), "choices": [choice]})


def _event(data: Json) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()


def _usage(asked: Asked, answer: Answer) -> Json:
    prompt, completion, cached = answer.tokens(asked)
    counted = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return {**counted, "prompt_tokens_details": {"cached_tokens": cached}}
