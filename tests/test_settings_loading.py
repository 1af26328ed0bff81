"""Files, environment and flags: rows 003-111, 003-114 and 003-117 to 003-125."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.errors import BadSetting
from minutebook.settings import SETTINGS, ModelChoice, Settings
from minutebook.settings_loading import Resolved, key_lines, load, resolve


class Files:
    """A global and a project's settings file, and what they resolve to."""

    def __init__(self, folder: Path) -> None:
        self.of = {"global": folder / "minutebook.toml", "project": folder / "project" / ".minutebook.toml"}
        self.of["project"].parent.mkdir()

    def write(self, level: str, text: str) -> Path:
        self.of[level].write_text(text, encoding="utf-8")
        return self.of[level]

    def resolve(self, environment: Mapping[str, str] | None = None, trusted: bool = False, **flags: object) -> Resolved:
        return resolve(
            global_file=self.of["global"],
            project_file=self.of["project"],
            environment=environment or {},
            flags=flags,
            trusted=trusted,
        )

    def complaints(self, environment: Mapping[str, str] | None = None, **flags: object) -> list[str]:
        with pytest.raises(BadSetting) as caught:
            self.resolve(environment, **flags)
        return str(caught.value).splitlines()


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_nothing_has_to_be_set_003_111_121(files: Files) -> None:
    resolved = files.resolve({"PATH": "/bin"})
    assert resolved.settings == Settings()
    assert {origin.level for origin in resolved.origins.values()} == {"default"}
    assert set(resolved.origins) == {setting.name for setting in SETTINGS}


def test_a_bare_home_loads_003_111(tmp_path: Path) -> None:
    assert load(None, {}, {}).settings == load(tmp_path, {}, {"HOME": str(tmp_path)}).settings == Settings()


def test_later_levels_win_key_by_key_003_119(files: Files) -> None:
    """Each level sets its own key and those of all levels above it."""
    keys = (
        "observe_after_tokens",
        "reflect_after_tokens",
        "compact_after_tokens",
        "agent_max_turns",
        "flush_min_tokens",
    )
    files.write("global", "".join(f"{key} = 1\n" for key in keys[1:]))
    files.write("project", "".join(f"{key} = 2\n" for key in keys[2:]))
    environment = {f"MINUTEBOOK_{key.upper()}": "3" for key in keys[3:]}
    resolved = files.resolve(environment, flush_min_tokens=4)
    assert [getattr(resolved.settings, key) for key in keys] == [10_000, 1, 2, 3, 4]
    levels = [resolved.origins[key].level for key in keys]
    assert levels == ["default", "global", "project", "environment", "flags"]


def test_a_model_is_replaced_as_a_whole_003_119(files: Files) -> None:
    files.write("global", '[model]\nprovider = "p"\nid = "m"\nthinking = "max"\n')
    files.write("project", '[model]\nprovider = "q"\nid = "n"\n')
    assert files.resolve(trusted=True).settings.model == ModelChoice(provider="q", id="n", thinking="low")
    assert files.resolve(trusted=False).settings.model == ModelChoice(provider="p", id="m", thinking="max")


def test_the_extractive_mind_by_name_differs_from_no_model_003_116(files: Files) -> None:
    files.write("global", 'model = "p/m"')
    named, unnamed = files.resolve({"MINUTEBOOK_MODEL": "extractive"}), resolve_nothing()
    assert named.settings.model is unnamed.settings.model is None
    assert (named.names_extractive, unnamed.names_extractive) == (True, False)


def resolve_nothing() -> Resolved:
    return resolve(global_file=None, project_file=None, environment={}, flags={}, trusted=False)


def test_origins_name_file_and_line_003_125(files: Files) -> None:
    path = files.write("global", '# first\nmodel.provider = "p"\nmodel.id = "m"\n\npassive = true\n')
    resolved = files.resolve({"MINUTEBOOK_ZONE": "UTC"}, debug_log=True)
    told = [str(resolved.origins[name]) for name in ("model", "passive", "zone", "debug_log", "agent_max_turns")]
    assert told == [f"{path}, line 2", f"{path}, line 5", "MINUTEBOOK_ZONE", "command line", "default"]


