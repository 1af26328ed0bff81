"""The messages protocol, as far as an agent's client uses it: request in, JSON or server-sent events out."""

import json
from collections.abc import Iterator, Mapping

from scripted_openai import pieces, plain_text
from scripted_shapes import Answer, Asked, Json, Refused, Turn

STOP_REASON = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}


def read(number: int, path: str, headers: Mapping[str, str], body: Json) -> Asked:
    return Asked(
        number=number,
        protocol="anthropic",
        path=path,
        headers=headers,
        body=body,
        system=plain_text(body.get("system")),
        messages=tuple(turn for message in body.get("messages") or [] for turn in _turns(message)),
        tools={tool["name"]: tool.get("input_schema") or {} for tool in body.get("tools") or []},
    )


def _turns(message: Json) -> Iterator[Turn]:
    """Tool results come as blocks of a user message; here each is a turn of its own, as in the other protocol."""
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for block in blocks:
        if block["type"] == "tool_result":
            yield Turn(role="tool", text=plain_text(block.get("content")), call_id=block["tool_use_id"])
    text = plain_text([block for block in blocks if block["type"] == "text"])
    uses = [block for block in blocks if block["type"] == "tool_use"]
    if text or uses:
        calls = tuple((use["id"], use["name"], json.dumps(use["input"])) for use in uses)
        yield Turn(role=message["role"], text=text, calls=calls)


def whole(asked: Asked, answer: Answer) -> Json:
    """The answer in one body. Arguments that are no JSON go out as a string, which a real service does not send."""
    uses = enumerate(answer.arguments)
    content = [*_prose(answer), *({**_use(asked, index, name), "input": _input(text)} for index, (name, text) in uses)]
    return {**_message(asked, answer), "content": content, "stop_reason": STOP_REASON[answer.ending]}


def begin(asked: Asked, answer: Answer) -> Iterator[bytes]:
    """The events of a stream up to the last block."""
    counted = {**_usage(asked, answer), "output_tokens": 1}
    yield _event("message_start", message={**_message(asked, answer), "usage": counted})
    prose = _prose(answer)
    for index, block in enumerate(prose):
        kind = block["type"]
        deltas = [{"type": f"{kind}_delta", kind: piece} for piece in pieces(block[kind])]
        signed = [{"type": "signature_delta", "signature": block["signature"]}] if kind == "thinking" else []
        yield from _block(index, {**block, kind: ""}, [*deltas, *signed])
    for index, (name, text) in enumerate(answer.arguments):
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(text)]
        yield from _block(len(prose) + index, {**_use(asked, index, name), "input": {}}, deltas)


def finish(asked: Asked, answer: Answer) -> Iterator[bytes]:
    delta = {"stop_reason": STOP_REASON[answer.ending], "stop_sequence": None}
    yield _event("message_delta", delta=delta, usage={"output_tokens": answer.tokens(asked)[1]})
    yield _event("message_stop")


def error(refused: Refused) -> Json:
    return {"type": "error", "error": {"type": refused.kind, "message": refused.message}}


def error_event(refused: Refused) -> bytes:
    return _event("error", error=error(refused)["error"])


def _prose(answer: Answer) -> list[Json]:
    thinking = [{"type": "thinking", "thinking": answer.thinking, "signature": "c2lnbmVk"}] if answer.thinking else []
    return [*thinking, *([{"type": "text", "text": answer.text}] if answer.text else [])]


def _use(asked: Asked, index: int, name: str) -> Json:
    return {"type": "tool_use", "id": f"toolu_{asked.number}_{index}", "name": name}


def _input(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _message(asked: Asked, answer: Answer) -> Json:
    head = {"id": f"msg_{asked.number}", "type": "message", "role": "assistant", "model": asked.model}
    return {**head, "content": [], "stop_reason": None, "stop_sequence": None, "usage": _usage(asked, answer)}


def _usage(asked: Asked, answer: Answer) -> Json:
    """Here input_tokens leaves out what was read from the cache."""
    prompt, completion, cached = answer.tokens(asked)
    read_back = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": cached}
    return {"input_tokens": prompt - cached, "output_tokens": completion, **read_back}


def _block(index: int, block: Json, deltas: list[Json]) -> Iterator[bytes]:
    yield _event("content_block_start", index=index, content_block=block)
    for delta in deltas:
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _event(kind: str, **data: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()
