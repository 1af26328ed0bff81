"""Which memory entries of a branch name an id, so that neither a commit nor a recall has to read them all.

One small document an id and branch, written in the commit of the entry: the positions in the branch's own stream that
record it or take it back; none of them when it was only cited. The mark MENTIONED says how far they reach; where it
lags behind (memory of an older version), nobody relies on them, and the next commit brings them up to date.
"""

from collections.abc import Collection, Iterable, Sequence

from minutebook.pipeline import ledger
from minutebook.pipeline.branches import memory_stream
from minutebook.pipeline.reducing import mentions
from minutebook.records import Branch, MemoryEntry, content_id
from minutebook.store import codec
from minutebook.store.kernel import Put, Store, Tip

MENTIONS = "mentions"
MENTIONED = "mentioned"
EVERYWHERE = 2**62


def known_among(store: Store, branch: Branch, wanted: Collection[str]) -> set[str]:
    """Those that an entry which the branch may see names or cites already; all of them where nobody can say."""
    if not wanted:
        return set()
    chain = ledger.chain_of(store, branch)
    if not all(_is_complete(store.tip(memory_stream(each.key))) for each in chain):
        return {*wanted}
    return {mention for at in _positions(store, chain, wanted).values() for mention in at}


def named_entries(store: Store, branch: Branch, wanted: Collection[str]) -> list[MemoryEntry] | None:
    """The entries that record these mentions or take them back, as the branch sees them, in merge order.

    None where the mentions do not reach all of them.
    """
    found: list[MemoryEntry] = []
    chain = ledger.chain_of(store, branch)
    tips = [store.tip(memory_stream(each.key)) for each in chain]
    if not all(map(_is_complete, tips)):
        return None
    positions = _positions(store, chain, wanted)
    for place, (each, tip) in enumerate(zip(chain, tips, strict=True)):
        later = chain[place + 1 :]
        stop = later[0].parent_memory if later else tip.length
        reach = min((child.fork for child in later), default=EVERYWHERE)
        named = sorted({at for listed in positions[each.key].values() for at in listed if at < stop})
        entries = (ledger.read_own(store, each, at + 1, start=at) for at in named)
        found += [entry for one in entries for entry in one if entry.covers <= reach]
    return found


def mention_puts(store: Store, branch: Branch, tip: Tip, entries: Sequence[MemoryEntry]) -> list[Put]:
    """The writes for new entries of a branch whose own stream had that tip; for all before, where those are missing."""
    complete = _is_complete(tip)
    found = _gathered(entries if complete else [*ledger.read_own(store, branch, tip.length), *entries])
    old = _positions(store, [branch], found)[branch.key] if complete else {}
    return [
        Put(MENTIONS, _key(branch, mention), codec.to_json({"v": codec.VERSION, "at": [*old.get(mention, ()), *new]}))
        for mention, new in sorted(found.items())
        if new or mention not in old
    ]


def mentions_anew(store: Store, branch: Branch, entries: Sequence[MemoryEntry]) -> list[Put]:
    """The writes that leave the branch with these entries and no others."""
    found = {_key(branch, mention): places for mention, places in _gathered(entries).items()}
    gone = {document.key: list[int]() for document in store.documents(MENTIONS, f"{branch.key}|")}
    return [
        Put(MENTIONS, key, codec.to_json({"v": codec.VERSION, "at": places}))
        for key, places in sorted({**gone, **found}.items())
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


def _positions(store: Store, branches: Sequence[Branch], wanted: Collection[str]) -> dict[str, dict[str, list[int]]]:
    """Branch → mention → positions in its own stream, of those that there are."""
    keys = {_key(each, mention): (each.key, mention) for each in branches for mention in wanted}
    found: dict[str, dict[str, list[int]]] = {each.key: {} for each in branches}
    for key, document in store.get_among(MENTIONS, keys).items():
        branch, mention = keys[key]
        found[branch][mention] = codec.from_json(document.body)["at"]
    return found


def _key(branch: Branch, mention: str) -> str:
    return f"{branch.key}|{content_id(mention)}"
