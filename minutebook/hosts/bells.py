"""The worker's half of the bell: takes in the sessions that hooks rang for, and no model is asked for that.

A bell is taken by a rename, so that one which rings meanwhile is not lost, and is removed when its session was looked
at twice: agents write some rows after their hook has left. What a dead worker had taken is taken again; taking in
twice changes nothing.
"""

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minutebook.errors import BadSetting, BadTranscript, StoreError
from minutebook.hosts.barejson import parse
from minutebook.hosts.bell import BELL_MAX_BYTES, bells_folder, complain, wake
from minutebook.hosts.beside import read_beside
from minutebook.hosts.delivering import READERS, STEP_BYTES, Delivered, deliver
from minutebook.pipeline.intake import mark_ended
from minutebook.pipeline.sessions import find_session
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.zones import machine_zone

AGAIN_SECONDS = 1.0
"""How long after a hook an agent may still write what belongs to it."""
TURN_SECONDS = 1.0
"""A session with much to take in lets the others have their turn after so long."""
RETRY_SECONDS = (1.0, 2.0, 4.0, 8.0, 16.0)
"""After failures one behind the other; then a bell waits for the next ring, worker or sweep."""
FOREIGN_SECONDS = 600.0
"""What another worker took so long ago was taken by one that is gone, on whatever machine."""
TEMPORARY_SECONDS = 3_600.0
COMPLAINTS_KNOWN = 1_000
BEFORE_AN_ANSWER = ("SessionStart", "UserPromptSubmit")
"""Events after which a session rings again anyway."""

SettingsOf = Callable[[str, str], Settings]
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bell:
    """That a session moved. path: of its transcript. since: seconds, of the first ring that was not taken.

    rings: how many there were. ended: the session is over.
    """

    host: str
    session: str
    agent: str = ""
    path: str
    cwd: str = ""
    event: str = ""
    since: float = 0.0
    rings: int = 0
    ended: bool = False

    @property
    def key(self) -> str:
        """Of the session."""
        return f"{self.host}:{self.session}" + (f"/{self.agent}" if self.agent else "")


@dataclass(slots=True)
class _Taken:
    """A bell in hand. due: monotonic seconds. looked: it was read to its end once. failures: one behind the other."""

    due: float = 0.0
    looked: bool = False
    failures: int = 0

    @property
    def stuck(self) -> bool:
        return self.failures > len(RETRY_SECONDS)


def bell_of(text: str | None) -> Bell | None:
    """The bell that a file holds; None where it holds none."""
    data = parse(text or "")
    if not isinstance(data, dict):
        return None
    try:
        texts = {name: _text(data[name]) for name in ("host", "session", "path")}
        more = {name: _text(data.get(name, "")) for name in ("agent", "cwd", "event")}
        since, rings = float(data.get("since", 0.0)), int(data.get("rings", 1))
    except (KeyError, TypeError, ValueError):
        return None
    if texts["host"] not in READERS or not texts["session"]:
        return None
    return Bell(**texts, **more, since=since, rings=rings, ended=data.get("ended") is True)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def waiting_bells(store_path: str) -> list[Bell]:
    """What was rung and is not taken in yet, for whoever wants to say so; oldest first."""
    folder = bells_folder(store_path)
    found = (bell_of(read_beside(f"{folder}/{name}", BELL_MAX_BYTES)) for name in _names(folder))
    return sorted((bell for bell in found if bell is not None), key=lambda bell: bell.since)


def _names(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if not name.startswith("."))  # noqa: PTH208 (names only)
    except OSError:
        return []


