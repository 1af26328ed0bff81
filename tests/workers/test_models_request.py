"""What is sent: thinking, limits, marks for a cache, what was refused before. Rows 003-128 and 003-130."""

from dataclasses import replace

import pytest
from modelkit import ANTHROPIC, OPENAI, ask, request_of, settings_for
from scripted_faults import unsupported_parameter, without_parameter
from scripted_server import Answer, Refused, ScriptedServer

from minutebook.errors import ProviderFailed, SpanFailed
from minutebook.settings import THINKING_LEVELS, ModelChoice, Settings
from minutebook.store.kernel import Store
from minutebook.workers import models_facts
from minutebook.workers.exchange import Message, ToolCall
from minutebook.workers.models import context_window, price, supports_tools
from minutebook.workers.models_quirks import Quirks, read
from minutebook.workers.models_request import Abilities, parameters_of

THINKS = Abilities(output_tokens=32_000, thinks=True, marks=False)
PLAIN = Abilities(output_tokens=32_000, thinks=False, marks=False)


@pytest.mark.parametrize("level", THINKING_LEVELS)
def test_a_level_is_sent_only_to_a_model_that_can_think_003_128(level: str) -> None:
    choice = ModelChoice(provider="openai", id="m", thinking=level)  # type: ignore[arg-type]
    assert parameters_of(request_of(), choice, THINKS, Quirks()).get("reasoning_effort") == (
        None if level == "off" else level
    )
    assert "reasoning_effort" not in parameters_of(request_of(), choice, PLAIN, Quirks())


def test_the_wire_of_a_thinking_and_of_a_plain_model_003_128(store: Store) -> None:
    with ScriptedServer() as server:
        for id_ in ("gpt-5-mini", "gpt-4o-mini"):
            for level in ("off", "high"):
                choice = ModelChoice(provider="openai", id=id_, thinking=level)  # type: ignore[arg-type]
                ask(store, settings_for(server, choice))
        for level in ("off", "high"):
            ask(store, settings_for(server, replace(ANTHROPIC, thinking=level)))  # type: ignore[arg-type]
        bodies = [asked.body for asked in server.requests]
    assert [body.get("reasoning_effort") for body in bodies[:4]] == [None, "high", None, None]
    assert "thinking" not in bodies[4] and bodies[5]["thinking"]["type"] == "enabled"


def test_a_level_that_a_provider_has_not_got_becomes_the_next_lower_one(store: Store) -> None:
    """litellm itself refuses xhigh for this model, before anything is sent; that is learned too."""
    choice = ModelChoice(provider="gemini", id="gemini-2.5-flash", thinking="max")
    quirks = Quirks(refused=frozenset({"reasoning_effort=max", "reasoning_effort=xhigh"}))
    assert parameters_of(request_of(), choice, THINKS, quirks)["reasoning_effort"] == "high"
    low = replace(choice, thinking="low")
    none = Quirks(refused=frozenset({"reasoning_effort=low"}))
    assert "reasoning_effort" not in parameters_of(request_of(), low, THINKS, none)
    with ScriptedServer() as server:
        refuse = "Unsupported value: 'reasoning_effort' does not support 'high' with this model."
        server.script("observer", Refused(status=400, message=refuse, param="reasoning_effort"))
        thinker = ModelChoice(provider="openai", id="gpt-5-mini", thinking="high")
        assert ask(store, settings_for(server, thinker)).text == "Done."
        assert [asked.body.get("reasoning_effort") for asked in server.requests] == ["high", "medium"]
        assert read(store, thinker).refused == {"reasoning_effort=high"}


@pytest.mark.parametrize(
    ("id_", "limit"), [("gpt-4o", 16_384), ("gpt-5-mini", 32_000), ("scripted", 32_000), ("gpt-4", 4_096)]
)
def test_output_limit_003_130(id_: str, limit: int) -> None:
    assert models_facts.output_limit(ModelChoice(provider="openai", id=id_)) == limit


def test_the_smallest_of_all_output_limits_is_sent_003_130() -> None:
    quirks = Quirks(output_tokens=900)
    sent = [
        parameters_of(request_of(output_tokens=asked), OPENAI, PLAIN, learned)["max_tokens"]
        for asked, learned in ((None, Quirks()), (1_000, Quirks()), (1_000, quirks), (100, quirks))
    ]
    assert sent == [32_000, 1_000, 900, 100]


def test_a_refused_parameter_is_left_out_at_once_and_from_then_on(store: Store) -> None:
    with ScriptedServer() as server:
        server.defaults["observer"] = without_parameter("max_tokens", Answer(text="fine"))
        settings = settings_for(server)
        assert [ask(store, settings).text for _ in range(2)] == ["fine", "fine"]
        limits = [sorted({"max_tokens", "max_completion_tokens"} & set(asked.body)) for asked in server.requests]
    assert limits == [["max_tokens"], ["max_completion_tokens"], ["max_completion_tokens"]]
    assert store.documents("cooldowns") == []


def test_a_parameter_that_is_refused_again_and_again_is_a_bad_request(store: Store) -> None:
    with ScriptedServer() as server:
        server.defaults["observer"] = unsupported_parameter("max_tokens")
        with pytest.raises(ProviderFailed) as failed:
            ask(store, settings_for(server))
    assert failed.value.reason == "bad_request" and len(server.requests) <= 4


