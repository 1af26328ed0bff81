"""Keys: where they come from, who counts as usable, and that they are shown nowhere. Row 003-132."""

import inspect
import os
import re
from pathlib import Path

import pytest
import scripted_faults as faults
from modelkit import ANTHROPIC, OPENAI, ask, settings_for
from scripted_server import ScriptedServer

from minutebook.errors import BadSetting, ProviderFailed
from minutebook.pipeline.notices import read_notices
from minutebook.places import config_dir
from minutebook.settings import ModelChoice, Settings
from minutebook.store.kernel import Store
from minutebook.workers import models_keys
from minutebook.workers.models_call import advice
from minutebook.workers.models_errors import Failure
from minutebook.workers.models_keys import Access, access_to, read_keys
from minutebook.workers.models_library import WITH_USUAL_KEY, library

BEDROCK = ModelChoice(provider="bedrock", id="anthropic.claude-3-haiku-20240307-v1:0")
KEY = "sk-" + "q7Rw" * 8


def write_keys(text: str, mode: int = 0o600) -> Path:
    path = config_dir() / "keys.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def usable(choice: ModelChoice) -> str:
    """How, or nothing."""
    return access_to(choice, Settings(model=choice)).how


def test_a_key_a_header_or_signing_credentials_make_usable_003_132(monkeypatch: pytest.MonkeyPatch) -> None:
    assert usable(OPENAI) == usable(BEDROCK) == ""
    write_keys('[headers.openai]\nAuthorization = ""\n')
    assert usable(OPENAI) == ""
    write_keys(f'[headers.openai]\nAuthorization = "Bearer {KEY}"\n')
    assert usable(OPENAI) == "header" and usable(ANTHROPIC) == ""
    write_keys('[keys]\nOPENAI_API_KEY = "k"\n')
    assert usable(OPENAI) == "key"
    monkeypatch.setenv("ANTHROPIC_API_KEY", "")
    assert usable(ANTHROPIC) == ""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert usable(ANTHROPIC) == "key"
    monkeypatch.setenv("AWS_PROFILE", "work")
    assert usable(BEDROCK) == "signed"
    assert usable(ModelChoice(provider="ollama", id="llama3")) == "none"


def test_what_is_missing_is_named() -> None:
    missing = access_to(OPENAI, Settings(model=OPENAI)).missing
    assert missing == f"no key: set OPENAI_API_KEY, or put it into {config_dir() / 'keys.toml'} below [keys]"


def test_a_missing_key_is_no_call_and_is_told_once_003_133(store: Store) -> None:
    for _ in range(3):
        with pytest.raises(ProviderFailed, match="set OPENAI_API_KEY") as failed:
            ask(store, Settings(model=OPENAI))
        assert failed.value.reason == "auth"
    assert len(read_notices(store)) == 1


@pytest.mark.parametrize(
    ("provider", "how", "advised"),
    [
        ("bedrock", "signed", "log in again with `aws sso login`"),
        ("vertex_ai", "signed", "log in again with `gcloud auth application-default login`"),
        ("bedrock", "key", "check the key or log in again"),
    ],
)
def test_an_expired_login_names_how_to_log_in_again_003_133(provider: str, how: str, advised: str) -> None:
    choice = ModelChoice(provider=provider, id="m")
    said = advice(Failure("auth", "The token has expired."), choice, Access(how=how))
    assert said.startswith(advised) and "`om doctor --call`" in said


def test_keys_of_the_file_go_with_the_call_and_nowhere_else(store: Store) -> None:
    write_keys(f'[keys]\nOPENAI_API_KEY = "{KEY}"\n[headers.openai]\nX-Team = "blue"\n')
    with ScriptedServer() as server:
        server.script("observer", "fine", faults.Refused(status=401, message=f"Incorrect API key provided: {KEY}."))
        settings = settings_for(server)
        ask(store, settings)
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
        assert server.requests[0].headers["x-team"] == "blue"
        with pytest.raises(ProviderFailed) as failed:
            ask(store, settings)
    access = access_to(OPENAI, settings)
    collections = ("cooldowns", "usage", "model_quirks", "errors")
    stored = [document.body for name in collections for document in store.documents(name)]
    shown = [str(failed.value), repr(access), *stored, *(notice.text for notice in read_notices(store))]
    assert not any(KEY in text for text in [*shown, *os.environ.values()]) and "[key]" in str(failed.value)
    cause: BaseException | None = failed.value
    while cause is not None:
        assert KEY not in str(cause)
        cause = cause.__cause__ or cause.__context__


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_file_of_keys_that_others_may_read_is_refused_with_the_command(mode: int) -> None:
    path = write_keys("[keys]\n", mode)
    with pytest.raises(BadSetting, match=f"chmod 600 {path}"):
        read_keys(Settings())


@pytest.mark.parametrize(
    "text", [f'keys = "{KEY}"', f"[keys]\nA = {KEY}", f'A = "{KEY}"', "[keys]\nA = 1", "[headers]\na=1"]
)
def test_a_wrong_file_of_keys_is_named_and_not_quoted(text: str) -> None:
    path = write_keys(text)
    with pytest.raises(BadSetting) as failed:
        read_keys(Settings())
    assert str(failed.value).startswith(str(path)) and KEY not in str(failed.value)
    assert failed.value.__cause__ is None


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="keys_file names it"):
        read_keys(Settings(keys_file=str(tmp_path / "none.toml")))
    assert read_keys(Settings()).keys == {}
    other = write_keys('[keys]\nGROQ_API_KEY = "k"\n')
    assert read_keys(Settings(keys_file=str(other))).keys == {"GROQ_API_KEY": "k"}


def test_a_key_of_the_environment_that_is_quoted_back_is_cut_out(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """In no known form, and a part of another one: the longer goes first."""
    key = "correct-horse-42"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setenv("ANTHROPIC_API_KEY", f"{key}-and-more")
    with ScriptedServer() as server:
        server.script("observer", faults.Refused(status=401, message=f"Wrong key: {key}; not {key}-and-more."))
        with pytest.raises(ProviderFailed, match=r"Wrong key: \[key\]; not \[key\];") as failed:
            ask(store, settings_for(server, model_cooldown_seconds=60))
    stored = [document.body for name in ("cooldowns", "errors") for document in store.documents(name)]
    assert not any(key in text for text in [str(failed.value), *stored, *(each.text for each in read_notices(store))])


@pytest.mark.parametrize("provider", sorted(WITH_USUAL_KEY))
def test_what_is_known_without_the_library_is_what_the_library_says(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever of its variables is set, also to nothing: those that take the place of the usual one among them."""
    check = library().validate_environment
    names = set(re.findall(r'"([A-Z][A-Z0-9_]+)"', inspect.getsource(check)))
    for name in names:
        monkeypatch.delenv(name, raising=False)
    assert provider in {str(getattr(each, "value", each)) for each in library().provider_list}
    assert f"{provider.upper()}_API_KEY" in names
    choices = [ModelChoice(provider=provider, id=model) for model in ("a-model", "gpt-5-mini", "claude-haiku-4-5")]
    for name, value in [("NOTHING_OF_IT", ""), *((name, value) for name in sorted(names) for value in ("k", ""))]:
        with monkeypatch.context() as one:
            one.setenv(name, value)
            for choice in choices:
                assert check(f"{provider}/{choice.id}")["missing_keys"] == models_keys._asked_for(choice), name
