"""A real door for each test, and laptops that use it."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from doors import RunningDoor
from machines import Laptops

from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(str(tmp_path / "box.sqlite"))) as store:
        yield store


@pytest.fixture
def door(box: Store, tmp_path: Path) -> Iterator[RunningDoor]:
    audit = tmp_path / "audit.jsonl"
    settings = Settings(audit_file=str(audit), serve_requests_per_minute=1_000_000, serve_body_max_bytes=200_000)
    with RunningDoor(box, audit, settings) as running:
        yield running


@pytest.fixture
def laptops(door: RunningDoor, tmp_path: Path) -> Iterator[Laptops]:
    with ExitStack() as stack:
        yield Laptops(door, tmp_path, stack)
