"""A model that answers by a script, without a network: what the loop sends is kept, what it gets is stated."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from minutebook.settings import ModelChoice
from minutebook.workers.exchange import Ended, Message, Reply, Request, ToolCall

CHOICE = ModelChoice(provider="local", id="scripted")
Said = Reply | Exception | Callable[[Request], Reply]


def answer(*calls: tuple[str, Any], text: str = "", ended: Ended | None = None, model: str = "local/scripted") -> Reply:
    """calls: name and arguments, as a value or as the text that came."""
    made = tuple(
        ToolCall(id=f"c{at}", name=name, arguments=given if isinstance(given, str) else json.dumps(given))
        for at, (name, given) in enumerate(calls)
    )
    return Reply(text=text, calls=made, ended=ended or ("tool_calls" if made else "stop"), model=model)


DONE = answer(text="done")


class Script:
    """Answers in turn, the last one again and again. requests: what was asked."""

    def __init__(self, *said: Said) -> None:
        self._said = list(said)
        self.requests: list[Request] = []

    def __call__(self, request: Request) -> Reply:
        self.requests.append(request)
        said = self._said.pop(0) if len(self._said) > 1 else self._said[0]
        if isinstance(said, Exception):
            raise said
        return said if isinstance(said, Reply) else said(request)

    def receipts(self) -> list[Any]:
        """Every receipt that the model was given, in order."""
        messages: Sequence[Message] = self.requests[-1].messages if self.requests else ()
        return [json.loads(message.text) for message in messages if message.role == "tool"]
