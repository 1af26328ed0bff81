"""A session that copies another one's beginning (a host's own fork): nothing is written while it only repeats what is
there, and where it parts, it forks. Its entries may come in pieces, or twice; it may never part at all.
"""

from collections.abc import Iterable, Sequence

from minutebook.pipeline.branches import Path, load_branch
from minutebook.pipeline.deliveries import SessionHead
from minutebook.pipeline.forks import fork_branch, fork_to_read, root_branch, subagent_branch
from minutebook.pipeline.sessions import Session, find_session
from minutebook.records import HOST_SUMMARY, NOTE, Branch, Placed, SourceEntry
from minutebook.store import codec
from minutebook.store.kernel import Document, Put, Store

ORIGINS = "roots"


class Following:
    """How far a session repeats a branch of another one; session.follows keeps it between deliveries."""

    def __init__(self, store: Store, session: Session, window: Iterable[SourceEntry]) -> None:
        self.store = store
        self.session = session
        self.ids = [entry.id for entry in window]
        self.found: dict[str, dict[str, Placed]] = {}
        self.asked: dict[str, Document | None] = {}
        self._paths: dict[str, Path] = {}

    def repeats(self, entry: SourceEntry) -> bool:
        """Whether the entry is one of the copied beginning."""
        if self.session.follows:
            return self._goes_on(entry) or self._was_passed(entry) or self._turns(entry)
        return not self.session.branch and not self.session.agent and self._begins(entry)

    def part(self) -> Branch:
        """The session's own branch from here on, written with the session that goes on there; SessionMoved."""
        key, matched = self.session.follows
        owner = self._path(key).owner(max(matched - 1, 0))
        self.session.follows = []
        return fork_branch(self.store, owner, fork=matched, key=self.session.key, session=self.session, enters=True)

    def origin_puts(self, branch: Branch, entries: Sequence[SourceEntry], *, begins: bool) -> list[Put]:
        """The writes by which a branch can be found by entries with which a copy of it may begin.

        Those are its first own entry (begins: of these the first is it), and each summary of its host's: a copy of a
        session that was compacted begins there. None for a sub-agent's, or where another branch has it. What was there
        when the entry was looked at decides: if a copy came in since, the write is stale, and it is looked at again.
        """
        found = [entry for at, entry in enumerate(entries) if (begins and at == 0) or entry.custom_type == HOST_SUMMARY]
        return [put for each in found for put in _origin_puts(branch, each, there=self._origin_document(each))]

    def _begins(self, entry: SourceEntry) -> bool:
        """The same first entry at the same time; without a time, equal ids and words prove no copy.

        A copy of a session that was compacted begins with the summary, and with it shares all that came before.
        """
        origin = self._origin(entry)
        summary = entry.custom_type == HOST_SUMMARY
        if origin is None or (origin.parent and not summary) or not entry.time:
            return False
        placed = self._placed(origin.key, entry)
        if placed is None or (placed.position and not summary) or placed.entry.time != entry.time:
            return False
        self._follow(origin, placed.position + 1)
        return True

    def _goes_on(self, entry: SourceEntry) -> bool:
        key, matched = self.session.follows
        placed = self._placed(key, entry)
        if placed is None:
            return False
        if placed.position >= matched:
            if not all(map(_unknown_to_host, self._path(key).read(matched, placed.position))):
                return False
            self.session.follows = [key, placed.position + 1]
        return True

    def _turns(self, entry: SourceEntry) -> bool:
        """Where the copied session forked inside itself, the copy goes on along that branch."""
        key, matched = self.session.follows
        origin = self._origin(entry)
        if origin is None or not 0 < origin.fork <= matched:
            return False
        placed = self._placed(origin.key, entry)
        if placed is None or placed.position != origin.fork:
            return False
        if self._path(key).owner(origin.fork - 1).key != origin.parent:
            return False
        self.session.passed.append([key, matched])
        self._follow(origin, origin.fork + 1)
        return True

    def _was_passed(self, entry: SourceEntry) -> bool:
        """Whether it came before the copy turned, and comes again."""
        places = ((self._placed(key, entry), stop) for key, stop in self.session.passed)
        return any(placed is not None and placed.position < stop for placed, stop in places)

    def _follow(self, branch: Branch, matched: int) -> None:
        self.session.follows = [branch.key, matched]
        self.session.branch = branch.key  # to read from, until it has its own
        self.session.lineage = branch.lineage

    def _origin(self, entry: SourceEntry) -> Branch | None:
        document = self._origin_document(entry)
        return load_branch(self.store, codec.from_json(document.body)["branch"]) if document else None

    def _origin_document(self, entry: SourceEntry) -> Document | None:
        key = _origin_key(self.session.host, entry)
        if key not in self.asked:
            self.asked[key] = self.store.get(ORIGINS, key)
        return self.asked[key]

    def _placed(self, key: str, entry: SourceEntry) -> Placed | None:
        """Where the very same entry stands on that branch's path."""
        if key not in self.found:
            self.found[key] = self._path(key).find(self.ids)
        placed = self.found[key].get(entry.id)
        return placed if placed and placed.entry.text_sha256 == entry.text_sha256 else None

    def _path(self, key: str) -> Path:
        if key not in self._paths:
            self._paths[key] = Path(self.store, load_branch(self.store, key))
        return self._paths[key]


