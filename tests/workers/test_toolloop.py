"""The conversation of one run: every way in which a model can answer has a defined end."""

import json
from dataclasses import replace
from typing import Any

import pytest
from conversing import CHOICE, DONE, Script, answer

from minutebook.errors import ProviderFailed, SpanFailed
from minutebook.tokens import estimate_tokens
from minutebook.workers.contract import Proposal
from minutebook.workers.desks import Call, RoleDesk, text_field
from minutebook.workers.exchange import Message, Request
from minutebook.workers.repetition import repeats_without_end
from minutebook.workers.roletools import dropper_tools, observer_tools
from minutebook.workers.salvaging import NotJson, read_json
from minutebook.workers.toolloop import run

RECORD, NOTHING = "record_observations", "nothing_to_record"


class Desk(RoleDesk):
    """Keeps contents; refuses what has none, or "bad"."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[Proposal] = []

    @property
    def contents(self) -> list[str]:
        return [each["content"] for each in self.kept]

    def take(self, proposal: Proposal, call: Call) -> bool:
        content = text_field(proposal, "content")
        if content in self.contents:
            return False
        self.kept.append(proposal)
        return True


def seen(content: str, **fields: Any) -> dict[str, Any]:
    return {"content": content, "timestamp": "2026-05-02 10:30", "relevance": "low", "sources": ["s1"], **fields}


def record(*contents: str) -> tuple[str, Any]:
    return RECORD, {"observations": [seen(content) for content in contents]}


def converse(*said: Any, max_turns: int = 16, tools_supported: bool = True) -> tuple[Desk, Script]:
    desk, script = Desk(), Script(*said)
    held(desk, script, max_turns=max_turns, tools_supported=tools_supported)
    return desk, script


def held(desk: Desk, script: Script, *, max_turns: int = 16, tools_supported: bool = True) -> None:
    tools = observer_tools(desk)
    request = Request(
        role="observer",
        session="s",
        branch="b",
        choice=CHOICE,
        system="rules",
        messages=(Message(role="user", text="sources"),),
        tools=tuple(tool.spec for tool in tools) if tools_supported else (),
    )
    run(script, request, tools, max_turns=max_turns)


# -- ends ----------------------------------------------------------------------------------------------------------


def test_calls_are_answered_until_the_model_stops() -> None:
    desk, script = converse(answer(record("one", "two")), answer(record("two", "three"), text="more"), DONE)
    assert desk.contents == ["one", "two", "three"]
    assert script.receipts() == [
        {"recorded": 2, "duplicate": 0, "total": 2},
        {"recorded": 1, "duplicate": 1, "total": 3},
    ]
    first, *_, last = script.requests
    assert [message.role for message in last.messages] == ["user", "assistant", "tool", "assistant", "tool"]
    assert last.messages[0] == first.messages[0] and last.system == first.system and last.tools == first.tools
    assert [message.call_id for message in last.messages if message.role == "tool"] == ["c0", "c0"]


def test_ten_calls_in_one_turn_are_handled_one_after_another() -> None:
    desk, script = converse(answer(*(record(f"fact {n}") for n in range(10))), DONE)
    assert desk.contents == [f"fact {n}" for n in range(10)]
    assert [receipt["total"] for receipt in script.receipts()] == list(range(1, 11))
    assert [message.call_id for message in script.requests[-1].messages[2:]] == [f"c{n}" for n in range(10)]


def test_the_explicit_nothing_ends_the_run_at_once_003_009() -> None:
    desk, script = converse(answer((NOTHING, "")))
    assert desk.said_nothing and len(script.requests) == 1


def test_an_ending_beside_a_recording_ends_too() -> None:
    desk, script = converse(answer((NOTHING, {}), record("one")))
    assert desk.contents == ["one"] and len(script.requests) == 1


def test_an_ending_holds_only_where_nothing_was_refused() -> None:
    """The model gets one more turn for what it wanted to record; the ending then counts when it says it again."""
    desk, script = converse(answer(record(""), (NOTHING, {})), answer(record("mended")), DONE)
    assert desk.contents == ["mended"] and not desk.said_nothing
    assert "not ended" in script.receipts()[1]["error"]


def test_no_safe_drops_is_an_ending_003_046() -> None:
    desk = Desk()
    request = Request(role="dropper", session="", branch="", choice=CHOICE, system="", messages=())
    run(Script(answer(("no_safe_drops", {}))), request, dropper_tools(desk), max_turns=4)
    assert desk.said_nothing


@pytest.mark.parametrize("text", ["", "I have nothing to record.", "Sorry, I can't use tools. {not json"])
def test_prose_ends_the_run_with_nothing_said_003_010(text: str) -> None:
    desk, script = converse(answer(text=text))
    assert len(script.requests) == 1 and not desk.kept and not desk.said_nothing
    with pytest.raises(SpanFailed) as failure:
        desk.check_end("an observation")
    assert failure.value.reason == "nothing_called"


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        (answer(record("late"), ended="length"), "cut"),
        (answer(text="I can't help with that", ended="refused"), "refused"),
        (answer(text="word " * 2000), "rubbish"),
        (answer((RECORD, '{"observations": [{"content": "' + "la " * 3000)), "rubbish"),
        (replace(DONE, ended="tool_calls"), "nothing_called"),
    ],
)
def test_an_answer_that_is_no_whole_one_fails_the_span_003_011_012_026_046(last: Any, reason: str) -> None:
    desk, script = Desk(), Script(answer(record("one")), last)
    with pytest.raises(SpanFailed) as failure:
        held(desk, script)
    assert failure.value.reason == reason and len(script.requests) == 2
    assert desk.contents == ["one"], "nothing of the broken answer; the role throws the desk away"


def test_a_model_that_never_stops_is_cut_after_so_many_replies_003_011_129() -> None:
    script = Script(answer(record("again")))
    with pytest.raises(SpanFailed, match="agent_max_turns = 4") as failure:
        held(Desk(), script, max_turns=4)
    assert failure.value.reason == "turn_cap" and len(script.requests) == 4


def test_a_stop_in_the_last_turn_is_a_stop_003_129() -> None:
    desk, script = converse(answer(record("one")), DONE, max_turns=2)
    assert desk.contents == ["one"] and len(script.requests) == 2


@pytest.mark.parametrize("failure", [ProviderFailed("down", reason="server"), SpanFailed("long", reason="too_long")])
def test_what_asking_raises_passes_through(failure: Exception) -> None:
    with pytest.raises(type(failure)) as raised:
        converse(answer(record("one")), failure)
    assert raised.value is failure


# -- calls that are wrong ------------------------------------------------------------------------------------------


def test_an_unknown_tool_is_answered_with_the_known_ones_and_counts_as_a_turn() -> None:
    desk, script = converse(answer(("save_memory", {})), answer(record("one")), DONE, max_turns=3)
    assert desk.contents == ["one"]
    assert script.receipts()[0]["error"] == (
        "there is no tool 'save_memory'; the tools are record_observations, nothing_to_record"
    )


@pytest.mark.parametrize("name", ["functions.record_observations", "default_api:record_observations"])
def test_a_prefixed_name_is_known(name: str) -> None:
    desk, script = converse(answer((name, record("one")[1])), DONE)
    assert desk.contents == ["one"]
    assert script.requests[-1].messages[1].calls[0].name.replace("_", "").isalnum()


@pytest.mark.parametrize("arguments", ["", "oops", '{"observations": [{"content": "one", "sou', '{"observations": 7}'])
def test_unreadable_arguments_get_a_receipt_and_another_turn(arguments: str) -> None:
    desk, script = converse(answer((RECORD, arguments)), answer(record("one")), DONE)
    assert desk.contents == ["one"]
    first = script.receipts()[0]["error"]
    assert "JSON" in first or first.startswith("observations: must be a list")
    for call in script.requests[-1].messages[1].calls:
        assert isinstance(json.loads(call.arguments), dict), "providers refuse other arguments in a history"


def test_wrong_items_are_refused_alone_with_their_field_003_014() -> None:
    desk, script = converse(answer((RECORD, {"observations": [seen("one"), {"content": 7}, "x", seen("two")]})), DONE)
    assert desk.contents == ["one", "two"]
    refused = script.receipts()[0]["refused"]
    assert [why.split(":")[0] for why in refused] == ["proposal 2", "proposal 3"] and "content" in refused[0]


@pytest.mark.parametrize(
    "given",
    [
        {"observations": seen("one")},
        [seen("one")],
        seen("one"),
        {"observations": json.dumps([seen("one")])},
        {"observations": [json.dumps(seen("one"))]},
        json.dumps(record("one")[1]),
        "Here it is:\n```json\n" + json.dumps(record("one")[1], indent=1) + "\n```\nThat's all.",
        "{}" + json.dumps(record("one")[1]),
        json.dumps(record("one")[1]) + "}</tool_call>",
    ],
)
def test_what_is_plainly_meant_is_taken(given: Any) -> None:
    desk, _ = converse(answer((RECORD, given)), DONE)
    assert desk.kept == [seen("one")]


@pytest.mark.parametrize(("given", "taken"), [("s1", ["s1"]), ("s1, s2", ["s1", "s2"]), (["s1"], ["s1"])])
def test_one_source_in_place_of_a_list_is_taken(given: Any, taken: list[str]) -> None:
    desk, _ = converse(answer((RECORD, {"observations": [seen("one", sources=given, supersedes=None)]})), DONE)
    assert desk.kept[0]["sources"] == taken and desk.kept[0]["supersedes"] == []


def test_an_empty_list_is_no_word_for_nothing() -> None:
    desk, script = converse(answer((RECORD, {"observations": []})), DONE)
    assert "empty" in script.receipts()[0]["error"] and not desk.said_nothing


def test_ids_of_calls_that_are_missing_or_double_are_made() -> None:
    twice = answer(record("one"), record("two"))
    script = Script(replace(twice, calls=tuple(replace(call, id="") for call in twice.calls)), DONE)
    held(Desk(), script)
    _, said, *receipts = script.requests[-1].messages
    assert [call.id for call in said.calls] == [message.call_id for message in receipts] == ["call_1_1", "call_1_2"]


def test_a_receipt_stays_short() -> None:
    _, script = converse(answer((RECORD, {"observations": [{"content": n} for n in range(500)]})), DONE)
    receipt = script.receipts()[0]
    assert receipt["refused"][-1] == "and 480 more" and estimate_tokens(json.dumps(receipt)) < 600


# -- models without tool calling -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"tool": RECORD, "arguments": record("one")[1]}),
        json.dumps({"name": RECORD, "parameters": record("one")[1]}),
        json.dumps({RECORD: record("one")[1]}),
        json.dumps(record("one")[1]),
        "Sure!\n```json\n" + json.dumps({"tool": RECORD, "arguments": record("one")[1]}) + "\n```",
        "<tool_call>" + json.dumps({"name": RECORD, "arguments": json.dumps(record("one")[1])}) + "</tool_call>",
    ],
)
@pytest.mark.parametrize("tools_supported", [True, False])
def test_a_call_as_text_is_a_call_and_the_stop_is_the_end(text: str, tools_supported: bool) -> None:
    desk, script = converse(answer(text=text), tools_supported=tools_supported)
    assert desk.contents == ["one"] and len(script.requests) == 1


def test_an_ending_as_text_ends() -> None:
    desk, _ = converse(answer(text='{"tool": "nothing_to_record", "arguments": {}}'), tools_supported=False)
    assert desk.said_nothing


def test_a_refused_call_as_text_gets_a_receipt_in_a_user_message() -> None:
    bad = answer(text=json.dumps({"tool": RECORD, "arguments": {"observations": [seen("")]}}))
    desk, script = converse(bad, answer(text=json.dumps(record("one")[1])), tools_supported=False)
    assert desk.contents == ["one"]
    _, said, receipt = script.requests[-1].messages
    assert (said.role, said.text, receipt.role) == ("assistant", bad.text, "user")
    assert "proposal 1: content" in receipt.text


@pytest.mark.parametrize("text", ['{"tool": "record_observations", "argu', '{"answer": 42}', '{"tool": "x"}'])
def test_json_that_is_no_call_gets_another_turn_where_json_is_expected(text: str) -> None:
    desk, script = converse(answer(text=text), answer(text=json.dumps(record("one")[1])), tools_supported=False)
    assert desk.contents == ["one"] and "Receipt" in script.requests[-1].messages[-1].text


def test_prose_with_braces_is_prose_where_tools_are_there() -> None:
    desk, script = converse(answer(record("one")), answer(text='I recorded {"recorded": 1} things in {braces}.'))
    assert desk.contents == ["one"] and len(script.requests) == 2


# -- reading JSON --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        "prose",
        '{"a": [{"b": 1}, {"c":',  # the whole object inside a broken one is not the answer
        '{"a": 1} or {"a": 2}',
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"a": ' + "9" * 5000 + "}",
    ],
)
def test_what_is_broken_or_ambiguous_is_not_read(text: str) -> None:
    with pytest.raises(NotJson):
        read_json(text)


def test_lone_surrogates_and_nul_do_not_come_through() -> None:
    assert read_json('{"a": "x\\ud800y\\u0000", "b": ["\\ud83d\\ude00"]}') == {"a": "x?y?", "b": ["😀"]}


def test_line_breaks_within_strings_are_read() -> None:
    assert read_json('{"a": "one\ntwo"}') == {"a": "one\ntwo"}


# -- repetition ----------------------------------------------------------------------------------------------------

PERIOD_OF_21 = "".join(f"2026-05-02 10:{n:02} worker {n} retries the connection to db-{n}\n" for n in range(21))
PROSE = " ".join(f"Sentence {n} says that the value of key {n * 7919 % 1009} is {n * 31}." for n in range(400))


@pytest.mark.parametrize(
    ("text", "endless"),
    [
        (PERIOD_OF_21 * 3, False),
        (PERIOD_OF_21 * 19, False),
        (PERIOD_OF_21 * 24, True),
        ('{"observations": [{"content": "the log says: ' + PERIOD_OF_21 * 5 + '"}]}', False),
        ("connection refused\n" * 50, False),
        ("connection refused\n" * 500, True),
        ("=" * 3_999, False),
        ("=" * 4_000, True),
        (PROSE, False),
        (PROSE + "and so on " * 100, False),
        (PROSE[:3000] + "and so on " * 5_000, True),
        ("and so on " * 5_000 + PROSE[:3000], True),
        ("\n" * 30_000, True),
        (json.dumps([seen(f"fact {n}") for n in range(200)]), False),
        (json.dumps([seen("fact")] * 200), True),
    ],
)
def test_repetition_without_end_is_told_from_honest_logs(text: str, endless: bool) -> None:
    assert repeats_without_end(text) is endless
