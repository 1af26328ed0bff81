"""A process that dies at any call to the store, and does again what it was about."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from ledgers import Breaking, Broken, dump

from minutebook.store.kernel import Store
from minutebook.store.sqlite import SqliteStore

Act = Callable[[Store], Any]
Everywhere = Callable[[Act, Act], int]


def everywhere_in(folder: Path) -> Everywhere:
    """Prepare, act; then die at every call of the act, before and after it, and act again. How many calls there are."""

    @contextmanager
    def prepared() -> Iterator[Store]:
        shutil.copy(folder / "prepared.db", folder / "store.db")
        store = SqliteStore(folder / "store.db")
        yield store
        store.close()

    def run(prepare: Act, act: Act) -> int:
        template = SqliteStore(folder / "prepared.db", create=True)
        prepare(template)
        template.close()
        with prepared() as store:
            act(store)
            wanted = dump(store)
        return min(_dies(prepared, act, wanted, after=after) for after in (False, True))

    return run


def _dies(prepared: Callable[[], Any], act: Act, wanted: Any, *, after: bool) -> int:
    for at in count():
        with prepared() as store:
            try:
                act(Breaking(store, at, after=after))
            except Broken:
                act(store)
            else:
                return at
            assert dump(store) == wanted, f"call {at}, {'after' if after else 'before'} it"
    raise AssertionError
