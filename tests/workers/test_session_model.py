"""Without a configured model the workers of a Pi session think with its own model (003-127): a real store, engine and
socket, and a scripted extension behind it."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builders import deliver, memory_of, reply
from jobs import WAIT, Clock
from relays import FAKE, answered, relay_of

from minutebook.errors import ProviderFailed, SpanFailed
from minutebook.pipeline.notices import read_notices
from minutebook.pipeline.status import SESSION_MIND, mind_in_use, read_status, role_errors
from minutebook.settings import EXTRACTIVE, ModelChoice, Settings
from minutebook.store.sqlite import SqliteStore
from minutebook.workers.choosing import instead_of_session, mind_for, minds_of
from minutebook.workers.engine import Engine
from minutebook.workers.exchange import Message, Request
from minutebook.workers.models import ask_model
from minutebook.workers.models_accounts import accounts
from minutebook.workers.models_cooldowns import resting
from minutebook.workers.models_session import SESSION, output_limit, status_of

NAME = "session/fake/fake-main"
NONE_SET = Settings(
    observe_after_tokens=50, reflect_after_tokens=10**6, flush_min_tokens=40, model_tries=1, agent_max_turns=4
)


class Bench:
    """One Pi session of six entries in a store."""

    def __init__(self, folder: Path) -> None:
        self.clock = Clock()
        self.path = str(folder / "s.db")
        self.store = SqliteStore(folder / "s.db", clock=self.clock)
        self.settings = NONE_SET
        entries = [reply(f"entry {number}: " + "some words to weigh " * 5, id=f"e{number}") for number in range(6)]
        self.branch = deliver(self.store, entries, "s1", host="pi")

    def open(self, reply: Callable[[dict[str, Any]], Any], model: Any = FAKE) -> Any:
        return relay_of(self.path, "pi:s1", reply, model)

    def work(self, *, rounds: int = 1, pause_seconds: float = 0) -> None:
        with Engine(self.store, minds=minds_of(self.store), settings_for=lambda branch: self.settings) as engine:
            for at in range(rounds):
                self.clock.now += pause_seconds if at else 0
                assert engine.wait_quiet(WAIT) != "busy"

    def minds(self) -> set[str]:
        return {held.mind for held in memory_of(self.store, self.branch).observations.values()}

    def error(self) -> str:
        return next((error.error for error in role_errors(self.store, self.branch)), "")


@contextmanager
def bench_in(folder: Path) -> Iterator[Bench]:
    made = Bench(folder)
    try:
        yield made
    finally:
        made.store.close()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with bench_in(tmp_path) as made:
        yield made


def recorded(content: str = "The user weighs words.", **more: Any) -> dict[str, Any]:
    item = {"content": content, "timestamp": "2026-05-02 10:30", "relevance": "medium", "sources": ["s1"]}
    return answered("", ("record_observations", json.dumps({"observations": [item]})), **more)


def observe(line: dict[str, Any]) -> dict[str, Any]:
    """Records once, and then says that it is done."""
    return answered("Done.") if len(line["messages"]) > 1 else recorded()


def test_the_session_s_own_model_thinks_and_its_use_is_accounted_003_127(bench: Bench) -> None:
    with bench.open(observe) as extension:
        bench.work()
    first, second = extension.of("ask")
    assert bench.minds() == {NAME} and bench.error() == ""
    assert first["role"] == "observer" and "observer" in first["system"].lower() and len(first["system"]) > 1_000
    assert first["tools"][0]["name"] == "record_observations" and first["tools"][0]["schema"]
    assert first["max_tokens"] == 4_096 and first["thinking"] == "off" and second["system"] == first["system"]
    said, called, receipt = second["messages"]
    assert said == first["messages"][0] and "entry 0" in said["text"]
    assert called["calls"][0]["id"] == receipt["call_id"] and json.loads(receipt["text"])["recorded"] == 1
    (line,) = accounts(bench.store)
    assert (line.session, line.role, line.model, line.requests, line.unpriced) == ("pi:s1", "observer", NAME, 2, 0)
    assert (line.input_tokens, line.cached_tokens, line.output_tokens, line.cost_usd) == (2_000, 800, 100, 0.004)


def test_it_needs_neither_a_key_nor_litellm_003_127(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    monkeypatch.setattr("minutebook.workers.models_library.library", lambda: pytest.fail("litellm was asked"))
    with bench.open(observe):
        bench.work()
    assert bench.minds() == {NAME}


def test_what_the_provider_wants_back_is_given_back(bench: Bench) -> None:
    signed = {"model": "fake/fake-main", "message": {"role": "assistant", "content": [{"thinkingSignature": "x"}]}}
    with bench.open(
        lambda line: answered("Done.") if len(line["messages"]) > 1 else recorded(carried=signed)
    ) as extension:
        bench.work()
    assert extension.of("ask")[1]["messages"][1]["carried"] == signed


@pytest.mark.parametrize("model", [None, {"provider": "fake", "id": ""}])
def test_a_session_without_a_model_has_the_extractive_mind_003_127(bench: Bench, model: Any) -> None:
    with bench.open(observe, model) as extension:
        bench.work()
    assert bench.minds() == {"extractive"} and extension.of("ask") == []


def test_without_an_open_session_the_extractive_mind_thinks_003_127(bench: Bench) -> None:
    bench.work()
    assert bench.minds() == {"extractive"}


@pytest.mark.parametrize(
    "settings",
    [
        replace(NONE_SET, session_model_allowed=False),
        replace(NONE_SET, observer_model=EXTRACTIVE),
    ],
)
def test_who_switched_it_off_is_not_asked_003_127(bench: Bench, settings: Settings) -> None:
    bench.settings = settings
    with bench.open(observe) as extension:
        bench.work()
    assert bench.minds() == {"extractive"} and extension.lines == []


def test_only_the_session_itself_is_asked_003_127(bench: Bench) -> None:
    """Neither another host's session of the same id, nor another session of Pi."""
    with bench.open(observe):
        for other in (replace(bench.branch, host="neutral"), replace(bench.branch, session="s2")):
            assert mind_for("observer", NONE_SET, other, bench.store).name == "extractive"
        mind = mind_for("observer", NONE_SET, bench.branch, bench.store)
    assert mind.name == NAME and getattr(mind, "window", None) == 128_000


