"""The main job on a long session with planted facts: what was said is remembered, what was taken back is not."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from facts import Verdict, judge, read_facts

from minutebook.pipeline.branches import load_branch
from minutebook.settings import Settings
from minutebook.store.opening import open_store
from minutebook.workers.choosing import minds_of
from minutebook.workers.replay_report import Replayed
from minutebook.workers.replaying import ReplayOptions, read_recording, replay

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@dataclass(frozen=True)
class FactSet:
    """A session, and how many of its facts have to be remembered; how many faults it may show.

    The second session was written without sight of the rules. What it shows beyond its bar of 15 is kept from growing.
    """

    session: str
    remembered: int
    decoys: int = 1
    standing: int = 0
    lost: int = 0


SETS = [
    FactSet(session="orders-service.jsonl", remembered=17),
    FactSet(session="second/grajo.jsonl", remembered=15, standing=2),
]


@dataclass(frozen=True)
class Judged:
    wanted: FactSet
    replayed: Replayed
    verdict: Verdict


@pytest.fixture(scope="module", params=SETS, ids=lambda one: one.session)
def judged(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judged]:
    """The session replayed at the default settings, its last memory held against its facts."""
    wanted: FactSet = request.param
    session = EXAMPLES / wanted.session
    store = open_store(str(tmp_path_factory.mktemp("facts") / "store.sqlite"))
    replayed = replay(store, read_recording(session), ReplayOptions(settings=Settings(), step=True), minds_of(store))
    assert replayed.memory is not None
    branch = load_branch(store, replayed.session.branch)
    yield Judged(
        wanted, replayed, judge(read_facts(session.with_suffix(".facts.json")), replayed.memory.text, store, branch)
    )
    store.close()


def test_two_compactions_within_the_budget(judged: Judged) -> None:
    memory = judged.replayed.memory
    assert len(judged.replayed.compactions) >= 2
    assert memory is not None and memory.compacted
    assert 0 < memory.tokens <= Settings().compaction_max_tokens


def test_facts_are_in_the_memory(judged: Judged) -> None:
    assert judged.verdict.remembered >= judged.wanted.remembered, judged.verdict.missing


def test_no_corrected_fact_stands_as_current(judged: Judged) -> None:
    assert len(judged.verdict.standing) <= judged.wanted.standing, judged.verdict.standing


def test_decoys_are_not_taken_for_facts(judged: Judged) -> None:
    assert len(judged.verdict.fooled_by) <= judged.wanted.decoys, judged.verdict.fooled_by


def test_every_fact_is_one_search_and_one_recall_away(judged: Judged) -> None:
    assert len(judged.verdict.lost) <= judged.wanted.lost, judged.verdict.lost
