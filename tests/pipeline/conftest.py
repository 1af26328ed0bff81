"""A real store for the tests of the pipeline."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from boxes import Line, stores
from dying import Everywhere, everywhere_in

from minutebook.store.kernel import Store
from minutebook.store.opening import open_store
from minutebook.store.sqlite import SqliteStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = SqliteStore(tmp_path / "store.db", busy_seconds=5, create=True)
    yield opened
    opened.close()


@pytest.fixture(params=["sqlite", "redis"])
def any_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store of either kind, not there yet."""
    return request.getfixturevalue("redis_url") if request.param == "redis" else str(tmp_path / "store.db")


@pytest.fixture
def any_store(any_url: str) -> Iterator[Store]:
    with closing(open_store(any_url)) as opened:
        yield opened


@pytest.fixture
def pair() -> Iterator[Line]:
    """A laptop and a box, both empty."""
    with stores(2) as (laptop, box):
        yield Line(laptop, box)


@pytest.fixture
def everywhere(tmp_path: Path) -> Everywhere:
    """Prepare, act; then die at every call of the act, before and after it, and act again."""
    return everywhere_in(tmp_path)
