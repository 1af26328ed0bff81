"""A really bad model, run for real: its rubbish harms nothing, costs little and is told. Optional: CONTRIBUTING.md.

It needs a running OpenAI-shaped server of a tiny model, named by MINUTEBOOK_BAD_MODEL_URL; without one it skips.
MINUTEBOOK_BAD_MODEL_LOG: a file to which each answer is added, one JSON object a line.
"""

import json
import math
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path as File

import pytest
from builders import concluded, deliver, memory_of, observed, remember
from jobs import Clock

from minutebook.errors import ThinkingFailed
from minutebook.hosts.detecting import detect
from minutebook.pipeline.branches import Path
from minutebook.pipeline.ledger import read_memory
from minutebook.pipeline.recall import recall
from minutebook.pipeline.status import read_status
from minutebook.records import GAP, OBSERVATIONS, Branch, SourceEntry
from minutebook.settings import EXTRACTIVE, ModelChoice, Settings
from minutebook.store.sqlite import SqliteStore
from minutebook.workers import models, roles
from minutebook.workers.contract import Mind
from minutebook.workers.engine import Engine
from minutebook.workers.exchange import Reply, Request
from minutebook.workers.extractive import ExtractiveMind
from minutebook.workers.gaps import fill_gap
from minutebook.workers.model_mind import ModelMind
from minutebook.workers.runner import role_module

URL = os.environ.get("MINUTEBOOK_BAD_MODEL_URL", "").rstrip("/")
LOG = os.environ.get("MINUTEBOOK_BAD_MODEL_LOG", "")
pytestmark = [
    pytest.mark.skipif(not URL, reason="no really bad model: set MINUTEBOOK_BAD_MODEL_URL, see CONTRIBUTING.md"),
    pytest.mark.usefixtures("litellm"),
    pytest.mark.timeout(5_400),
]

SESSION = File(__file__).resolve().parents[2] / "examples" / "orders-service.jsonl"
LONG, SHORT = slice(6, 7), slice(22, 30)
"""Entries of the example: a tool result of 625 tokens, which is sent as an excerpt, and eight short ones."""
SERVED_TOKENS = 4_096
"""The context with which the server is started at least."""
SECONDS = 5_000.0
TURNS, TRIES, ROUNDS = 2, 2, 40
SMOL = ModelChoice(provider="openai", id="smollm2", thinking="off")
SMALL = Settings(
    model=SMOL,
    model_base_url=URL or None,
    model_context_tokens=1_024,  # chunks of 256 tokens, and answers of at most as many
    model_price_input_usd=0,
    model_price_output_usd=0,
    model_tries=1,
    model_timeout_seconds=600,
    job_deadline_seconds=3_000,
    lease_seconds=600,
    agent_max_turns=TURNS,
    span_max_tries=TRIES,
    observe_after_tokens=100,
    flush_min_tokens=20,
    reflect_after_tokens=10**6,
    worker_concurrency=1,
)


@dataclass
class Trial:
    """A store, an engine's worth of work, and every request that was made with its answer or error."""

    store: SqliteStore
    clock: Clock
    settings: Settings = SMALL
    asked: list[tuple[Request, Reply | Exception]] = field(default_factory=list)

    def mind(self, role: str, settings: Settings, branch: Branch) -> Mind:
        choice = settings.model_of(role)
        window = settings.model_context_tokens
        made = ModelMind(SMOL, self.ask, settings, session=branch.session, branch=branch.key, window=window)
        return made if choice else ExtractiveMind()

    def ask(self, request: Request) -> Reply:
        began, answer = time.monotonic(), None
        try:
            answer = models.ask_model(request, store=self.store, settings=self.settings)
            return answer
        except ThinkingFailed as error:
            answer = error
            raise
        finally:
            if answer is not None:
                self.asked.append((request, answer))
                _log(request, answer, time.monotonic() - began)

    def work(self, branch: Branch) -> int:
        """Work, and let time pass, until nothing is due any more; how many rounds it took."""
        for done in range(ROUNDS):
            with Engine(self.store, minds=self.mind, settings_for=lambda _: self.settings) as engine:
                assert engine.wait_quiet(SECONDS) != "busy"
            if not read_status(self.store, branch, self.settings).due:
                return done + 1
            self.clock.now += 400
        return ROUNDS


def _log(request: Request, answer: Reply | Exception, seconds: float) -> None:
    if not LOG:
        return
    row: dict[str, object] = {"role": request.role, "messages": len(request.messages), "seconds": round(seconds, 1)}
    if isinstance(answer, Reply):
        calls = [[call.name, call.arguments] for call in answer.calls]
        spent = [answer.spent.input_tokens, answer.spent.output_tokens]
        row |= {"ended": answer.ended, "text": answer.text, "calls": calls, "spent": spent}
    else:
        row |= {"error": f"{type(answer).__name__}: {answer}"}
    with File(LOG).open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


@pytest.fixture
def trial(tmp_path: File, monkeypatch: pytest.MonkeyPatch) -> Iterator[Trial]:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    clock = Clock()
    store = SqliteStore(tmp_path / "store.db", clock=clock)
    yield Trial(store, clock)
    store.close()


def entries_of(*cuts: slice) -> list[SourceEntry]:
    _, reader = detect(SESSION)
    all_of_them = [event for event in reader.read(SESSION).events if isinstance(event, SourceEntry)]
    return [entry for cut in cuts for entry in all_of_them[cut]]


def most_requests(entries: int) -> int:
    """Each entry in a chunk of its own at the end of its halving, failing there span_max_tries times, to the turn cap.

    The chunk is halved once for each power of two; a gap begins the next chunk at full size.
    """
    return entries * (math.ceil(math.log2(max(2, entries))) + TRIES) * TURNS


