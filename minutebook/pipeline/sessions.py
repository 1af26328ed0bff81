"""What is known of a host's session: how far its file was read, its branches, what was skipped."""

from dataclasses import dataclass, field, fields
from typing import Any

from minutebook.errors import NotFound
from minutebook.pipeline.deliveries import Reading, SessionHead
from minutebook.records import Branch
from minutebook.store import codec
from minutebook.store.kernel import Put, Store

SESSIONS = "sessions"
BROKEN_SHOWN = 50
COMPACTIONS_KNOWN = 500
KINDS_KNOWN = 100
OTHER_KINDS = "other kinds"
TITLE_CHARACTERS = 80
TITLE_FROM_CHARACTERS = 10_000


class SessionMoved(Exception):
    """Another process took in the same session meanwhile: begin again, what is there already is a no-op."""


def session_key(head: SessionHead) -> str:
    """host:session, and /agent for a sub-agent."""
    return f"{head.host}:{head.session}" + (f"/{head.agent}" if head.agent else "")


@dataclass(slots=True, kw_only=True)
class Session:
    """One session's document.

    branch: the one on which the next entry arrives. branches: all of its own. follows: while everything delivered is
    the beginning of another session (a fork that copied it): that branch (and `branch` is the same, to read from) and
    how many of its entries came; [] otherwise. passed: the branches that it left when that other one turned, likewise.
    broken: line numbers (the first 50); broken_count: all. versions: entries that came again with another text.
    touched: seconds of the store's clock at the last intake. calibration: see calibration.py.
    """

    key: str
    host: str
    session: str
    agent: str = ""
    project: str = ""
    zone: str = "UTC"
    path: str = ""
    host_version: str = ""
    started: str = ""
    last_time: str = ""
    lineage: str = ""
    branch: str = ""
    branches: list[str] = field(default_factory=list)
    follows: list[Any] = field(default_factory=list)
    passed: list[list[Any]] = field(default_factory=list)
    cursor: dict[str, Any] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    broken: list[int] = field(default_factory=list)
    broken_count: int = 0
    versions: int = 0
    replaced: int = 0
    prompts: int = 0
    title: str = ""
    model: str = ""
    compactions: list[str] = field(default_factory=list)
    ended: bool = False
    touched: float = 0.0
    calibration: dict[str, Any] = field(default_factory=dict)
    version: int = 0

    def enter(self, branch: Branch) -> None:
        """The next entry arrives on this branch, which is one of the session's own."""
        self.branch, self.lineage = branch.key, branch.lineage
        if branch.key not in self.branches:
            self.branches.append(branch.key)


_FIELDS = frozenset(each.name for each in fields(Session))


def find_session(store: Store, key: str) -> Session | None:
    """The session of that key, or None."""
    document = store.get(SESSIONS, key)
    return _session(document.body, document.version) if document else None


def load_session(store: Store, key: str) -> Session:
    """The session of that key; NotFound."""
    session = find_session(store, key)
    if session is None:
        raise NotFound(f"no session {key!r} in this store; `om sessions` lists what there is")
    return session


def list_sessions(store: Store, prefix: str = "") -> list[Session]:
    """All sessions whose key begins with prefix, the one touched last first."""
    found = [_session(document.body, document.version) for document in store.documents(SESSIONS, prefix)]
    return sorted(found, key=lambda session: (-session.touched, session.key))


def new_session(head: SessionHead, *, path: str, zone: str) -> Session:
    """A session that nothing was read of yet."""
    return Session(
        key=session_key(head),
        host=head.host,
        session=head.session,
        agent=head.agent,
        project=head.project,
        zone=head.zone or zone,
        path=path,
        host_version=head.host_version,
        started=head.started,
    )


def session_put(session: Session) -> Put:
    """The write of a session that fails when somebody else wrote it since it was read."""
    body = {each.name: getattr(session, each.name) for each in fields(Session) if each.name != "version"}
    return Put(SESSIONS, session.key, codec.to_json({"v": codec.VERSION, **body}), if_version=session.version)


def shortened(text: str) -> str:
    """The beginning of a text on one line, as a title."""
    line = " ".join(text.lstrip()[:TITLE_FROM_CHARACTERS].split())
    return line if len(line) <= TITLE_CHARACTERS else line[: TITLE_CHARACTERS - 1].rstrip() + "…"


def note_reading(session: Session, reading: Reading, *, grew: bool) -> None:
    """Add what a reading skipped, could not read or learned about the session to its document.

    grew: it brought new entries; a session that was over and grows is not over any more, unless its file says so.
    """
    if reading.cursor and codec.to_json(session.cursor) == codec.to_json(dict(reading.cursor)):
        return  # this very reading is noted
    if reading.replaced:
        session.replaced += 1
        session.unknown, session.skipped, session.broken, session.broken_count = {}, {}, [], 0
    _add(session.unknown, reading.unknown)
    _add(session.skipped, reading.skipped)
    session.broken = [*session.broken, *reading.broken][:BROKEN_SHOWN]
    session.broken_count += len(reading.broken)
    if reading.cursor:  # a part of a file that is delivered on its own has none
        session.cursor = dict(reading.cursor)
    session.ended = reading.ended or (session.ended and not grew)
    if reading.head is not None:
        session.project = session.project or reading.head.project
        session.host_version = reading.head.host_version or session.host_version


def _add(counts: dict[str, int], more: dict[str, int]) -> None:
    for kind, count in more.items():
        known = kind if kind in counts or len(counts) < KINDS_KNOWN else OTHER_KINDS
        counts[known] = counts.get(known, 0) + count


def _session(body: str, version: int) -> Session:
    data = codec.from_json(body)
    return Session(**{key: value for key, value in data.items() if key in _FIELDS}, version=version)
