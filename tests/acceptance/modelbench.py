"""A real store, the real engine and the real litellm against the scripted server: what the tests of models share."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from builders import deliver, memory_of, reply
from jobs import WAIT, Clock
from scripted_server import Answer, Asked, ScriptedServer

from minutebook.debuglog import DebugLog
from minutebook.pipeline.folding import Memory
from minutebook.pipeline.status import role_errors
from minutebook.records import Branch
from minutebook.settings import ModelChoice, Settings
from minutebook.store.kernel import Store
from minutebook.store.sqlite import SqliteStore
from minutebook.workers.choosing import minds_of
from minutebook.workers.engine import ALL_ROLES, Engine

MINUTE = "2026-05-02 10:30"
USAGE = {"prompt_tokens": 1_000, "completion_tokens": 50, "cached_tokens": 400}
ONE_TRY = Settings(
    model=ModelChoice(provider="openai", id="scripted", thinking="off"),
    model_price_input_usd=1.0,
    model_price_output_usd=2.0,
    model_tries=1,
    observe_after_tokens=50,
    reflect_after_tokens=10**6,
    flush_min_tokens=40,
    span_max_tries=3,
)
"""Every failure is seen at once; the pauses between are on the store's clock."""


@dataclass
class Bench:
    """server: the model. settings: those of every session. clock: the store's, which stands until a test moves it."""

    store: Store
    clock: Clock
    server: ScriptedServer
    settings: Settings = field(default=ONE_TRY)

    def session(self, count: int, *, texts: Callable[[int], str] | None = None, start: int = 0) -> Branch:
        """One session of `count` entries, ids e0, e1, …; texts: of entry n."""
        said = texts or (lambda number: f"entry {number}: " + "some words to weigh " * 5)
        return deliver(self.store, [reply(said(number), id=f"e{number}") for number in range(start, count)], "s1")

    def work(
        self,
        *,
        rounds: int = 1,
        pause_seconds: float = 0,
        roles: Sequence[str] = ALL_ROLES,
        log: DebugLog | None = None,
    ) -> None:
        """Work off what is due; then, `rounds` - 1 times, let time pass and do it again."""
        given = replace(self.settings, model_base_url=self.server.url)
        minds = minds_of(self.store)
        with Engine(self.store, minds=minds, settings_for=lambda branch: given, roles=roles, log=log) as engine:
            for at in range(rounds):
                self.clock.now += pause_seconds if at else 0
                assert engine.wait_quiet(WAIT) != "busy"

    def memory(self, branch: Branch) -> Memory:
        return memory_of(self.store, branch)

    def contents(self, branch: Branch) -> list[str]:
        return [held.record.content for held in self.memory(branch).observations.values()]

    def errors(self, branch: Branch) -> dict[str, str]:
        return {error.role: error.error for error in role_errors(self.store, branch)}

    def sent(self) -> list[int]:
        """How many sources each observer request held that began a run."""
        return [len(aliases(asked)) for asked in self.server.asked("observer") if len(asked.messages) <= 2]


@contextmanager
def bench(folder: Path, **settings: Any) -> Iterator[Bench]:
    """Opened, and closed."""
    clock = Clock()
    store = SqliteStore(folder / "store.db", clock=clock)
    try:
        with ScriptedServer() as server:
            yield Bench(store, clock, server, replace(ONE_TRY, **settings))
    finally:
        store.close()


# -- a perfect model -----------------------------------------------------------------------------------------------


def task_of(asked: Asked) -> str:
    """The message that the run began with."""
    return next(turn.text for turn in asked.messages if turn.role == "user")


def aliases(asked: Asked) -> list[str]:
    """The labels of the sources."""
    return re.findall(r"^\[(s[0-9]+)\] ", task_of(asked), re.MULTILINE)


def text_of(asked: Asked, alias: str) -> str:
    """A source's text."""
    return task_of(asked).partition(f"\n[{alias}] ")[2].partition("\n")[2].partition("\n\n")[0]


def ids_under(asked: Asked, heading: str) -> list[str]:
    """Ids of the records below a heading."""
    part = task_of(asked).partition(f"# {heading}\n")[2].partition("\n# ")[0]
    return re.findall(r"^\[([0-9a-f]{12})\] ", part, re.MULTILINE)


def turns(asked: Asked) -> int:
    """How often the model has answered in this run."""
    return sum(turn.role == "assistant" for turn in asked.messages)


def called(*calls: tuple[str, Any]) -> Answer:
    return Answer(calls=calls, usage=USAGE)


def seen(content: str, *sources: str, **more: Any) -> dict[str, Any]:
    return {"content": content, "timestamp": MINUTE, "relevance": "medium", "sources": list(sources), **more}


def observations(*items: Any) -> Answer:
    return called(("record_observations", {"observations": list(items)}))


def done() -> Answer:
    return Answer(text="done", usage=USAGE)


def observe(asked: Asked) -> Answer:
    """One observation a source: the first half in one call, each of the rest in a call of its own, then the end."""
    labels = aliases(asked)
    half = (len(labels) + 1) // 2
    items = [seen(text_of(asked, label)[:80], label) for label in labels]
    if turns(asked) == 0:
        return observations(*items[:half])
    if turns(asked) == 1 and items[half:]:
        return called(*(("record_observations", {"observations": [item]}) for item in items[half:]))
    return done()


def reflect(asked: Asked) -> Answer:
    """Two conclusions on the newest observations."""
    if turns(asked):
        return done()
    ids = ids_under(asked, "Observations")
    made = [{"content": f"Conclusion {n} on {ids[-1]}: the words weigh", "supports": ids[-2:]} for n in (1, 2)]
    return called(("record_reflections", {"reflections": made}))


def digest(asked: Asked) -> Answer:
    told = len(ids_under(asked, "Reflections after it"))
    return called(("record_digest", {"content": f"The words weigh; {told} more conclusions say so."}))


def drop(asked: Asked) -> Answer:
    """The oldest two, one at a time."""
    ids = ids_under(asked, "Observations")
    return called(("drop_observations", {"observations": [{"id": ids[turns(asked)]}]})) if turns(asked) < 2 else done()


PERFECT = {"observer": observe, "reflector": reflect, "digester": digest, "dropper": drop}
