"""`om settings`, `om trust`, and settings errors on the command line."""

from pathlib import Path

import pytest
from commands import Om, data_of

from minutebook.settings import SETTINGS


def settings_of(om: Om, *args: str) -> dict[str, dict]:  # type: ignore[type-arg]
    return {each["name"]: each for each in data_of(om("settings", "--json", *args, code=0))["settings"]}


@pytest.fixture
def global_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "config"
    folder.mkdir()
    monkeypatch.setenv("MINUTEBOOK_CONFIG", str(folder))
    return folder / "minutebook.toml"


def test_every_key_its_value_and_where_it_came_from_003_125(om: Om) -> None:
    found = settings_of(om)
    assert list(found) == [setting.name for setting in SETTINGS]
    assert found["observe_after_tokens"]["value"] == 10_000
    assert {each["origin"]["level"] for each in found.values()} == {"default"}
    lines = om("settings", code=0).stdout.splitlines()
    assert len(lines) == len(SETTINGS)
    assert lines[0].split() == ["observe_after_tokens", "10000", "default"]
    assert any(line.split()[:2] == ["model", "unset"] and "the extractive mind" in line for line in lines)


def test_one_key_on_every_level_003_119(
    om: Om, project: Path, global_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at() -> tuple[int, str]:
        row = settings_of(om)["reflect_after_tokens"]
        return row["value"], row["origin"]["level"]

    assert at() == (20_000, "default")
    global_file.write_text("# mine\nreflect_after_tokens = 1\n")
    assert at() == (1, "global")
    assert f"{global_file}, line 2" in om("settings").stdout
    (project / ".minutebook.toml").write_text("reflect_after_tokens = 2\n")
    assert at() == (2, "project")
    monkeypatch.setenv("MINUTEBOOK_REFLECT_AFTER_TOKENS", "3")
    assert at() == (3, "environment")
    row = settings_of(om, "--set", "reflect_after_tokens=4")["reflect_after_tokens"]
    assert (row["value"], row["origin"]["level"]) == (4, "flags")


def test_a_projects_model_waits_for_trust_003_123(om: Om, project: Path) -> None:
    (project / ".minutebook.toml").write_text('observe_after_tokens = 5\n[model]\nprovider = "evil"\nid = "m"\n')
    before = om("settings", code=0)
    assert "does not count: run `om trust` in the project" in before.stderr
    found = settings_of(om)
    assert (found["observe_after_tokens"]["value"], found["model"]["value"]) == (5, None)
    held = data_of(om("settings", "--json"))["held_back"]
    assert [(each["name"], each["value"]) for each in held] == [("model", "evil/m@low")]
    assert om("trust", code=0).stdout == f"{project}: its settings file is trusted as it is now\n"
    assert settings_of(om)["model"]["value"] == "evil/m@low"
    assert om("settings").stderr == ""
    assert om("trust", "--revoke", str(project), code=0).stdout == f"{project}: not trusted any more\n"
    assert om("trust", "--revoke", code=0).stdout == f"{project}: was not trusted\n"
    assert settings_of(om)["model"]["value"] is None


def test_there_must_be_something_to_trust(om: Om, project: Path) -> None:
    assert om("trust", code=2).stderr == f"om: nothing to trust: there is no {project}/.minutebook.toml\n"


@pytest.mark.parametrize("command", [("settings",), ("status",), ("view",), ("compact",), ("ingest", "x")])
def test_a_wrong_value_stops_every_command_that_needs_settings_003_118(
    om: Om, project: Path, command: tuple[str, ...]
) -> None:
    file = project / ".minutebook.toml"
    file.write_text('\nobserve_after_tokens = "20000"\nreflect_after_tokens = 1.5\n')
    result = om(*command, code=2)
    assert result.stderr.splitlines() == [
        f'om: {file}, line 2: observe_after_tokens = "20000" is not allowed; use a whole number from 1 to 1000000000',
        f"om: {file}, line 3: reflect_after_tokens = 1.5 is not allowed; use a whole number from 1 to 1000000000",
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("observe_after_tokens=null", "command line: observe_after_tokens"),
        ("observe_after_token=1", "the nearest is observe_after_tokens"),
        ("nothing", "write NAME=VALUE"),
        ("=1", "write NAME=VALUE"),
    ],
)
def test_flags_that_cannot_be_used_003_118(om: Om, given: str, said: str) -> None:
    assert said in om("settings", "--set", given, code=2).stderr


def test_a_worker_refuses_wrong_flags_at_its_start_003_118(om: Om, store_path: Path) -> None:
    result = om("worker", "--until-idle", "--set", "observe_after_tokens=0", code=2)
    assert result.stderr.startswith("om: command line: observe_after_tokens = 0 is not allowed")
    assert not store_path.exists()


def test_a_settings_error_does_not_stop_commands_without_settings(om: Om, project: Path) -> None:
    (project / ".minutebook.toml").write_text("broken")
    om("sessions", code=0)
    om("recall", "0" * 12, code=1)


def test_what_sessions_of_pi_have_003_124_160(
    om: Om, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    assert settings_of(om, "--pi") == settings_of(om)
    file = project / ".pi" / "settings.json"
    file.parent.mkdir()
    file.write_text('{"observational-memory": {"observeAfterTokens": 5, "thinkingLevel": "low"}}')
    assert settings_of(om)["observe_after_tokens"]["value"] == 10_000
    row = settings_of(om, "--pi")["observe_after_tokens"]
    assert (row["value"], row["origin"]["file"]) == (5, str(file))
    assert "its new name is model.thinking" in om("settings", "--pi", code=0).stderr
    assert om("settings", code=0).stderr == ""
