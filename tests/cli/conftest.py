"""The command line on a store of its own, as a person calls it from a project's folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import Om, run

from minutebook.store.kernel import Store
from minutebook.store.opening import open_store


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def store_path(tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store that the commands use; not there yet."""
    path = tmp_path / "store.sqlite"
    monkeypatch.setenv("MINUTEBOOK_STORE", str(path))
    return path


@pytest.fixture
def store(store_path: Path) -> Iterator[Store]:
    """The same store, open for the test."""
    opened = open_store(str(store_path))
    yield opened
    opened.close()


@pytest.fixture
def om(project: Path) -> Om:
    """Run `om` with these arguments, in this process."""
    return run
