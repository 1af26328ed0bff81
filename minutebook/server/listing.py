"""Which sessions a token may read, page by page, those that changed last at the end."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from minutebook.pipeline.boxkeys import SIGN, owner_of
from minutebook.pipeline.copies import lengths
from minutebook.pipeline.rows import Lengths
from minutebook.pipeline.sessions import Session, list_sessions
from minutebook.records import Branch
from minutebook.server.callers import Caller
from minutebook.server.tokens import shared_projects

Place = tuple[float, str]
"""When a session was touched last, and its key: the order of the list."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A session with its branches that may be read, and what the box has of them. shared: the team reads it too."""

    session: Session
    branches: Sequence[Branch]
    lengths: Mapping[str, Lengths]
    owner: str
    shared: bool


@dataclass(frozen=True, slots=True)
class Page:
    """next: the cursor after which the next page begins, now or when something has changed."""

    sessions: Sequence[Listed]
    next: str


def sessions_after(caller: Caller, after: str, limit: int) -> Page:
    """Sessions that were touched after a cursor, "" for all; the one touched last is the last."""
    place = _place_at(caller, after)
    shared = set(shared_projects(caller.house.store))
    listed = [_listed(caller, session, shared) for session in islice(_readable(caller, shared, place), limit)]
    return Page(listed, _cursor(caller, listed[-1].session) if listed else after)


def _place_at(caller: Caller, cursor: str) -> Place:
    """cursor: "" or of the form shapes.CURSOR."""
    touched, _, key = cursor.partition(" ")
    return (float(touched), caller.boxed(key)) if key else (-1.0, "")


def _cursor(caller: Caller, session: Session) -> str:
    return f"{_touched(session):.6f} {caller.own(session.key)}"


def _place_of(session: Session) -> Place:
    return _touched(session), session.key


def _touched(session: Session) -> float:
    return round(max(0.0, session.touched), 6)


def _readable(caller: Caller, shared: set[str], after: Place) -> Iterator[Session]:
    """Only the user's own are loaded where nothing that the token covers is shared."""
    team = any(caller.token.covers(project) for project in shared)
    for session in sorted(list_sessions(caller.house.store, "" if team else f"{caller.user}{SIGN}"), key=_place_of):
        readable = caller.may_read(session.host, session.project, shared=session.project in shared)
        if readable and _place_of(session) > after:
            yield session


def _listed(caller: Caller, session: Session, shared: set[str]) -> Listed:
    branches = list(caller.readable_among(map(caller.own, session.branches)).values())
    known = lengths(caller.house.store, [branch.key for branch in branches])
    return Listed(
        session=session,
        branches=branches,
        lengths={key: row for key, row in known.items() if row is not None},
        owner=owner_of(session.host),
        shared=session.project in shared,
    )
