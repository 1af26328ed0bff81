"""Who may use the box: bearer tokens, each of one user and for some projects, and the projects that a team shares.

A token's text is `mb_<id>_<secret>`. Of the secret only its SHA-256 is kept: it is 256 random bits, so nothing slower
is needed.
"""

import re
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from hashlib import sha256
from hmac import compare_digest

from minutebook.errors import BadInput, NotFound, StoreBusy, StoreFull
from minutebook.pipeline.boxkeys import PROJECT, checked_user
from minutebook.store import codec
from minutebook.store.kernel import Put, Stale, Store

TOKENS = "tokens"
SHARES = "shares"
ALL_PROJECTS = "*"
DAY_SECONDS = 86_400
DAYS_MAX = 36_500
SECRET_BYTES = 32
WRITE_TRIES = 20

_PATTERN = re.compile(r"[A-Za-z0-9*][A-Za-z0-9._/*-]{0,199}")
_TOKEN = re.compile(r"mb_([0-9a-f]{12})_([A-Za-z0-9_-]{43})", re.ASCII)
NOBODYS_SHA256 = sha256(b"").hexdigest()
"""Compared with where there is no such token, so that it takes as long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """projects: names, `*` for any characters. created, expires, revoked: seconds since 1970; expires and revoked are 0
    for never.
    """

    id: str
    sha256: str
    user: str
    projects: tuple[str, ...]
    created: float
    expires: float = 0.0
    revoked: float = 0.0

    def is_valid_at(self, now: float) -> bool:
        """Neither expired nor revoked."""
        return not self.revoked and (not self.expires or now < self.expires)

    def covers(self, project: str) -> bool:
        """Whether it is for this project."""
        return covers(self.projects, project)


def covers(patterns: Sequence[str], project: str) -> bool:
    """Whether one of the patterns is the project's name, `*` being any characters."""
    return any(_expression(pattern).fullmatch(project) for pattern in patterns)


@lru_cache(maxsize=1024)
def _expression(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(piece) for piece in pattern.split("*")), re.DOTALL)


def create_token(store: Store, user: str, projects: Sequence[str], *, days: int | None = None) -> tuple[Token, str]:
    """A new token and its text, which is nowhere kept. Raises BadInput."""
    checked_user(user)
    for pattern in projects:
        if not _PATTERN.fullmatch(pattern) or ".." in pattern:
            raise BadInput(f"project {pattern!r}: letters, digits and . _ / -, and * for any characters")
    if days is not None and not 0 < days <= DAYS_MAX:
        raise BadInput(f"{days} days: give 1 to {DAYS_MAX}, or nothing for a token without an end")
    secret, now = secrets.token_urlsafe(SECRET_BYTES), store.now()
    token = Token(
        id=secrets.token_hex(6),
        sha256=_hash(secret),
        user=user,
        projects=tuple(projects) or (ALL_PROJECTS,),
        created=now,
        expires=now + days * DAY_SECONDS if days else 0.0,
    )
    _put(store, token, if_version=0)
    return token, f"mb_{token.id}_{secret}"


def checked_project(project: str) -> str:
    """The project as it is; BadInput for a name that cannot be one."""
    if not is_project(project):
        raise BadInput(f"project {project!r}: a letter or digit, then up to 199 of those and . _ / -, without '..'")
    return project


def is_project(project: str) -> bool:
    """Whether a text can be the name of a project."""
    return PROJECT.fullmatch(project) is not None


def list_tokens(store: Store) -> list[Token]:
    """All of them, revoked and expired ones too, by user and age."""
    found = [_token(document.body) for document in store.documents(TOKENS)]
    return sorted(found, key=lambda token: (token.user, token.created, token.id))


def revoke_token(store: Store, token_id: str) -> tuple[Token, bool]:
    """The token is of no use from now on; whether it stays listed, which a full store does not do. Raises NotFound."""
    for _ in range(WRITE_TRIES):
        document = store.get(TOKENS, token_id)
        if document is None:
            raise NotFound(f"no token {token_id!r}; `om token list` shows their ids")
        token = _token(document.body)
        revoked = token if token.revoked else replace(token, revoked=store.now())
        if revoked == token:
            return revoked, True
        try:
            if _put(store, revoked, if_version=document.version):
                return revoked, True
        except StoreFull:  # what has gone is of no use either, and takes no room
            if store.delete(TOKENS, token_id, if_version=document.version):
                return revoked, False
    raise StoreBusy(f"token {token_id}: changed by others all the time; try again")


def token_of(store: Store, text: str, *, clock: Callable[[], float] = time.time) -> Token | None:
    """The token of this text, where it is a valid one now."""
    found = _TOKEN.fullmatch(text)
    if found is None:
        return None
    document = store.get(TOKENS, found[1])
    token = _token(document.body) if document else None
    same = compare_digest(_hash(found[2]), token.sha256 if token else NOBODYS_SHA256)
    return token if token and same and token.is_valid_at(clock()) else None


def id_named_by(text: str) -> str:
    """The id in a token's text, valid or not; "" in anything else."""
    found = _TOKEN.fullmatch(text)
    return found[1] if found else ""


def share(store: Store, project: str) -> None:
    """From now on every token that covers the project reads all sessions of it."""
    store.put(Put(SHARES, checked_project(project), codec.to_json({"v": codec.VERSION, "at": store.now()})))


def unshare(store: Store, project: str) -> bool:
    """From now on each user reads only their own sessions of it; False when it was not shared."""
    return store.delete(SHARES, checked_project(project))


def shared_projects(store: Store) -> list[str]:
    """Names of the projects that are shared."""
    return [document.key for document in store.documents(SHARES)]


def _hash(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


def _put(store: Store, token: Token, *, if_version: int) -> bool:
    body = codec.to_json({"v": codec.VERSION, **asdict(token)})
    return not isinstance(store.put(Put(TOKENS, token.id, body, if_version=if_version)), Stale)


def _token(body: str) -> Token:
    data = codec.from_json(body)
    known = {each.name: data[each.name] for each in fields(Token) if each.name in data}
    return Token(**{**known, "projects": tuple(known.get("projects", ()))})
