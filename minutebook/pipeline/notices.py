"""What a person is to be told, once each: a stream that hosts, status and commands read."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import sha256

from minutebook.pipeline.workbook import iso_time
from minutebook.store import codec
from minutebook.store.kernel import Item, Stale, Store, Stored

NOTICES = "notices"


@dataclass(frozen=True, slots=True)
class Notice:
    """position: in the stream, for readers that go on from where they were. time: ISO 8601, UTC.

    about: key of the session or branch whose text it may quote, "" for none; on a team box it is for their readers.
    """

    position: int
    time: str
    text: str
    about: str = ""


def tell(store: Store, occasion: str, text: str, *, about: str = "") -> None:
    """Add a notice; one with the same occasion was told already and stays as it is. about: as in Notice."""
    body = codec.to_json({"at": _now(store), "text": text, **({"about": about} if about else {})})
    store.append(NOTICES, [Item(sha256(occasion.encode()).hexdigest()[:24], "notice", 0, body)])


def read_notices(store: Store, start: int = 0, *, limit: int | None = None) -> Sequence[Notice]:
    """Notices from a position on, oldest first; with a limit the newest of them."""
    rows = store.read(NOTICES, start, limit=limit, reverse=limit is not None)
    return [_notice(row) for row in sorted(rows, key=lambda row: row.position)]


def forget_about(store: Store, keys: Collection[str]) -> int:
    """Blank the notices about these sessions and branches, each in its place; returns how many. Called by purges."""
    while True:
        rows = store.read(NOTICES)
        gone = {row.position for row in rows if _notice(row).about in keys}
        if not gone:
            return 0
        blank = codec.to_json({"at": _now(store), "text": "about something that was purged since"})
        items = [Item(row.id, row.kind, 0, blank if row.position in gone else row.body) for row in rows]
        if not isinstance(store.append(NOTICES, items, expect_length=len(rows), anew=True), Stale):
            return len(gone)


def _notice(row: Stored) -> Notice:
    body = codec.from_json(row.body)
    return Notice(row.position, str(body["at"]), str(body["text"]), str(body.get("about", "")))


def _now(store: Store) -> str:
    return iso_time(store.now())
