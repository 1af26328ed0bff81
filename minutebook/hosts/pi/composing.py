"""What a Pi session gets back at a compaction, on the branch where its leaf stands."""

from collections.abc import Sequence

from minutebook.errors import NotFound
from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.compaction import Composition, compose_memory
from minutebook.pipeline.intake import own_branch
from minutebook.pipeline.placing import Places
from minutebook.pipeline.sessions import find_session, load_session
from minutebook.records import Branch
from minutebook.settings import Settings
from minutebook.store.kernel import Store


def compose(
    store: Store,
    key: str,
    settings: Settings,
    *,
    leaf: Sequence[str],
    kept: Sequence[str],
    first_kept: str,
    tokens_before: int | None,
) -> tuple[Branch, Composition] | None:
    """The branch and its memory before the cut; None where there is none.

    leaf: ids of the newest entries of Pi's branch, newest first. kept: of the first ones that stay, oldest first. Some
    of both are no source entries, and the first that is decides. Raises CompactionOpen (003-079), StoreError.
    """
    if find_session(store, key) is None:
        return None
    try:
        current = own_branch(store, key)
    except NotFound:  # it was opened, and nothing was said in it yet
        return None
    places = Places(store, load_session(store, key))
    places.look_up([*leaf, *kept])
    branch = _where(store, places, leaf, current)
    spine = places.spine(branch)
    positions = (places.position(id_, spine) for id_ in kept)
    boundary = next((position for position in positions if position is not None), spine.length)
    composition = compose_memory(store, branch, boundary, settings, first_kept=first_kept, tokens_before=tokens_before)
    return None if composition is None else (branch, composition)


def _where(store: Store, places: Places, leaf: Sequence[str], current: Branch) -> Branch:
    """The session's branch that owns the leaf: after a move in the tree it is not the one that grew last."""
    known = (places.known[id_] for id_ in leaf if id_ in places.known)
    stands = next(known, None)
    if stands is None or stands.branch == current.key or stands.branch not in places.session.branches:
        return current
    return load_branch(store, stands.branch)