def test_a_pool_maximum_without_a_target_halves_003_114(files: Files) -> None:
    files.write("project", "observations_pool_max_tokens = 40")
    assert files.resolve().settings.observations_pool_target_tokens == 20


def test_a_target_above_the_merged_maximum_names_both_files_003_114(files: Files) -> None:
    higher = files.write("global", "\nobservations_pool_target_tokens = 80")
    lower = files.write("project", "observations_pool_max_tokens = 40")
    (complaint,) = files.complaints()
    assert complaint == (
        f"observations_pool_target_tokens = 80 ({higher}, line 2) must be below"
        f" observations_pool_max_tokens = 40 ({lower}, line 1)"
    )


def test_a_target_is_held_against_the_default_maximum_003_114(files: Files) -> None:
    files.write("global", "observations_pool_target_tokens = 20000")
    assert "must be below observations_pool_max_tokens = 20000 (default)" in files.complaints()[0]


WRONG = {
    "integer": ["0", "-1", "1.5", '"20000"', "true", "[]", "{}", "1e3", "nan"],
    "boolean": ['"yes"', '"true"', "1", "0", "[true]"],
    "ratio": ["0", "1", "1.5", "-0.2", "nan", '"0.5"', "true"],
    "model": ['"m"', '""', "1", "true", "{}", '{provider = "p"}', '{provider = "p", id = ""}'],
    "text": ["1", "true", '""', "[]", '"auto"'],
    "money": ["-1", "inf", '"5"', "true"],
    "whole": ["-1", "1.5", '"20000"', "true", "[]"],
    "words": ['"a"', "[1]", '[""]', "1", "{}"],
    "host": ['"box:1"', '"http://a"', '""', "1", "[]"],
    "chain": ['"p/m"', '["m"]', '["extractive"]', "1", "{}"],
}
SPECIAL = {
    "compact_after_tokens_ratio": "ratio",
    "budget_daily_usd": "money",
    "model_price_input_usd": "money",
    "model_price_output_usd": "money",
    "model_cooldown_seconds": "whole",
    "serve_port": "whole",
    "serve_host": "host",
    "retention_days": "integer",
}


def kind_of(name: str) -> str:
    if name in SPECIAL:
        return SPECIAL[name]
    if name.endswith("model"):
        return "model"
    if name.endswith("_fallbacks"):
        return "chain"
    default = getattr(Settings(), name)
    if type(default) is tuple:
        return "words"
    if type(default) is bool:
        return "boolean"
    return "integer" if name.endswith("_tokens") or type(default) is int else "text"


@pytest.mark.parametrize("name", [setting.name for setting in SETTINGS])
def test_a_wrong_value_names_key_value_file_line_and_what_is_allowed_003_118(files: Files, name: str) -> None:
    kind = kind_of(name)
    for written in WRONG[kind]:
        path = files.write("global", f"# a comment\n\n{name} = {written}\n")
        (complaint,) = files.complaints()
        where, _, allowed = complaint.partition(" is not allowed; use ")
        assert where.startswith(f"{path}, line 3: {name}"), complaint
        assert " = " in where and len(allowed) > 5, complaint


@pytest.mark.parametrize("name", [setting.name for setting in SETTINGS])
def test_null_is_a_flag_that_was_not_given_003_118(files: Files, name: str) -> None:
    assert files.resolve(**{name: None}).settings == Settings()


def test_all_that_is_wrong_is_said_at_once_one_line_each_003_118(files: Files) -> None:
    first = files.write("global", 'passive = "a\\nb"\nagent_max_turns = 0\n')
    second = files.write("project", "lease_seconds = 0\n")
    complaints = files.complaints({"MINUTEBOOK_ZONE": "Mars/X"}, sweep_seconds=0)
    assert [line.partition(" is not")[0] for line in complaints] == [
        f'{first}, line 1: passive = "a\\nb"',
        f"{first}, line 2: agent_max_turns = 0",
        f"{second}, line 1: lease_seconds = 0",
        'MINUTEBOOK_ZONE: zone = "Mars/X"',
        "command line: sweep_seconds = 0",
    ]
    assert BadSetting.exit_code == 2


