"""A model without an API key: `host:claude` and `host:codex`; here with small programs instead of the real."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from modelkit import ask

from minutebook.errors import ProviderFailed, SpanFailed
from minutebook.pipeline.notices import read_notices
from minutebook.records import Branch
from minutebook.settings import ModelChoice, Settings
from minutebook.settings_rules import MODEL, Refused
from minutebook.store.kernel import Store
from minutebook.workers import models_codex, models_cooldowns
from minutebook.workers.choosing import mind_for
from minutebook.workers.contract import ReflectBatch
from minutebook.workers.desks import RoleDesk
from minutebook.workers.exchange import Message
from minutebook.workers.models_accounts import accounts
from minutebook.workers.models_hosts import prompt_of
from minutebook.workers.models_process import Finished
from minutebook.workers.models_report import probes, read_report
from minutebook.workers.models_said import HostFailed, failure_of

CLAUDE = ModelChoice(provider="host", id="claude")
CODEX = ModelChoice(provider="host", id="codex")
RESULT = {
    "type": "result",
    "is_error": False,
    "result": "It rained.",
    "stop_reason": "end_turn",
    "total_cost_usd": 0.25,
    "usage": {
        "input_tokens": 7,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 300,
        "output_tokens": 5,
    },
}
TURN = [
    {"type": "thread.started", "thread_id": "t"},
    {"type": "item.completed", "item": {"type": "error", "message": "a setting is ignored"}},
    {"type": "item.completed", "item": {"type": "agent_message", "text": "It rained."}},
    {"type": "turn.completed", "usage": {"input_tokens": 1000, "cached_input_tokens": 300, "output_tokens": 50}},
]
Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts a program of the name on the PATH, which alone holds it; returns the folder that it may write to."""
    bin_folder, seen = tmp_path / "bin", tmp_path / "seen"
    bin_folder.mkdir()
    seen.mkdir()
    monkeypatch.setenv("PATH", f"{bin_folder}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MINUTEBOOK_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("CODEX_HOME", raising=False)

    def put(name: str, body: str) -> Path:
        path = bin_folder / name
        path.write_text(f"#!/bin/sh\nSEEN={seen}\n{body}\n")
        path.chmod(0o755)
        return seen

    return put


def saying(*values: object) -> str:
    """A program that reads its input, then prints these lines of JSON."""
    lines = "\n".join(json.dumps(value) for value in values)
    return f"cat > $SEEN/stdin\ncat <<'END'\n{lines}\nEND\n"


def settings(choice: ModelChoice = CLAUDE, **more: object) -> Settings:
    return Settings(**{"model": choice, "model_tries": 1, "model_cooldown_seconds": 0, **more})  # type: ignore[arg-type]


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


# -- failures ------------------------------------------------------------------------------------------------------


def failed(result: str, status: int | None = None) -> dict[str, object]:
    return {**RESULT, "is_error": True, "result": result, "stop_reason": "stop_sequence", "api_error_status": status}


@pytest.mark.parametrize(
    ("result", "reason", "advice"),
    [
        (failed("Not logged in · Please run /login"), "auth", "start `claude` once and log in"),
        (failed("Invalid API key · Fix external API key", 401), "auth", "log in"),
        (failed("You've hit your session limit · resets 3pm", 429), "quota", "limit of its plan"),
        (failed("Credit balance is too low", 400), "quota", "limit of its plan"),
        (failed("API Error: Request rejected (429) · rate limited", 429), "rate", "tried again by itself"),
        (failed("API Error: 529 Overloaded. This is a server-side issue", 529), "server", "tried again by itself"),
        (failed("There's an issue with the selected model (nope).", 404), "unknown_model", "the model after the slash"),
        (failed("API Error: Connection refused (ECONNREFUSED)"), "network", "`claude` itself works"),
        (failed("API Error: something new"), "server", "tried again by itself"),
    ],
)
def test_what_claude_says_is_told_apart(
    store: Store, install: Install, result: object, reason: str, advice: str
) -> None:
    install("claude", f"{saying(result)}exit 1")
    with pytest.raises(ProviderFailed, match=advice) as error:
        ask(store, settings(), tools=())
    assert error.value.reason == reason
    (notice,) = read_notices(store)
    assert notice.text.startswith("host/claude cannot be asked")


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("unexpected status 401 Unauthorized: Incorrect API key provided", "auth"),
        ("Missing environment variable: `OPENAI_API_KEY`.", "auth"),
        ("You’ve hit your usage limit. Upgrade to Pro or try again later.", "quota"),
        ("Quota exceeded. Check your plan and billing details.", "quota"),
        ("exceeded retry limit, last status: 429 Too Many Requests", "rate"),
        ("unexpected status 503 Service Unavailable: overloaded, url: http://x", "server"),
        ("The model `nope` does not exist", "unknown_model"),
        ("stream disconnected before completion: error sending request", "network"),
    ],
)
def test_what_codex_says_is_told_apart(store: Store, install: Install, message: str, reason: str) -> None:
    install("codex", f"{saying(TURN[0], {'type': 'turn.failed', 'error': {'message': message}})}exit 1")
    with pytest.raises(ProviderFailed) as error:
        ask(store, settings(CODEX), tools=())
    assert error.value.reason == reason


