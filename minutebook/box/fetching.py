"""Sessions that other machines sent to the box: which of them come here, and in what order."""

from collections.abc import Iterator
from dataclasses import dataclass

from minutebook.box.stepping import Steps, has_parted
from minutebook.box.wire import Listed, Me
from minutebook.errors import BoxFailed, NotFound
from minutebook.pipeline.boxing import Lengths, is_same_memory, lengths, owner_of, take_session
from minutebook.pipeline.copies import SHARED_MARKS
from minutebook.pipeline.purged import is_purged
from minutebook.pipeline.readings import session_key_of
from minutebook.pipeline.sessions import Session, find_session
from minutebook.projects import fitting
from minutebook.records import Branch

PAGE = 100


@dataclass(slots=True)
class Fetching:
    """Brings sessions here. team: those of others too, where the box lets them be read. cursor: up to where the box's
    list was read, "" for nothing of it. kept: sessions that stay as they are on this machine.
    """

    steps: Steps
    me: Me
    team: bool
    cursor: str = ""
    kept: frozenset[str] = frozenset()

    def news(self) -> Iterator[Listed]:
        """Sessions touched after the cursor of which the box has something that is not here; the cursor moves on."""
        while True:
            page = self.steps.client.sessions(self.cursor, PAGE)
            for listed in page.found:
                if self._is_wanted(listed.session) and self._is_news(listed):
                    yield listed
            ends = len(page.found) < PAGE
            if page.next == self.cursor and not ends:
                raise BoxFailed(f"{self.steps.client.url}: /v1/sessions does not come to an end")
            self.cursor = page.next
            if ends:
                return

    def take(self, listed: Listed) -> Session:
        """Take one session, its branches as far as what they share is here; as it is here then.

        NotFound where an ancestor of a branch is missing; BoxFailed for a session that contradicts itself.
        """
        check_listed(listed, self.me)
        missing: NotFound | None = None
        for branch in parents_first(listed.branches):
            if has_parted(self.steps.store, branch.key):
                continue
            bring = self.steps.bring_copy if owner_of(branch.key) else self.steps.bring
            try:
                bring(listed.session, branch, listed.lengths[branch.key])
            except NotFound as error:
                missing = error
        taken = take_session(self.steps.store, listed.session)
        if missing:
            raise missing
        return taken

    def _is_wanted(self, session: Session) -> bool:
        allowed = (self.team or not owner_of(session.key)) and session.key not in self.kept
        return allowed and is_purged(self.steps.store, session.key, session.agent) is None

    def _is_news(self, listed: Listed) -> bool:
        """A length or a mark that differs, or something newer about the session."""
        here = lengths(self.steps.store, [branch.key for branch in listed.branches])
        differ = [key for key, found in here.items() if _differs(found, listed.lengths[key])]
        if not all(has_parted(self.steps.store, key) for key in differ):
            return True
        session, stored = listed.session, find_session(self.steps.store, listed.session.key)
        if stored is None:
            return bool(listed.branches)
        told, known = (session.last_time, session.prompts), (stored.last_time, stored.prompts)
        return told > known or (told == known and session.ended and not stored.ended)


def _differs(here: Lengths | None, there: Lengths) -> bool:
    if here is None:
        return True
    moved = any(there.marks.get(name, 0) > here.marks.get(name, 0) for name in SHARED_MARKS)
    other = there.memory == here.memory and not is_same_memory(here, there)
    return there.sources > here.sources or there.memory > here.memory or moved or other


def check_listed(listed: Listed, me: Me) -> None:
    """Raise BoxFailed for a session that is not what it says: of whom it is, and that its project is no place here."""
    session = listed.session
    owner = owner_of(session.key)
    fits = (owner or me.user) == listed.owner and owner != me.user and owner_of(session.host) == owner
    fits = fits and all(session_key_of(branch) == session.key for branch in listed.branches)
    projects = {session.project, *(branch.project for branch in listed.branches)} - {""}
    if not fits or any(fitting(project) != project for project in projects):
        raise BoxFailed(f"{session.key[:200]}: the box lists a session that contradicts itself")


def parents_first(branches: tuple[Branch, ...]) -> list[Branch]:
    """The branches, each after those of them that it shares something with."""
    left, found = {branch.key: branch for branch in branches}, list[Branch]()
    while left:
        ready = [branch for branch in left.values() if branch.parent not in left] or list(left.values())[:1]
        for branch in ready:
            found.append(left.pop(branch.key))
    return found
