"""Which session and which branch a person means. Pure."""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from minutebook.errors import BadInput, NotFound
from minutebook.pipeline.boxkeys import owner_of
from minutebook.pipeline.sessions import Session
from minutebook.projects import project_key, project_name
from minutebook.records import Branch

LISTED = 12
T = TypeVar("T")


def choose_session(sessions: Sequence[Session], name: str | None, project: Path) -> Session | None:
    """The session of that name; without one, the latest of the project, else the latest. sessions: latest first.

    Of a repository with several worktrees those of this very folder come first. One's own come before what others let
    the team read. A sub-agent's session is only taken by name. None where there is nothing to take. Raises NotFound,
    BadInput.
    """
    if name is not None:
        return _one("session", sessions, name, lambda session: (session.key, session.session))
    main = [session for session in sessions if session.branch and not session.agent]
    main.sort(key=is_of_another_user)
    here = [session for session in main if is_project(session.project, project)]
    here.sort(key=lambda session: (is_of_another_user(session), not is_folder(session.project, project)))
    return next(iter([*here, *main]), None)


def choose_branch(branches: Sequence[Branch], name: str) -> Branch:
    """The branch of that name. Raises NotFound, BadInput."""
    return _one("branch", branches, name, lambda branch: (branch.key, branch.key.rpartition("@")[2]))


def is_of_another_user(session: Session) -> bool:
    """Whether it came from the box with the name of its user: of one's own, the box leaves that away."""
    return bool(owner_of(session.key))


def is_project(named: str, folder: Path) -> bool:
    """Whether a session's project is this folder's: by its repository, and on another machine by a name for it."""
    if named and not os.path.isabs(named):  # noqa: PTH117 (a text)
        return named == project_name(os.path.abspath(folder))  # noqa: PTH100
    return is_folder(named, folder) or is_same_project(named, os.path.abspath(folder))  # noqa: PTH100


def is_same_project(one: str, other: str) -> bool:
    """Whether two sessions' projects are one."""
    return project_key(one) == project_key(other)


def is_folder(named: str, project: Path) -> bool:
    """Whether a session's project is this folder, by whatever links it was reached."""
    return bool(named) and os.path.realpath(named) == os.path.realpath(project)


def _one(what: str, things: Sequence[T], name: str, names: Callable[[T], tuple[str, ...]]) -> T:
    found = [thing for thing in things if name in names(thing)] or _beginning_or_ending(things, name, names)
    if not found:
        raise NotFound(f"no {what} {name!r} in this store; `om sessions` lists what there is")
    if len(found) > 1:
        raise BadInput(_several(what, name, [names(thing)[0] for thing in found]))
    return found[0]


def _beginning_or_ending(things: Iterable[T], name: str, names: Callable[[T], tuple[str, ...]]) -> list[T]:
    if not name:
        return []
    return [thing for thing in things if any(n.startswith(name) or n.endswith(name) for n in names(thing))]


def _several(what: str, name: str, keys: list[str]) -> str:
    rest = [f"… and {len(keys) - LISTED:,} more"] if len(keys) > LISTED else []
    listed = [f"  {key}" for key in [*keys[:LISTED], *rest]]
    return "\n".join([f"{name!r} fits more than one {what}; give more of it:", *listed])
