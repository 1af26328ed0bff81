"""Where a command works: a store, a project's settings, a session and its branch. Everything is opened on use."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from minutebook.cli.choosing import choose_branch, choose_session
from minutebook.errors import BadInput, NotFound
from minutebook.hosts.bell import wake
from minutebook.pipeline.branches import list_branches, load_branch
from minutebook.pipeline.sessions import Session, list_sessions
from minutebook.places import default_store_path
from minutebook.records import Branch
from minutebook.settings import Settings
from minutebook.settings_loading import Resolved, is_of_pi_here, load
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

EMPTY = Branch(key="", host="", session="", lineage="")
"""Stands in where no session was taken in yet: every number of it is zero."""
ONLY_SUB_AGENTS = (
    "only sub-agents' sessions were taken in, or paused ones; `om sessions` lists them, and --session KEY names one"
)
NOTHING_YET = "no session was taken in yet; try `om ingest FILE` or `om replay FILE`"


@dataclass(kw_only=True)
class Place:
    """named_store: as a person gave it, None for the user's own. creating: whether a named store may be new. looking:
    nothing is written where there is no store yet.
    """

    project: Path
    named_store: str | None = None
    flags: Mapping[str, str]
    session_name: str | None = None
    branch_name: str | None = None
    creating: bool = False
    looking: bool = False

    @cached_property
    def resolved(self) -> Resolved:
        """The settings, read once; raises BadSetting."""
        return load(self.project, self.flags)

    @property
    def settings(self) -> Settings:
        """The values in force."""
        return self.resolved.settings

    @property
    def resolved_for_pi(self) -> Resolved:
        """The same for sessions of Pi in this project, whose own settings files count too (003-124)."""
        return load(self.project, self.flags, pi=True)

    def settings_of(self, branch: Branch) -> Settings:
        """The values in force for a branch: for one of Pi, Pi's own settings files count too (003-124)."""
        if not is_of_pi_here(branch):
            return self.settings
        return load(Path(branch.project), self.flags, pi=True).settings

    @property
    def url(self) -> str:
        """What names the store."""
        return self.named_store if self.named_store is not None else str(default_store_path())

    @property
    def shown_url(self) -> str:
        """The same for people and files: without a password."""
        return shown_url(self.url)

    @property
    def store_file(self) -> Path | None:
        """The store's file; None for a store on a server."""
        return file_of(self.url) if is_file(self.url) else None

    def may_have_store(self) -> bool:
        """Whether the store may be there: a server is asked by opening it."""
        return self.store_file is None or may_be_there(self.store_file)

    def wake_worker(self) -> bool:
        """Wake who works on the store; False when nobody does. Raises StoreError of a store on a server."""
        if self.store_file is not None:
            return wake(os.fspath(self.store_file))
        listeners: Callable[[], int] | None = getattr(self.store, "listeners", None)  # what is written wakes them
        return listeners is None or listeners() > 0

    @cached_property
    def store(self) -> Store:
        """The store, opened. The user's own is made when it is not there, so that nothing has to be set up first; a
        command that only looks makes none.
        """
        self.check_store()
        if self.looking and not self.may_have_store():
            return open_store(os.fspath(Path(self._no_store.name) / "empty.sqlite"))
        return open_store(self.url, create=self.named_store is None or self.creating)

    @cached_property
    def _no_store(self) -> "TemporaryDirectory[str]":
        """The folder of an empty store for this command alone, in place of one that nobody has made yet."""
        from tempfile import TemporaryDirectory

        try:
            return TemporaryDirectory(prefix="minutebook-")
        except OSError as error:
            raise NotFound(NOTHING_YET) from error

    def check_store(self) -> None:
        """Raise BadInput where a store was named that is not there, and must be."""
        if self.named_store is None or self.creating:
            return
        if not self.url:
            raise BadInput("--store: give a path, sqlite:///path or redis://host:6379/0")
        if not self.may_have_store():
            raise BadInput(f"{self.store_file}: no store there; check --store, or take sessions in: om ingest FILE")

    @cached_property
    def sessions(self) -> list[Session]:
        """All sessions, the one touched last first."""
        return list_sessions(self.store)

    @cached_property
    def session(self) -> Session | None:
        """The session that was named, or the latest of the project, or the latest; None where there is none at all."""
        if self.session_name is None and self.branch_name is not None:
            return self._session_of(self._named_branch(self.branch_name))
        return choose_session(self.sessions, self.session_name, self.project)

    @cached_property
    def branch(self) -> Branch:
        """The branch that was named, or the current one of the session; EMPTY where there is none at all."""
        if self.branch_name is not None:
            return self._named_branch(self.branch_name)
        if self.session is None:
            return EMPTY
        if not self.session.branch:
            raise NotFound(f"session {self.session.key} has no entries of its own yet")
        return load_branch(self.store, self.session.branch)

    def some_branch(self) -> Branch:
        """The branch, for commands that cannot do without one; NotFound."""
        if not self.branch.key:
            raise NotFound(ONLY_SUB_AGENTS if self.sessions else NOTHING_YET)
        return self.branch

    def branches_of(self, session: Session) -> list[Branch]:
        """All branches of a session, the chosen or current one first."""
        keys = dict.fromkeys([self.branch.key, *session.branches] if self.branch.key else session.branches)
        known = {branch.key: branch for branch in list_branches(self.store)}
        return [known[key] for key in keys if key in known]

    def _named_branch(self, name: str) -> Branch:
        branches = list_branches(self.store)
        if self.session_name is not None and self.session is not None:
            own = set(self.session.branches)
            branches = [branch for branch in branches if branch.key in own]
        return choose_branch(branches, name)

    def _session_of(self, branch: Branch) -> Session | None:
        return next((session for session in self.sessions if branch.key in session.branches), None)

    def close(self) -> None:
        """Close the store, if it was opened."""
        if "store" in self.__dict__:
            self.store.close()
        if "_no_store" in self.__dict__:
            self._no_store.cleanup()


def may_be_there(path: Path) -> bool:
    """Whether a file is there, or in a folder that nobody lets us look into, or a link to nothing: then opening it says
    so.
    """
    try:
        return path.exists() or path.is_symlink()
    except OSError:
        return True


def is_file(url: str) -> bool:
    """Whether a store's URL or path names a file."""
    return "://" not in url or url.startswith("sqlite://")


def shown_url(url: str) -> str:
    """A store's URL without what may be secret in it: user, password, and all options but database and prefix."""
    if is_file(url):
        return url
    scheme, _, rest = url.partition("://")
    where, _, query = rest.partition("?")
    authority, slash, path = where.partition("/") if scheme == "unix" else ("", "", where)
    where = f"{slash}{path}" if authority or slash else path.rpartition("@")[2]
    options = "&".join(option for option in query.split("&") if option.startswith(("db=", "prefix=")))
    return f"{scheme}://{where}{'?' if options else ''}{options}"


def file_of(url: str) -> Path:
    """The file of a SQLite store's URL or path."""
    return Path(url.removeprefix("sqlite:///")).absolute()
