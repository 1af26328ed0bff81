"""The chain of models, tries, cooldowns, notices, the deadline. Rows 003-127, 003-131 and 003-133."""

import json
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
import scripted_faults as faults
from modelkit import ANTHROPIC, OPENAI, ask, request_of, settings_for
from scripted_server import Asked, ScriptedServer

from minutebook.errors import ProviderFailed
from minutebook.pipeline.notices import read_notices
from minutebook.settings import ModelChoice, Settings
from minutebook.store.kernel import Store
from minutebook.workers import models_cooldowns
from minutebook.workers.models import ask_model, chain_of
from minutebook.workers.models_call import wait_seconds
from minutebook.workers.models_cooldowns import pause_seconds

SECOND = ModelChoice(provider="openai", id="second")
THIRD = ModelChoice(provider="openai", id="third")


def by_model(server: ScriptedServer, **answers: object) -> None:
    """Model id → what it always answers."""

    def choose(asked: Asked) -> object:
        return answers[asked.model]

    server.defaults["observer"] = choose  # type: ignore[assignment]


def asked_models(server: ScriptedServer) -> list[str]:
    return [asked.model for asked in server.requests]


def test_litellm_is_loaded_by_the_first_call_and_not_before() -> None:
    """Importing everything of ours loads neither litellm nor openai nor httpx."""
    script = (
        "import sys, minutebook.workers.models, minutebook.workers.models_report, minutebook.workers.choosing\n"
        "print([name for name in ('litellm', 'openai', 'httpx') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_litellm_is_quiet_and_asks_no_network_for_prices(tmp_path: Path) -> None:
    """No .env file of a project is read, nothing is printed, no callback is set."""
    script = (
        "import os, socket\n"
        "def refuse(*_): raise AssertionError('network')\n"
        "socket.socket.connect = refuse\n"
        "from minutebook.workers.models_library import library\n"
        "found = library()\n"
        "assert found.suppress_debug_info and not found.telemetry and not found.success_callback\n"
        "assert os.environ['LITELLM_MODE'] == 'PRODUCTION' and len(found.model_cost) > 1000\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_without_litellm_the_error_names_the_command(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from minutebook.errors import MissingExtra
    from minutebook.workers.models_library import library

    monkeypatch.setitem(sys.modules, "litellm", None)
    library.cache_clear()
    try:
        with pytest.raises(MissingExtra, match=r"pip install 'minutebook\[models\]'"):
            ask_model(request_of(), store=store, settings=Settings(model=OPENAI))
    finally:
        library.cache_clear()


# -- the chain -----------------------------------------------------------------------------------------------------


def test_the_next_of_the_chain_answers_and_one_warning_names_the_first_003_131(store: Store) -> None:
    with ScriptedServer() as server:
        by_model(server, scripted=faults.no_such_model(), second="second says")
        settings = settings_for(server, model_fallbacks=(SECOND,), model_cooldown_seconds=60)
        replies = [ask(store, settings) for _ in range(3)]
        assert [reply.model for reply in replies] == ["openai/second"] * 3
        assert asked_models(server) == ["scripted", "second", "second", "second"], "the first rests"
    (notice,) = read_notices(store)
    assert "openai/scripted cannot be asked" in notice.text and "openai/second is asked instead" in notice.text


def test_with_none_left_the_error_names_each_and_what_to_do_003_131(store: Store) -> None:
    with ScriptedServer() as server:
        by_model(server, scripted=faults.bad_key(), second=faults.quota_used_up())
        settings = settings_for(server, model_fallbacks=(SECOND, ModelChoice(provider="nonsense", id="x")))
        with pytest.raises(ProviderFailed) as failed:
            ask(store, settings)
    said = str(failed.value)
    assert said.startswith("no model is left to ask: openai/scripted: ") and "openai/second: " in said
    assert "check the key" in said and "add credit" in said and "no provider 'nonsense'" in said


def test_a_chain_asks_each_model_once() -> None:
    settings = Settings(model=OPENAI, model_fallbacks=(SECOND, OPENAI, SECOND))
    assert chain_of(request_of(), settings) == (OPENAI, SECOND)


def test_a_fallback_of_another_provider_is_not_sent_to_the_server_of_the_first(store: Store) -> None:
    from minutebook.workers.models_keys import base_url_of

    settings = Settings(model=OPENAI, model_base_url="http://127.0.0.1:1", model_fallbacks=(ANTHROPIC, SECOND))
    assert [base_url_of(each, settings) for each in (OPENAI, ANTHROPIC, SECOND)] == [
        "http://127.0.0.1:1",
        None,
        "http://127.0.0.1:1",
    ]


# -- tries ---------------------------------------------------------------------------------------------------------


def test_a_busy_provider_is_asked_model_tries_times(store: Store) -> None:
    with ScriptedServer() as server:
        server.script("observer", faults.overloaded(), faults.rate_limited("0"), "at last")
        assert ask(store, settings_for(server, model_tries=3)).text == "at last"
        server.script("observer", faults.server_error(), faults.server_error(), "too late")
        with pytest.raises(ProviderFailed):
            ask(store, settings_for(server, model_tries=2))
        assert len(server.requests) == 5
    assert store.documents("cooldowns")[0].key == "openai/scripted"


def test_what_waiting_does_not_mend_is_asked_once(store: Store) -> None:
    with ScriptedServer() as server:
        server.script("observer", faults.bad_key())
        with pytest.raises(ProviderFailed):
            ask(store, settings_for(server, model_tries=5))
        assert len(server.requests) == 1


def test_waits_double_and_follow_the_provider() -> None:
    assert [wait_seconds(n, None) for n in (1, 2, 3, 9)] == [0.5, 1.0, 2.0, 20.0]
    assert wait_seconds(1, 7.0) == 7.0


def test_a_long_retry_after_rests_the_model_instead_of_the_worker(store: Store) -> None:
    with ScriptedServer() as server:
        server.script("observer", faults.rate_limited("900"))
        settings = settings_for(server, model_tries=3, model_cooldown_seconds=60)
        with pytest.raises(ProviderFailed):
            ask(store, settings)
        assert len(server.requests) == 1
    cooldown = models_cooldowns.resting(store, OPENAI)
    assert cooldown is not None and 800 < cooldown.until - store.now() <= 900


def test_no_try_is_made_after_the_deadline(store: Store) -> None:
    with ScriptedServer() as server:
        settings = settings_for(server, model_tries=9, model_cooldown_seconds=60)
        with pytest.raises(ProviderFailed, match="no time is left"):
            ask(store, settings, deadline=time.monotonic() - 1)
        assert server.requests == [] and store.documents("cooldowns") == []
        server.defaults["observer"] = faults.overloaded()
        with pytest.raises(ProviderFailed):
            ask(store, settings, deadline=time.monotonic() + 1)
        assert len(server.requests) < 4


def test_a_deadline_that_cuts_an_answer_short_is_not_the_providers_fault(store: Store) -> None:
    with ScriptedServer() as server:
        server.script("observer", faults.hanging())
        with pytest.raises(ProviderFailed):
            ask(store, settings_for(server, model_cooldown_seconds=60), deadline=time.monotonic() + 0.3)
    assert store.documents("cooldowns") == []


# -- cooldowns -----------------------------------------------------------------------------------------------------


def test_a_model_that_rests_is_not_asked_and_a_configured_0_means_none(store: Store) -> None:
    with ScriptedServer() as server:
        server.script("observer", faults.server_error(), faults.server_error())
        for seconds, asked in ((0, 1), (60, 2), (60, 2)):
            with pytest.raises(ProviderFailed):
                ask(store, settings_for(server, model_cooldown_seconds=seconds))
            assert len(server.requests) == asked


def test_identical_400s_are_asked_ever_more_rarely() -> None:
    settings = Settings()
    for kind in ("bad_request", "auth", "quota", "unknown_model"):
        assert [pause_seconds(settings, kind, n) for n in (1, 2, 3, 40)] == [60, 120, 240, 3_600]
    for kind in ("server", "network", "rate"):
        assert [pause_seconds(settings, kind, n) for n in (1, 40)] == [60, 60], "soon back after an hour of 500s"
    assert pause_seconds(settings, "rate", 1, retry_after=90.0) == 90
    assert pause_seconds(Settings(model_cooldown_seconds=0), "auth", 9, retry_after=90.0) == 0


def test_failures_side_by_side_count_as_one(store: Store) -> None:
    from minutebook.workers.models_errors import Failure

    settings, failure = Settings(), Failure("bad_request", "no")
    told = [models_cooldowns.note_failure(store, OPENAI, failure, settings, rests=True) for _ in range(5)]
    found = models_cooldowns.read(store, OPENAI)
    assert told == [True, False, False, False, False] and found is not None and found.failures == 1


def test_unavailability_is_told_once_until_it_worked_again_003_133(store: Store) -> None:
    """Three failing runs, a good one, a failing one: two notices, each with the reason and what to do."""
    with ScriptedServer() as server:
        server.script("observer", *[faults.bad_key()] * 3, "good", faults.bad_key())
        settings = settings_for(server)
        for expected in (1, 1, 1, 1, 2):
            with suppress(ProviderFailed):
                ask(store, settings)
            assert len(read_notices(store)) == expected
    assert all("Incorrect API key" in notice.text and "check the key" in notice.text for notice in read_notices(store))


def test_every_attempt_is_in_the_debug_log_003_133(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINUTEBOOK_HOME", str(tmp_path / "data"))
    with ScriptedServer() as server:
        server.script("observer", faults.bad_key(), "good")
        for _ in range(2):
            with suppress(ProviderFailed):
                ask(store, settings_for(server, debug_log=True))
    lines = (tmp_path / "data" / "debug" / "s1.ndjson").read_text().splitlines()
    rows = [json.loads(line)["data"] for line in lines]
    assert [(row["model"], row["ended"]) for row in rows] == [("openai/scripted", "auth"), ("openai/scripted", "stop")]
    assert "sk-wrong" not in "".join(lines)