def test_a_configured_model_comes_first_003_127(bench: Bench) -> None:
    settings = replace(NONE_SET, model=ModelChoice(provider="openai", id="gpt-5-mini"))
    with bench.open(observe):
        assert mind_for("observer", settings, bench.branch, bench.store).name == "openai/gpt-5-mini"


def test_a_run_has_at_most_agent_max_turns_replies_003_129(bench: Bench) -> None:
    """An endless model is asked four times, and nothing is recorded."""
    bench.settings = replace(NONE_SET, without_provider="wait")
    with bench.open(lambda line: recorded(f"Fact {len(line['messages'])}.")) as extension:
        bench.work()
    assert len(extension.of("ask")) % 4 == 0 and bench.minds() == set()
    assert "agent_max_turns = 4" in bench.error()


def test_a_session_that_goes_in_the_middle_loses_nothing_003_127(bench: Bench) -> None:
    """The first answer came, the second never does: nothing is committed, and the next run is the extractive mind's."""

    def go(line: dict[str, Any]) -> Any:
        if len(line["messages"]) == 1:
            return recorded()
        assert extension.relay is not None
        extension.relay.close()
        return None

    with bench.open(go) as extension:
        bench.work()
        assert bench.minds() == set() and "went away" in bench.error()
        bench.work(rounds=2, pause_seconds=400)
    assert bench.minds() == {"extractive"} and bench.error() == ""


