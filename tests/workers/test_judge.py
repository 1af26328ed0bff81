"""The judge without a queue: its desk, its tool, what the extractive mind ranks, and how much a request holds."""

import time
from dataclasses import replace
from typing import Any

import pytest
from builders import NOTHING, ScriptedMind
from conversing import CHOICE, Script, answer

from minutebook.errors import BadInput, ProviderFailed, SpanFailed, StoreBusy
from minutebook.pipeline.questions import Candidate, Question
from minutebook.settings import Settings
from minutebook.workers import judge
from minutebook.workers.contract import JudgeBatch
from minutebook.workers.extractive import ExtractiveMind
from minutebook.workers.extractive.judging import ranked
from minutebook.workers.judge import SPARE_SECONDS, JudgeDesk, batch_of, think
from minutebook.workers.model_mind import ModelMind

PORT = Candidate(
    id="aaaaaaaaaaaa",
    kind="observation",
    text="The gateway port is 8081",
    state="active",
    time="2026-05-02 10:30",
    relevance="high",
    citations=1,
)
TURN = Candidate(id="t2", kind="user", text="Which port does the gateway use?", time="2026-05-02 10:31")
TABS = replace(PORT, id="cccccccccccc", text="The user wants tabs", relevance="low", citations=0)
RECORDS = (PORT, TURN, TABS)
BATCH = JudgeBatch(question="gateway port", records=RECORDS, limit=3, seconds=20)
QUESTION = Question(
    id="q1",
    branch="b",
    lineage="l",
    query="gateway port",
    candidates=RECORDS,
    limit=3,
    asked_at=100,
    deadline_seconds=20,
)


def proposals(*ids: Any) -> list[dict[str, Any]]:
    return [{"id": id_} for id_ in ids]


def model(*said: Any, **more: Any) -> tuple[ModelMind, Script]:
    script = Script(*said)
    return ModelMind(CHOICE, script, Settings(), session="s", branch="b", **more), script


def rank(*ids: str) -> Any:
    return answer(("rank_records", {"ids": list(ids)}))


# -- the desk ------------------------------------------------------------------------------------------------------


def test_ids_are_kept_in_their_order_each_once_and_unknown_ones_are_refused_alone() -> None:
    desk = JudgeDesk(BATCH)
    receipt = desk.record(proposals("t2", "ffffffffffff", f"[{PORT.id}]", "t2", 7))
    assert list(desk.ranked) == ["t2", PORT.id]
    assert (receipt.recorded, receipt.duplicate, receipt.total) == (2, 1, 2)
    assert receipt.refused == (
        "proposal 2: id: ffffffffffff is no record that was shown",
        "proposal 5: id: must be a text that is not empty",
    )


def test_a_ranking_is_cut_to_the_limit() -> None:
    mind = ScriptedMind([proposals(TABS.id, "t2", PORT.id)])
    assert think(replace(BATCH, limit=2), mind) == (TABS.id, "t2")


def test_that_nothing_helps_is_a_verdict() -> None:
    assert think(BATCH, ScriptedMind([NOTHING])) == ()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ([], "scripted ranked nothing"),
        ([proposals("x", "y")], "scripted ranked nothing but 2 ids of no record"),
    ],
)
def test_a_run_without_a_ranking_is_a_failure(script: Any, said: str) -> None:
    with pytest.raises(SpanFailed, match=f"^{said}$"):
        think(BATCH, ScriptedMind(script))


# -- the verdict ---------------------------------------------------------------------------------------------------


def test_a_verdict_says_who_judged() -> None:
    verdict, error = judge.judge(QUESTION, lambda: ScriptedMind([proposals("t2")]), now=101)
    assert (verdict.ids, verdict.mind, verdict.error, error) == (("t2",), "scripted", "", None)


@pytest.mark.parametrize("error", [ProviderFailed("the provider\nis down"), BadInput("a wrong file"), KeyError("bug")])
def test_what_goes_wrong_becomes_one_line_for_the_asker(error: Exception) -> None:
    verdict, found = judge.judge(QUESTION, lambda: ScriptedMind([error]), now=101)
    assert found is error and verdict.ids == () and verdict.mind == "scripted"
    assert verdict.error in ("the provider is down", "a wrong file", "KeyError: 'bug'")


def test_a_mind_that_cannot_be_made_is_told_too() -> None:
    def none() -> Any:
        raise BadInput("minutebook.toml, line 3: no such setting")

    assert judge.judge(QUESTION, none, now=101)[0].error == "minutebook.toml, line 3: no such setting"


def test_a_store_that_fails_is_the_engines_matter() -> None:
    with pytest.raises(StoreBusy):
        judge.judge(QUESTION, lambda: ScriptedMind([StoreBusy("busy")]), now=101)


def test_another_mind_judges_where_no_model_can_be_asked() -> None:
    mind, _ = model(ProviderFailed("down", reason="network"), instead=lambda error: ExtractiveMind())
    verdict, _ = judge.judge(QUESTION, lambda: mind, now=101)
    assert (verdict.ids, verdict.mind) == ((PORT.id, "t2"), "extractive")


