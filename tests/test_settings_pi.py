"""Pi's own settings files count for its sessions: rows 003-122, 003-124, 003-160 and 003-161."""

import json
from pathlib import Path
from typing import Any

import pytest

from minutebook.errors import BadSetting
from minutebook.places import data_dir
from minutebook.records import Branch
from minutebook.settings import Settings
from minutebook.settings_loading import Resolved, load
from minutebook.settings_pi import global_pi_file
from minutebook.trust import trust, untrust
from minutebook.workers.choosing import ProjectSettings


class Machine:
    """A home with a project in it, our settings files and Pi's."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.environ = {"HOME": str(self.home), "MINUTEBOOK_HOME": str(self.home / "mb")}
        for made in (self.home / ".pi" / "agent", self.home / "mb", self.project / ".pi"):
            made.mkdir(parents=True)

    @property
    def pi_global(self) -> Path:
        return self.home / ".pi" / "agent" / "settings.json"

    @property
    def pi_project(self) -> Path:
        return self.project / ".pi" / "settings.json"

    def ours(self, level: str, text: str) -> None:
        file = self.home / "mb" / "minutebook.toml" if level == "global" else self.project / ".minutebook.toml"
        file.write_text(text)

    def pis(self, level: str, **section: Any) -> Path:
        file = self.pi_global if level == "global" else self.pi_project
        file.write_text(json.dumps({"defaultModel": "x", "observational-memory": section}, indent=2))
        return file

    def load(self, **variables: str) -> Resolved:
        return load(self.project, {}, {**self.environ, **variables}, pi=True)

    def load_of_others(self, **variables: str) -> Resolved:
        return load(self.project, {}, {**self.environ, **variables})

    def complaint(self, **variables: str) -> str:
        with pytest.raises(BadSetting) as caught:
            self.load(**variables)
        return str(caught.value)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_one_key_in_all_four_files_003_124(machine: Machine) -> None:
    """Each of Pi's files counts just above ours of the same level, and only for sessions of Pi."""

    def now() -> tuple[int, int]:
        return machine.load().settings.observe_after_tokens, machine.load_of_others().settings.observe_after_tokens

    assert now() == (10_000, 10_000)
    machine.pis("global", observeAfterTokens=2)
    assert now() == (2, 10_000)
    machine.ours("global", "observe_after_tokens = 1")
    assert now() == (2, 1)
    machine.ours("project", "observe_after_tokens = 3")
    assert now() == (3, 3)
    file = machine.pis("project", observeAfterTokens=4)
    assert now() == (4, 3)
    assert str(machine.load().origins["observe_after_tokens"]) == f"{file}, line 4"
    assert machine.load(MINUTEBOOK_OBSERVE_AFTER_TOKENS="5").settings.observe_after_tokens == 5


@pytest.mark.parametrize(
    ("pis", "ours", "passive"),
    [("1", None, True), ("0", None, False), (" On ", None, True), ("1", "0", False), ("0", "1", True)],
)
def test_the_variable_of_passive_counts_below_ours_003_124(
    machine: Machine, pis: str, ours: str | None, passive: bool
) -> None:
    more = {} if ours is None else {"MINUTEBOOK_PASSIVE": ours}
    machine.pis("project", passive=not passive)
    assert machine.load(PI_OBSERVATIONAL_MEMORY_PASSIVE=pis, **more).settings.passive is passive


def test_it_is_nothing_to_other_hosts_003_124(machine: Machine) -> None:
    machine.pis("global", observeAfterTokens=0)
    assert machine.load_of_others(PI_OBSERVATIONAL_MEMORY_PASSIVE="maybe").settings == Settings()
    assert "PI_OBSERVATIONAL_MEMORY_PASSIVE" in machine.complaint(PI_OBSERVATIONAL_MEMORY_PASSIVE="maybe")


def test_pi_s_folder_may_be_elsewhere_003_124(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "settings.json").write_text('{"observational-memory": {"passive": true}}')
    assert machine.load(PI_CODING_AGENT_DIR=str(tmp_path / "agent")).settings.passive
    assert not machine.load().settings.passive
    environ = {"HOME": "/home/ada", "PI_CODING_AGENT_DIR": "~/pi"}
    assert global_pi_file(environ) == Path("/home/ada/pi/settings.json")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "not JSON, and nothing of ours in it",
        '["observational-memory"]',
        '{"packages": ["npm:pi-observational-memory"]}',
        '{"observational-memory": null}',
        '\ufeff{"observational-memory": {}}',
    ],
)
def test_a_file_without_our_section_sets_nothing_003_121(machine: Machine, text: str) -> None:
    machine.pi_global.write_text(text, encoding="utf-8")
    assert machine.load().settings == Settings()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{\n "observational-memory": {"passive": true},\n}', ", line 3: not JSON"),
        ('{"observational-memory": {}, // mine\n}', ", line 1: not JSON"),
        ('{\n"observational-memory": 5}', ", line 2: observational-memory is no table"),
        ('{"observational-memory": {"budgetDailyUsd": NaN}}', "NaN is no number"),
        (
            '{"observational-memory": {\n\n"observeAfterTokens": "20000"}}',
            ', line 3: observeAfterTokens = "20000" is not',
        ),
        ('{"observational-memory": {"passive": null}}', "line 1: passive = null is not allowed; use true or false"),
        ('{"observational-memory": {"model": {"provider": "p",\n"id": ""}}}', ', line 2: model.id = "" is not allowed'),
        (
            '{"observational-memory": {"observationsPoolMaxTokens": 10, "observationsPoolTargetTokens": 10}}',
            "observations_pool_target_tokens = 10",
        ),
    ],
)
def test_what_is_wrong_is_named_with_file_and_line_003_118_121(machine: Machine, text: str, said: str) -> None:
    machine.pi_global.write_text(text)
    complaint = machine.complaint()
    assert str(machine.pi_global) in complaint and said in complaint


