"""What observing the example session sends to a model, against a naive layout that carries everything each time.

A perfect model (evals/planted.py) answers in process; each request is sized as it is sent and, in the same run, as the
naive layout would have sent it: all current reflections and all active observations in full, and the full-length ids of
the source entries in the sources' headers, in the records' source lists and in the model's calls. The instructions, the
tools, the sources and the number of turns are the same in both.
"""

import json
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench
from benchmarks.table import Row
from evals.planted import PerfectModel
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.folding import fold
from minutebook.records import Branch, Observation, Reflection, observation_line, reflection_line
from minutebook.settings import ModelChoice, Settings
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store
from minutebook.tokens import estimate_tokens
from minutebook.workers import prompting
from minutebook.workers.contract import Desk, ObserveBatch
from minutebook.workers.exchange import Message, Reply, Request, ToolCall
from minutebook.workers.model_mind import ModelMind
from minutebook.workers.replaying import ReplayOptions, read_recording, replay
from minutebook.workers.showing import SEPARATOR, lines_or_none, shown_text

SESSION = Path(__file__).resolve().parents[1] / "examples" / "orders-service.jsonl"
CHOICE = ModelChoice(provider="perfect", id="model")
BAR = 0.8
GROUPS = (1_000_000, 6, 3)
"""Sources to one routine record: one a run, few, and about as many as the extractive mind makes of this session."""


@dataclass
class Tally:
    """The requests of one layout, in order, as texts."""

    texts: list[str] = field(default_factory=list)
    first: list[bool] = field(default_factory=list)

    def add(self, text: str, *, first: bool) -> None:
        """One request; whether it began a run."""
        self.texts.append(text)
        self.first.append(first)

    @property
    def firsts(self) -> "Tally":
        """Those that began a run."""
        return Tally([text for text, first in zip(self.texts, self.first, strict=True) if first])

    @property
    def outside(self) -> float:
        """Tokens that a cache of the prefix cannot hold."""
        return self.tokens * (1 - self.cacheable)

    @property
    def tokens(self) -> int:
        return sum(map(estimate_tokens, self.texts))

    @property
    def cacheable(self) -> float:
        """The share of all tokens that stand in a prefix which the request before began with as well."""
        shared = 0.0
        for before, text in pairwise(["", *self.texts]):
            shared += estimate_tokens(text) * shared_characters(before, text) / len(text)
        return shared / self.tokens


class Sized(ModelMind):
    """A model mind whose observer requests are put down in both layouts."""

    def __init__(self, model: PerfectModel, store: Store, branch: Branch, settings: Settings, sizes: "Sizes") -> None:
        super().__init__(CHOICE, self._answer, settings, session=branch.session, branch=branch.key)
        self._model = model
        self._store = store
        self._sizes = sizes
        self._naive_task = ""
        self._ids: dict[str, str] = {}

    def observe(self, batch: ObserveBatch, desk: Desk) -> None:
        """As any, once the naive message is made."""
        memory = fold(ledger.read_memory(self._store, load_branch(self._store, self._branch)))
        values = prompting.observer_values(batch) | {
            "reflections": lines_or_none(naive_reflection(held.record) for held in memory.current()),
            "observations": lines_or_none(naive_observation(held.record) for held in memory.active()),
            "left_out": "",
        }
        self._ids = {shown.alias: shown.placed.entry.id for shown in batch.sources}
        values["sources"] = SEPARATOR.join(
            shown_text(shown).replace(f"[{shown.alias}]", f"[{self._ids[shown.alias]}]", 1) for shown in batch.sources
        )
        self._naive_task = prompting.load_prompt("observer").filled(values)
        self._sizes.runs += 1
        super().observe(batch, desk)

    def _answer(self, request: Request) -> Reply:
        turn = sum(message.role == "assistant" for message in request.messages)
        if request.role == "observer":
            self._sizes.ours.add(as_sent(request, request.messages), first=turn == 0)
            self._sizes.naive.add(as_sent(request, self._naive(request.messages)), first=turn == 0)
        calls = self._model.answer(request.role, request.messages[0].text, turn)
        return Reply(
            text="" if calls else "done",
            calls=tuple(ToolCall(id=f"call_{turn}", name=name, arguments=json.dumps(given)) for name, given in calls),
            ended="tool_calls" if calls else "stop",
            model=f"{CHOICE.provider}/{CHOICE.id}",
        )

    def _naive(self, messages: tuple[Message, ...]) -> list[Message]:
        later = [replace(each, calls=tuple(map(self._naive_call, each.calls))) for each in messages[1:]]
        return [replace(messages[0], text=self._naive_task), *later]

    def _naive_call(self, call: ToolCall) -> ToolCall:
        given = json.loads(call.arguments)
        for row in given.get("observations", ()):
            row["sources"] = [self._ids[alias] for alias in row["sources"]]
        return replace(call, arguments=json.dumps(given, ensure_ascii=False, separators=(",", ":")))


@dataclass
class Sizes:
    """Both layouts of one replay."""

    ours: Tally = field(default_factory=Tally)
    naive: Tally = field(default_factory=Tally)
    runs: int = 0
    records: int = 0


def shared_characters(one: str, other: str) -> int:
    """How far two texts begin alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def naive_observation(record: Observation) -> str:
    return f"{observation_line(record)} (sources: {', '.join(record.source_ids)})"


def naive_reflection(record: Reflection) -> str:
    return f"{reflection_line(record)} (supports: {', '.join(record.support_ids)})"


def as_sent(request: Request, messages: Any) -> str:
    """Everything that the model reads, in the order in which providers put it together."""
    tools = [json.dumps([tool.name, tool.description, dict(tool.schema)]) for tool in request.tools]
    said = [part for each in messages for part in (each.text, *(f"{c.name} {c.arguments}" for c in each.calls)) if part]
    return "\n".join([*tools, request.system, *said])


def measure(session: Path, group: int, settings: Settings) -> Sizes:
    """Replay the session with the perfect model."""
    model, sizes = PerfectModel(session, group=group), Sizes()
    with tempfile.TemporaryDirectory() as folder, closing(open_store(str(Path(folder) / "s.sqlite"))) as store:
        replayed = replay(
            store,
            read_recording(session),
            ReplayOptions(settings=settings, step=True),
            lambda role, settings, branch: Sized(model, store, branch, settings, sizes),
        )
    sizes.records = sum(replayed.minds["observer"].values())
    return sizes


def rows(bench: Bench) -> Iterator[Row]:
    """A row for each rate of recording."""
    for group in GROUPS[: bench.scale.recordings]:
        sizes = measure(SESSION, group, Settings())
        ours, naive = sizes.ours, sizes.naive
        ratio = ours.tokens / naive.tokens
        yield Row(
            name=f"tokens sent to the observer, {sizes.records} records, against a naive layout",
            measured=f"{ratio:5.2f} x   ({ours.tokens:,} / {naive.tokens:,})",
            bar=f"≤ {BAR:g} x",
            ok=ratio <= BAR,
        )
        yield Row(
            name="  cacheable prefix; of a run's first request",
            measured=f"{ours.cacheable:5.0%}, {ours.firsts.cacheable:.0%}"
            f"   (naive {naive.cacheable:.0%}, {naive.firsts.cacheable:.0%})",
        )
        yield Row(
            name="  tokens outside of the prefix", measured=f"{ours.outside:7,.0f}   (naive {naive.outside:,.0f})"
        )
