"""Removing sessions with everything that rests on them: what that is, and doing it.

A session goes with its branches and its sub-agents. Another session that copied its beginning reads from its streams:
it goes, too, or nothing does. What belongs together is one transaction of the store, with its tombstones.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from minutebook.errors import BadInput
from minutebook.pipeline.branches import BRANCHES, list_branches, memory_stream, source_stream
from minutebook.pipeline.checkpoints import LINKS, PAGES, TOTALS
from minutebook.pipeline.exporting import EXPORTS
from minutebook.pipeline.folds import COMPOSITIONS
from minutebook.pipeline.following import ORIGINS
from minutebook.pipeline.keeping_out import IGNORED_CALLS
from minutebook.pipeline.mentions import MENTIONS
from minutebook.pipeline.notices import forget_about
from minutebook.pipeline.outbox import OUTBOX
from minutebook.pipeline.pauses import PAUSES, list_pauses
from minutebook.pipeline.purged import is_purged, tombstone, tombstone_key, unfinished
from minutebook.pipeline.questions import QUESTIONS
from minutebook.pipeline.readings import session_key_of
from minutebook.pipeline.sessions import SESSIONS, Session, list_sessions
from minutebook.pipeline.workbook import ERRORS, SPANS, WORK, iso_time
from minutebook.records import Branch
from minutebook.store import codec
from minutebook.store.kernel import Put, Store

__all__ = ["Erasure", "Family", "derived_of", "erase_all", "finish_erasures", "forget_branch", "is_purged"]

OF_SESSION = (SESSIONS, IGNORED_CALLS)
"""Collections whose keys are sessions."""
OF_BRANCH = (BRANCHES, PAGES, TOTALS, LINKS, COMPOSITIONS, WORK, OUTBOX)
"""Collections whose keys are branches."""
OF_ROLE = (ERRORS, SPANS)
"""Collections whose keys are role|branch."""
USAGE = "usage"
"""Accounts of model calls (workers/models_accounts.py): their costs stay, under a name that says nothing."""
ERASE_TRIES = 20
Documents = list[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Sessions that go together. sources, memory: entries in their streams. documents: collection and key.

    versions: of the sessions' documents when this was looked up.
    """

    sessions: tuple[str, ...]
    branches: tuple[str, ...]
    streams: tuple[str, ...]
    documents: tuple[tuple[str, str], ...]
    sources: int
    memory: int
    versions: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """What is to be removed. copies: sessions that were not asked for and read from those that were."""

    families: tuple[Family, ...] = ()
    copies: tuple[str, ...] = ()

    @property
    def sessions(self) -> tuple[str, ...]:
        """All sessions that go."""
        return tuple(key for family in self.families for key in family.sessions)

    @property
    def branches(self) -> tuple[str, ...]:
        """All branches that go."""
        return tuple(key for family in self.families for key in family.branches)


def derived_of(store: Store, keys: Iterable[str], *, with_copies: bool = False) -> Erasure:
    """Everything that rests on these sessions; reads only. with_copies: sessions that copied them go, too."""
    ties = _Ties(list_sessions(store), list_branches(store))
    asked = ties.with_agents(keys)
    everything = ties.closure(asked)
    going = everything if with_copies else asked
    shelf = _Shelf(store, going, {key for each in going for key in ties.branches.get(each, ())})
    families = [_family(store, ties, part, shelf) for part in ties.parts(going)]
    return Erasure(families=tuple(families), copies=tuple(sorted(everything - asked)))


def families_of(store: Store) -> list[tuple[str, ...]]:
    """All sessions of the store, those that rest on each other together."""
    ties = _Ties(list_sessions(store), list_branches(store))
    return [tuple(part) for part in ties.parts(ties.sessions)]


def erase_all(store: Store, erasure: Erasure, *, reason: str = "purge", unless_moved: bool = False) -> list[Family]:
    """Remove it, one family after the other; returns those that went. Done again after a death, it completes it.

    unless_moved: a family of which something came in since it was looked up stays. Raises BadInput where a session
    that stays would lose what it reads from.
    """
    left = set(erasure.copies) - set(erasure.sessions)
    if left:
        raise BadInput(f"{len(left)} other sessions copied the beginning of these: {', '.join(sorted(left))}")
    finish_erasures(store)  # before anything else, because it knows what a dead process had counted already
    gone = [each for each in erasure.families if not (unless_moved and _has_moved(store, each))]
    for family in gone:
        _erase_family(store, family, reason)
    finish_erasures(store)
    return gone