def test_the_extractive_mind_takes_over_at_once_where_the_settings_say_so_003_127(bench: Bench) -> None:
    bench.settings = replace(NONE_SET, without_provider="extractive")
    with bench.open(lambda line: {"error": {"kind": "gone", "message": "the session has ended"}}):
        bench.work()
    assert bench.minds() == {"extractive"}


@pytest.mark.parametrize("kind", ["no_model", "auth"])
def test_without_a_usable_key_the_extractive_mind_works_003_127(bench: Bench, kind: str) -> None:
    with bench.open(lambda line: {"error": {"kind": kind, "message": "No API key for fake"}}) as extension:
        bench.work()
        assert bench.minds() == {"extractive"} and len(extension.of("ask")) == 1
        (told,) = [line for line in extension.of("notice") if line["level"] == "warning"]
    assert told["once"] is True
    assert told["text"].startswith("Minutebook: the session's own model fake/fake-main cannot be used: ")


# -- errors --------------------------------------------------------------------------------------------------------


def asked(bench: Bench, answer: Any) -> Any:
    request = Request(
        role="observer",
        session="pi:s1",
        branch=bench.branch.key,
        choice=ModelChoice(provider=SESSION, id="fake/fake-main"),
        system="You observe.",
        messages=(Message(role="user", text="What happened?"),),
    )
    with bench.open(lambda line: answer):
        return ask_model(request, store=bench.store, settings=bench.settings)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ('429 {"error":{"message":"Rate limit reached"}}', "rate"),
        ("401 Incorrect API key provided", "auth"),
        ("429 You exceeded your current quota, please check your plan and billing details.", "quota"),
        ("529 overloaded_error: Overloaded", "server"),
        ("Error: 500 The server had an error", "server"),
        ("fetch failed", "server"),
        ("404 The model `x` does not exist", "unknown_model"),
    ],
)
def test_what_its_provider_says_is_provider_wide_003_127(bench: Bench, message: str, reason: str) -> None:
    with pytest.raises(ProviderFailed) as caught:
        asked(bench, {"ended": "error", "error": {"kind": "provider", "message": message}})
    assert caught.value.reason == reason and NAME in str(caught.value)
    with pytest.raises(ProviderFailed, match="rests for"):
        asked(bench, answered("It works again."))


@pytest.mark.parametrize(
    "message",
    [
        "400 This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "400 Your request was flagged by our usage policy",
    ],
)
def test_what_is_wrong_with_the_span_is_the_span_s_003_012(bench: Bench, message: str) -> None:
    with pytest.raises(SpanFailed):
        asked(bench, {"ended": "error", "error": {"kind": "provider", "message": message}})


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"text": 5},
        {"ended": "deferred"},
        {"ended": "stop", "error": "odd"},
        {"ended": "error"},
        {"error": {"kind": "timeout", "message": "no answer within 120 s"}},
        {"error": {"kind": "bug", "message": "TypeError: x is not a function"}},
        {"ended": "aborted", "error": None},
    ],
)
def test_an_answer_that_is_none_is_the_provider_s_fault(bench: Bench, answer: Any) -> None:
    with pytest.raises(ProviderFailed) as caught:
        asked(bench, answer)
    assert caught.value.reason in ("server", "network")


@pytest.mark.parametrize(("kind", "rests"), [("busy", False), ("gone", False), ("timeout", True)])
def test_a_session_that_is_busy_or_gone_does_not_let_its_model_rest(bench: Bench, kind: str, rests: bool) -> None:
    bench.settings = replace(NONE_SET, model_tries=3)
    with bench.open(lambda line: {"error": {"kind": kind, "message": "no answer"}}) as extension:
        bench.work()
    assert len(extension.of("ask")) == 1, "not tried again at once"
    found = resting(bench.store, ModelChoice(provider=SESSION, id="fake/fake-main"))
    assert (found is not None) == rests and bool(read_notices(bench.store)) == rests
    assert ("model_timeout_seconds" in bench.error()) == rests


