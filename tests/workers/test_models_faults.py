"""Each way in which a provider fails, through real litellm, in both protocols: what it is called and what it costs."""

from collections.abc import Iterator
from typing import Any

import pytest
import scripted_faults as faults
from modelkit import ANTHROPIC, OPENAI, ask, request_of, settings_for
from scripted_server import Answer, ScriptedServer

from minutebook.errors import ProviderFailed, SpanFailed, ThinkingFailed
from minutebook.settings import ModelChoice
from minutebook.store.kernel import Store
from minutebook.workers.models import ask_model

PROVIDER = {
    "auth": [faults.bad_key, faults.forbidden],
    "quota": [faults.payment_required, faults.quota_used_up, faults.quota_page],
    "rate": [faults.rate_limited],
    "server": [
        faults.server_error,
        faults.bad_gateway,
        faults.overloaded,
        faults.empty_body,
        faults.half_json,
        faults.cut,
        faults.ended_early,
        faults.error_event,
        faults.reset,
    ],
    "unknown_model": [faults.no_such_model],
    "bad_request": [lambda: faults.unknown_schema_keyword("additionalProperties")],
}
SPAN = {"too_long": [faults.context_too_long], "refused": [faults.content_policy]}
CASES = [(reason, fault) for reason, given in {**PROVIDER, **SPAN}.items() for fault in given]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


@pytest.mark.parametrize("choice", [OPENAI, ANTHROPIC], ids=lambda choice: choice.provider)
@pytest.mark.parametrize(("reason", "fault"), CASES, ids=[getattr(fault, "__name__", "") for _, fault in CASES])
def test_each_fault_is_one_of_two_kinds_003_012(
    store: Store, server: ScriptedServer, choice: ModelChoice, reason: str, fault: Any
) -> None:
    server.script("observer", fault())
    settings = settings_for(server, choice)
    with pytest.raises(ThinkingFailed) as failed:
        ask(store, settings)
    assert (type(failed.value), failed.value.reason) == (SpanFailed if reason in SPAN else ProviderFailed, reason)
    assert str(failed.value).startswith(f"{choice.provider}/{choice.id}: ") and "\n" not in str(failed.value)
    assert "litellm" not in str(failed.value) and len(server.requests) == 1
    assert ask(store, settings).text == "Done.", "a pause of 0 means none"


@pytest.mark.parametrize("choice", [OPENAI, ANTHROPIC], ids=lambda choice: choice.provider)
@pytest.mark.parametrize("fault", [faults.hanging, lambda: faults.dripping(Answer(text="slow " * 500), 0.2)])
def test_what_never_ends_is_given_up_after_model_timeout_seconds(
    store: Store, server: ScriptedServer, choice: ModelChoice, fault: Any
) -> None:
    """Silence, and an answer that drips in so that no read of it times out. Neither is tried again at once."""
    server.script("observer", fault())
    with pytest.raises(ProviderFailed) as failed:
        ask(store, settings_for(server, choice, model_timeout_seconds=1, model_tries=3))
    assert failed.value.reason == "network" and len(server.requests) == 1
    assert "raise model_timeout_seconds" in str(failed.value)


def test_half_an_answer_is_never_quoted_nor_taken_for_a_reason(store: Store, server: ScriptedServer) -> None:
    """The half of a model's words that arrived speaks of billing: that is no quota, and no message."""
    server.script("observer", faults.ended_early(Answer(text="The user asked about billing and quota exceeded." * 9)))
    with pytest.raises(ProviderFailed) as failed:
        ask(store, settings_for(server))
    assert failed.value.reason == "server" and "billing" not in str(failed.value)


def test_a_server_that_is_not_there_003_131(store: Store) -> None:
    with ScriptedServer() as gone:
        settings = settings_for(gone)
    with pytest.raises(ProviderFailed, match="openai/scripted"):
        ask(store, settings)


def test_a_fault_of_the_program_is_no_fault_of_a_provider(store: Store, server: ScriptedServer) -> None:
    """Nothing rests because of it, and nothing foreign leaves."""
    broken: Any = request_of(tools=(None,))
    with pytest.raises(AttributeError):
        ask_model(broken, store=store, settings=settings_for(server, model_cooldown_seconds=60))
    assert store.documents("cooldowns") == [] and server.requests == []


def test_text_that_no_utf8_can_hold_is_sent_with_a_mark(store: Store, server: ScriptedServer) -> None:
    assert ask(store, settings_for(server), system="half a pair: \ud83d").text == "Done."
    assert server.requests[0].system == "half a pair: \ufffd"


def test_ended_and_usage_come_as_the_provider_said(store: Store, server: ScriptedServer) -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "cached_tokens": 40}
    server.script("observer", Answer(text="a", usage=usage), Answer(text="b", finish="length"))
    server.script("observer", Answer(finish="content_filter"), Answer(calls=[("record_observations", '{"a":')]))
    replies = [ask(store, settings_for(server)) for _ in range(4)]
    assert [reply.ended for reply in replies] == ["stop", "length", "refused", "tool_calls"]
    spent = replies[0].spent
    assert (spent.input_tokens, spent.output_tokens, spent.cached_tokens) == (100, 7, 40)
    assert [(call.name, call.arguments) for call in replies[3].calls] == [("record_observations", '{"a":')]
