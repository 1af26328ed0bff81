"""Names on a box: the user is part of the host. Pure.

What is `claude_code:s1` on Alice's laptop is `alice~claude_code:s1` on the box, and so for every key that begins with
a session's: branches, lineages, parents. Alice sees her own keys without the prefix, those of others with it.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from minutebook.errors import BadInput, NotFound
from minutebook.pipeline.sessions import Session
from minutebook.records import Branch

USER = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
PROJECT = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_/-]|\.(?!\.)){0,199}")
SIGN = "~"


def checked_user(user: str) -> str:
    """The user's name; BadInput when it is none."""
    if not USER.fullmatch(user):
        raise BadInput(
            f"user {user!r}: 1 to 64 of a-z, 0-9, dot, underscore and hyphen, beginning with a letter or digit"
        )
    return user


def owner_of(key: str) -> str:
    """The user whose session, branch or host this is; "" for one of this very machine."""
    user, found, _ = key.partition(":")[0].partition(SIGN)
    return user if found else ""


def box_key(user: str, key: str) -> str:
    """A key as the box has it, of one as the user sees it. A key with an owner stays as it is, and so does ""."""
    return key if not key or owner_of(key) else f"{user}{SIGN}{key}"


def own_key(user: str, key: str) -> str:
    """A key as the user sees it, of one as the box has it: the user's own without prefix, others' with it."""
    return key.removeprefix(f"{user}{SIGN}") if owner_of(key) == user else key


def session_on_box(user: str, session: Session) -> Session:
    """The user's session as the box keeps it; NotFound when a key of it belongs to another."""
    return _session_with(session, lambda key: _claimed(user, key))


def branch_on_box(user: str, branch: Branch) -> Branch:
    """The user's branch as the box keeps it; NotFound when a key of it belongs to another."""
    return _branch_with(branch, lambda key: _claimed(user, key))


def session_as_seen(user: str, session: Session) -> Session:
    """The box's session as this user sees it."""
    return _session_with(session, lambda key: own_key(user, key))


def branch_as_seen(user: str, branch: Branch) -> Branch:
    """The box's branch as this user sees it."""
    return _branch_with(branch, lambda key: own_key(user, key))


def _claimed(user: str, key: str) -> str:
    named = box_key(user, key)
    if named and owner_of(named) != user:
        raise NotFound(f"no session or branch {key!r} of {user}")
    return named


def _session_with(session: Session, named: Callable[[str], str]) -> Session:
    def at(row: list[Any]) -> list[Any]:
        return [named(row[0]), *row[1:]] if row else []

    return replace(
        session,
        key=named(session.key),
        host=named(session.host),
        lineage=named(session.lineage),
        branch=named(session.branch),
        branches=[*map(named, session.branches)],
        follows=at(session.follows),
        passed=[*map(at, session.passed)],
    )


def _branch_with(branch: Branch, named: Callable[[str], str]) -> Branch:
    return replace(
        branch,
        key=named(branch.key),
        host=named(branch.host),
        lineage=named(branch.lineage),
        parent=named(branch.parent),
    )
