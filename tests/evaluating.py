"""What the tests of the prompt test set share: wrong answers to its checks, and a model that answers as it is told."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from scripted_server import Answer, ScriptedServer

from evals.case_files import Case, Must, Phrase
from evals.checks import Record, Seen
from evals.ideals import Batch, ideal_call
from evals.running import MindFor
from evals.staging import entry_id
from minutebook.records import RELEVANCES, Branch
from minutebook.workers.contract import Desk, Mind


@dataclass
class Answering:
    """A mind that scripts the server with the case's ideal answer, and then asks it as any model is asked."""

    mind: Mind
    server: ScriptedServer
    case: Case

    @property
    def name(self) -> str:
        return self.mind.name

    def observe(self, batch: Any, desk: Desk) -> None:
        self._script(batch)
        self.mind.observe(batch, desk)

    def reflect(self, batch: Any, desk: Desk) -> None:
        self._script(batch)
        self.mind.reflect(batch, desk)

    def digest(self, batch: Any, desk: Desk) -> None:
        self._script(batch)
        self.mind.digest(batch, desk)

    def drop(self, batch: Any, desk: Desk) -> None:
        self._script(batch)
        self.mind.drop(batch, desk)

    def judge(self, batch: Any, desk: Desk) -> None:
        self.mind.judge(batch, desk)

    def _script(self, batch: Batch) -> None:
        name, arguments = ideal_call(self.case, batch)
        self.server.script(self.case.role, Answer(calls=[(name, arguments)]))
        if name.startswith(("record_obs", "record_ref", "drop_")):  # the others end the run by themselves
            self.server.script(self.case.role, Answer(text="done"))


def answering(minds: MindFor, server: ScriptedServer, case: Case) -> MindFor:
    """Minds that give the ideal answer of a case through the server."""

    def mind_for(role: str, branch: Branch) -> Mind:
        return Answering(minds(role, branch), server, case)

    return mind_for


# -- one wrong answer for each check of a case ---------------------------------------------------------------------


def wrong_answers(case: Case) -> Iterator[tuple[str, Seen]]:
    """Kind of check and something seen that this check, and perhaps others, must refuse."""
    for must in case.must:
        yield "must", Seen(records=[])
        for kind, record in _spoiled(must):
            yield kind, Seen(records=[record])
    for must_not in case.must_not:
        yield "must_not", Seen(records=[Record(content=_text(must_not.all), relevance="critical")])
    if case.max_records is not None:
        yield "max_records", Seen(records=[Record(content="x")] * (case.max_records + 1))
    if case.nothing and case.role != "dropper":
        yield "nothing", Seen(records=[Record(content="x")])
    for key in case.keeps:
        yield "keeps", Seen(dropped=frozenset([key]))
    for key in case.drops:
        yield "drops", Seen(dropped=frozenset(set(case.drops) - {key}))


def right_record(must: Must) -> Record:
    """A record that holds all that a must asks for."""
    return Record(
        content=_text(must.all),
        relevance="critical",
        timestamp=must.timestamp,
        sources=tuple(entry_id(number) for number in must.cites),
        supports=tuple(must.supports),
        supersedes=tuple(must.supersedes),
    )


def _spoiled(must: Must) -> Iterator[tuple[str, Record]]:
    """The right record with one thing wrong at a time."""
    right = right_record(must)
    values = {name: getattr(right, name) for name in Record.__dataclass_fields__}
    for at in range(len(must.all)):
        yield "all", Record(**{**values, "content": _text(must.all[:at] + must.all[at + 1 :])})
    for text in must.without:
        yield "without", Record(**{**values, "content": f"{right.content} {text}"})
    if must.relevance and must.relevance != "low":
        yield "relevance", Record(**{**values, "relevance": RELEVANCES[RELEVANCES.index(must.relevance) - 1]})
    if must.timestamp:
        yield "timestamp", Record(**{**values, "timestamp": "2026-05-01 00:00"})
    for name in ("sources", "supersedes", "supports"):
        if values[name]:
            yield name, Record(**{**values, name: values[name][1:]})
    if must.supports:
        yield "supports", Record(**{**values, "supports": (*must.supports, "another")})


def _text(phrases: list[Phrase]) -> str:
    return " / ".join(phrase if isinstance(phrase, str) else phrase[0] for phrase in phrases)