class Bells:
    """What a worker process has taken of a store's bells; called with the store to go on with them.

    settings_of: a project's folder and a host → their settings; raises BadSetting. Without a bell nothing is read or
    written. Once called, returns how many seconds from now it wants to be called again, None when nothing is left.
    """

    def __init__(self, store_path: str, settings_of: SettingsOf, *, clock: Callable[[], float] = time.monotonic):
        self._store_path = store_path
        self._folder = bells_folder(store_path)
        self._settings_of = settings_of
        self._clock = clock
        self._mine = f"+{os.getpid()}."
        self._taken: dict[str, _Taken] = {}
        self._said: dict[str, None] = {}
        self._moved: dict[str, None] = {}

    def __call__(self, store: Store) -> float | None:
        """One turn of each session that is due."""
        self._take_all()
        now = self._clock()
        for name in [name for name, taken in self._taken.items() if taken.due <= now]:
            self._turn(store, name)
        dues = [taken.due for taken in self._taken.values() if not taken.stuck]
        return max(0.0, min(dues) - self._clock()) if dues else None

    def take_moved(self) -> list[str]:
        """The keys of the sessions that were taken in since the last time this was asked."""
        moved, self._moved = list(self._moved), {}
        return moved

    def give_back(self) -> None:
        """Whoever works on the store next takes what is in hand here, unless its session rang again meanwhile."""
        for name in self._taken:
            mine, back = f"{self._folder}/{self._mine}{name}", f"{self._folder}/{name}"
            with suppress(OSError):
                os.link(mine, back)
            with suppress(OSError):
                os.unlink(mine)  # noqa: PTH108
        if self._taken:
            wake(self._store_path)
        self._taken.clear()

    # -- taking ------------------------------------------------------------------------------------------------

    def _take_all(self) -> None:
        present = _names(self._folder)
        for name in list(self._taken):
            if self._mine + name not in present:  # somebody removed it
                del self._taken[name]
        for name in present:
            if not name.startswith("+"):
                self._take(name, name)
            elif not (name.startswith(self._mine) and name[len(self._mine) :] in self._taken) and self._is_left(name):
                self._take(name, name.partition(".")[2])
        if present:
            self._sweep()

    def _take(self, from_name: str, name: str) -> None:
        """One that is in hand already is replaced by the newer one."""
        with suppress(OSError):
            os.rename(f"{self._folder}/{from_name}", f"{self._folder}/{self._mine}{name}")  # noqa: PTH104
            self._taken[name] = _Taken()

    def _is_left(self, name: str) -> bool:
        """Whether whoever took it is gone."""
        owner = name[1:].partition(".")[0]
        if not owner.isdigit() or int(owner) == os.getpid():
            return True
        with suppress(OSError):
            os.kill(int(owner), 0)
            return time.time() - os.stat(f"{self._folder}/{name}").st_ctime > FOREIGN_SECONDS  # noqa: PTH116
        return True

    def _sweep(self) -> None:
        """What hooks left half-written when they were killed."""
        for entry in _temporaries(self._folder):
            with suppress(OSError):
                if time.time() - entry.stat().st_mtime > TEMPORARY_SECONDS:
                    entry.unlink()

    # -- a session's turn --------------------------------------------------------------------------------------

    def _turn(self, store: Store, name: str) -> None:
        taken = self._taken[name]
        bell = bell_of(read_beside(f"{self._folder}/{self._mine}{name}", BELL_MAX_BYTES))
        if bell is None:
            self._complain(name, f"the bell {name} cannot be read, and is dropped")
            return self._drop(name)
        try:
            self._delivered(store, name, taken, bell, self._deliver(store, bell))
        except BadTranscript as error:
            self._not_read(store, name, taken, bell, str(error))
        except BadSetting as error:  # what must be kept out is not known
            self._later(name, taken, f"{bell.key} waits: {error}")
        except StoreError as error:
            self._later(name, taken, f"{bell.key} waits: {error}")
        except Exception as error:
            logger.exception("%s: taking in failed; it is done again", bell.key)
            self._later(name, taken, f"{bell.key} waits: {type(error).__name__}: {error}")

    def _deliver(self, store: Store, bell: Bell) -> Delivered:
        session = find_session(store, bell.key)
        project = (session.project if session else "") or bell.cwd
        settings = self._settings_of(project, bell.host)
        return deliver(
            store,
            bell.host,
            Path(bell.path),
            zone=settings.zone or machine_zone(),
            seconds=TURN_SECONDS,
            step_bytes=STEP_BYTES,
            key=bell.key,
            ignore=settings.ignore,
        )

    def _delivered(self, store: Store, name: str, taken: _Taken, bell: Bell, delivered: Delivered) -> None:
        taken.failures = 0
        if delivered.session and delivered.whole:
            self._moved[delivered.session] = None
        if not delivered.recognised:
            self._not_read(store, name, taken, bell, f"{bell.path}: nothing in it is of a session of {bell.host}")
        elif not delivered.whole:
            taken.due = self._clock()
        elif not taken.looked:
            self._look_again(taken)
        else:
            if bell.ended and delivered.session:
                mark_ended(store, delivered.session)
            self._said.pop(name, None)
            self._drop(name)

    def _not_read(self, store: Store, name: str, taken: _Taken, bell: Bell, why: str) -> None:
        """A file that is not there yet is looked for once more; then the session has to ring again.

        Before the first answer there may be no file for long, and one that ends without a word ever said in it never
        had one, and rang that one time only.
        """
        if not taken.looked:
            self._look_again(taken)
            return
        expected = bell.rings > 1 if bell.ended else bell.event not in BEFORE_AN_ANSWER
        if expected or find_session(store, bell.key) is not None:
            self._complain(name, why)
        self._drop(name)

    def _look_again(self, taken: _Taken) -> None:
        taken.looked, taken.due = True, self._clock() + AGAIN_SECONDS

    def _later(self, name: str, taken: _Taken, why: str) -> None:
        self._complain(name, why)
        taken.due = self._clock() + RETRY_SECONDS[min(taken.failures, len(RETRY_SECONDS) - 1)]
        taken.failures += 1

    def _drop(self, name: str) -> None:
        self._taken.pop(name, None)
        with suppress(OSError):
            os.unlink(f"{self._folder}/{self._mine}{name}")  # noqa: PTH108

    # -- what is said of it ------------------------------------------------------------------------------------

    def _complain(self, name: str, text: str) -> None:
        """Once for each session, until it is well again."""
        if name in self._said:
            return
        self._said[name] = None
        if len(self._said) > COMPLAINTS_KNOWN:
            del self._said[next(iter(self._said))]
        complain(f"worker: {text}")


def _temporaries(folder: str) -> Iterator[Path]:
    with suppress(OSError):
        yield from (entry for entry in Path(folder).iterdir() if entry.name.startswith("."))
