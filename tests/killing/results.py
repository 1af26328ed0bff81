"""What a store holds after all the killing, to compare with another one."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from killing.homes import opened
from killing.killed_sessions import SETTINGS
from ledgers import dump

from minutebook.pipeline.branches import Path as BranchPath
from minutebook.pipeline.branches import list_branches
from minutebook.pipeline.compaction import look_at_memory
from minutebook.records import FOLD
from minutebook.store.kernel import Store


def result_of(named: str) -> Any:
    """The whole ledger, the texts that compactions at the tips would give, and what is left on the board."""
    with opened(named) as store:
        return {**_ledger(store), "texts": _texts(store), "board": (store.jobs(), store.take_dirty(9))}


def _ledger(store: Store) -> dict[str, Any]:
    """Without the times of the clock at which the workers worked."""
    said = dump(store)
    for branch in said["branches"].values():
        branch["memory"] = [entry if entry.kind == FOLD else replace(entry, time="") for entry in branch["memory"]]
    return said


def _texts(store: Store) -> dict[str, Any]:
    texts = {}
    for branch in list_branches(store):
        composed = look_at_memory(store, branch, BranchPath(store, branch).length(), SETTINGS)
        texts[branch.key] = composed and (composed.id, composed.text)
    return texts


def differences(wanted: Any, found: Any, where: str = "") -> Iterator[str]:
    """Where two results differ, so that a failure can be read."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key in {**wanted, **found}:
            yield from differences(wanted.get(key), found.get(key), f"{where}/{key}")
    elif isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        for at, (one, other) in enumerate(zip(wanted, found, strict=True)):
            yield from differences(one, other, f"{where}/{at}")
    elif wanted != found:
        yield f"{where}: {found!r:.300}, not {wanted!r:.300}"
