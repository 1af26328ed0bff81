"""What a store promises, and the interface that carries it. Every backend passes the same suite (tests/store).

Promises
 1. Append is idempotent: an id that the stream has already is a reported no-op and changes no position.
 2. Positions of a stream are 0, 1, 2 … without holes; nothing stored is edited, reordered or removed, but whole
    streams, by `erase` or by an append that begins one anew.
 3. The running total of a stream's weights is kept by the store: "tokens since p" is one subtraction.
 4. One append is one transaction: items, marks, documents and the dirty key are written together or not at all.
 5. Of two appends that expect the same mark (or length), one wins; the other writes nothing and returns Stale.
 6. Nothing is lost under concurrent writers, threads or processes; each writer's own order is kept.
 7. A follower that has read up to position p never later finds a new item at or before p.
 8. Killed at any instant, the store opens again, and holds exactly the appends that returned (and perhaps the last).
 9. A document changes only with the version that the caller read, when it names one; no version of a key comes
    twice, not even when the document was deleted in between.
10. A job is pending at most once; claimed by at most one owner at a time; a claim ends with its lease or its
    deadline, whichever is first, by the store's clock; an old token changes nothing and is told so. Where the clock
    went back, what was to last for so long lasts that long from then on.
11. A dirty key is settled only at the revision that was taken: a mark that came between survives.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from minutebook.records import record


@record(kw_only=False)
class Item:
    """What is appended: body is any text (see codec), weight is in tokens (0 for memory and metadata)."""

    id: str
    kind: str
    weight: int
    body: str


@record(kw_only=False)
class Stored:
    """An item in its place. total: sum of the stream's weights up to and with this item."""

    position: int
    id: str
    kind: str
    weight: int
    total: int
    body: str


@dataclass(frozen=True, slots=True)
class Tip:
    """The end of a stream: its length, the sum of its weights, its named marks (a mark never set reads as 0)."""

    length: int
    total: int
    marks: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Appended:
    """positions: id → position of every item given, new or not. duplicates: ids that were there already."""

    positions: Mapping[str, int]
    duplicates: tuple[str, ...]
    tip: Tip


@dataclass(frozen=True, slots=True)
class Stale:
    """A compare that failed: nothing was written. what: the mark's name, "length", or "collection/key"."""

    what: str
    expected: int
    found: int


@dataclass(frozen=True, slots=True)
class Document:
    """A body of the codec with its version: 1 when first written, or above those of what the collection had deleted."""

    key: str
    version: int
    body: str


@dataclass(frozen=True, slots=True)
class Put:
    """A document to write; if_version: the version it must have now (0: must not exist; None: whatever)."""

    collection: str
    key: str
    body: str
    if_version: int | None = None


@dataclass(frozen=True, slots=True)
class Dirty:
    """A branch on which something changed, at the revision it was read."""

    key: str
    revision: int


@dataclass(frozen=True, slots=True)
class Job:
    """One role's work on one branch: the key of the board."""

    role: str
    lineage: str
    branch: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A claimed job: token fences off whoever held it before. tries: claims since the last success, this one included.

    deadline_at: seconds of the store's clock at which the claim ends whatever the heartbeat says.
    """

    job: Job
    owner: str
    token: int
    tries: int
    deadline_at: float


@dataclass(frozen=True, slots=True)
class JobState:
    """A job as the board has it. state: pending or running; not_before and lease_ends in the store's seconds."""

    job: Job
    state: str
    not_before: float
    owner: str
    lease_ends: float
    tries: int
    error: str
    failed_at: float


class Log(Protocol):
    """Streams of items."""

    def append(
        self,
        stream: str,
        items: Sequence[Item],
        *,
        expect: Mapping[str, int] | None = None,
        expect_length: int | None = None,
        advance: Mapping[str, int] | None = None,
        dirty: str | None = None,
        puts: Sequence[Put] = (),
        anew: bool = False,
    ) -> Appended | Stale:
        """Add items and set marks in one transaction. Called by accept_turns, commit_outcome, record_fold.

        anew: in place of all items and marks that the stream has; compared with those. Called by retake_memory alone.
        """

    def read(
        self,
        stream: str,
        start: int = 0,
        stop: int | None = None,
        *,
        kinds: Iterable[str] | None = None,
        limit: int | None = None,
        reverse: bool = False,
    ) -> list[Stored]:
        """Items at start ≤ position < stop, in order (newest first when reverse). Called by branches.Path."""

    def find(self, stream: str, ids: Iterable[str]) -> dict[str, Stored]:
        """Those of the ids that the stream has. Called by imports and compactions."""

    def find_among(self, streams: Sequence[str], ids: Iterable[str]) -> dict[str, dict[str, Stored]]:
        """Those of the ids that each of the streams has: stream → id → item. Called by intake and recall."""

    def tip(self, stream: str) -> Tip:
        """Length, total and marks; zeros for a stream that does not exist."""

    def total_before(self, stream: str, position: int) -> int:
        """Sum of the weights before a position; at or past the end, the whole total."""


