"""What the tests of the observer share."""

from typing import Any

from builders import MINUTE, ScriptedMind

from minutebook.pipeline.outcomes import Committed, Refused, commit_outcome
from minutebook.records import Branch
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.workers.observer import ObservePrepared, ObserverDesk, prepare, think
from minutebook.workers.roles import Context
from minutebook.workers.showing import SEPARATOR, shown_text


def context(store: Store, branch: Branch, **more: Any) -> Context:
    settings = more.pop("settings", Settings())
    return Context(store=store, branch=branch, settings=settings, now="2026-05-02T12:00:00Z", **more)


def chunk_of(store: Store, branch: Branch, **more: Any) -> ObservePrepared:
    prepared = prepare(context(store, branch, **more))
    assert isinstance(prepared, ObservePrepared)
    return prepared


def texts(prepared: ObservePrepared) -> list[str]:
    return [shown.text for shown in prepared.batch.sources]


def request(prepared: ObservePrepared) -> str:
    return SEPARATOR.join(map(shown_text, prepared.batch.sources))


def proposal(content: str = "The user prefers tabs", **fields: Any) -> dict[str, Any]:
    return {"content": content, "timestamp": MINUTE, "relevance": "high", "sources": ["s1"], **fields}


def desk_of(prepared: ObservePrepared) -> ObserverDesk:
    return ObserverDesk(prepared.batch, prepared.known)


def run(store: Store, branch: Branch, *script: Any, **more: Any) -> Committed | Refused:
    outcome = think(chunk_of(store, branch, **more), ScriptedMind(script))
    return commit_outcome(store, branch, outcome)


def capped(tokens: int) -> Settings:
    return Settings(observer_chunk_max_tokens=tokens)
