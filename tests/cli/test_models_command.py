"""`om models` and `om doctor --call`."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import scripted_faults as faults
from commands import Om, data_of
from scripted_server import ScriptedServer

from minutebook.pipeline.notices import tell
from minutebook.store.kernel import Store
from minutebook.workers.exchange import Spent
from minutebook.workers.models_accounts import record


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


def chosen(server: ScriptedServer, *more: str) -> list[str]:
    given = ["model=openai/scripted", f"model_base_url={server.url}", "model_tries=1", *more]
    return [part for each in given for part in ("--set", each)]


def test_without_a_model_there_is_nothing_to_ask(om: Om, store: Store) -> None:
    said = om("models", code=0).stdout
    assert said.count("extractive") == 5 and "spent today" in said
    checks = data_of(om("doctor", "--call", "--json"))["checks"]
    assert [check["said"] for check in checks if check["name"] == "models"] == [
        "none is configured: the extractive mind works, and nothing is called"
    ]


def test_it_says_where_a_pi_session_s_own_model_thinks_003_127(om: Om, store: Store) -> None:
    record(store, session="pi:s", role="observer", model="session/a/b", spent=Spent(input_tokens=10), priced=False)
    said = om("models", "--set", "judge_model=extractive", code=0).stdout
    assert said.count("in Pi the session's own model") == 4 and "of a Pi session" in said
    assert data_of(om("models", "--json"))["session_roles"] == ["observer", "reflector", "digester", "dropper", "judge"]
    assert "in Pi" not in om("models", "--set", "session_model_allowed=false", code=0).stdout


def test_models_says_what_is_configured_usable_and_spent(om: Om, store: Store, server: ScriptedServer) -> None:
    for model, usd in (("openai/scripted", 0.25), ("old/model", 1.0)):
        record(
            store, session="s", role="observer", model=model, spent=Spent(input_tokens=10, cost_usd=usd), priced=True
        )
    tell(store, "once", "something happened")
    data = data_of(om("models", "--json", *chosen(server, "observer_fallbacks=anthropic/claude-haiku-4-5@high")))
    assert [each["model"] for each in data["roles"]["observer"]] == ["openai/scripted", "anthropic/claude-haiku-4-5"]
    assert data["roles"]["digester"] == [{"model": "openai/scripted", "thinking": "low"}]
    first, second = data["models"]
    assert (first["usable"], first["how"], first["server"], first["window"]) == (True, "none", server.url, None)
    assert (second["usable"], second["window"], second["thinks"]) == (False, 200_000, True)
    assert "ANTHROPIC_API_KEY" in second["missing"] and second["price"]["output_usd"] == 5.0
    assert (data["spent_today_usd"], data["budget_daily_usd"]) == (1.25, 5.0)
    assert first["today"]["cost_usd"] == 0.25 and data["others"][0]["model"] == "old/model"
    assert [notice["text"] for notice in data["notices"]] == ["something happened"]
    shown = om("models", *chosen(server), code=0).stdout
    assert "usable, needs no key at" in shown and "$1.2500 of budget_daily_usd = $5" in shown
    assert server.requests == [], "it asks nobody"


def test_doctor_calls_each_model_once(om: Om, store: Store, server: ScriptedServer) -> None:
    server.script("other", "yes", faults.bad_key())
    found = om("doctor", "--call", *chosen(server, "model_fallbacks=openai/second"), code=1)
    assert "openai/scripted answered in" in found.stdout
    assert "openai/second, after" in found.stdout and "Incorrect API key provided" in found.stdout
    assert "fix: check the key or log in again" in found.stdout
    assert [asked.model for asked in server.requests] == ["scripted", "second"]


def test_an_answer_to_doctor_ends_a_rest(
    om: Om, store: Store, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))  # no other installation is in doctor's way
    server.script("other", faults.server_error(), "yes")
    om("doctor", "--call", *chosen(server), code=1)
    assert data_of(om("models", "--json", *chosen(server)))["models"][0]["rests_seconds"] > 0
    assert "last failure" in om("models", *chosen(server)).stdout
    om("doctor", "--call", *chosen(server), code=0)
    assert data_of(om("models", "--json", *chosen(server)))["models"][0]["last_failure"] is None


def test_without_litellm_one_line_names_the_command(
    om: Om, store: Store, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    from minutebook.workers.models_library import library

    monkeypatch.setitem(sys.modules, "litellm", None)
    library.cache_clear()
    try:
        found = om("models", *chosen(server), code=1)
        assert found.stderr == "om: asking a model needs an extra: pip install 'minutebook[models]'\n"
        assert "pip install 'minutebook[models]'" in om("doctor", "--call", *chosen(server), code=1).stdout
    finally:
        library.cache_clear()
