"""The scripted model server, asked through the real litellm in both protocols, streaming and not."""

import contextlib
import json
import socket
from collections.abc import Iterator
from types import ModuleType
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
import scripted_faults as faults
from scripted_server import Answer, Fault, ScriptedServer

WAYS = pytest.mark.parametrize(
    ("model", "stream"),
    [
        ("openai/scripted", False),
        ("openai/scripted", True),
        ("anthropic/scripted", False),
        ("anthropic/scripted", True),
    ],
)
USED_CACHE = {"prompt_tokens": 1000, "completion_tokens": 70, "cached_tokens": 400}
RECORD = ("record_observations", {"observations": [{"content": "Übung macht den Meister. " * 9}]})
PLAIN = Answer(text="One note.", calls=[RECORD, ("nothing_to_record", "{half")], usage=USED_CACHE, thinking="Hm.")
Tools = tuple[str, ...] | dict[str, Any]
USER = [{"role": "user", "content": "Port 5433."}]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


class Client:
    """litellm against one server; a stream is put together as its own builder does it."""

    def __init__(self, litellm: ModuleType, url: str) -> None:
        self.litellm, self.url = litellm, url

    def ask(self, model: str = "openai/scripted", *, stream: bool = False, tools: Tools = (), **more: Any) -> Any:
        schemas = tools if isinstance(tools, dict) else {name: {"type": "object"} for name in tools}
        functions = [{"name": name, "description": "", "parameters": schema} for name, schema in schemas.items()]
        given: dict[str, Any] = {"messages": USER, "api_key": "x", "timeout": 20, "max_retries": 0, **more}
        if tools:
            given["tools"] = [{"type": "function", "function": function} for function in functions]
        if stream:
            given |= {"stream": True, "stream_options": {"include_usage": True}}
        reply = self.litellm.completion(model=model, api_base=self.url, **given)
        return self.litellm.stream_chunk_builder(list(reply)) if stream else reply

    def system(self, text: str, **more: Any) -> Any:
        return self.ask(messages=[{"role": "system", "content": text}, *USER], **more)


@pytest.fixture
def client(litellm: ModuleType, server: ScriptedServer) -> Client:
    return Client(litellm, server.url)


def status_of(client: Client, *, model: str = "openai/scripted", stream: bool = False, **more: Any) -> int:
    """The status that litellm's error carries; every fault must end as an error."""
    with pytest.raises(client.litellm.exceptions.openai.APIError) as caught:
        client.ask(model, stream=stream, **more)
    return int(caught.value.status_code)


class TestAnswers:
    @WAYS
    def test_text_calls_thinking_and_usage_arrive(
        self, server: ScriptedServer, client: Client, model: str, stream: bool
    ) -> None:
        server.script("observer", PLAIN)
        reply = client.ask(model, stream=stream, tools=("record_observations", "nothing_to_record"))
        message = reply.choices[0].message
        assert (message.content, message.reasoning_content) == ("One note.", "Hm.")
        assert [call.function.name for call in message.tool_calls] == ["record_observations", "nothing_to_record"]
        assert json.loads(message.tool_calls[0].function.arguments) == RECORD[1]
        assert message.tool_calls[1].function.arguments.strip('"') == "{half"
        assert reply.choices[0].finish_reason == "tool_calls"
        used = reply.usage
        assert (used.prompt_tokens, used.completion_tokens, used.prompt_tokens_details.cached_tokens) == (1000, 70, 400)

    @WAYS
    @pytest.mark.parametrize("finish", ["stop", "length", "content_filter"])
    def test_endings_arrive(
        self, server: ScriptedServer, client: Client, model: str, stream: bool, finish: Any
    ) -> None:
        server.script("other", Answer(text="So far.", finish=finish))
        assert client.ask(model, stream=stream).choices[0].finish_reason == finish

    def test_usage_is_counted_where_the_script_names_none(self, server: ScriptedServer, client: Client) -> None:
        server.script("other", "12345678")
        used = client.ask().usage
        assert (used.prompt_tokens, used.completion_tokens) == (server.requests[0].prompt_tokens, 2)
        assert server.requests[0].prompt_tokens == len("\nPort 5433.{}") // 4

    @WAYS
    def test_a_conversation_with_a_tool_result_is_read_alike(
        self, server: ScriptedServer, client: Client, model: str, stream: bool
    ) -> None:
        tools = ("record_observations",)
        server.script("observer", Answer(calls=[RECORD]), "Done.")
        first = client.ask(model, stream=stream, tools=tools).choices[0].message
        call = first.tool_calls[0]
        answered = [*USER, first.model_dump(), {"role": "tool", "tool_call_id": call.id, "content": "1 recorded"}]
        client.ask(model, stream=stream, tools=tools, messages=[{"role": "system", "content": "Be exact."}, *answered])
        asked = server.requests[1]
        assert (asked.system, [turn.role for turn in asked.messages]) == ("Be exact.", ["user", "assistant", "tool"])
        assert (asked.last.text, asked.last.call_id) == ("1 recorded", call.id)
        assert [(name, json.loads(text)) for _, name, text in asked.messages[1].calls] == [RECORD]
        assert (asked.model, asked.stream, list(asked.tools)) == ("scripted", stream, [*tools])


