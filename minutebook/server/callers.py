"""Who asks, and what that token may see. Every route reaches branches and sessions through here."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from minutebook.pipeline import ledger
from minutebook.pipeline.boxkeys import box_key, own_key, owner_of
from minutebook.pipeline.branches import BRANCHES, find_branch
from minutebook.pipeline.sessions import Session, find_session
from minutebook.records import Branch
from minutebook.server.house import House
from minutebook.server.refusals import Hidden, Refusal
from minutebook.server.tokens import SHARES, Token, is_project
from minutebook.store import codec


@dataclass(frozen=True, slots=True)
class Caller:
    """A request with a valid token. route: the path of its route."""

    house: House
    token: Token
    request_id: str
    route: str

    @property
    def user(self) -> str:
        return self.token.user

    # -- keys: a user's own ones have no prefix on the way in and out

    def boxed(self, key: str) -> str:
        """A key as the box has it; one that names another user's stays."""
        return box_key(self.user, key)

    def own(self, key: str) -> str:
        """A key as this user sees it."""
        return own_key(self.user, key)

    # -- reading

    def readable(self, key: str) -> Branch:
        """The branch, if this token may read it and all that it rests on; else Hidden. A refused read is noted."""
        try:
            return self._readable(self.boxed(key))
        except Hidden:
            self.noted(key, 0, status=404)
            raise

    def readable_session(self, key: str) -> Branch:
        """The branch on which a session stands, if this token may read it; else Hidden. A refused read is noted.

        One that is not there is looked up just as far as one that is.
        """
        session = find_session(self.house.store, self.boxed(key))
        try:
            return self._readable(session.branch if session else self.boxed(key))
        except Hidden:
            self.noted(key, 0, status=404)
            raise

    def readable_among(self, keys: Iterable[str]) -> dict[str, Branch]:
        """Those of the keys, as the user writes them, that are readable."""
        found: dict[str, Branch] = {}
        boxed = {key: self.boxed(key) for key in keys}
        documents = self.house.store.get_among(BRANCHES, set(boxed.values()))
        for key, each in boxed.items():
            branch = codec.branch_of(documents[each].body) if each in documents else None
            if self._is_readable(branch):
                assert branch is not None
                found[key] = branch
        return found

    def _readable(self, key: str) -> Branch:
        branch = find_branch(self.house.store, key)
        if not self._is_readable(branch):
            raise Hidden
        assert branch is not None
        return branch

    def _is_readable(self, branch: Branch | None) -> bool:
        """Unknown and foreign branches cost the same two look-ups; only one that may be read is followed further."""
        shared = self.is_shared(branch.project if branch else "")
        if branch is None or not self.may_read(branch.host, branch.project, shared=shared):
            return False
        return not branch.parent or all(self._may_follow(each) for each in ledger.chain_of(self.house.store, branch))

    def _may_follow(self, branch: Branch) -> bool:
        return self.may_read(branch.host, branch.project, shared=self.is_shared(branch.project))

    def may_read(self, host: str, project: str, *, shared: bool) -> bool:
        """Whether something of this host and project is the user's own or the team's, and the token covers it."""
        return self.token.covers(project) and (owner_of(host) == self.user or (shared and bool(owner_of(host))))

    def is_shared(self, project: str) -> bool:
        """Whether the team reads this project."""
        return self.house.store.get(SHARES, project) is not None

    # -- writing

    def writable_session(self, session: Session, branch: Branch) -> Session:
        """A session that is sent, of the project that it has here already.

        Raises a Refusal for a project that the token does not cover, and Hidden where a key leads to another one.
        """
        if not is_project(session.project) or not self.token.covers(session.project):
            raise Refusal(403, "forbidden", "this token is not for the project that was named")
        known = find_session(self.house.store, box_key(self.user, session.key))
        if known is not None and not self.token.covers(known.project):
            raise Hidden
        for key in dict.fromkeys(filter(None, (branch.key, branch.parent, branch.lineage))):
            there = find_branch(self.house.store, box_key(self.user, key))
            if there is not None and not self._is_writable(there):
                raise Hidden
        return session if known is None else replace(session, project=known.project)

    def writable(self, key: str) -> Branch:
        """A branch of the user's own that the token covers; Hidden."""
        branch = find_branch(self.house.store, box_key(self.user, key))
        if branch is None or not self._is_writable(branch):
            raise Hidden
        return branch

    def _is_writable(self, branch: Branch) -> bool:
        """Whether it is the user's own, and the token covers it and all that it rests on."""
        chain = ledger.chain_of(self.house.store, branch) if branch.parent else [branch]
        return all(owner_of(each.host) == self.user and self.token.covers(each.project) for each in chain)

    # -- the audit log

    def noted(self, about: str, count: int, *, status: int = 200) -> None:
        """Note a read. count: the entries or records that are given."""
        self.house.audit.note(
            at=self.house.clock(),
            request_id=self.request_id,
            token=self.token.id,
            user=self.user,
            route=self.route,
            about=about,
            count=count,
            status=status,
        )
