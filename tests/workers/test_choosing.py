"""What a worker process asks once."""

import os
from pathlib import Path

import pytest

from minutebook.errors import BadSetting, ProviderFailed
from minutebook.records import Branch
from minutebook.settings import ModelChoice, Settings
from minutebook.store.kernel import Store
from minutebook.workers.choosing import ProjectSettings, mind_for


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


def test_flags_win_and_a_project_that_is_gone_has_the_defaults(tmp_path: Path) -> None:
    settings_for = ProjectSettings({"observe_after_tokens": 5})
    assert settings_for(branch_of(tmp_path / "gone")).observe_after_tokens == 5


def test_a_wrong_value_is_told_each_time(tmp_path: Path) -> None:
    (tmp_path / ".minutebook.toml").write_text("observe_after_tokens = 0\n")
    settings_for = ProjectSettings()
    for _ in range(2):
        with pytest.raises(BadSetting, match="observe_after_tokens"):
            settings_for(branch_of(tmp_path))


def test_without_a_model_the_extractive_mind_thinks(store: Store) -> None:
    assert mind_for("observer", Settings(), branch_of(""), store).name == "extractive"
    assert "OPENAI_API_KEY" not in os.environ


def test_a_model_that_cannot_be_asked_is_a_provider_failure_that_names_it(store: Store) -> None:
    settings = Settings(reflector_model=ModelChoice(provider="somewhere", id="large"))
    assert mind_for("observer", settings, branch_of(""), store).name == "extractive"
    with pytest.raises(ProviderFailed, match="reflector cannot ask somewhere/large"):
        mind_for("reflector", settings, branch_of(""), store)