def test_a_window_smaller_than_the_output_limit_is_learned(store: Store) -> None:
    """A small local server counts the output limit in; without the lesson every span would be too long for it."""
    message = (
        "This model's maximum context length is 2048 tokens. However, you requested {} tokens "
        "({} in the messages, {} in the completion). Please reduce the length of the messages or completion."
    )
    refused = Refused(status=400, message=message.format(32_100, 100, 32_000), code="context_length_exceeded")
    longer = Refused(status=400, message=message.format(2_912, 2_400, 512), code="context_length_exceeded")
    with ScriptedServer() as server:
        server.script("observer", refused, "fine", longer)
        settings = settings_for(server)
        assert ask(store, settings).text == "fine"
        assert [asked.body["max_tokens"] for asked in server.requests] == [32_000, 512]
        assert context_window(OPENAI, settings, store) == 2_048
        with pytest.raises(SpanFailed) as failed:
            ask(store, settings)
    assert failed.value.reason == "too_long"


def test_tools_that_a_model_cannot_take_are_a_word_of_their_own(store: Store) -> None:
    with ScriptedServer() as server:
        server.script("observer", Refused(status=400, message="library/scripted does not support tools"))
        settings = settings_for(server, model_cooldown_seconds=60)
        assert supports_tools(OPENAI, store=store)
        with pytest.raises(ProviderFailed) as failed:
            ask(store, settings)
        assert failed.value.reason == "no_tools" and not supports_tools(OPENAI, store=store)
        with pytest.raises(ProviderFailed):
            ask(store, settings)
        assert len(server.requests) == 1, "known by now"
        assert ask(store, settings, tools=()).text == "Done.", "it rests not because of it"


def test_the_system_prompt_is_marked_where_a_cache_wants_it(store: Store) -> None:
    with ScriptedServer() as server:
        ask(store, settings_for(server, ANTHROPIC))
        ask(store, settings_for(server, OPENAI))
        marked, plain = (asked.body for asked in server.requests)
    assert marked["system"][-1]["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in str(plain) and server.requests[1].system == "You observe."


@pytest.mark.parametrize(("role", "count"), [("observer", 2), ("dropper", 2), ("digester", 1), ("judge", 1)])
def test_the_first_message_is_marked_where_later_turns_send_it_again(store: Store, role: str, count: int) -> None:
    with ScriptedServer() as server:
        ask(store, settings_for(server, ANTHROPIC), role=role)
        (asked,) = server.requests
    assert str(asked.body).count("cache_control") == count
    assert ("cache_control" in str(asked.body["messages"][0])) == (count == 2)
    assert asked.messages[0].text == "What happened?"


def test_signed_thinking_goes_back_to_the_model_that_signed_it_only(store: Store) -> None:
    thinking = replace(ANTHROPIC, thinking="high")
    call = ToolCall(id="c1", name="record_observations", arguments="{}")
    with ScriptedServer() as server:
        server.script("observer", Answer(thinking="I think.", calls=[("record_observations", {})]))
        reply = ask(store, settings_for(server, thinking))
        echo = Message(role="assistant", calls=(replace(reply.calls[0], id="c1"),), carried=reply.carried)
        messages = (*request_of().messages, echo, Message(role="tool", text="{}", call_id="c1"))
        ask(store, settings_for(server, thinking), messages=messages)
        unsigned = (messages[0], Message(role="assistant", calls=(call,)), messages[2])
        ask(store, settings_for(server, thinking), messages=unsigned)
        other = replace(thinking, id="claude-sonnet-4-5")
        ask(store, settings_for(server, other), messages=messages)
    bodies = [asked.body for asked in server.requests]
    assert reply.carried["model"] == "anthropic/claude-haiku-4-5"
    assert "I think." in str(bodies[1]["messages"][1]) and "thinking" in bodies[1]
    assert "thinking" not in bodies[2], "Claude would refuse to think on without its own thinking before"
    assert "I think." not in str(bodies[3])


# -- facts ---------------------------------------------------------------------------------------------------------


def test_windows_and_prices_come_from_litellm_with_overrides() -> None:
    mini, unknown = ModelChoice(provider="openai", id="gpt-5-mini"), OPENAI
    assert context_window(mini, Settings(model=mini)) == 272_000
    found = price(mini, Settings(model=mini))
    assert found is not None
    assert (found.input_usd, found.output_usd, found.cached_usd) == pytest.approx((0.25, 2.0, 0.025))
    assert context_window(unknown, Settings(model=unknown)) is None and price(unknown, Settings(model=unknown)) is None
    ours = Settings(
        model=unknown, model_context_tokens=4_096, model_price_input_usd=1.0, model_price_output_usd=2.0,
        model_fallbacks=(mini,),
    )  # fmt: skip
    set_price = price(unknown, ours)
    assert context_window(unknown, ours) == 4_096 and set_price is not None
    assert set_price.cost_usd(1_000_000, 500_000, 400_000) == 2.0
    assert context_window(mini, ours) == 272_000, "a fallback keeps its own"
    assert price(ModelChoice(provider="groq", id="gpt-5-mini"), ours) is None, "another provider's price is no price"


def test_what_was_learned_is_tried_again_after_a_month(store: Store) -> None:
    from minutebook.pipeline import workbook

    now = store.now()
    body = {"refused": {"max_tokens": now - 31 * 86_400, "tools": now - 86_400}, "limits_at": 0.0, "output_tokens": 5}
    workbook.change(store, "model_quirks", "openai/scripted", lambda _: body)
    assert read(store, OPENAI) == Quirks(refused=frozenset({"tools"}))
