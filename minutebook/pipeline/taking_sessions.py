"""Sessions that another machine recorded, or this one before its store was lost, as a laptop's own documents."""

from collections.abc import Collection
from dataclasses import replace

from minutebook.errors import StoreBusy
from minutebook.pipeline.branches import BRANCHES
from minutebook.pipeline.sessions import Session, find_session, session_put
from minutebook.store.kernel import Stale, Store

SESSION_TRIES = 50


def take_session(store: Store, session: Session) -> Session:
    """Write the box's session, or what of it is news; as it is here then. Branches that are not here are left out.

    To be called when its branches were taken. Where the file is and how far it was read here stays as it is.
    """
    for _ in range(SESSION_TRIES):
        stored = find_session(store, session.key)
        here = store.get_among(BRANCHES, [session.branch, *session.branches, *(stored.branches if stored else ())])
        after = _merged(stored, session, here.keys())
        if after == stored or not isinstance(store.put(session_put(after)), Stale):
            return after
    raise StoreBusy(f"session {session.key}: {SESSION_TRIES} others wrote it first; try again")


def _merged(stored: Session | None, told: Session, here: Collection[str]) -> Session:
    branches = [key for key in told.branches if key in here]
    if stored is None:
        current = told.branch if told.branch in here else next(iter(branches[-1:]), "")
        return replace(told, branches=branches, branch=current, path="", cursor={}, follows=[], version=0)
    union = [*dict.fromkeys([*stored.branches, *branches])]
    if (told.last_time, told.prompts) < (stored.last_time, stored.prompts):
        return replace(stored, branches=union)
    newer = (told.last_time, told.prompts) > (stored.last_time, stored.prompts)
    moved = bool(branches) and told.branch in here and (newer or not stored.branches)
    return replace(
        stored,
        branches=union,
        branch=told.branch if moved else stored.branch,
        lineage=told.lineage if moved else stored.lineage,
        follows=[] if moved else stored.follows,
        last_time=told.last_time,
        prompts=told.prompts,
        versions=max(stored.versions, told.versions),
        title=stored.title or told.title,
        model=(told.model if newer else stored.model) or told.model,
        calibration=(told.calibration if newer else stored.calibration) or told.calibration,
        compactions=told.compactions if newer else stored.compactions,
        ended=told.ended if newer else stored.ended or told.ended,
        touched=max(stored.touched, told.touched) if newer else stored.touched,
    )
