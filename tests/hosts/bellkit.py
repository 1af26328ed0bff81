"""What the tests of a worker's bells share."""

from typing import Any

from hookkit import Agent

from minutebook.hosts import bell
from minutebook.hosts.bells import Bells
from minutebook.store.kernel import Store


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def ring(by: Agent, **more: Any) -> None:
    """As the agent's hook does it."""
    given = {"host": "claude_code", "session": by.session, "path": str(by.transcript), **more}
    bell.ring(by.store, **{"cwd": str(by.transcript.parent), **given})


def take_all(taking: Bells, store: Store, clock: Clock, most: int = 50) -> None:
    """Until nothing is left to do."""
    for _ in range(most):
        again = taking(store)
        if again is None:
            return
        clock.now += again
    raise AssertionError("it comes to no end")