def test_a_shown_value_stays_on_its_line_and_moves_no_terminal_003_118(files: Files) -> None:
    (complaint,) = files.complaints({"MINUTEBOOK_ZONE": "a\u2028b\x9b2J\udcff" + "x" * 200})
    assert complaint.startswith(r'MINUTEBOOK_ZONE: zone = "a\u2028b\u009b2J\udcffxx') and len(complaint) < 250


def test_a_wrong_key_of_a_model_has_its_own_line_003_116_118(files: Files) -> None:
    path = files.write("global", '[model]\nprovider = "p"\nid = "m"\nthinking = "huge"\n')
    (complaint,) = files.complaints()
    assert complaint.startswith(f'{path}, line 4: model.thinking = "huge" is not allowed')
    assert all(level in complaint for level in ("off", "minimal", "xhigh", "max"))


def test_a_setting_below_the_model_table_says_where_it_belongs(files: Files) -> None:
    path = files.write("global", '[model]\nprovider = "p"\nid = "m"\npassive = true\n')
    (complaint,) = files.complaints()
    assert complaint.startswith(f"{path}, line 4: model.passive = true") and "above this table" in complaint


@pytest.mark.parametrize(
    ("text", "value"),
    [*((t, True) for t in ("1", "true", "YES", " On ")), *((t, False) for t in ("0", "False", "no", "\toff\n"))],
)
def test_booleans_of_the_environment_003_120(files: Files, text: str, value: bool) -> None:
    files.write("global", "passive = true\nshow_worker_notifications = true\n")
    assert files.resolve({"MINUTEBOOK_PASSIVE": text}).settings.passive is value


@pytest.mark.parametrize("text", ["maybe", "", "2", "truee", "ja"])
def test_other_words_are_no_booleans_003_120(files: Files, text: str) -> None:
    (complaint,) = files.complaints({"MINUTEBOOK_PASSIVE": text})
    assert complaint.startswith("MINUTEBOOK_PASSIVE: passive = ") and "1, true, yes, on" in complaint


def test_every_key_has_a_variable_003_120(files: Files) -> None:
    texts = {"boolean": "1", "integer": " 777 ", "ratio": "0.5", "money": "0.5", "model": "p/m@high", "whole": "0"}
    texts |= {"chain": "p/m@high, q/n", "words": "acme/*, b", "host": "::1"}
    special = {"compact_after_tokens_mode": "ratio", "zone": "UTC", "observations_pool_max_tokens": "778"}
    special |= {"model_base_url": "http://[::1]:1/v1/", "keys_file": "~/k.toml", "over_budget": "wait"}
    special |= {"prompts_folder": "/p", "box_url": "https://box.example", "box_token_file": "/t", "box_pull": "team"}
    special["audit_file"] = "/a.jsonl"
    special["without_provider"] = "extractive"
    environment = {s.variable: special.get(s.name) or texts[kind_of(s.name)] for s in SETTINGS}
    resolved = files.resolve(environment)
    assert {origin.level for origin in resolved.origins.values()} == {"environment"}
    assert resolved.settings.lease_seconds == 777 and resolved.settings.budget_daily_usd == 0.5
    assert resolved.settings.model == ModelChoice(provider="p", id="m", thinking="high")


@pytest.mark.parametrize("text", ["1_000", "1e3", "１", "0x10", "1.0", "", "9" * 5000])
def test_integers_of_the_environment_are_strict_003_118(files: Files, text: str) -> None:
    (complaint,) = files.complaints({"MINUTEBOOK_AGENT_MAX_TURNS": text})
    assert complaint.startswith("MINUTEBOOK_AGENT_MAX_TURNS: agent_max_turns = ") and len(complaint) < 250


