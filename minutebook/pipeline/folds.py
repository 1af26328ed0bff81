"""The only thing that a compaction records: proposed when it is composed, confirmed when the host did compact.

A proposal is a document of the branch; a confirmed fold is a memory entry that holds the boundary, how far memory was
read, and whether it was a full fold. The visible records follow from these, so its size does not grow (003-077).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from minutebook.errors import StoreBusy
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import memory_stream
from minutebook.pipeline.outcomes import Committed, Entry, Refused, memory_entry, offer_memory
from minutebook.records import FOLD, Branch, MemoryEntry
from minutebook.store import codec
from minutebook.store.kernel import Put, Store

PRODUCER = "minutebook"
COMPOSITIONS = "compositions"
CLOSE_TRIES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A composition that its host has not confirmed yet. opened_at: seconds of the store's clock.

    length: of the branch's memory stream when it was read. settings: hash of those that shape the text. composed: the
    composition itself, so that whoever asks again gets the same; without its text once it is closed.
    """

    boundary: int
    length: int
    settings: str
    opened_at: float
    composed: Mapping[str, Any]
    open: bool = True
    version: int = 0

    def is_open_at(self, now: float, open_seconds: float) -> bool:
        """Whether its host may still confirm it; of one that lies ahead, because the clock went back, nobody knows."""
        return self.open and abs(now - self.opened_at) < open_seconds


def read_proposal(store: Store, branch: Branch) -> Proposal | None:
    """The branch's last proposal, open or not."""
    document = store.get(COMPOSITIONS, branch.key)
    if document is None:
        return None
    body, text = codec.text_from_store(document.body)
    return Proposal(
        boundary=body["boundary"],
        length=body["length"],
        settings=body["settings"],
        opened_at=body["openedAt"],
        composed={**body.get("composed", {}), "text": text},
        open=body["open"] and "composed" in body,
        version=document.version,
    )


def proposal_put(branch: Branch, proposal: Proposal, *, if_version: int) -> Put:
    """The write of a proposal that fails when another came first."""
    body = {
        "v": codec.VERSION,
        "boundary": proposal.boundary,
        "length": proposal.length,
        "settings": proposal.settings,
        "openedAt": proposal.opened_at,
        "composed": {name: value for name, value in proposal.composed.items() if name != "text"},
        "open": proposal.open,
    }
    return Put(
        COMPOSITIONS, branch.key, codec.text_to_store(body, proposal.composed.get("text", "")), if_version=if_version
    )


def confirm_fold(store: Store, branch: Branch, *, time: str = "", advance: Mapping[str, int] | None = None) -> bool:
    """The host compacted: record the open proposal as the fold in force. False when there is none.

    Either way the compaction clock starts again (advance).
    """
    done = close_fold(store, branch, time=time, advance=advance or {})
    if isinstance(done, Refused):
        raise StoreBusy(f"{branch.key}: {done.stale.what} moved while the fold was confirmed; try again")
    return bool(done.entries or done.duplicates)


def close_fold(
    store: Store,
    branch: Branch,
    *,
    time: str,
    advance: Mapping[str, int],
    puts: Sequence[Put] = (),
    by: Mapping[str, Any] | None = None,
) -> Committed | Refused:
    """Like confirm_fold, with other documents in the same transaction; Refused when one of those has moved.

    by: the details that the host kept with its compaction; where they name a composition, only that is confirmed.
    """
    for _ in range(CLOSE_TRIES):
        proposal = read_proposal(store, branch)
        entries, closing = _closing(branch, proposal, time, (by or {}).get("composition"))
        done = offer_memory(store, branch, entries, advance=advance, puts=[*puts, *closing])
        if isinstance(done, Committed) or not done.stale.what.startswith(f"{COMPOSITIONS}/"):
            return done
    raise StoreBusy(f"{branch.key}: {CLOSE_TRIES} other compactions came first; try again")


def abandon_fold(store: Store, branch: Branch) -> None:
    """The host reports that the compaction failed: the next boundary may be composed at once."""
    proposal = read_proposal(store, branch)
    if proposal is not None and proposal.open:
        store.put(_closed(branch, proposal))


def memory_length(store: Store, branch: Branch) -> int:
    """Length of the branch's own memory stream."""
    return store.tip(memory_stream(branch.key)).length


def compaction_marks(kept: int, at: int) -> dict[str, int]:
    """The marks that restart the compaction clock. kept: first kept position. at: the path's length then."""
    return {ledger.COMPACTED_FROM: kept, ledger.COMPACTED_AT: at}


def _closing(
    branch: Branch, proposal: Proposal | None, time: str, composition: object
) -> tuple[list[MemoryEntry], list[Put]]:
    """The fold that is now in force and the write that closes its proposal; nothing when there is none open."""
    if proposal is None or not proposal.open or composition not in (None, proposal.composed["id"]):
        return [], []
    data = {
        "fullFold": proposal.composed["full_fold"],
        "reference": proposal.composed["reference"],
        "length": proposal.length,
        "composition": proposal.composed["id"],
        "producer": PRODUCER,
    }
    entry = memory_entry(Entry(kind=FOLD, covers=proposal.boundary, since=proposal.boundary, data=data, time=time))
    return [entry], [_closed(branch, proposal)]


def _closed(branch: Branch, proposal: Proposal) -> Put:
    closed = replace(proposal, open=False, composed={**proposal.composed, "text": ""})
    return proposal_put(branch, closed, if_version=proposal.version)