def test_odd_fields_of_an_answer_do_no_harm(bench: Bench) -> None:
    given = asked(bench, {"ended": "stop", "text": None, "calls": [None, {"id": 5}], "usage": [], "carried": "x"})
    assert (given.text, [call.name for call in given.calls], given.carried) == ("", ["", ""], {})
    (line,) = accounts(bench.store)
    assert line.unpriced == 1 and line.input_tokens > 0, "estimated, and marked as such"


def test_another_model_than_before_is_named_as_it_answered(bench: Bench) -> None:
    assert asked(bench, answered("x", model="other/new")).model == "session/other/new"
    assert [line.model for line in accounts(bench.store)] == ["session/other/new"]


def test_a_budget_of_nothing_allows_no_session_s_model(bench: Bench) -> None:
    bench.settings = replace(NONE_SET, budget_daily_usd=0.0)
    with bench.open(observe) as extension:
        bench.work()
    assert bench.minds() == {"extractive"} and extension.of("ask") == []


def test_a_model_that_takes_no_tools_is_asked_in_text(bench: Bench) -> None:
    def textual(line: dict[str, Any]) -> dict[str, Any]:
        if line["tools"]:
            return {"error": {"kind": "provider", "message": "400 this model does not support tools"}}
        return answered('{"nothing_to_record": {}}')

    with bench.open(textual) as extension:
        bench.work()
    assert "JSON" in extension.of("ask")[-1]["system"] and bench.error() == ""


@pytest.mark.parametrize(
    ("model", "wanted", "limit"),
    [
        ({"max_tokens": 8_192}, None, 8_192),
        ({"max_tokens": 8_192}, 1_000, 1_000),
        ({"max_tokens": 64_000}, None, 32_000),
        ({"window": 8_000}, None, 2_000),
        ({}, None, 32_000),
    ],
)
def test_the_output_limit_is_as_for_any_other_model_003_130(model: Any, wanted: int | None, limit: int) -> None:
    assert output_limit(model, wanted) == limit


def test_only_a_model_that_can_think_is_told_to_003_128(bench: Bench) -> None:
    with bench.open(observe, {**FAKE, "reasoning": True}) as extension:
        bench.work()
    assert extension.of("ask")[0]["thinking"] == "low"


@pytest.mark.parametrize(
    ("message", "status"),
    [("429 x", 429), ("Error: 503 y", 503), ("status code: 400 z", 400), ("", None), ("4000 tokens", None)],
)
def test_the_status_in_a_provider_s_words(message: str, status: int | None) -> None:
    assert status_of(message) == status


def test_status_says_which_mind_thinks_and_which_recorded_003_127(bench: Bench) -> None:
    here = replace(bench.branch, project="/srv/orders")
    assert mind_in_use(NONE_SET, here) == read_status(bench.store, here, NONE_SET).mind == SESSION_MIND
    for settings, branch in (
        (replace(NONE_SET, session_model_allowed=False), here),
        (replace(NONE_SET, observer_model=EXTRACTIVE), here),
        (NONE_SET, replace(here, host="codex")),
        (NONE_SET, replace(here, project="github.com/acme/orders")),
    ):
        assert mind_in_use(settings, branch) == "extractive"
    assert mind_in_use(replace(NONE_SET, model=ModelChoice(provider="p", id="m")), here) == "p/m"
    with bench.open(observe):
        bench.work()
    assert read_status(bench.store, here, NONE_SET).minds == {NAME: 1}


def test_who_thinks_instead_003_127() -> None:
    for reason, who in (("auth", "extractive"), ("unknown_model", "extractive"), ("network", None), ("rate", None)):
        told: list[str] = []
        other = instead_of_session(ProviderFailed("x", reason=reason), NONE_SET, told.append)
        assert (other.name if other else None) == who
        assert told == ([reason] if other else [])