def test_an_unknown_variable_is_an_error_and_our_own_are_not_003_120(files: Files) -> None:
    own = dict.fromkeys(("MINUTEBOOK_HOME", "MINUTEBOOK_STORE", "MINUTEBOOK_SESSIONS", "MINUTEBOOK_CONFIG"), "/x")
    assert files.resolve(own).settings == Settings()
    (complaint,) = files.complaints({"MINUTEBOOK_PASIVE": "1"})
    assert "MINUTEBOOK_PASIVE" in complaint and complaint.endswith("the nearest is MINUTEBOOK_PASSIVE")


def test_flags_take_typed_values_and_a_persons_text(files: Files) -> None:
    settings = files.resolve(agent_max_turns=3, passive="on", model="p/m", lease_seconds="90").settings
    assert (settings.agent_max_turns, settings.passive, settings.lease_seconds) == (3, True, 90)
    assert files.complaints(passiv=True) == ['command line: unknown setting "passiv"; the nearest is passive']


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"a = 1\nb = = 2\n", 2),
        (b"passive = true\npassive = false\n", 2),
        (b"passive = true\nzone = '\xff'\n", 2),
        (b'a = 1\n\nzone = """', 3),
    ],
)
def test_broken_syntax_names_file_and_line_003_121(files: Files, content: bytes, line: int) -> None:
    files.of["project"].write_bytes(content)
    (complaint,) = files.complaints()
    assert complaint.startswith(f"{files.of['project']}, line {line}: not "), complaint


def test_a_file_that_cannot_be_read_is_an_error_003_121(files: Files) -> None:
    """A folder, a pipe, a file too large and one nested too deep; none hangs."""
    files.of["global"].mkdir()
    os.mkfifo(files.of["project"])
    assert [line.split(":")[0] for line in files.complaints()] == [str(files.of["global"]), str(files.of["project"])]
    files.of["project"].unlink()
    for text in ("#" * 1_000_001, f"a = {'[' * 9_000}"):
        files.write("project", text)
        assert str(files.of["project"]) in files.complaints()[-1]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission_is_an_error_003_121(files: Files) -> None:
    files.write("global", "passive = true").chmod(0)
    assert files.complaints() == [f"{files.of['global']}: cannot be read: Permission denied"]


def test_a_byte_order_mark_and_windows_line_ends_are_fine(files: Files) -> None:
    files.of["global"].write_bytes(b"\xef\xbb\xbfpassive = true\r\nagent_max_turns = 4\r\n")
    resolved = files.resolve()
    assert resolved.settings.passive and resolved.origins["agent_max_turns"].line == 2


@pytest.mark.parametrize(
    ("key", "nearest"),
    [("observe_after_token", "observe_after_tokens"), ("observeAfterTokens", "observe_after_tokens"), ("Zone", "zone")],
)
def test_an_unknown_key_offers_the_nearest_003_122(files: Files, key: str, nearest: str) -> None:
    path = files.write("global", f"\n{key} = 5000\n")
    assert files.complaints() == [f'{path}, line 2: unknown setting "{key}"; the nearest is {nearest}']


def test_redaction_has_no_switch(files: Files) -> None:
    files.write("global", "redaction = false")
    assert "cannot be switched off" in files.complaints()[0]


def test_an_untrusted_project_sets_thresholds_but_no_model_003_123(files: Files) -> None:
    path = files.write("project", 'observe_after_tokens = 5\nzone = "UTC"\n[model]\nprovider = "p"\nid = "m"\n')
    before, after = files.resolve(trusted=False), files.resolve(trusted=True)
    assert before.settings == Settings(observe_after_tokens=5)
    assert [(held.name, held.origin.line) for held in before.held_back] == [("zone", 2), ("model", 3)]
    assert str(before.held_back[0]) == f'zone = "UTC" ({path}, line 2) does not count: run `om trust` in the project'
    assert str(before.held_back[1]).startswith(f'model = "p/m@low" ({path}, line 3)')
    assert before.origins["model"].level == "default"
    assert after.settings.model == ModelChoice(provider="p", id="m") and after.held_back == ()


def test_an_untrusted_project_may_lower_the_daily_budget_only_003_123(files: Files) -> None:
    files.write("global", "budget_daily_usd = 2")
    files.write("project", "budget_daily_usd = 1.5")
    assert files.resolve().settings.budget_daily_usd == 1.5
    files.write("project", "budget_daily_usd = 2.5")
    assert (files.resolve().settings.budget_daily_usd, len(files.resolve().held_back)) == (2.0, 1)