def test_bytes_that_are_no_text_are_named_003_121(machine: Machine) -> None:
    machine.pi_global.write_bytes(b'{\n"observational-memory": {"\xff": 1}}')
    assert "line 2: not UTF-8" in machine.complaint()


def test_an_unknown_key_is_a_warning_there_003_122(machine: Machine) -> None:
    file = machine.pis("global", observeAfterToken=5, reflectAfterTokens=7)
    machine.pis("project", nonsense={"a": 1})
    resolved = machine.load()
    assert resolved.settings == Settings(reflect_after_tokens=7)
    assert resolved.warnings[0].startswith(f"{file}, line 4: unknown setting 'observeAfterToken'")
    assert "the nearest is observeAfterTokens" in resolved.warnings[0] and "nonsense" in resolved.warnings[1]
    assert len(resolved.warnings) == 2


def test_a_version_2_file_has_one_warning_a_key_and_the_defaults_003_160_161(machine: Machine) -> None:
    old = {
        "observationThresholdTokens": 1,
        "compactionThresholdTokens": 2,
        "compactionModel": {"provider": "p", "id": "m"},
        "thinkingLevel": "high",
        "observerMaxTurnsPerRun": 3,
        "reflectorMaxTurnsPerPass": 4,
        "prunerMaxTurnsPerPass": 5,
        "reflectionThresholdTokens": 6,
        "compactionMaxToolCalls": 7,
    }
    machine.pis("global", **old, passive=True, debugLog=True)
    resolved = machine.load()
    assert resolved.settings == Settings(passive=True, debug_log=True)
    assert [key for key, warning in zip(old, resolved.warnings, strict=True) if key not in warning] == []


def test_a_projects_section_waits_for_trust_003_123(machine: Machine) -> None:
    """Trust is tied to the section: Pi may write the rest of the file as it likes."""
    machine.pis("project", model={"provider": "evil", "id": "m"}, observeAfterTokens=5)
    folder = data_dir(machine.environ)
    held = machine.load()
    assert held.settings == Settings(observe_after_tokens=5) and [each.name for each in held.held_back] == ["model"]
    trust(machine.project, folder)
    assert str(machine.load().settings.model) == "evil/m@low"
    whole = json.loads(machine.pi_project.read_text())
    machine.pi_project.write_text(json.dumps({"theme": "dark", **whole}))
    assert machine.load().settings.model is not None
    machine.pis("project", model={"provider": "evil", "id": "other"})
    assert machine.load().settings.model is None
    machine.pis("project", model={"provider": "evil", "id": "m"}, observeAfterTokens=5)
    assert untrust(machine.project, folder) and not untrust(machine.project, folder)
    assert machine.load().settings.model is None


def test_trust_covers_both_files_of_a_project_003_123(machine: Machine) -> None:
    machine.ours("project", 'model = "p/ours"')
    machine.pis("project", debugLog=True, observerModel="p/pis")
    trust(machine.project, data_dir(machine.environ))
    settings = machine.load().settings
    assert str(settings.model_of("reflector")) == "p/ours@low" and str(settings.model_of("observer")) == "p/pis@low"


def test_the_session_s_own_model_can_be_switched_off_in_pi_003_127(machine: Machine) -> None:
    assert machine.load().settings.session_model_allowed
    machine.pis("global", model="extractive")
    assert not machine.load().settings.session_model_allowed
    machine.pis("global", sessionModelAllowed=False)
    assert not machine.load().settings.session_model_allowed


def test_workers_read_them_for_sessions_of_pi_alone_003_124(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in machine.environ.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.delenv("PI_CODING_AGENT_DIR", raising=False)
    machine.pis("global", observeAfterTokens=3)
    machine.pis("project", observeAfterTokens=4)
    settings_for = ProjectSettings()

    def of(host: str, project: str) -> int:
        branch = Branch(key="k", host=host, session="s", lineage="k", project=project)
        return settings_for(branch).observe_after_tokens

    here = str(machine.project)
    assert [of("pi", here), of("codex", here), of("pi", "github.com/acme/orders")] == [4, 10_000, 10_000]
