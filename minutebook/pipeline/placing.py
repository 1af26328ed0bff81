"""Which entries a session has already, and where they stand. Looked up for a whole window at once."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

from minutebook.errors import NotFound
from minutebook.pipeline.branches import Path, Segment, least, list_branches, load_branch, source_stream
from minutebook.pipeline.deliveries import HostCompaction, ImportedMemory
from minutebook.pipeline.sessions import Session
from minutebook.pipeline.sourcetext import entry_text
from minutebook.private_spans import entry_without_private
from minutebook.records import Branch, SourceEntry, record
from minutebook.store import codec
from minutebook.store.kernel import Store

Event = SourceEntry | HostCompaction | ImportedMemory


@record(kw_only=False)
class Known:
    """Where an entry stands: in the stream of that branch, at that position of its path. sha: of its raw text."""

    branch: str
    position: int
    sha: str


@dataclass(slots=True)
class Spine:
    """A branch and its end: length and tokens of its path, with the entries that wait to be written."""

    branch: Branch
    path: Path
    length: int
    tokens: int

    def holds(self, known: Known) -> bool:
        """Whether that entry is on this branch's path."""
        if known.position >= self.length:
            return False
        return known.branch == self.branch.key or known.branch == self.path.owner(known.position).key


class Places:
    """The entries of one session."""

    def __init__(self, store: Store, session: Session) -> None:
        self.store = store
        self.session = session
        self.known: dict[str, Known] = {}
        self._sought: set[str] = set()
        self._loaded: dict[str, Branch] = {}
        self._spines: dict[str, Spine] = {}
        self._readable: dict[str, tuple[Branch, int | None]] = {}
        self._read_for: tuple[int, int] = (0, 0)

    def spine(self, branch: Branch) -> Spine:
        """The end of a branch: always the same object for the same branch."""
        if branch.key not in self._spines:
            self._loaded[branch.key] = branch
            path = Path(self.store, branch, load=self._branch)
            self._spines[branch.key] = Spine(branch, path, path.length(), path.tokens())
        return self._spines[branch.key]

    def spine_of(self, key: str) -> Spine:
        """Like spine, for a branch that may not be written yet."""
        return self._spines.get(key) or self.spine(self._branch(key))

    def _branch(self, key: str) -> Branch:
        """The branch of that key; with the first of the session's forks come the others."""
        if key not in self._loaded and key in self.session.branches[1:]:
            self._loaded |= {branch.key: branch for branch in list_branches(self.store, f"{self.session.key}@")}
        if key not in self._loaded:
            self._loaded[key] = load_branch(self.store, key)
        return self._loaded[key]

    def home(self, known: Known, current: Spine) -> Spine | None:
        """The current branch where the entry is on its path, else one of the session's own; None when it has none."""
        if current.holds(known):
            return current
        if known.branch in self.session.branches:
            return self.spine_of(known.branch)
        own = map(self.spine_of, reversed(self.session.branches))
        return next((spine for spine in own if spine.holds(known)), None)

    def position(self, id_: str, spine: Spine | None) -> int | None:
        """Position of a source entry on a branch's path, None when it is not there (or was not looked up)."""
        known = self.known.get(id_)
        return known.position if known is not None and spine is not None and spine.holds(known) else None

    def look_up(self, ids: Iterable[str]) -> None:
        """Find these entries in the session's branches, and in the part that they share with other sessions."""
        readable = self._branches()
        wanted = [id_ for id_ in dict.fromkeys(ids) if id_ and id_ not in self.known and id_ not in self._sought]
        if not wanted:
            return
        self._sought.update(wanted)
        found = self.store.find_among([source_stream(key) for key in readable], wanted)
        for branch, stop in readable.values():
            for id_, stored in found[source_stream(branch.key)].items():
                position = branch.fork + stored.position
                if stop is None or position < stop:
                    self.known.setdefault(id_, Known(branch.key, position, codec.source_entry(stored).text_sha256))

    def has(self, entry: SourceEntry) -> bool:
        """Whether an entry with its hash is there, as it is or as a version. Both ids must have been looked up."""
        known = self.known.get(entry.id)
        return known is not None and (known.sha == entry.text_sha256 or version_id(entry) in self.known)

    def _branches(self) -> dict[str, tuple[Branch, int | None]]:
        """Branches to look in, by key, each with where another session's ceases to be shared."""
        session, (branches, passed) = self.session, self._read_for
        self._read_for = len(session.branches), len(session.passed)
        for key in session.branches[branches:]:
            self._collect(key, None)
        for key, until in session.passed[passed:]:
            self._collect(key, until)
        return self._readable

    def _collect(self, key: str, until: int | None) -> None:
        """Look in this branch, too, and what it shares."""
        self._sought = set()
        for segment in self._segments(key):
            before = self._readable.get(segment.branch.key, (segment.branch, 0))[1]
            ours = segment.branch.key in self.session.branches
            end = least(segment.stop, until)
            stop = None if ours or end is None or before is None else max(before, end)
            self._readable[segment.branch.key] = (segment.branch, stop)

    def _segments(self, key: str) -> tuple[Segment, ...]:
        try:
            return Path(self.store, self._branch(key), load=self._branch).segments
        except NotFound:  # the first branch of a session is written with its first entry
            return ()


def with_hash(event: Event) -> Event:
    """A source entry with the hash of its raw text, which tells one version of an entry from another.

    Its private spans leave first: by a hash of them they could be guessed.
    """
    if not isinstance(event, SourceEntry):
        return event
    event = entry_without_private(event)
    raw = entry_text(event).encode("utf-8", "surrogatepass")
    object.__setattr__(event, "text_sha256", sha256(raw).hexdigest())  # in place: a copy costs more than the hash
    return event


def version_id(entry: SourceEntry) -> str:
    """The id under which another text of a known entry is kept."""
    return f"{entry.id}~{entry.text_sha256[:8]}"


def fork_key(session: str, entry: SourceEntry) -> str:
    """The key of the branch that an entry of that session opens, if it opens one."""
    return f"{session}@{entry.id}"


def named_ids(event: Event) -> tuple[str, ...]:
    """Ids of the source entries that an event is or names."""
    match event:
        case SourceEntry():
            return event.id, event.parent or ""
        case HostCompaction():
            return event.after, event.first_kept
        case ImportedMemory():
            return event.after, event.covers_id
