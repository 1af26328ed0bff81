"""A real store for the tests of the pipeline."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from minutebook.store.kernel import Store
from minutebook.store.sqlite import SqliteStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = SqliteStore(tmp_path / "store.db", busy_seconds=5, create=True)
    yield opened
    opened.close()
