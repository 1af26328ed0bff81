"""Which models rest after a failure, and until when. Kept in the store, on its clock, for every worker of it."""

from dataclasses import dataclass
from typing import Any

from minutebook.pipeline import workbook
from minutebook.settings import ModelChoice, Settings
from minutebook.store import codec
from minutebook.store.kernel import Store
from minutebook.workers.models_errors import Failure
from minutebook.workers.models_quirks import key_of

COOLDOWNS = "cooldowns"
PAUSE_LARGEST_SECONDS = 3_600.0
GROWING = frozenset({"auth", "quota", "unknown_model", "bad_request"})
"""Waiting rarely mends these: each further failure doubles the pause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cooldown:
    """It rests from `at` to `until`, in store seconds: earlier only where the clock went back.

    failures: in a row. told: whether a person was told since it worked last (003-133), and text: what they were told.
    since: the first failure since then.
    """

    model: str
    at: float
    until: float
    kind: str
    said: str
    failures: int
    told: bool
    since: float = 0.0
    text: str = ""


def read(store: Store, choice: ModelChoice) -> Cooldown | None:
    """The last failure of a model since it worked, resting or not."""
    document = store.get(COOLDOWNS, key_of(choice))
    return _cooldown(document.key, codec.from_json(document.body)) if document else None


def resting(store: Store, choice: ModelChoice) -> Cooldown | None:
    """The cooldown that a model is in now, or None."""
    found = read(store, choice)
    return found if found and found.at <= store.now() < found.until else None


def pause_seconds(settings: Settings, kind: str, failures: int, retry_after: float | None = None) -> float:
    """How long a model rests after so many failures in a row; 0 with model_cooldown_seconds = 0."""
    base = float(settings.model_cooldown_seconds)
    if not base:
        return 0.0
    longest = max(base, PAUSE_LARGEST_SECONDS)
    if kind in GROWING:
        return min(base * 2.0 ** min(failures - 1, 30), longest)
    return min(max(base, retry_after or 0.0), longest)


def note_failure(
    store: Store, choice: ModelChoice, failure: Failure, settings: Settings, *, rests: bool, text: str = ""
) -> bool:
    """Keep the failure and, with `rests`, let the model rest; True when a person is to be told `text` now.

    Failures of calls that ran side by side count as one: those that come while it rests already change nothing.
    """
    tell = False

    def noted(body: dict[str, Any]) -> dict[str, Any]:
        nonlocal tell
        now, tell = store.now(), not body.get("told", False)
        if body.get("at", 0.0) <= now < body.get("until", 0.0):
            return {**body, "told": True}
        failures = int(body.get("failures", 0)) + 1
        pause = pause_seconds(settings, failure.kind, failures, failure.retry_after) if rests else 0.0
        times = {"at": now, "until": now + pause, "since": body.get("since", now), "text": text}
        return {**times, "kind": failure.kind, "said": failure.said, "failures": failures, "told": True}

    workbook.change(store, COOLDOWNS, key_of(choice), noted)
    return tell


def clear(store: Store, choice: ModelChoice) -> None:
    """It worked: no pause, and the next failure is told again."""
    if store.get(COOLDOWNS, key_of(choice)) is not None:
        store.delete(COOLDOWNS, key_of(choice))


def _cooldown(key: str, body: dict[str, Any]) -> Cooldown:
    return Cooldown(
        model=key,
        at=float(body.get("at", 0.0)),
        until=float(body.get("until", 0.0)),
        kind=str(body.get("kind", "")),
        said=str(body.get("said", "")),
        failures=int(body.get("failures", 0)),
        told=bool(body.get("told", False)),
        since=float(body.get("since", 0.0)),
        text=str(body.get("text", "")),
    )