def _erase_family(store: Store, family: Family, reason: str) -> None:
    now = iso_time(store.now())
    first, *others = family.sessions
    rest = {"sessions": family.sessions, "branches": family.branches}
    stones = [tombstone(key, time=now, reason=reason) for key in others]
    stones.append(tombstone(first, time=now, reason=reason, rest=rest))
    costs = _costs(store, family.documents, first, now)
    store.erase(family.streams, family.documents, family.branches, [*stones, *costs])


def _has_moved(store: Store, family: Family) -> bool:
    now = {key: document.version for key, document in store.get_among(SESSIONS, family.sessions).items()}
    return now != family.versions


def finish_erasures(store: Store) -> int:
    """End all that were begun: remove what others, who had it in hand, wrote meanwhile. Returns how many were ended."""
    stones = unfinished(store)
    if not stones:
        return 0
    sessions = {key for stone in stones for key in stone.rest["sessions"]}
    branches = {key for stone in stones for key in stone.rest["branches"]}
    stone_of = {key: stone for stone in stones for key in stone.rest["sessions"]}
    for _ in range(ERASE_TRIES):
        branches |= _opened_since(store, sessions)
        shelf = _Shelf(store, sessions, branches)
        streams, documents = _streams(store, branches), shelf.documents(sessions, branches)
        if not streams and not documents:
            break
        costs = [
            put
            for key, stone in stone_of.items()
            for put in _costs(store, shelf.documents([key], ()), stone.rest["sessions"][0], stone.time)
        ]
        store.erase(streams, documents, [*branches], costs)
    forget_about(store, sessions | branches)
    _forget_exports(store, sessions)
    now = iso_time(store.now())
    store.erase([], puts=[tombstone(each.rest["sessions"][0], time=now, reason=each.reason) for each in stones])
    return len(stones)


def _forget_exports(store: Store, sessions: Collection[str]) -> None:
    """Take the sessions out of the notes of exports that were written; who purges was told of them before."""
    for document in store.documents(EXPORTS):
        body = codec.from_json(document.body)
        kept = [key for key in body["sessions"] if key not in sessions]
        if not kept:
            store.delete(EXPORTS, document.key)
        elif len(kept) < len(body["sessions"]):
            store.erase([], puts=[Put(EXPORTS, document.key, codec.to_json({**body, "sessions": kept}))])


def forget_branch(store: Store, branch: Branch) -> None:
    """Remove what was written beside a branch after it was removed: a worker's last words about it."""
    key = session_key_of(branch)
    sessions = () if store.get(SESSIONS, key) else (key,)
    documents = _Shelf(store, sessions, [branch.key]).documents(sessions, [branch.key])
    stone = is_purged(store, key)
    costs = _costs(store, documents, key, stone.time if stone else "")
    store.erase(_streams(store, [branch.key]), documents, [branch.key], costs)


def _opened_since(store: Store, sessions: Iterable[str]) -> set[str]:
    found = (branch for key in sessions for branch in list_branches(store, key) if session_key_of(branch) == key)
    return {branch.key for branch in found}


# -- what rests on what --------------------------------------------------------------------------------------------


class _Ties:
    """Which session rests on which other. leaning: session → those that read from it. agents: → its sub-agents."""

    def __init__(self, sessions: Iterable[Session], branches: Sequence[Branch]) -> None:
        self.sessions = {session.key: session for session in sessions}
        owner = {branch.key: session_key_of(branch) for branch in branches}
        owner.update({key: session.key for session in self.sessions.values() for key in session.branches})
        self.branches: dict[str, list[str]] = {}
        self.leaning: dict[str, set[str]] = {}
        self.agents: dict[str, set[str]] = {}
        for branch in branches:
            self.branches.setdefault(owner[branch.key], []).append(branch.key)
            self._lean(owner[branch.key], owner.get(branch.parent, ""))
        for session in self.sessions.values():
            for key in [session.branch, *(row[0] for row in [session.follows, *session.passed] if row)]:
                self._lean(session.key, owner.get(key, ""))
            if session.agent:
                self.agents.setdefault(session.key.removesuffix(f"/{session.agent}"), set()).add(session.key)

    def _lean(self, session: str, on: str) -> None:
        if on and on != session:
            self.leaning.setdefault(on, set()).add(session)

    def with_agents(self, keys: Iterable[str]) -> set[str]:
        """These sessions and their sub-agents'."""
        asked = {key for key in keys if key in self.sessions or key in self.branches}
        return asked.union(*(self.agents.get(key, set()) for key in asked))

    def closure(self, keys: Collection[str]) -> set[str]:
        """These and all that rest on them."""
        found, new = set(keys), set(keys)
        while new:
            new = {each for key in new for each in self.leaning.get(key, set())}
            new = self.with_agents(new) - found
            found |= new
        return found

    def parts(self, keys: Collection[str]) -> list[list[str]]:
        """The sessions, those that rest on each other together; in each part first what the others rest on."""
        near: dict[str, set[str]] = {key: set() for key in keys}
        for ties in (self.leaning, self.agents):
            for key, others in ties.items():
                for other in others:
                    if key in near and other in near:
                        near[key].add(other)
                        near[other].add(key)
        parts, seen = [], set[str]()
        for key in sorted(near):
            if key not in seen:
                part = _reached(key, near)
                seen |= part
                parts.append(sorted(part))
        return parts