def check_memory(trial: Trial, branch: Branch) -> None:
    """What holds whatever a model says: every span was recorded, said to be nothing, or is a gap; sources were sent."""
    path = Path(trial.store, branch)
    ids = [placed.entry.id for placed in path.read(0, limit=1_000)]
    entries = [entry for entry in read_memory(trial.store, branch) if entry.kind in (OBSERVATIONS, GAP)]
    at = 0
    for entry in (each for each in entries if "fills" not in each.data):
        assert entry.since == at < entry.covers
        at = entry.covers
    memory = memory_of(trial.store, branch)
    assert memory.observed == at and memory.malformed == 0
    for entry in (each for each in entries if each.kind == OBSERVATIONS):
        inside = set(ids[entry.since : entry.covers])
        for row in entry.data["observations"]:
            assert row["content"].strip() and set(row["sourceEntryIds"]) <= inside
    for key in memory.observations:
        assert not recall(trial.store, branch, key).partial
    check_store(trial)


def check_store(trial: Trial) -> None:
    with closing(sqlite3.connect(trial.store.url.removeprefix("sqlite:///"))) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def test_its_rubbish_advances_nothing_wrongly_and_the_extractive_mind_fills_the_gaps(trial: Trial) -> None:
    entries = entries_of(LONG, SHORT)
    branch = deliver(trial.store, entries, ended=True)
    rounds = trial.work(branch)
    status = read_status(trial.store, branch, trial.settings)
    assert not status.due and rounds < ROUNDS, "it came to an end"
    assert 0 < len(trial.asked) <= most_requests(len(entries))
    check_memory(trial, branch)
    assert memory_of(trial.store, branch).observed == len(entries)
    failed = [answer for _, answer in trial.asked if isinstance(answer, Exception)]
    assert not failed, "the server answered each time; what failed was the model"
    for gap in status.gaps:
        assert gap.reason and gap.covers <= len(entries)
    said = {error.role: error.error for error in status.errors}
    assert not status.gaps or said.get("observer") or status.observations, "the status says what is wrong"
    for gap in status.gaps:
        fill_gap(trial.store, branch, gap.id, ExtractiveMind(), trial.settings, now="2026-05-02T11:00:00Z")
    check_memory(trial, branch)
    assert read_status(trial.store, branch, trial.settings).gaps == []


def test_the_other_roles_record_nothing_that_is_not_so(trial: Trial) -> None:
    """The extractive mind observes; the bad model reflects, drops and folds, and is asked a bounded number of times."""
    trial.settings = replace(
        SMALL,
        observer_model=EXTRACTIVE,
        reflect_after_tokens=100,
        reflection_context_max_tokens=100,
        observations_pool_max_tokens=100,
        observations_pool_target_tokens=50,
    )
    branch = deliver(trial.store, entries_of(LONG, SHORT), ended=True)
    runs = 4
    for _ in range(runs):
        with Engine(trial.store, minds=trial.mind, settings_for=lambda _: trial.settings) as engine:
            assert engine.wait_quiet(SECONDS) != "busy"
        trial.clock.now += 400
    memory = memory_of(trial.store, branch)
    assert memory.observations and memory.malformed == 0
    assert 0 < len(trial.asked) <= 3 * runs * TURNS * 2
    for held in memory.reflections.values():
        assert set(held.record.support_ids) <= memory.observations.keys()
    status = read_status(trial.store, branch, trial.settings)
    asked = {request.role for request, _ in trial.asked}
    assert asked, "at least the reflector was due"
    made = {"reflector": bool(memory.reflections), "dropper": bool(memory.drops), "digester": bool(memory.digests)}
    assert {role for role in asked if not made[role]} <= {each.role for each in status.errors} | _satisfied(status.due)


def _satisfied(due: object) -> set[str]:
    """Roles that are not due any more: they said that there is nothing."""
    return {"reflector", "dropper", "digester"} - set(due if isinstance(due, dict) else ())


@pytest.mark.parametrize("role", ["observer", "reflector", "dropper"])
def test_a_request_fits_a_small_window_with_its_answer(trial: Trial, role: str) -> None:
    """With chunk and old memory at their caps, by the server's own count of tokens."""
    settings = trial.settings = replace(
        SMALL, model_context_tokens=SERVED_TOKENS, observations_pool_max_tokens=200, observations_pool_target_tokens=100
    )
    branch = deliver(trial.store, entries_of(slice(0, 60)), ended=True)
    old = [
        observed(f"The user said in entry {at}: /src/orders_service/handlers_{at}.py is to be kept at 8{at:03}")
        for at in range(60)
    ]
    concluded_before = [concluded("Handlers are kept", old[0])] if role == "dropper" else []
    remember(trial.store, branch, observations=old, reflections=concluded_before, covers=1)
    module = role_module(role)
    prepared = module.prepare(
        roles.Context(
            store=trial.store,
            branch=branch,
            settings=settings,
            now="2026-05-02T11:00:00Z",
            window=SERVED_TOKENS,
        )
    )

    def counted(request: Request) -> Reply:
        return trial.ask(replace(request, output_tokens=1))

    mind = ModelMind(SMOL, counted, settings, session="s1", branch=branch.key, window=SERVED_TOKENS)
    with pytest.raises(ThinkingFailed):
        module.think(prepared, mind)
    (answer,) = [each for _, each in trial.asked]
    assert isinstance(answer, Reply), answer
    answer_tokens = SERVED_TOKENS // 4
    assert answer.spent.input_tokens + answer_tokens <= SERVED_TOKENS
