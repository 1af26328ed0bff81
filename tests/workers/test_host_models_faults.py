"""What goes wrong with a program that is asked as a model: it is told apart, it is killed, it is waited for."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hostmodels import CLAUDE, CODEX, RESULT, TURN, Install, saying, settings
from modelkit import ask

from minutebook.errors import ProviderFailed, SpanFailed
from minutebook.pipeline.notices import read_notices
from minutebook.settings import ModelChoice
from minutebook.store.kernel import Store
from minutebook.workers import models_cooldowns
from minutebook.workers.models_accounts import accounts
from minutebook.workers.models_report import probes, read_report

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