def _reached(key: str, near: Mapping[str, set[str]]) -> set[str]:
    found, new = {key}, {key}
    while new:
        new = {each for one in new for each in near[one]} - found
        found |= new
    return found


def _family(store: Store, ties: _Ties, sessions: Sequence[str], shelf: "_Shelf") -> Family:
    branches = [branch for key in sessions for branch in ties.branches.get(key, ())]
    known = [ties.sessions[key] for key in sessions if key in ties.sessions]
    return Family(
        sessions=tuple(sessions),
        branches=tuple(branches),
        streams=tuple(stream for key in branches for stream in (source_stream(key), memory_stream(key))),
        documents=tuple(shelf.documents(sessions, branches)),
        sources=sum(store.tip(source_stream(key)).length for key in branches),
        memory=sum(store.tip(memory_stream(key)).length for key in branches),
        versions={session.key: session.version for session in known},
    )


# -- where it stands -----------------------------------------------------------------------------------------------


def _streams(store: Store, branches: Iterable[str]) -> list[str]:
    """The streams of these branches that there are now."""
    names = [stream for key in branches for stream in (source_stream(key), memory_stream(key))]
    return [name for name in names if (tip := store.tip(name)).length or tip.marks]


class _Shelf:
    """The documents of many sessions and branches, each collection read once."""

    def __init__(self, store: Store, sessions: Collection[str], branches: Collection[str]) -> None:
        self._of_session: dict[str, Documents] = {}
        self._of_branch: dict[str, Documents] = {}
        for collection in OF_SESSION:
            self._put(
                self._of_session, sessions, collection, {key: key for key in store.get_among(collection, sessions)}
            )
        paused = {pause.key: pause.name for pause in list_pauses(store) if pause.scope == "session"}
        self._put(self._of_session, sessions, PAUSES, paused)
        for collection in OF_BRANCH:
            self._put(self._of_branch, branches, collection, {k: k for k in store.get_among(collection, branches)})
        for collection in OF_ROLE:
            found = {each.key: each.key.partition("|")[2] for each in store.documents(collection)}
            self._put(self._of_branch, branches, collection, found)
        for beginning in sorted({key.partition("@")[0] for key in branches}):  # a server looks through all of them
            found = {each.key: each.key.rpartition("|")[0] for each in store.documents(MENTIONS, beginning)}
            self._put(self._of_branch, branches, MENTIONS, found)
        for collection in (ORIGINS, QUESTIONS):
            self._put(self._of_branch, branches, collection, _named_in(store, collection, "branch"))
        self._put(self._of_session, sessions, USAGE, _named_in(store, USAGE, "session"))

    def _put(
        self, shelf: dict[str, Documents], wanted: Collection[str], collection: str, owners: Mapping[str, str]
    ) -> None:
        for key, owner in owners.items():
            if owner in wanted:
                shelf.setdefault(owner, []).append((collection, key))

    def documents(self, sessions: Iterable[str], branches: Iterable[str]) -> Documents:
        """Those of these sessions and branches."""
        found = [self._of_session.get(key, []) for key in sessions] + [self._of_branch.get(key, []) for key in branches]
        return [each for one in found for each in one]


def _named_in(store: Store, collection: str, name: str) -> dict[str, str]:
    """Document → the session or branch that its body names."""
    return {each.key: str(codec.from_json(each.body).get(name, "")) for each in store.documents(collection)}


def _costs(store: Store, documents: Iterable[tuple[str, str]], first: str, time: str) -> list[Put]:
    """What model calls cost stays counted, under a name that says nothing in place of the session's.

    documents: those that go. first, time: of the tombstone. Written as the accounts go, so nothing counts twice.
    """
    nobody = tombstone_key(f"{first} {time}")[:12]
    puts = []
    for key, document in store.get_among(USAGE, [key for name, key in documents if name == USAGE]).items():
        body = codec.from_json(document.body)
        again = codec.to_json([body["day"], f"{nobody}:{tombstone_key(key)[:6]}", body["role"], body["model"]])
        puts.append(Put(USAGE, again, codec.to_json({**body, "session": nobody})))
    return puts
