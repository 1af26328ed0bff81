"""What workers note beside the ledger: errors, counts of runs, a failing span. Losing it loses no memory."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from minutebook.store import codec
from minutebook.store.kernel import Job, Put, Stale, Store

ERRORS = "errors"
WORK = "work"
SPANS = "spans"
PUT_TRIES = 20


def iso_time(seconds: float) -> str:
    """Seconds of the store's clock as ISO 8601 UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def key_of(job: Job) -> str:
    """The document key of one role's work on one branch."""
    return f"{job.role}|{job.branch}"


def note_error(store: Store, job: Job, error: BaseException, kind: str) -> None:
    """Keep a role's last error until that role's next success (003-104). kind: span, provider or bug."""
    said = str(error) if kind != "bug" else f"{type(error).__name__}: {error}"
    body = {"error": said or type(error).__name__, "kind": kind, "at": iso_time(store.now())}
    store.put(Put(ERRORS, key_of(job), codec.to_json(body)))


def kind_of_error(store: Store, job: Job) -> str:
    """The kind of a role's last error since its last success; "" for none."""
    document = store.get(ERRORS, key_of(job))
    return str(codec.from_json(document.body).get("kind", "")) if document else ""


def clear_error(store: Store, job: Job) -> None:
    """After a success; only this role's."""
    if store.get(ERRORS, key_of(job)) is not None:
        store.delete(ERRORS, key_of(job))


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A span of sources that failed. read: the coverage of that run; the state holds while the coverage is there.

    start, entries: what was sent. tries: failures of the lone entry at `start`, 0 while there are more.
    """

    read: int
    start: int
    entries: int
    tries: int
    error: str

    def next_entries(self) -> int:
        """How many entries the next attempt may have: the older half, down to one (003-012)."""
        return max(1, self.entries // 2)


def read_span(store: Store, job: Job, coverage: int) -> Span | None:
    """The failing span at this coverage, or None."""
    document = store.get(SPANS, key_of(job))
    if document is None:
        return None
    body = codec.from_json(document.body)
    span = Span(**{name: body[name] for name in Span.__slots__})
    return span if span.read == coverage else None


def note_span(store: Store, job: Job, span: Span) -> None:
    """Remember the failure for the next attempt."""
    store.put(Put(SPANS, key_of(job), codec.to_json(asdict(span))))


def clear_span(store: Store, job: Job) -> None:
    """After a success, or when the span became a gap."""
    if store.get(SPANS, key_of(job)) is not None:
        store.delete(SPANS, key_of(job))


def count_run(store: Store, job: Job, ended: str, *, mind: str = "") -> None:
    """Count one run of a role. ended: recorded, nothing, failed or gaps; a gap is a failed run too."""

    def counted(body: dict[str, Any]) -> dict[str, Any]:
        row = {"runs": 0, "recorded": 0, "nothing": 0, "failed": 0, "gaps": 0, "mind": "", **body.get(job.role, {})}
        row["runs"] += 1
        row[ended] += 1
        row["mind"] = mind or row["mind"]
        if ended == "gaps":
            row["failed"] += 1
        return {**body, job.role: row}

    change(store, WORK, job.branch, counted)


def change(store: Store, collection: str, key: str, make: Callable[[dict[str, Any]], dict[str, Any]]) -> bool:
    """Read, change, compare and write a document; False when others won that many times, which for a count is no loss.

    make: the body as it is ({} for none) → the body as it is to be; called again for each try.
    """
    for _ in range(PUT_TRIES):
        document = store.get(collection, key)
        body = make(codec.from_json(document.body) if document else {})
        put = Put(collection, key, codec.to_json(body), if_version=document.version if document else 0)
        if not isinstance(store.put(put), Stale):
            return True
    return False
