"""Memory that is due and that nobody makes: who keeps the session says so, once. Pure."""

from dataclasses import dataclass

LOOKS = 3
SECONDS = 120.0
"""A worker that is started is there within a second or two, and comes to a session within a few more."""


@dataclass(slots=True)
class Unmade:
    """observed: the coverage that was seen last. since: monotonic seconds when it was seen first, with nobody there."""

    observed: int = -1
    since: float = 0.0
    looks: int = 0
    told: bool = False

    def look(self, *, due: bool, observed: int, listening: bool, now: float) -> bool:
        """Whether to tell now. due: the observer is. listening: a worker is there."""
        if not due or listening or observed != self.observed:
            self.observed, self.since, self.looks, self.told = observed, now, 0, False
            return False
        self.looks += 1
        if self.told or self.looks < LOOKS or now - self.since < SECONDS:
            return False
        self.told = True
        return True
