"""A relay on a real socket, with a scripted extension behind it: what its tests and those of the workers share."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from minutebook.hosts.relay import Relay

FAKE = {"provider": "fake", "id": "fake-main", "window": 128_000, "max_tokens": 4_096, "reasoning": False}
Reply = Callable[[dict[str, Any]], Mapping[str, Any] | None]
WAIT = 60.0


class Extension:
    """What stands where Pi's extension is. reply: a question → the answer's fields, None to stay silent.

    lines: all that the relay sent here, in order. Each answer comes from a thread of its own, as from the other side.
    """

    def __init__(self, reply: Reply) -> None:
        self.lines: list[dict[str, Any]] = []
        self.relay: Relay | None = None
        self._reply = reply
        self._came = threading.Condition()

    def send(self, line: dict[str, Any]) -> None:
        with self._came:
            self.lines.append(line)
            self._came.notify_all()
        if line["type"] == "ask":
            threading.Thread(target=self._answer, args=(line,), daemon=True).start()

    def _answer(self, line: dict[str, Any]) -> None:
        answer = self._reply(line)
        if answer is not None and self.relay is not None:
            self.relay.answered({"type": "answer", "id": line["id"], **answer})

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["type"] == kind]

    def wait_for(self, kind: str, number: int = 1) -> list[dict[str, Any]]:
        with self._came:
            assert self._came.wait_for(lambda: len(self.of(kind)) >= number, WAIT), self.lines
        return self.of(kind)


@contextmanager
def relay_of(
    store_path: str, session_key: str, reply: Reply, model: Mapping[str, Any] | None = FAKE
) -> Iterator[Extension]:
    """A session that is open: its relay listens until the block ends."""
    extension = Extension(reply)
    relay = extension.relay = Relay(store_path, session_key, extension.send)
    assert relay.start() == ""
    relay.model_is(model)
    try:
        yield extension
    finally:
        relay.close()


def answered(text: str = "", *calls: tuple[str, str], **more: Any) -> dict[str, Any]:
    """An answer of the session's model. calls: name and arguments as JSON text."""
    made = [{"id": f"c{at}", "name": name, "arguments": arguments} for at, (name, arguments) in enumerate(calls)]
    usage = {"input": 600, "output": 50, "cache_read": 400, "cache_write": 0, "cost_usd": 0.002}
    ended = "tool_calls" if calls else "stop"
    given = {"text": text, "calls": made, "ended": ended, "model": "fake/fake-main", "usage": usage, "carried": {}}
    return {**given, "error": None, **more}