class Documents(Protocol):
    """Texts by collection and key."""

    def get(self, collection: str, key: str) -> Document | None:
        """The document, or None."""

    def get_among(self, collection: str, keys: Iterable[str]) -> dict[str, Document]:
        """Those of the keys that the collection has. Called by commits and recall."""

    def put(self, put: Put) -> Document | Stale:
        """Write one document and raise its collection's change counter."""

    def delete(self, collection: str, key: str, *, if_version: int | None = None) -> bool:
        """Remove one document; False when it was not there or has another version."""

    def documents(self, collection: str, prefix: str = "") -> list[Document]:
        """All documents of a collection whose key begins with prefix, by key."""

    def changes(self, collection: str) -> int:
        """A counter that every put and delete of the collection raises."""


class Board(Protocol):
    """Who works on what. Times are the store's clock, in seconds."""

    def now(self) -> float:
        """The store's clock."""

    def mark_dirty(self, key: str) -> None:
        """Note that a branch changed. Called by hosts and the sweep; append does it in its own transaction."""

    def take_dirty(self, limit: int) -> list[Dirty]:
        """Dirty branches, oldest mark first; they stay until settled. Called by the dispatcher."""

    def settle_dirty(self, *taken: Dirty, jobs: Sequence[Job] = ()) -> int:
        """Make jobs pending as `queue` does, and clear taken keys, in one transaction; how many were cleared.

        A key that was marked again meanwhile stays.
        """

    def queue(self, job: Job, *, delay_seconds: float = 0.0) -> bool:
        """Make a job pending; False and no change when it is pending or running already."""

    def ready(self, roles: Iterable[str], limit: int) -> list[JobState]:
        """Jobs that could be claimed now, oldest first: pending and past not_before, or running past their lease."""

    def next_ready_at(self, roles: Iterable[str]) -> float | None:
        """When the next pending job or lease end makes a job ready; None with no job at all."""

    def claim(self, job: Job, owner: str, *, lease_seconds: float, deadline_seconds: float) -> Claim | None:
        """Take a ready job; None when there is nothing to take."""

    def beat(self, claim: Claim, *, lease_seconds: float) -> bool:
        """Extend the lease, never past the deadline; False when the claim is no longer ours."""

    def finish(self, claim: Claim) -> bool:
        """Remove a job that is done; False when the claim is no longer ours."""

    def fail(self, claim: Claim, *, retry_seconds: float, error: str) -> bool:
        """Make it pending again after a pause, keeping tries and the error; False when no longer ours."""

    def release(self, job: Job, owner: str) -> bool:
        """End the lease of an owner that is known to be dead; False when it holds none. Called by the sweep."""

    def rewind_times(self) -> bool:
        """Where times were set by a clock that has gone back since, count them from now on. Called by the sweep."""

    def jobs(self, *, state: str | None = None) -> list[JobState]:
        """Every job on the board, or those in one state, by role and branch."""

    def wipe_board(self) -> None:
        """Forget all jobs and dirty keys; the sweep derives them again."""


class Store(Log, Documents, Board, Protocol):
    """One open store. Usable from several threads; each process opens its own."""

    def erase(
        self,
        streams: Sequence[str],
        documents: Sequence[tuple[str, str]] = (),
        branches: Sequence[str] = (),
        puts: Sequence[Put] = (),
    ) -> None:
        """Remove whole streams with their marks, documents (collection, key), and jobs and dirty marks of branches.

        puts: what is written in their place, whatever version there is. All of it or nothing, and also on a server
        that is full. Called by purges and retention alone. A stream of that name begins at 0 again; a version of a
        document is still never used again.
        """

    @property
    def url(self) -> str:
        """What opening.open_store was given."""

    def close(self) -> None:
        """Release files and connections."""
