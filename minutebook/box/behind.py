"""How far this machine and its box are apart, found by asking for lengths and changing nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from minutebook.box.client import BoxClient
from minutebook.box.passing import KEYS_AT_ONCE, Kept, check_sendable
from minutebook.box.stepping import has_parted
from minutebook.box.wire import Me
from minutebook.pipeline.boxing import Lengths, lengths, owner_of
from minutebook.pipeline.outbox import read_outbox
from minutebook.pipeline.sessions import list_sessions
from minutebook.settings import Settings
from minutebook.store.kernel import Store


@dataclass(frozen=True, slots=True)
class Behind:
    """branches: those that were asked about, the latest. apart: how many of them are not in step. sources: entries that
    the box lacks. memory: entries that this machine lacks. offers: memory made here that waits to be placed there.
    """

    branches: int = 0
    apart: int = 0
    sources: int = 0
    memory: int = 0
    offers: int = 0


def how_far_behind(store: Store, client: BoxClient, settings: Settings, me: Me) -> Behind:
    """Of the sessions that go to the box, the latest ones, as many as one question names. Raises BoxFailed."""
    keys = list(islice(_sendable(store, settings, me), KEYS_AT_ONCE))
    return compared(keys, lengths(store, keys), client.lengths(keys) if keys else {}, _offers(store, keys))


def compared(
    keys: Sequence[str],
    here: dict[str, Lengths | None],
    there: dict[str, Lengths | None],
    offers: Sequence[int],
) -> Behind:
    """What the lengths say. Pure; one of each for each key."""
    found = [_one(here[key], there[key], waiting) for key, waiting in zip(keys, offers, strict=True)]
    sources, memory, waiting = (sum(each[at] for each in found) for at in range(3))
    return Behind(len(found), sum(map(any, found)), sources, memory, waiting)


def _one(here: Lengths | None, there: Lengths | None, offers: int) -> tuple[int, int, int]:
    if here is None:  # removed meanwhile
        return 0, 0, 0
    sources, memory = (there.sources, there.memory) if there else (0, 0)
    return max(0, here.sources - sources), max(0, memory - here.memory), offers


def _sendable(store: Store, settings: Settings, me: Me) -> Iterator[str]:
    """Branches of this machine's own sessions that no setting, token or parting keeps here, the latest first."""
    for session in list_sessions(store):
        if owner_of(session.key):
            continue
        try:
            check_sendable(session, settings, me)
        except Kept:
            continue
        yield from (key for key in session.branches if not has_parted(store, key))


def _offers(store: Store, keys: Sequence[str]) -> list[int]:
    return [len(read_outbox(store, key).entries) for key in keys]
