"""A model without an API key: `host:claude` and `host:codex`; here with small programs instead of the real."""

import json
from pathlib import Path

import pytest
from hostmodels import CLAUDE, RESULT, TURN, Install, saying, settings
from modelkit import ask

from minutebook.records import Branch
from minutebook.settings import ModelChoice
from minutebook.settings_rules import MODEL, Refused
from minutebook.store.kernel import Store
from minutebook.workers import models_codex
from minutebook.workers.choosing import mind_for
from minutebook.workers.contract import ReflectBatch
from minutebook.workers.desks import RoleDesk
from minutebook.workers.exchange import Message
from minutebook.workers.models_accounts import accounts
from minutebook.workers.models_hosts import prompt_of
from minutebook.workers.models_process import Finished
from minutebook.workers.models_said import HostFailed, failure_of

# -- the setting ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("host:claude", CLAUDE),
        ("host/claude", CLAUDE),
        ("host:codex@high", ModelChoice(provider="host", id="codex", thinking="high")),
        ("host:claude/sonnet", ModelChoice(provider="host", id="claude/sonnet")),
        ("host:codex/gpt-5.5@off", ModelChoice(provider="host", id="codex/gpt-5.5", thinking="off")),
    ],
)
def test_a_program_is_named_like_a_model(text: str, choice: ModelChoice) -> None:
    assert MODEL.check(text) == choice
    assert MODEL.check(str(choice)) == choice, "what is shown can be written"


@pytest.mark.parametrize("text", ["host:vim", "host:", "host:claude/", "host:claude/--tools=Bash", "host:claude/a b"])
def test_another_program_or_an_option_in_the_place_of_a_model_is_refused(text: str) -> None:
    with pytest.raises(Refused):
        MODEL.check(text)


# -- an answer -----------------------------------------------------------------------------------------------------


def test_claude_answers_and_is_accounted_as_it_reports(store: Store, install: Install) -> None:
    """No tool is offered, the prompt goes in on stdin, cached tokens are part of the input."""
    seen = install("claude", f'printf "%s\\n" "$@" > $SEEN/argv; env > $SEEN/env; pwd > $SEEN/pwd\n{saying(RESULT)}')
    reply = ask(store, settings(), tools=())
    assert (reply.text, reply.ended, reply.model, reply.calls) == ("It rained.", "stop", "host/claude", ())
    (line,) = accounts(store)
    assert (line.model, line.requests, line.unpriced) == ("host/claude", 1, 0)
    assert (line.input_tokens, line.cached_tokens, line.output_tokens, line.cost_usd) == (327, 300, 5, 0.25)
    assert (seen / "stdin").read_text() == "What happened?"
    argv = (seen / "argv").read_text()
    assert "What happened?" not in argv and "You observe." not in argv, "neither prompt is to be seen by `ps`"
    environ = dict(line.split("=", 1) for line in (seen / "env").read_text().splitlines() if "=" in line)
    assert environ["MINUTEBOOK_OFF"] == "1"
    folder = Path((seen / "pwd").read_text().strip())
    assert folder.name == "empty" and not list(folder.iterdir()) and folder.stat().st_mode & 0o777 == 0o700
    system = folder.parent / "system.md"
    assert system.read_text() == "You observe." and system.stat().st_mode & 0o777 == 0o600


def test_codex_answers_and_its_servers_are_switched_off_by_name(store: Store, install: Install, tmp_path: Path) -> None:
    seen = install("codex", f'printf "%s\\n" "$@" > $SEEN/argv\n{saying(*TURN)}')
    config = tmp_path / "home" / ".codex" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[mcp_servers.one]\ncommand = "x"\n[mcp_servers."odd name"]\ncommand = "y"\n')
    reply = ask(store, settings(ModelChoice(provider="host", id="codex/gpt-5.5", thinking="high")), tools=())
    assert (reply.text, reply.model) == ("It rained.", "host/codex/gpt-5.5")
    (line,) = accounts(store)
    assert (line.input_tokens, line.cached_tokens, line.output_tokens, line.unpriced) == (1000, 300, 50, 1)
    argv = (seen / "argv").read_text().splitlines()
    assert 'mcp_servers={"one" = { enabled = false }, "odd name" = { enabled = false }}' in argv
    assert {"--ephemeral", "read-only", "features.hooks=false", "gpt-5.5", 'model_reasoning_effort="high"'} <= {*argv}
    assert argv[-1] == "-" and (seen / "stdin").read_text() == "What happened?"