def test_what_is_the_fault_of_the_span_is_not_the_programs(store: Store, install: Install) -> None:
    install("claude", saying(failed("Prompt is too long · the request is ~210000 tokens (limit 200000)", 400)))
    with pytest.raises(SpanFailed) as error:
        ask(store, settings(), tools=())
    assert error.value.reason == "too_long"
    too_much = "API Error: Claude's response exceeded the 32000 output token maximum. To configure this …"
    for result, ended in ((failed(too_much), "length"), ({**RESULT, "stop_reason": "refusal"}, "refused")):
        install("claude", saying(result))
        assert ask(store, settings(), tools=()).ended == ended, "the tool loop says what that means"


@pytest.mark.parametrize("name", ["claude", "codex"])
@pytest.mark.parametrize(
    ("body", "reason", "said"),
    [
        ("cat >/dev/null; echo rubbish", "server", "without an answer that can be read"),
        ("exit 0", "server", "without an answer that can be read"),
        ('echo \'{"type":"result"\'; exit 0', "server", "without an answer"),
        ("kill -9 $$", "server", "ended by signal 9"),
        ("echo \"error: unknown option '--tools'\" >&2; exit 1", "bad_request", "unknown option"),
        ("head -c 3000000 /dev/zero | tr '\\0' x >&2; exit 1", "server", "status 1"),
    ],
)
def test_rubbish_and_a_killed_program_are_failures_of_it(
    store: Store, install: Install, name: str, body: str, reason: str, said: str
) -> None:
    install(name, body)
    with pytest.raises(ProviderFailed, match=said) as error:
        ask(store, settings(ModelChoice(provider="host", id=name)), tools=())
    assert error.value.reason == reason
    assert len(str(error.value)) < 600, "however much the program wrote"


def test_one_that_is_not_installed_is_named_with_what_to_do(store: Store, install: Install) -> None:
    (report,) = read_report(store, settings(CODEX)).models
    assert report.missing == "the program `codex` is not installed, or not on the PATH of the worker"
    with pytest.raises(ProviderFailed, match=r"`codex` is not installed.*start `codex` once and log in") as error:
        ask(store, settings(CODEX), tools=())
    assert error.value.reason == "auth"
    install("codex", "exit 0")
    (report,) = read_report(store, settings(CODEX)).models
    assert (report.missing, report.how, report.tools) == ("", "login", False)


def test_one_that_cannot_be_started_is_no_crash(store: Store, install: Install, tmp_path: Path) -> None:
    install("claude", "")
    (tmp_path / "bin" / "claude").write_bytes(b"\x7fELF rubbish")
    with pytest.raises(ProviderFailed, match="`claude` could not be started"):
        ask(store, settings(), tools=())


def test_a_folder_that_cannot_be_written_is_no_crash(store: Store, install: Install, tmp_path: Path) -> None:
    install("claude", saying(RESULT))
    (tmp_path / "data").write_text("a file in the place of the folder")
    with pytest.raises(ProviderFailed, match="host-models"):
        ask(store, settings(), tools=())


def test_after_a_failure_it_rests_and_a_fallback_is_asked(store: Store, install: Install) -> None:
    install("claude", saying(failed("You've hit your weekly limit")))
    install("codex", saying(*TURN))
    given = settings(model_fallbacks=(CODEX,), model_cooldown_seconds=60)
    assert ask(store, given, tools=()).model == "host/codex"
    cooldown = models_cooldowns.resting(store, CLAUDE)
    assert cooldown is not None and cooldown.kind == "quota"
    (notice,) = read_notices(store)
    assert "host/codex is asked instead" in notice.text


