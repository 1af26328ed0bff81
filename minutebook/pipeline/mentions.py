"""Which memory entries of a branch name an id, so that neither a commit nor a recall has to read them all.

One small document an id and branch, written in the commit of the entry: the positions in the branch's own stream that
record it or take it back; none of them when it was only cited. The mark MENTIONED says how far they reach; where it
lags behind (memory of an older version), nobody relies on them, and the next commit brings them up to date.
"""

from collections.abc import Iterable, Sequence

from minutebook.pipeline import ledger
from minutebook.pipeline.branches import memory_stream
from minutebook.pipeline.reducing import mentions
from minutebook.records import Branch, MemoryEntry, content_id
from minutebook.store import codec
from minutebook.store.kernel import Put, Store, Tip

MENTIONS = "mentions"
MENTIONED = "mentioned"
EVERYWHERE = 2**62


def is_known(store: Store, branch: Branch, mention: str) -> bool:
    """Whether an entry that the branch may see names or cites it already; True where nobody can say."""
    return any(
        not _is_complete(store.tip(memory_stream(each.key))) or _positions(store, each, mention) is not None
        for each in ledger.chain_of(store, branch)
    )


def named_entries(store: Store, branch: Branch, wanted: Sequence[str]) -> list[MemoryEntry] | None:
    """The entries that record these mentions or take them back, as the branch sees them, in merge order.

    None where the mentions do not reach all of them.
    """
    found: list[MemoryEntry] = []
    chain = ledger.chain_of(store, branch)
    for place, each in enumerate(chain):
        tip, later = store.tip(memory_stream(each.key)), chain[place + 1 :]
        if not _is_complete(tip):
            return None
        stop = later[0].parent_memory if later else tip.length
        reach = min((child.fork for child in later), default=EVERYWHERE)
        positions = sorted({at for mention in wanted for at in _positions(store, each, mention) or ()})
        entries = (ledger.read_own(store, each, at + 1, start=at) for at in positions if at < stop)
        found += [entry for one in entries for entry in one if entry.covers <= reach]
    return found


def mention_puts(store: Store, branch: Branch, tip: Tip, entries: Sequence[MemoryEntry]) -> list[Put]:
    """The writes for new entries of a branch whose own stream had that tip; for all before, where those are missing."""
    if not _is_complete(tip):
        entries, old = [*ledger.read_own(store, branch, tip.length), *entries], {}
    else:
        named = {mention for entry in entries for mention in set().union(*mentions(entry))}
        old = {mention: _positions(store, branch, mention) for mention in named}
    found = sorted(_gathered(entries).items())
    at = {mention: [*(old.get(mention) or ()), *new] for mention, new in found if new or old.get(mention) is None}
    return [
        Put(MENTIONS, _key(branch, mention), codec.to_json({"v": codec.VERSION, "at": positions}))
        for mention, positions in at.items()
    ]


def _gathered(entries: Iterable[MemoryEntry]) -> dict[str, list[int]]:
    """Mention → positions that name it; none of what is only cited."""
    found: dict[str, list[int]] = {}
    for entry in entries:
        named, cited = mentions(entry)
        for mention in named:
            found.setdefault(mention, []).append(entry.index)
        for mention in cited:
            found.setdefault(mention, [])
    return found


def _is_complete(tip: Tip) -> bool:
    return tip.marks.get(MENTIONED, 0) == tip.length


def _positions(store: Store, branch: Branch, mention: str) -> list[int] | None:
    document = store.get(MENTIONS, _key(branch, mention))
    return None if document is None else [*codec.from_json(document.body)["at"]]


def _key(branch: Branch, mention: str) -> str:
    return f"{branch.key}|{content_id(mention)}"