@pytest.mark.parametrize(
    ("own", "switched_off"),
    [
        (None, {}),
        ("not json", {}),
        ("[]", {}),
        ('{"enabledPlugins": 3}', {}),
        ('{"enabledPlugins": {"om@minutebook": true}, "hooks": {}}', {"om@minutebook": False}),
    ],
)
def test_plugins_of_claude_are_switched_off_by_name(
    store: Store, install: Install, tmp_path: Path, own: str | None, switched_off: dict[str, bool]
) -> None:
    seen = install("claude", f'printf "%s\\n" "$@" > $SEEN/argv\n{saying(RESULT)}')
    if own is not None:
        (tmp_path / "home" / ".claude").mkdir(parents=True)
        (tmp_path / "home" / ".claude" / "settings.json").write_text(own)
    ask(store, settings(), tools=())
    argv = (seen / "argv").read_text().splitlines()
    over = json.loads(argv[argv.index("--settings") + 1])
    assert over == {"disableAllHooks": True, "enabledPlugins": switched_off}


def test_nothing_of_the_session_whose_hook_started_the_worker_is_handed_on(
    store: Store, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The login may stand in the environment, and stays; what belongs to one session does not."""
    kept = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "CLAUDE_CODE_OAUTH_TOKEN": "t", "CLAUDE_CODE_USE_BEDROCK": "1"}
    gone = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s", "CLAUDE_PROJECT_DIR": "/p", "CODEX_THREAD_ID": "t"}
    for name, value in {**kept, **gone}.items():
        monkeypatch.setenv(name, value)
    seen = install("claude", f"env > $SEEN/env\n{saying(RESULT)}")
    ask(store, settings(), tools=())
    names = {line.partition("=")[0] for line in (seen / "env").read_text().splitlines()}
    assert kept.keys() <= names and not gone.keys() & names


def test_a_conversation_goes_as_one_text() -> None:
    messages = [
        Message(role="user", text="Sources"),
        Message(role="assistant", text="{"),
        Message(role="user", text="R"),
    ]
    assert prompt_of(messages) == "Sources\n\n# Your answer\n{\n\n# Next\nR"
    assert prompt_of([Message(role="user", text="half \ud83d")]) == "half �"


def test_a_whole_run_ends_by_a_call_that_was_written_as_text(store: Store, install: Install, tmp_path: Path) -> None:
    """A model without tools is told how to call in its system prompt."""
    seen = install("claude", saying({**RESULT, "result": '{"tool": "nothing_to_record", "arguments": {}}'}))
    branch = Branch(key="claude_code:s@main", host="claude_code", session="s", lineage="claude_code:s")
    desk = RoleDesk()
    mind_for("reflector", settings(), branch, store).reflect(ReflectBatch(reflections=(), observations=()), desk)
    assert desk.said_nothing
    system = tmp_path / "data" / "host-models" / "system.md"
    assert "You cannot call tools here" in system.read_text() and (seen / "stdin").read_text()
    (line,) = accounts(store)
    assert (line.session, line.role) == ("claude_code:s", "reflector")


# -- what was said, pure -------------------------------------------------------------------------------------------


def test_an_unknown_status_without_words_counts() -> None:
    assert failure_of("…", 403).kind == "auth"
    assert failure_of("…", 418).kind == "bad_request"
    assert failure_of("…").kind == "server"


def test_a_codex_turn_without_a_message_is_no_answer() -> None:
    output = "\n".join(json.dumps(event) for event in (TURN[0], TURN[3]))
    with pytest.raises(HostFailed):
        models_codex.said(Finished(output=output, errors="", status=0))


def test_odd_configurations_of_codex_name_no_servers(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    for text in ("not toml [", "mcp_servers = 3", ""):
        config.write_text(text)
        assert models_codex.servers(config) == ()
    assert models_codex.servers(tmp_path / "none.toml") == ()
