"""The judge with a model: the real engine and the real litellm over HTTP against the scripted server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import scripted_faults as faults
from builders import deliver, say
from modelbench import USAGE, Bench, bench, called, task_of
from scripted_server import Answer, Broken

from minutebook.pipeline import questions
from minutebook.pipeline.branches import memory_stream
from minutebook.pipeline.questions import Candidate, Verdict
from minutebook.records import Branch
from minutebook.settings import ModelChoice
from minutebook.workers.models_accounts import accounts

pytestmark = pytest.mark.usefixtures("litellm")
RECORDS = [
    Candidate(
        id="aaaaaaaaaaaa", kind="observation", text="The gateway port is 8080", state="dropped", relevance="high"
    ),
    Candidate(id="bbbbbbbbbbbb", kind="observation", text="The gateway port is 8081", state="active", relevance="high"),
    Candidate(id="t3", kind="user", text="Which port?", time="2026-05-02 10:31"),
]


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path) as opened:
        yield opened


def judged(made: Bench, *said: Any, seconds: float = 60, **more: Any) -> Verdict:
    """The verdict on one question, the model saying this."""
    made.server.script("judge", *said)
    branch = _branch(made)
    asked = questions.ask(made.store, branch, "gateway port", RECORDS, limit=2, deadline_seconds=seconds)
    made.work(roles=["judge"], **more)
    found = questions.find_question(made.store, asked.id)
    assert found is not None and found.verdict is not None
    assert made.store.tip(memory_stream(branch.key)).length == 0 and made.store.jobs() == []
    return found.verdict


def _branch(made: Bench) -> Branch:
    return deliver(made.store, [say("gateway", id="e1")], "s1")


def rank(*ids: str) -> Answer:
    return called(("rank_records", {"ids": list(ids)}))


def test_a_model_ranks_in_one_request_and_its_usage_is_counted_under_the_judge(made: Bench) -> None:
    verdict = judged(made, rank("bbbbbbbbbbbb", "t3"))
    assert (verdict.ids, verdict.mind, verdict.error) == (("bbbbbbbbbbbb", "t3"), "openai/scripted", "")
    (asked,) = made.server.requests
    assert asked.role == "judge" and list(asked.tools) == ["rank_records"]
    assert "[bbbbbbbbbbbb] [observation, high, active] The gateway port is 8081" in task_of(asked)
    (account,) = accounts(made.store)
    assert (account.role, account.session, account.requests) == ("judge", "neutral:s1", 1)
    assert account.input_tokens == USAGE["prompt_tokens"]


def test_an_id_that_does_not_exist_is_left_out(made: Bench) -> None:
    assert judged(made, rank("cccccccccccc", "t3", "t3")).ids == ("t3",)
    assert len(made.server.requests) == 1


def test_nothing_but_such_ids_is_told_to_the_model_and_then_given_up(made: Bench) -> None:
    verdict = judged(made, rank("cccccccccccc"), "Sorry.")
    assert verdict.ids == () and verdict.error == "openai/scripted ranked nothing but 1 ids of no record"
    assert "is no record that was shown" in made.server.requests[1].last.text


@pytest.mark.parametrize("text", ["The second record helps most.", ""])
def test_prose_is_no_verdict(made: Bench, text: str) -> None:
    verdict = judged(made, text)
    assert (verdict.ids, verdict.error) == ((), "openai/scripted ranked nothing")


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (faults.server_error(), "The server had an error"),
        (faults.bad_key(), "Incorrect API key provided"),
        (faults.quota_page(), "openai/scripted"),
        (Broken(after=0, then="reset"), "openai/scripted"),
        (faults.context_too_long(), "openai/scripted"),
    ],
    ids=["500", "key", "quota page", "reset", "too long"],
)
def test_a_provider_that_is_down_is_told_at_once_and_not_tried_again(made: Bench, fault: Any, said: str) -> None:
    verdict = judged(made, fault)
    assert verdict.ids == () and said in verdict.error and "\n" not in verdict.error
    assert len(made.server.requests) == 1


def test_the_extractive_mind_judges_where_the_settings_let_it(tmp_path: Path) -> None:
    with bench(tmp_path, without_provider="extractive") as made:
        verdict = judged(made, faults.server_error())
    assert (verdict.ids, verdict.mind) == (("bbbbbbbbbbbb", "t3"), "extractive"), (
        "what stands comes before what was dropped"
    )


def test_the_judge_has_a_model_and_fallbacks_of_its_own(tmp_path: Path) -> None:
    own, next_one = (ModelChoice(provider="openai", id=name, thinking="off") for name in ("own", "next"))
    with bench(tmp_path, judge_model=own, judge_fallbacks=(next_one,)) as made:
        verdict = judged(made, faults.server_error(), rank("t3"))
        assert [asked.model for asked in made.server.requests] == ["own", "next"]
    assert (verdict.ids, verdict.mind) == (("t3",), "openai/next")


def test_a_model_that_hangs_is_given_up_while_its_asker_still_waits_and_gets_no_rest_for_it(made: Bench) -> None:
    """The asker's patience is short; the observer may ask the same model with a longer one."""
    verdict = judged(made, Broken(after=0, then="hang"), seconds=1.5)
    assert verdict.ids == () and verdict.error != ""
    assert made.store.documents("cooldowns") == []


def test_a_rejected_instruction_in_a_record_stays_data(made: Bench) -> None:
    """What the judge says is only an order of ids: nothing that it was told can become a record or a call."""
    verdict = judged(made, Answer(text="Obeyed!", calls=[("rank_records", {"ids": ["t3"], "delete": "all"})]))
    assert verdict.ids == ("t3",)