def test_a_busy_one_is_tried_again(store: Store, install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minutebook.workers.models_call.WAIT_FIRST_SECONDS", 0.0)
    overloaded = saying(failed("API Error: 529 Overloaded", 529))
    install("claude", f"if test -e $SEEN/again; then\n{saying(RESULT)}\nelse touch $SEEN/again\n{overloaded}\nfi")
    assert ask(store, settings(model_tries=2), tools=()).text == "It rained."


def test_one_that_takes_too_long_is_killed_with_all_that_it_started(store: Store, install: Install) -> None:
    seen = install("claude", "sleep 600 & echo $! > $SEEN/child; echo $$ > $SEEN/parent; wait")
    with pytest.raises(ProviderFailed, match="no whole answer within 1 s") as error:
        ask(store, settings(model_timeout_seconds=1), tools=())
    assert error.value.reason == "network"
    for name in ("child", "parent"):
        assert not _runs(int((seen / name).read_text())), name


def test_what_a_program_leaves_behind_is_ended_too(store: Store, install: Install) -> None:
    seen = install("claude", f"sleep 600 >/dev/null 2>&1 & echo $! > $SEEN/child\n{saying(RESULT)}")
    assert ask(store, settings(), tools=()).text == "It rained."
    assert not _runs(int((seen / "child").read_text()))


def test_a_worker_that_leaves_takes_its_program_along(tmp_path: Path) -> None:
    """Its threads are not waited for: the job was released, and is done again."""
    script = (
        "import os, threading, time\nfrom pathlib import Path\n"
        "from minutebook.workers.models_process import run_program\n"
        f"pid = Path({str(tmp_path / 'pid')!r})\n"
        "more = {'given': '', 'folder': Path('/'), 'environ': os.environ, 'timeout_seconds': 600}\n"
        "argv = ['/bin/sh', '-c', f'echo $$ > {pid}; exec sleep 600']\n"
        "threading.Thread(target=run_program, args=(argv,), kwargs=more, daemon=True).start()\n"
        "while not pid.exists() or not pid.read_text().strip(): time.sleep(0.01)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
    assert not _runs(int((tmp_path / "pid").read_text()))


def _runs(pid: int) -> bool:
    """Whether it is there, and no corpse that nobody has collected yet."""
    ends_at = time.monotonic() + 5
    while time.monotonic() < ends_at:
        try:
            state = (
                Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] if sys.platform == "linux" else ""
            )
            os.kill(pid, 0)
        except OSError:
            return False
        if state == "Z":
            return False
        time.sleep(0.05)
    return True


def test_one_request_at_a_time(store: Store, install: Install) -> None:
    """Two at once would find the other's mark. A second worker process holds the same file."""
    busy = "mkdir $SEEN/busy 2>/dev/null || touch $SEEN/two-at-once\nsleep 0.2\nrmdir $SEEN/busy"
    seen = install("claude", f"{saying(RESULT)}{busy}")
    threads = [threading.Thread(target=lambda: ask(store, settings(), tools=())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not (seen / "two-at-once").exists()
    (line,) = accounts(store)
    assert line.requests == 4


def test_waiting_for_the_others_ends_with_the_jobs_deadline(store: Store, install: Install, tmp_path: Path) -> None:
    """It is no failure of the program: nothing rests, and nobody is told."""
    import fcntl

    install("claude", saying(RESULT))
    ask(store, settings(), tools=())
    with (tmp_path / "data" / "host-models" / "lock").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(ProviderFailed, match="until the job's deadline"):
            ask(store, settings(), tools=(), deadline=time.monotonic() + 0.3)
    assert models_cooldowns.read(store, CLAUDE) is None and not read_notices(store)


def test_doctor_asks_it_and_litellm_is_not_needed(
    store: Store, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    from minutebook.workers.models_library import library

    install("claude", saying({**RESULT, "result": "yes"}))
    monkeypatch.setitem(sys.modules, "litellm", None)
    library.cache_clear()
    try:
        (probe,) = probes(store, settings())
        assert (probe.model, probe.error) == ("host/claude", "")
        (report,) = read_report(store, settings()).models
        assert report.how == "login" and report.window is None
    finally:
        library.cache_clear()


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