class TestScripts:
    @pytest.mark.parametrize(
        ("tool", "role"),
        [
            ("record_observations", "observer"),
            ("record_reflections", "reflector"),
            ("record_digest", "digester"),
            ("drop_observations", "dropper"),
            ("rank_records", "judge"),
        ],
    )
    def test_the_tool_tells_the_role(self, server: ScriptedServer, client: Client, tool: str, role: str) -> None:
        server.script(role, f"I am the {role}.")
        assert client.ask(tools=("nothing_to_record", tool)).choices[0].message.content == f"I am the {role}."

    def test_without_tools_the_system_prompt_tells_the_role(self, server: ScriptedServer, client: Client) -> None:
        client.system("You keep notes.\nRole: observer\nBe brief.")
        client.system("The role: observer is not named at the start of a line.")
        assert [asked.role for asked in server.requests] == ["observer", "other"]

    def test_each_role_has_its_own_queue_and_then_a_default(self, server: ScriptedServer, client: Client) -> None:
        server.script("observer", "first", "second")
        server.script("judge", "mine")
        server.defaults["observer"] = "always"
        said = [client.system("Role: observer").choices[0].message.content for _ in range(4)]
        assert said == ["first", "second", "always", "always"]
        assert (server.left("observer"), server.left("judge")) == (0, 1)
        assert len(server.asked("observer")) == 4

    @pytest.mark.parametrize(
        ("work", "ending"), [("record_observations", "nothing_to_record"), ("drop_observations", "no_safe_drops")]
    )
    def test_an_empty_script_takes_the_ending_that_is_offered(self, client: Client, work: str, ending: str) -> None:
        call = client.ask(tools=(work, ending)).choices[0].message.tool_calls[0].function
        assert (call.name, call.arguments) == (ending, "{}")
        assert client.ask(tools=(work,)).choices[0].message.content == "Done."

    def test_a_function_answers_from_the_request(self, server: ScriptedServer, client: Client) -> None:
        server.script("other", lambda asked: f"You said: {asked.last.text}")
        assert client.ask().choices[0].message.content == "You said: Port 5433."

    def test_a_script_that_fails_fails_the_test(self, litellm: ModuleType) -> None:
        own = ScriptedServer()  # closed by the last line
        own.script("other", lambda asked: asked.body["no such key"])
        assert status_of(Client(litellm, own.url)) == 500
        with pytest.raises(AssertionError, match="no such key"):
            own.__exit__(None)

    def test_models_are_listed(self, server: ScriptedServer, client: Client) -> None:
        listed = client.litellm.get_valid_models(
            check_provider_endpoint=True, custom_llm_provider="openai", api_key="x", api_base=server.url
        )
        assert listed == ["scripted"]