def test_an_untrusted_project_may_have_more_kept_out_003_123(files: Files) -> None:
    """And never less: what a person keeps out of all projects stays out."""
    files.write("global", 'ignore = ["*.pem", "~/clients"]')
    path = files.write("project", '\nignore = ["secrets", "*.pem"]')
    before, after = files.resolve(trusted=False), files.resolve(trusted=True)
    assert before.settings.ignore == ("*.pem", "~/clients", "secrets") and before.held_back == ()
    assert (before.origins["ignore"].file, before.origins["ignore"].line) == (path, 2)
    assert after.settings.ignore == ("secrets", "*.pem")
    files.write("project", "ignore = []")
    nothing = files.resolve(trusted=False)
    assert nothing.settings.ignore == ("*.pem", "~/clients") and nothing.origins["ignore"].level == "global"


@pytest.mark.parametrize("globs", [["a*a*a*b"], ["a/**/**/b"], ["a" * 201], [f"secret-{at}" for at in range(101)]])
def test_globs_that_take_long_to_match_wait_for_trust_003_123(files: Files, globs: list[str]) -> None:
    files.write("project", f"ignore = {json.dumps(globs)}")
    held = files.resolve(trusted=False)
    assert held.settings.ignore == () and [each.name for each in held.held_back] == ["ignore"]
    assert files.resolve(trusted=True).settings.ignore == tuple(globs)


def test_what_needs_trust_003_123() -> None:
    """Whoever adds a setting decides here whether any repository may set it."""
    assert {setting.name for setting in SETTINGS if setting.project == "free"} == {
        *("observe_after_tokens", "reflect_after_tokens", "reflection_context_max_tokens", "compact_after_tokens"),
        *("compact_after_tokens_mode", "compact_after_tokens_ratio", "observations_pool_max_tokens"),
        *("observations_pool_target_tokens", "observer_chunk_max_tokens", "old_memory_max_tokens", "agent_max_turns"),
        *("show_worker_notifications", "passive", "debug_log", "compaction_max_tokens", "extract_max_tokens"),
        *("keep_recent_tokens", "flush_min_tokens", "flush_idle_seconds", "span_max_tries"),
        "notice_after_turns",
    }


def test_a_held_back_value_is_checked_all_the_same_003_118_123(files: Files) -> None:
    files.write("project", "model = 1")
    assert "model = 1" in files.complaints()[0]


def test_settings_do_not_change_under_a_running_reader_003_125(files: Files) -> None:
    files.write("global", "agent_max_turns = 3")
    resolved = files.resolve()
    files.write("global", "agent_max_turns = 4")
    assert (resolved.settings.agent_max_turns, files.resolve().settings.agent_max_turns) == (3, 4)
    with pytest.raises(AttributeError):
        resolved.settings.agent_max_turns = 5  # type: ignore[misc]


def test_lines_of_keys() -> None:
    text = (
        '# """ no string begins here\n"passive" = true\nzone = """\nmodel = 1\n"""\nlist = [\n  ["model"],\n]\n'
        "model.id = 2\n[ 'model' ] # note\nprovider = 3\n[[other.deep]]\nid = 1\n"
    )
    lines = key_lines(text)
    assert lines["passive"] == 2 and lines["zone"] == 3 and lines["model"] == 9 and lines["model.id"] == 9
    assert lines["model.provider"] == 11 and lines["other"] == 12 and lines["other.id"] == 13
    assert set(lines) == {"passive", "zone", "list", "model", "model.id", "model.provider", "other", "other.id"}


@given(st.binary(max_size=200))
def test_any_file_gives_settings_or_one_clear_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_bytes(content)
    complaints = ""
    try:
        resolve(global_file=path, project_file=None, environment={}, flags={}, trusted=False)
    except BadSetting as error:
        complaints = str(error)
    assert all(str(path) in line for line in complaints.splitlines())
    assert complaints.replace("\n", "").isprintable()
