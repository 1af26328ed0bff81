"""What a worker process asks once."""

import os
import time
from pathlib import Path

import pytest

from minutebook.errors import BadSetting, BudgetSpent, MissingExtra, ProviderFailed
from minutebook.records import Branch
from minutebook.settings import ModelChoice, Settings
from minutebook.store.kernel import Store
from minutebook.workers import models
from minutebook.workers.choosing import ProjectSettings, instead_of, mind_for
from minutebook.workers.contract import ReflectBatch
from minutebook.workers.desks import RoleDesk
from minutebook.workers.exchange import Request
from minutebook.workers.model_mind import ModelMind


def branch_of(project: Path | str) -> Branch:
    return Branch(key="k", host="neutral", session="s", lineage="k", project=str(project))


def test_a_project_s_settings_are_read_once_003_125(tmp_path: Path) -> None:
    file = tmp_path / ".minutebook.toml"
    file.write_text("observe_after_tokens = 7\n")
    settings_for = ProjectSettings()
    assert settings_for(branch_of(tmp_path)).observe_after_tokens == 7
    file.write_text("observe_after_tokens = 8\n")
    assert settings_for(branch_of(tmp_path)).observe_after_tokens == 7
    assert ProjectSettings()(branch_of(tmp_path)).observe_after_tokens == 8
    assert settings_for(branch_of("")).observe_after_tokens == 10_000


def test_settings_that_have_changed_are_outdated_unless_they_are_wrong(tmp_path: Path) -> None:
    file = tmp_path / ".minutebook.toml"
    settings_for = ProjectSettings()
    assert not settings_for.outdated()
    settings_for(branch_of(tmp_path))
    settings_for(branch_of("orders"))
    for text, outdated in (("observe_after_tokens = 10000\n", False), ("observe_after_tokens = 0\n", False)):
        file.write_text(text)
        assert settings_for.outdated() is outdated
    file.write_text("observe_after_tokens = 8\n")
    assert settings_for.outdated()


def test_what_is_ignored_is_read_again_each_time(tmp_path: Path) -> None:
    """A worker may be at work for long when a glob is set, and taken-in text is not taken out again."""
    file = tmp_path / ".minutebook.toml"
    file.write_text("observe_after_tokens = 7\n")
    settings_for = ProjectSettings({"ignore": ["secrets"]})
    assert settings_for.now(str(tmp_path), "codex").observe_after_tokens == 7
    file.write_text("observe_after_tokens = 8\n")
    assert settings_for.now(str(tmp_path), "codex").observe_after_tokens == 8
    assert settings_for.now("orders", "codex").ignore == ("secrets",)


def test_what_pi_s_own_settings_ignore_is_ignored_in_its_sessions_alone_003_124(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path))
    (tmp_path / "settings.json").write_text('{"observational-memory": {"ignore": ["secrets"]}}')
    settings_for = ProjectSettings()
    assert settings_for.now(str(tmp_path), "pi").ignore == ("secrets",)
    assert settings_for.now(str(tmp_path), "codex").ignore == ()
    (tmp_path / "settings.json").write_text('{"observational-memory": {"ignore": 5}}')
    with pytest.raises(BadSetting, match="ignore = 5"):
        settings_for.now("", "pi")


def test_flags_win_and_a_project_that_is_gone_has_the_defaults(tmp_path: Path) -> None:
    settings_for = ProjectSettings({"observe_after_tokens": 5})
    assert settings_for(branch_of(tmp_path / "gone")).observe_after_tokens == 5


@pytest.mark.parametrize("name", ["github.com/acme/orders", "orders", "../orders", "."])
def test_a_project_s_name_is_never_taken_for_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A client sent it to a team box: what lies under that name where the worker runs is not its own."""
    here = tmp_path / "here"
    (here / name).mkdir(parents=True)
    (here / name / ".minutebook.toml").write_text("observe_after_tokens = 7\n")
    monkeypatch.chdir(here)
    assert ProjectSettings()(branch_of(name)).observe_after_tokens == 10_000
    assert ProjectSettings()(branch_of((here / name).resolve())).observe_after_tokens == 7


def test_a_wrong_value_is_told_each_time(tmp_path: Path) -> None:
    (tmp_path / ".minutebook.toml").write_text("observe_after_tokens = 0\n")
    settings_for = ProjectSettings()
    for _ in range(2):
        with pytest.raises(BadSetting, match="observe_after_tokens"):
            settings_for(branch_of(tmp_path))


def test_without_a_model_the_extractive_mind_thinks_003_127(store: Store) -> None:
    assert mind_for("observer", Settings(), branch_of(""), store).name == "extractive"
    assert "OPENAI_API_KEY" not in os.environ


MODEL = ModelChoice(provider="openai", id="scripted")


def test_a_role_has_its_own_model_and_the_run_its_deadline(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(reflector_model=MODEL, model_context_tokens=8_000, job_deadline_seconds=50)
    assert mind_for("observer", settings, branch_of(""), store).name == "extractive"
    began = time.monotonic()
    mind = mind_for("reflector", settings, branch_of(""), store)
    assert isinstance(mind, ModelMind) and (mind.name, mind.window) == ("openai/scripted", 8_000)
    asked: list[Request] = []

    def ask_model(request: Request, **more: object) -> None:
        asked.append(request)
        raise ProviderFailed("asked")

    monkeypatch.setattr(models, "ask_model", ask_model)
    with pytest.raises(ProviderFailed, match="asked"):
        mind.reflect(ReflectBatch(reflections=(), observations=()), RoleDesk())
    assert asked[0].choice == MODEL and asked[0].session == "k" and asked[0].tools
    assert asked[0].deadline is not None and 40 < asked[0].deadline - began <= 50 + time.monotonic() - began


@pytest.mark.parametrize(
    ("error", "settings", "who"),
    [
        (ProviderFailed("down"), Settings(), None),
        (ProviderFailed("down"), Settings(without_provider="extractive"), "extractive"),
        (MissingExtra("models", "x"), Settings(without_provider="extractive"), "extractive"),
        (BudgetSpent("spent"), Settings(), "extractive"),
        (BudgetSpent("spent"), Settings(over_budget="wait", without_provider="extractive"), None),
    ],
)
def test_who_thinks_when_no_model_can_be_asked_003_127_131(
    error: Exception, settings: Settings, who: str | None
) -> None:
    other = instead_of(error, settings)
    assert (other.name if other else None) == who


def test_without_litellm_the_settings_decide(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise MissingExtra("models", "asking a model")

    monkeypatch.setattr(models, "context_window", missing)
    with pytest.raises(MissingExtra):
        mind_for("observer", Settings(model=MODEL), branch_of(""), store)
    instead = mind_for("observer", Settings(model=MODEL, without_provider="extractive"), branch_of(""), store)
    assert instead.name == "extractive"
