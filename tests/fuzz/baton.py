"""Actors of which one runs at a time: each in a thread, each stopped before every call to the store.

Between two of its calls an actor touches nothing that others see, so "before the next call" is also "after the last
one": stopping there is the only switching point that there is, and dying there leaves a call either undone or done.
"""

import _thread
import threading
from collections.abc import Callable, Sequence
from typing import Any

from minutebook.store.kernel import Appended, Board, Documents, Log, Store

CALLS = frozenset(name for part in (Log, Documents, Board) for name in vars(part) if not name.startswith("_"))


class Died(BaseException):
    """The process of this actor is gone. No product code may catch it."""


class Actor:
    """A row of acts, one after another; a death ends the act in hand, and the next one is a process of its own."""

    def __init__(self, name: str, acts: Sequence[Any], perform: Callable[[Any, Any], None], back: Any) -> None:
        self.name = name
        self.left = list(acts)
        self.calls = 0
        self.deaths = 0
        self.finished = not acts
        self.failure: BaseException | None = None
        self.wrote: set[str] = set()
        self.next_call = ""
        self._perform = perform
        self._back = back
        self._go = _thread.allocate_lock()
        self._go.acquire()
        self._budget = 0
        self._dying = False
        self._thread: threading.Thread | None = None

    def run(self, calls: int, *, dies: bool = False) -> None:
        """Let it do so many calls, then die where it stands if it shall; returns when it has stopped."""
        if self.finished:
            return
        self._budget = calls
        self._dying = dies
        if self._thread is None:
            self._thread = threading.Thread(target=self._live, name=self.name, daemon=True)
            self._thread.start()
        else:
            self._go.release()
        self._back.acquire()

    def abandon(self) -> None:
        """End its thread."""
        self.left = self.left[:1]
        if not self.finished and self._thread is not None:
            self.run(0, dies=True)
        if self._thread is not None:
            self._thread.join()

    def pass_call(self, name: str) -> None:
        """Before a call: wait for the baton, or die."""
        self.next_call = name
        if self._budget <= 0 and not self._dying:
            self._back.release()
            self._go.acquire()
        if self._budget <= 0 and self._dying:
            raise Died
        self._budget -= 1
        self.calls += 1

    def _live(self) -> None:
        """One process: it ends with the acts, or with a death."""
        try:
            while self.left:
                self._perform(self.left[0], self)
                self.left.pop(0)
            self.finished = True
        except Died:
            self.deaths += 1
            self.left.pop(0)
            self._dying = False
            self._thread = None  # whatever it had open goes with the thread
            self.finished = not self.left
        except BaseException as error:
            self.failure = error
            self.finished = True
        self._back.release()


Watch = Callable[[str, Any, Callable[[], Any]], Any]
"""Name and arguments of a call, and the call itself → what it returns."""


class Pausing:
    """The store of one actor: it hands the baton back before each call."""

    def __init__(self, store: Store, actor: Actor, watch: Watch) -> None:
        self._store = store
        self._actor = actor
        self._watch = watch

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name not in CALLS:
            return found
        return self._pausing(name, found)

    def _pausing(self, name: str, call: Callable[..., Any]) -> Any:
        actor = self._actor

        def paused(*args: Any, **kwargs: Any) -> Any:
            actor.pass_call(name)
            done = self._watch(name, args, lambda: call(*args, **kwargs))
            if name == "append" and isinstance(done, Appended):
                actor.wrote.add(args[0])
            return done

        setattr(self, name, paused)
        return paused
