"""Values and small helpers of the store's contract suite; Behind is what a backend's reader must offer."""

from typing import Protocol

from minutebook.store.kernel import Appended, Claim, Item, Job, Stale, Store

ODD_TEXTS = [
    "",
    "é",
    "日本",
    "\0",
    "a\0b",
    "a\0c",
    "\ud800",
    "x\udfffy",
    "%",
    "_",
    "'; DROP TABLE item",
    "\U0010ffff",
    "a:b",
]
JOB = Job("observer", "lineage", "branch")


class Behind(Protocol):
    """What is stored, read without the store. Everything is plain tuples and dicts."""

    def items(self, stream: str) -> list[tuple[int, str, str, int, int, str]]:
        """(position, id, kind, weight, total, body) in order of position."""

    def marks(self, stream: str) -> dict[str, int]: ...

    def document(self, collection: str, key: str) -> tuple[int, str] | None:
        """(version, body), or None."""

    def dirty_keys(self) -> set[str]: ...

    def jobs(self) -> set[tuple[str, str, str, str, int]]:
        """(role, lineage, branch, state, tries)."""


class Clock:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now

    def pass_seconds(self, seconds: float) -> None:
        self.now += seconds


def item(id: str, weight: int = 1, kind: str = "source", body: str = "{}") -> Item:
    return Item(id, kind, weight, body)


def items(*ids: str) -> list[Item]:
    return [item(id) for id in ids]


def appended(outcome: Appended | Stale) -> Appended:
    assert isinstance(outcome, Appended), outcome
    return outcome


def claimed(claim: Claim | None) -> Claim:
    assert claim is not None
    return claim


def take(store: Store, job: Job = JOB, *, lease_seconds: float = 60, deadline_seconds: float = 600) -> Claim | None:
    return store.claim(job, "worker", lease_seconds=lease_seconds, deadline_seconds=deadline_seconds)
