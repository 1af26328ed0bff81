"""How this machine and its box stand: a document of the local store that `om status` shows, and who sends."""

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from minutebook.errors import BadInput, BoxRefused, StoreBusy, StoreReadOnly
from minutebook.pipeline.workbook import iso_time
from minutebook.settings import Settings
from minutebook.store import codec
from minutebook.store.kernel import Put, Store

COLLECTION = "box"
KEY = "state"
USER_KEY = "user"
NOTED_SECONDS = 60.0
"""Success is noted at most so often while nothing else changes: a note is a write that wakes whoever listens."""
QUIET_SECONDS = 180.0
"""Without a note for so long, nobody sends."""
LOCK_SUFFIX = ".sync"
REMARKS_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """succeeded_at: of the last pass without a failure, in seconds of the store's clock, 0 for never. failed_at: since
    when it fails, 0 when it does not. remarks: what else a person should know → of how many sessions.
    """

    url: str
    succeeded_at: float = 0.0
    failed_at: float = 0.0
    failure: str = ""
    remarks: Mapping[str, int] = field(default_factory=dict)


def read_state(store: Store, url: str) -> State:
    """What is known of this box; nothing of another one."""
    document = store.get(COLLECTION, KEY)
    body = codec.from_json(document.body) if document else {}
    if body.get("url") != url:
        return State(url=url)
    return State(**{name: body[name] for name in State.__slots__ if name in body})


def note_success(store: Store, url: str, remarks: Mapping[str, int]) -> None:
    """The pass came to its end."""
    before, now = read_state(store, url), store.now()
    same = not before.failed_at and before.remarks == remarks
    if not same or abs(now - before.succeeded_at) >= NOTED_SECONDS:
        _write(store, State(url=url, succeeded_at=now, remarks=dict(remarks)))


def note_failure(store: Store, url: str, failure: str) -> None:
    """The box did not do what was asked; the first failure of a row says since when."""
    before, failure = read_state(store, url), failure.removeprefix(f"{url}: ")
    if not before.failed_at or before.failure != failure:
        _write(store, replace(before, failed_at=before.failed_at or store.now(), failure=failure))


def check_user(store: Store, user: str) -> None:
    """Raise BoxRefused where this store was synced with the token of another user; the first one is remembered.

    Of whatever box: a box may move, and the private sessions of one user are never another's.
    """
    before = known_user(store)
    if not before:
        store.put(Put(COLLECTION, USER_KEY, codec.to_json({"v": codec.VERSION, "user": user})))
    elif before != user:
        raise BoxRefused(
            f"this store was synced as {before}, and the token is {user}'s: use the token of {before}, or another"
            " MINUTEBOOK_HOME (or --store)"
        )


def known_user(store: Store) -> str:
    """With whose token this store was synced; "" before the first time."""
    document = store.get(COLLECTION, USER_KEY)
    return str(codec.from_json(document.body).get("user")) if document else ""


def _write(store: Store, state: State) -> None:
    store.put(Put(COLLECTION, KEY, codec.to_json({"v": codec.VERSION, **asdict(state)})))


def box_line(store: Store, settings: Settings) -> str:
    """How this machine and its box stand, in one line for people; "" where no box is set."""
    if settings.box_url is None:
        return ""
    return line_of(read_state(store, settings.box_url), store.now())


def line_of(state: State, now: float) -> str:
    """The line as of now. Pure."""
    since = f"in step at {iso_time(state.succeeded_at)}" if state.succeeded_at else "never in step yet"
    if state.failed_at:
        return f"box: {state.url} fails since {iso_time(state.failed_at)}: {state.failure} ({since}; nothing is lost)"
    remarks = [f"{count:,} {text}" for text, count in sorted(state.remarks.items())]
    if len(remarks) > REMARKS_SHOWN:
        remarks[REMARKS_SHOWN:] = ["and more: `om sync --once` tells all"]
    if _is_quiet(state, now):
        remarks.append("no `om sync` runs")
    return "; ".join([f"box: {state.url}, {since}", *remarks])


def is_quiet(store: Store, url: str) -> bool:
    """Whether nobody has been in step with this box for a while."""
    return _is_quiet(read_state(store, url), store.now())


def _is_quiet(state: State, now: float) -> bool:
    return not state.succeeded_at or abs(now - state.succeeded_at) > QUIET_SECONDS


@contextmanager
def only_sender(store: Store) -> Iterator[None]:
    """Be the one process that sends this store's sessions; StoreBusy names the other one. Ends with the process."""
    import fcntl

    path = _lock_file(store)
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    except OSError as error:
        raise StoreReadOnly(
            f"{path}: {error.strerror or error}: check the path and that this user may write"
        ) from error
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise StoreReadOnly(f"{path}: is no regular file; move it away")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            who = os.pread(handle, 200, 0).decode("utf-8", "replace").strip() or "another process"
            raise StoreBusy(f"`om sync` runs already for this store: {' '.join(who.split())}") from error
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"process {os.getpid()} since {iso_time(store.now())}\n".encode(), 0)
        yield
    finally:
        os.close(handle)


def _lock_file(store: Store) -> Path:
    scheme, _, path = store.url.partition("://")
    if scheme != "sqlite" or not path:
        raise BadInput(f"{store.url}: `om sync` sends from the store of one machine, which is a SQLite file")
    return Path(path[1:] + LOCK_SUFFIX)
