"""A child of a Pi session in this process, and a little memory."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from builders import concluded, observed, remember
from pi_sessions import PiSession, Talk, branch_of

from minutebook.hosts import bell
from minutebook.store.kernel import Store


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The store, under MINUTEBOOK_HOME; workers are not really started, only counted."""
    starts: list[str] = []
    monkeypatch.setenv("MINUTEBOOK_HOME", str(tmp_path / "mb"))
    monkeypatch.setattr(bell, "start_worker", lambda path, *_: starts.append(path))
    return starts


@pytest.fixture
def new_talk(started: list[str], tmp_path: Path) -> Iterator[Callable[..., Talk]]:
    talks: list[Talk] = []

    def new(session: PiSession | None = None, *, opened: bool = True) -> Talk:
        talk = Talk(tmp_path / "mb" / "minutebook.sqlite", session or PiSession(tmp_path))
        talks.append(talk)
        if opened:
            assert "error" not in talk.open()
        return talk

    yield new
    for talk in talks:
        talk.child.close()


@pytest.fixture
def talk(new_talk: Callable[..., Talk]) -> Talk:
    return new_talk()


@pytest.fixture
def store(talk: Talk) -> Iterator[Store]:
    with closing(talk.store()) as opened:
        yield opened


@pytest.fixture
def remembered(talk: Talk, store: Store) -> list[str]:
    """Six entries, of which memory covers four; the ids."""
    made = talk.session.turns(3)
    talk.turn()
    fact = observed("The port is 8443.", "high", sources=(made[0],))
    remember(store, branch_of(store), observations=[fact], reflections=[concluded("It listens.", fact)], covers=4)
    return made