# -- the request ---------------------------------------------------------------------------------------------------


def test_a_batch_holds_what_fits_the_window_and_the_time_that_is_left() -> None:
    many = replace(
        QUESTION, candidates=tuple(replace(PORT, id=f"id{n}", text="word " * 70) for n in range(40)), limit=9
    )
    assert len(batch_of(many, now=105, window=None).records) == 40
    small = batch_of(many, now=105, window=2_000)
    assert [each.id for each in small.records] == ["id0", "id1", "id2", "id3"] and small.limit == 4
    assert small.seconds == 15 - SPARE_SECONDS
    assert batch_of(many, now=200, window=None).seconds == 0


def test_the_request_shows_records_and_question_and_ends_with_its_askers_patience() -> None:
    mind, script = model(rank("t2"))
    before = time.monotonic()
    assert think(BATCH, mind) == ("t2",)
    (request,) = script.requests
    assert (request.role, [tool.name for tool in request.tools]) == ("judge", ["rank_records"])
    assert "[aaaaaaaaaaaa] 2026-05-02 10:30 [observation, high, active] The gateway port" in request.messages[0].text
    assert "# Question\n\ngateway port\n" in request.messages[0].text
    assert request.deadline is not None and before + 20 <= request.deadline <= time.monotonic() + 20


def test_the_deadline_of_the_job_holds_where_it_is_earlier() -> None:
    mind, script = model(rank("t2"), deadline=1.0)
    think(BATCH, mind)
    assert script.requests[0].deadline == 1.0


# -- the tool ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        {"ids": ["t2", PORT.id]},
        {"ids": f"t2, {PORT.id}"},
        {"ids": f'["t2", "{PORT.id}"]'},
        ["t2", PORT.id],
        {"ids": [{"id": "t2"}, {"id": f"[{PORT.id}]"}]},
        {"ids": ["ffffffffffff", "t2", PORT.id]},
    ],
)
def test_one_call_is_enough_however_the_ids_are_written(given: Any) -> None:
    mind, script = model(answer(("rank_records", given)))
    assert think(BATCH, mind) == ("t2", PORT.id)
    assert len(script.requests) == 1


@pytest.mark.parametrize("given", [{"ids": []}, {"ids": None}, []])
def test_an_empty_list_says_that_nothing_helps(given: Any) -> None:
    mind, script = model(answer(("rank_records", given)))
    assert think(BATCH, mind) == () and len(script.requests) == 1


@pytest.mark.parametrize("wrong", [{"ids": ["ffffffffffff"]}, {"records": ["t2"]}, {"ids": 7}, "{"])
def test_a_call_without_one_known_id_gets_another_turn(wrong: Any) -> None:
    mind, script = model(answer(("rank_records", wrong)), rank("t2"))
    assert think(BATCH, mind) == ("t2",)
    assert "refused" in script.receipts()[0] or "error" in script.receipts()[0]


def test_prose_is_no_ranking() -> None:
    mind, _ = model(answer(text="I would look at t2 first."))
    with pytest.raises(SpanFailed, match=r"^local/scripted ranked nothing$"):
        think(BATCH, mind)


def test_a_model_without_tools_ranks_in_json() -> None:
    mind, script = model(answer(text='{"ids": ["t2"]}'), tools_supported=False)
    assert think(BATCH, mind) == ("t2",) and script.requests[0].tools == ()


# -- the extractive mind -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"text": "gateway port"}, {"text": "gateway", "relevance": "critical"}),
        ({"relevance": "high"}, {"relevance": "medium", "citations": 5}),
        ({"citations": 2}, {"citations": 1, "time": "2026-06-01 00:00"}),
        ({"time": "2026-05-03 00:00"}, {"time": "2026-05-02 00:00"}),
        ({"relevance": "low"}, {"kind": "user", "relevance": "", "state": "", "time": "2026-06-01 00:00"}),
        ({"kind": "reflection", "relevance": "", "time": ""}, {"relevance": "medium", "time": "2026-06-01 00:00"}),
        ({"relevance": "low", "text": "gateway"}, {"state": "dropped", "relevance": "critical"}),
    ],
    ids=["words", "relevance", "coverage", "recency", "records", "reflections", "standing"],
)
def test_the_extractive_mind_ranks_by(better: Any, worse: Any) -> None:
    one, two = replace(PORT, id="one", **better), replace(PORT, id="two", **worse)
    assert ranked("the gateway port", [one, two]) == ranked("the gateway port", [two, one]) == ["one", "two"]


def test_the_extractive_mind_leaves_the_order_of_the_search_where_nothing_tells_two_apart() -> None:
    twins = [replace(PORT, id=id_) for id_ in ("b", "a", "c")]
    assert ranked("gateway", twins) == ["b", "a", "c"]


def test_the_extractive_mind_names_only_what_holds_a_word_of_the_question() -> None:
    assert think(BATCH, ExtractiveMind()) == (PORT.id, "t2")
    assert think(replace(BATCH, question="zebra"), ExtractiveMind()) == ()
    assert think(replace(BATCH, limit=1), ExtractiveMind()) == (PORT.id,)
