"""Paths through the ledger: a branch's own entries after the prefix that it shares with its parent."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from minutebook.errors import NotFound
from minutebook.records import NOTE, Branch, Placed, SourceEntry
from minutebook.store import codec
from minutebook.store.kernel import Put, Store, Stored

BRANCHES = "branches"
READ_CHUNK = 500


def source_stream(branch_key: str) -> str:
    """Name of the stream that holds a branch's own source entries."""
    return f"s:{branch_key}"


def memory_stream(branch_key: str) -> str:
    """Name of the stream that holds a branch's own memory entries, with its coverages as marks."""
    return f"m:{branch_key}"


def find_branch(store: Store, key: str) -> Branch | None:
    """The branch of that key, or None."""
    document = store.get(BRANCHES, key)
    return codec.branch_of(document.body) if document else None


def load_branch(store: Store, key: str) -> Branch:
    """The branch of that key; NotFound."""
    branch = find_branch(store, key)
    if branch is None:
        raise NotFound(f"no branch {key!r} in this store; `om sessions` lists what there is")
    return branch


def list_branches(store: Store, prefix: str = "") -> list[Branch]:
    """All branches whose key begins with prefix, by key."""
    return [codec.branch_of(document.body) for document in store.documents(BRANCHES, prefix)]


def branch_put(branch: Branch) -> Put:
    """The write that creates a branch once: a second writer of the same branch finds it there."""
    return Put(BRANCHES, branch.key, codec.branch_json(branch), if_version=0)


def still_there(store: Store, branch: Branch) -> Put:
    """The write that fails when the branch is removed before it is done; NotFound when it was.

    For what would otherwise create a stream: a job that was in hand during a purge must not write again.
    """
    document = store.get(BRANCHES, branch.key)
    if document is None:
        raise NotFound(f"branch {branch.key!r} was removed meanwhile")
    return Put(BRANCHES, branch.key, document.body, if_version=document.version)


@dataclass(frozen=True, slots=True)
class Segment:
    """Path positions first ≤ p < stop are the positions p − first of `branch`'s own stream."""

    branch: Branch
    first: int
    stop: int | None


class Path:
    """The source entries of one branch, root to tip, shared prefix included; reads what the store has when asked."""

    def __init__(self, store: Store, branch: Branch, *, load: Callable[[str], Branch] | None = None) -> None:
        """load: looks up an ancestor, for who has it at hand."""
        self.store = store
        self.branch = branch
        self._load = load or partial(load_branch, store)
        self._segments: tuple[Segment, ...] = ()

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Root first; only the last one is open at its end. Looked up once."""
        # No cached_property: in Python 3.11 it holds one lock for all paths of the process while it reads the store.
        if not self._segments:
            self._segments = self._chain()
        return self._segments

    def _chain(self) -> tuple[Segment, ...]:
        found, branch, stop = [], self.branch, None
        while True:
            found.append(Segment(branch, branch.fork, stop))
            if not branch.parent:
                return tuple(reversed(found))
            stop = branch.fork if stop is None else min(stop, branch.fork)
            branch = self._load(branch.parent)

    def length(self) -> int:
        """How many entries the path has now."""
        return self.branch.fork + self.store.tip(source_stream(self.branch.key)).length

    def tokens(self) -> int:
        """Sum of the weights of the path's entries."""
        return self.branch.base_tokens + self.store.tip(source_stream(self.branch.key)).total

    def tokens_before(self, position: int) -> int:
        """Sum of the weights of the first `position` entries."""
        segment = self._segment(position)
        own = self.store.total_before(source_stream(segment.branch.key), position - segment.first)
        return segment.branch.base_tokens + own

    def read(self, start: int = 0, stop: int | None = None, *, limit: int | None = None) -> list[Placed]:
        """Entries at start ≤ position < stop, in order, at most `limit`."""
        found: list[Placed] = []
        for segment in self.segments:
            low = max(start, segment.first)
            high = least(stop, segment.stop)
            if high is not None and high <= low:
                continue
            room = None if limit is None else limit - len(found)
            if room == 0:
                break
            found += self._read_segment(segment, low, high, room)
        return found

    def walk(self, start: int = 0, stop: int | None = None) -> Iterator[Placed]:
        """Like read, in bounded steps, so that memory does not grow with the session."""
        while chunk := self.read(start, stop, limit=READ_CHUNK):
            yield from chunk
            start = chunk[-1].position + 1

    def at(self, position: int) -> Placed | None:
        """The entry at a position, or None."""
        found = self.read(position, position + 1)
        return found[0] if found else None

    def find(self, ids: Iterable[str]) -> dict[str, Placed]:
        """Those of the ids that are on this path, and a person's notes wherever an ancestor has them.

        A note holds for a fork that was opened later and further back, too; so it must be found there.
        """
        streams = [source_stream(segment.branch.key) for segment in self.segments]
        stored = self.store.find_among(streams, ids)
        found: dict[str, Placed] = {}
        for segment, stream in zip(self.segments, streams, strict=True):
            for key, item in stored[stream].items():
                placed = _placed(segment, item)
                on_path = segment.stop is None or placed.position < segment.stop
                if on_path or placed.entry.custom_type == NOTE:
                    found[key] = placed
        return found

    def owner(self, position: int) -> Branch:
        """The branch in whose own stream a position of this path stands."""
        return self._segment(position).branch

    def _segment(self, position: int) -> Segment:
        for segment in self.segments:
            if segment.stop is None or position < segment.stop:
                return segment
        raise AssertionError("the last segment of a path is open")

    def _read_segment(self, segment: Segment, low: int, high: int | None, limit: int | None) -> list[Placed]:
        stored = self.store.read(
            source_stream(segment.branch.key),
            low - segment.first,
            None if high is None else high - segment.first,
            limit=limit,
        )
        return [_placed(segment, item) for item in stored]


def _placed(segment: Segment, item: Stored) -> Placed:
    entry: SourceEntry = codec.source_entry(item)
    return Placed(
        position=segment.first + item.position,
        tokens=item.weight,
        total=segment.branch.base_tokens + item.total,
        entry=entry,
    )


def least(a: int | None, b: int | None) -> int | None:
    """The smaller of two ends, of which None is none."""
    return b if a is None else a if b is None else min(a, b)