def first_branch(store: Store, head: SessionHead, session: Session, entry: SourceEntry) -> Branch:
    """The branch on which a session's first entry arrives.

    Of a fork that copied nothing, but says which entry of the other session it follows, it shares the path up to there.
    """
    if head.agent:
        return subagent_branch(session)
    named = f"{head.host}:{head.forked_from}" if head.forked_from and entry.moved and entry.parent else ""
    origin = find_session(store, named) if named else None
    for key in reversed([*origin.branches, *([origin.branch] if origin.follows else [])] if origin else []):
        path = Path(store, load_branch(store, key))
        if entry.parent and (placed := path.find([entry.parent]).get(entry.parent)):
            owner = path.owner(placed.position)
            return fork_branch(store, owner, fork=placed.position + 1, key=session.key, session=session)
    return root_branch(session)


def branch_to_read(store: Store, session: Session) -> Branch:
    """The branch on which a session stands, for who only reads; NotFound.

    Of one that so far only repeats another one, that much of the other and no more: what came there later is not its
    past.
    """
    if not session.follows:
        return load_branch(store, session.branch)
    key, matched = session.follows
    followed = load_branch(store, key)
    owner = Path(store, followed).owner(max(matched - 1, 0))
    return fork_to_read(store, owner, fork=matched, key=session.key, session=session)


def _unknown_to_host(placed: Placed) -> bool:
    """A person's note and a later version of an entry stand in our ledger and in no copy of the host's file."""
    return placed.entry.custom_type == NOTE or bool(placed.entry.version_of)


def origin_put(store: Store, branch: Branch, first: SourceEntry) -> list[Put]:
    """Like Following.origin_puts, for a branch that was delivered elsewhere."""
    return _origin_puts(branch, first, there=store.get(ORIGINS, _origin_key(branch.host, first)))


def origin_of(store: Store, host: str, first_id: str) -> str | None:
    """The branch that is found by this first entry of its own, None when there is none."""
    document = store.get(ORIGINS, f"{host}:{first_id}")
    return codec.from_json(document.body)["branch"] if document else None


def _origin_puts(branch: Branch, first: SourceEntry, *, there: Document | None) -> list[Put]:
    if branch.kind == "subagent" or there is not None:
        return []
    key = _origin_key(branch.host, first)
    return [Put(ORIGINS, key, codec.to_json({"branch": branch.key}), if_version=0)]


def _origin_key(host: str, entry: SourceEntry) -> str:
    return f"{host}:{entry.id}"