class TestFaults:
    @WAYS
    @pytest.mark.parametrize(
        ("fault", "status"),
        [
            (faults.rate_limited(), 429),
            (faults.quota_used_up(), 429),
            (faults.payment_required(), 402),
            (faults.bad_key(), 401),
            (faults.forbidden(), 403),
            (faults.no_such_model(), 404),
            (faults.server_error(), 500),
            (faults.bad_gateway(), 502),
            (faults.unsupported_parameter("temperature"), 400),
            (faults.unknown_schema_keyword("$defs"), 400),
            (faults.content_policy(), 400),
        ],
        ids=lambda value: getattr(value, "message", ""),
    )
    def test_refusals_arrive_with_their_status(
        self, server: ScriptedServer, client: Client, model: str, stream: bool, fault: Fault, status: int
    ) -> None:
        server.script("other", fault)
        assert status_of(client, model=model, stream=stream) == status

    @WAYS
    @pytest.mark.parametrize(
        "fault",
        [
            faults.cut(PLAIN),
            faults.cut(PLAIN, after=2),
            faults.ended_early(PLAIN),
            faults.error_event(PLAIN, after=2),
            faults.reset(),
            faults.reset(PLAIN, after=2),
        ],
        ids=lambda fault: f"{fault.then}-{fault.after}",
    )
    def test_answers_that_break_off_are_errors(
        self, server: ScriptedServer, client: Client, model: str, stream: bool, fault: Fault
    ) -> None:
        server.script("other", fault)
        assert status_of(client, model=model, stream=stream) == 500

    @WAYS
    def test_context_errors_are_told_from_other_400s(
        self, server: ScriptedServer, client: Client, model: str, stream: bool
    ) -> None:
        server.script("other", faults.context_too_long())
        with pytest.raises(client.litellm.ContextWindowExceededError):
            client.ask(model, stream=stream)

    @pytest.mark.parametrize("fault", [faults.quota_page(), faults.empty_body(), faults.half_json()])
    @pytest.mark.parametrize("model", ["openai/scripted", "anthropic/scripted"])
    def test_bodies_that_are_no_answer_are_errors_or_an_empty_stream(
        self, server: ScriptedServer, client: Client, model: str, fault: Fault
    ) -> None:
        server.script("other", fault, fault)
        assert status_of(client, model=model) == 500
        streamed = client.ask(model, stream=True)  # litellm makes an empty answer of it, which ends well
        assert (streamed.choices[0].message.content, streamed.usage.total_tokens) == ("", 0)

    @WAYS
    @pytest.mark.parametrize("after", [0, 2])
    def test_hanging_is_a_timeout_and_closing_ends_it(
        self, litellm: ModuleType, model: str, stream: bool, after: int
    ) -> None:
        with ScriptedServer() as own:
            own.script("other", faults.hanging(PLAIN, after=after))
            assert status_of(Client(litellm, own.url), model=model, stream=stream, timeout=0.2) == 408

    def test_retry_after_is_sent(self, server: ScriptedServer, client: Client) -> None:
        server.script("other", faults.rate_limited("17"))
        with pytest.raises(client.litellm.RateLimitError) as caught:
            client.ask()
        assert caught.value.response.headers["retry-after"] == "17"

    @WAYS
    def test_dripping_arrives_whole(self, server: ScriptedServer, client: Client, model: str, stream: bool) -> None:
        server.script("other", faults.dripping(PLAIN, gap=0.001))
        assert client.ask(model, stream=stream).choices[0].message.content == "One note."

    def test_repetition_ends_at_the_output_limit(self, server: ScriptedServer, client: Client) -> None:
        server.script("other", faults.repeating("again\n", times=500), faults.thought_only())
        said, thought = client.ask().choices[0], client.ask().choices[0]
        assert (said.message.content.count("again"), said.finish_reason) == (500, "length")
        assert (thought.message.content, thought.finish_reason) == (None, "length")

    def test_faults_that_depend_on_the_request(self, server: ScriptedServer, client: Client) -> None:
        server.defaults["other"] = faults.without_parameter("temperature", faults.within_window(50, "It fits."))
        assert status_of(client, temperature=0.5) == 400
        assert status_of(client, messages=[{"role": "user", "content": "x" * 400}]) == 400
        assert client.ask().choices[0].message.content == "It fits."

    def test_a_schema_keyword_is_refused_at_any_depth(self, server: ScriptedServer, client: Client) -> None:
        server.defaults["observer"] = faults.without_keyword("anyOf", "Fine.")
        deep = {"type": "object", "properties": {"a": {"type": "array", "items": {"anyOf": [{"type": "string"}]}}}}
        assert status_of(client, tools={"record_observations": deep}) == 400
        assert client.ask(tools=("record_observations",)).choices[0].message.content == "Fine."


class TestStrictness:
    def test_a_call_without_its_result_is_refused(self, server: ScriptedServer, client: Client) -> None:
        server.script("other", "unused")
        function = {"name": "record_observations", "arguments": "{}"}
        call = {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": function}]}
        result = {"role": "tool", "content": "ok"}
        assert status_of(client, messages=[*USER, call]) == 400
        assert status_of(client, messages=[*USER, call, *USER]) == 400
        assert status_of(client, messages=[*USER, call, {**result, "tool_call_id": "c2"}]) == 400
        assert status_of(client, messages=[*USER, {**result, "tool_call_id": "c1"}]) == 400
        assert (server.left("other"), len(server.requests)) == (1, 4)
        ok = client.ask(messages=[*USER, call, {**result, "tool_call_id": "c1"}])
        assert ok.choices[0].message.content == "unused"

    def test_no_key_is_refused(self, server: ScriptedServer) -> None:
        body = json.dumps({"model": "scripted", "messages": USER}).encode()
        with pytest.raises(HTTPError, match="401") as caught:
            urlopen(Request(f"{server.url}/chat/completions", body))
        caught.value.close()

    def test_nothing_is_left_open(self) -> None:
        with ScriptedServer() as own:
            address = ("127.0.0.1", int(own.url.removesuffix("/v1").rpartition(":")[2]))
            idle = socket.create_connection(address)
        with idle, contextlib.suppress(ConnectionResetError):
            assert idle.recv(1) == b""
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address)
