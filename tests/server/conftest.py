"""One door for each module, on a SQLite store."""

from collections.abc import Iterator

import pytest
from doors import RunningDoor

from minutebook.settings import Settings
from minutebook.store.opening import open_store


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningDoor]:
    folder = tmp_path_factory.mktemp("box")
    store = open_store(str(folder / "box.sqlite"))
    audit = folder / "audit.jsonl"
    settings = Settings(audit_file=str(audit), serve_requests_per_minute=1_000_000)
    with RunningDoor(store, audit, settings) as running:
        yield running
    store.close()


@pytest.fixture(scope="module")
def alice(door: RunningDoor) -> str:
    """A token of Alice for all projects."""
    return door.token("alice")
