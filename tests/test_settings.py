"""The settings themselves: defaults, what is allowed, scaling, the reference. Rows 003-111 to 003-117, 160 and 161."""

import dataclasses
from pathlib import Path

import pytest

from minutebook.errors import BadSetting
from minutebook.settings import BY_NAME, EXTRACTIVE, SETTINGS, THINKING_LEVELS, ModelChoice, Refused, Settings
from minutebook.settings_legacy import PI_KEYS, legacy_warnings
from minutebook.settings_reference import reference_markdown

DEFAULTS = {
    "observe_after_tokens": 10_000,
    "reflect_after_tokens": 20_000,
    "reflection_context_max_tokens": 10_000,
    "compact_after_tokens": 81_000,
    "compact_after_tokens_mode": "calibrated",
    "compact_after_tokens_ratio": 0.68,
    "observations_pool_max_tokens": 20_000,
    "observations_pool_target_tokens": 10_000,
    "observer_chunk_max_tokens": None,
    "old_memory_max_tokens": 6_000,
    "agent_max_turns": 16,
    "model_fallbacks": (),
    "observer_fallbacks": None,
    "reflector_fallbacks": None,
    "digester_fallbacks": None,
    "dropper_fallbacks": None,
    "judge_fallbacks": None,
    "model_base_url": None,
    "model_timeout_seconds": 120,
    "model_tries": 3,
    "model_cooldown_seconds": 60,
    "model_context_tokens": None,
    "model_price_input_usd": None,
    "model_price_output_usd": None,
    "without_provider": "wait",
    "over_budget": "extractive",
    "keys_file": None,
    "prompts_folder": None,
    "model": None,
    "observer_model": None,
    "reflector_model": None,
    "digester_model": None,
    "dropper_model": None,
    "judge_model": None,
    "show_worker_notifications": True,
    "passive": False,
    "debug_log": False,
    "compaction_max_tokens": 32_000,
    "extract_max_tokens": 2_000,
    "keep_recent_tokens": 20_000,
    "flush_min_tokens": 1_000,
    "flush_idle_seconds": 300,
    "span_max_tries": 5,
    "budget_daily_usd": 5.0,
    "lease_seconds": 60,
    "job_deadline_seconds": 600,
    "judge_deadline_seconds": 20,
    "worker_idle_exit_seconds": 600,
    "worker_concurrency": 2,
    "sweep_seconds": 60,
    "retry_first_seconds": 5,
    "retry_max_seconds": 300,
    "zone": None,
    "observe_subagents": False,
    "session_model_allowed": True,
    "notice_after_turns": 20,
    "ignore": (),
    "box_url": None,
    "box_token_file": None,
    "box_projects": ("*",),
    "box_pull": "own",
    "sync_seconds": 5,
    "retention_days": None,
    "serve_host": "127.0.0.1",
    "serve_port": 8765,
    "serve_names": (),
    "serve_body_max_bytes": 8_000_000,
    "serve_requests_per_minute": 6_000,
    "audit_file": None,
}
INTEGERS = [
    n for n, value in DEFAULTS.items() if type(value) is int and n not in ("model_cooldown_seconds", "serve_port")
]
BOOLEANS = [name for name, value in DEFAULTS.items() if type(value) is bool]


def accepts(name: str, value: object) -> bool:
    try:
        BY_NAME[name].rule.check(value)
    except Refused:
        return False
    return True


def test_defaults_003_112_113_115_117() -> None:
    """Also the numbers of 003-012, 003-050, 003-070, 003-074, 003-075, 003-079 and 003-169."""
    assert dataclasses.asdict(Settings()) == DEFAULTS


def test_each_setting_says_what_it_does_and_what_is_allowed() -> None:
    for setting in SETTINGS:
        assert setting.sentence.endswith(".") and setting.rule.allowed, setting.name
        assert (setting.default is None) == bool(setting.unset), setting.name


@pytest.mark.parametrize("name", INTEGERS)
def test_positive_integers_003_112(name: str) -> None:
    assert accepts(name, 1)
    assert not any(accepts(name, wrong) for wrong in (0, -1, 1.5, 2.0, "20000", None, True, [1], 10**9 + 1))


def test_chunk_cap_is_at_least_256_003_113() -> None:
    assert [accepts("observer_chunk_max_tokens", value) for value in (256, 255, 1)] == [True, False, False]
    with pytest.raises(Refused, match="256"):
        BY_NAME["observer_chunk_max_tokens"].rule.check(255)


@pytest.mark.parametrize(("largest", "target"), [(20_000, 10_000), (40, 20), (41, 20), (1, 0)])
def test_pool_target_is_half_of_the_maximum_003_114(largest: int, target: int) -> None:
    assert Settings(observations_pool_max_tokens=largest).observations_pool_target_tokens == target


def test_pool_target_must_be_below_the_maximum_003_114() -> None:
    assert Settings(observations_pool_max_tokens=40, observations_pool_target_tokens=39)
    with pytest.raises(BadSetting, match=r"40 .* 40"):
        Settings(observations_pool_max_tokens=40, observations_pool_target_tokens=40)


def test_mode_and_ratio_003_115() -> None:
    assert [accepts("compact_after_tokens_mode", mode) for mode in ("calibrated", "ratio", "auto", 1, None)] == [
        *(True, True, False, False, False)
    ]
    wrong = (0, 1, 1.5, -0.2, float("nan"), float("inf"), "0.5", None, True)
    assert not any(accepts("compact_after_tokens_ratio", value) for value in wrong)
    assert accepts("compact_after_tokens_ratio", 0.01) and accepts("compact_after_tokens_ratio", 0.99)


@pytest.mark.parametrize("thinking", ["off", "minimal", "low", "medium", "high", "xhigh", "max"])
def test_each_thinking_level_in_both_forms_003_116(thinking: str) -> None:
    check = BY_NAME["model"].rule.check
    table = check({"provider": "p", "id": "a/b", "thinking": thinking})
    assert table == check(f"p/a/b@{thinking}") == ModelChoice(provider="p", id="a/b", thinking=thinking)  # type: ignore[arg-type]


def test_thinking_unset_means_low_003_116() -> None:
    check = BY_NAME["model"].rule.check
    assert check({"provider": "p", "id": "m"}).thinking == check("p/m").thinking == "low"
    assert len(THINKING_LEVELS) == 7


def test_an_at_with_a_version_belongs_to_the_id_003_116() -> None:
    check = BY_NAME["model"].rule.check
    assert check("vertex/claude@20240620") == ModelChoice(provider="vertex", id="claude@20240620")
    assert check("vertex/claude@20240620@off") == ModelChoice(provider="vertex", id="claude@20240620", thinking="off")


def test_a_model_reads_as_it_is_shown() -> None:
    for choice in (EXTRACTIVE, ModelChoice(provider="p", id="a/b@2024", thinking="max")):
        assert BY_NAME["model"].rule.check(str(choice)) == choice


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "m",
        "/m",
        "p/",
        "p/@low",
        "p/m@huge",
        " p/m",
        "p/m\n",
        {},
        {"provider": "p"},
        {"id": "m"},
        {"provider": "", "id": "m"},
        {"provider": "p", "id": ""},
        {"provider": "p", "id": 1},
        {"provider": "p", "id": "m", "thinking": "huge"},
        {"provider": "p", "id": "m", "thinking": None},
        {"provider": "p", "id": "m", "endpoint": "x"},
        ["p", "m"],
        None,
        True,
    ],
)
def test_wrong_models_003_116(wrong: object) -> None:
    assert not accepts("model", wrong)


def test_one_model_stands_for_all_roles_unless_a_role_has_its_own_003_116() -> None:
    common, own = ModelChoice(provider="p", id="m"), ModelChoice(provider="q", id="n")
    settings = Settings(model=common, digester_model=own, dropper_model=EXTRACTIVE)
    chosen = [settings.model_of(role) for role in ("observer", "reflector", "digester", "dropper", "judge")]
    assert chosen == [common, common, own, None, common]
    assert Settings().model_of("observer") is None


@pytest.mark.parametrize("name", BOOLEANS)
def test_only_true_booleans_003_117(name: str) -> None:
    assert accepts(name, True) and accepts(name, False)
    assert not any(accepts(name, wrong) for wrong in ("yes", "true", 1, 0, None, []))


def test_zone_and_budget() -> None:
    assert accepts("zone", "Europe/Berlin") and accepts("zone", "UTC")
    assert not any(accepts("zone", wrong) for wrong in ("Mars/X", "", "../UTC", "/etc/localtime", "Europe", 1, None))
    assert accepts("budget_daily_usd", 0) and accepts("budget_daily_usd", 0.5)
    assert not any(accepts("budget_daily_usd", wrong) for wrong in (-0.01, float("inf"), float("nan"), "5", True))


def test_settings_of_models() -> None:
    """The fallback chain, 0 as no cooldown, the server, the prices, the file of keys."""
    assert accepts("model_cooldown_seconds", 0) and not accepts("model_cooldown_seconds", -1)
    check = BY_NAME["model_fallbacks"].rule.check
    assert check(["p/m", {"provider": "q", "id": "n", "thinking": "off"}]) == (
        ModelChoice(provider="p", id="m"),
        ModelChoice(provider="q", id="n", thinking="off"),
    )
    assert check([]) == ()
    assert not any(accepts("model_fallbacks", wrong) for wrong in ("p/m", ["m"], [["p/m"]], None, {"p": "m"}))
    with pytest.raises(Refused, match="without_provider"):
        check(["extractive"])
    urls = ("http://127.0.0.1:8080/v1", "https://models.example", "http://[::1]:11434")
    assert all(accepts("model_base_url", url) for url in urls)
    wrong_urls = ("", "127.0.0.1:80", "file:///x", "https://a:b@c/", "https://c/?key=1", "https://c/#x", "http://", 1)
    assert not any(accepts("model_base_url", url) for url in wrong_urls)
    assert accepts("model_price_input_usd", 0) and not accepts("model_price_input_usd", -1)
    assert accepts("keys_file", "~/keys.toml") and not any(accepts("keys_file", path) for path in ("keys.toml", "", 1))
    for name, first, second in (("without_provider", "wait", "extractive"), ("over_budget", "extractive", "wait")):
        assert BY_NAME[name].default == first and accepts(name, second) and not accepts(name, "stop")


def test_the_chain_of_a_role() -> None:
    """A role asks its own model first, then its own fallbacks or, where it has none, the common ones."""
    one, two, three = (ModelChoice(provider="p", id=name) for name in "123")
    settings = Settings(model=one, model_fallbacks=(two,), digester_fallbacks=(three,), dropper_fallbacks=())
    assert [settings.chain_of(role) for role in ("observer", "digester", "dropper", "judge")] == [
        (one, two),
        (one, three),
        (one,),
        (one, two),
    ]
    assert Settings(model_fallbacks=(two,)).chain_of("observer") == ()


def test_scaling_touches_every_number_of_tokens_and_nothing_else() -> None:
    scaled, plain = Settings(observer_chunk_max_tokens=60_000).scaled(0.1), Settings(observer_chunk_max_tokens=60_000)
    for setting in SETTINGS:
        before, after = getattr(plain, setting.name), getattr(scaled, setting.name)
        scales = setting.name.endswith("_tokens") and setting.name != "model_context_tokens"
        assert after == (before // 10 if scales else before), setting.name


def test_scaling_keeps_what_is_allowed() -> None:
    smallest = Settings(observer_chunk_max_tokens=60_000).scaled(0.000001)
    assert smallest.observe_after_tokens == 1
    assert (smallest.observations_pool_max_tokens, smallest.observations_pool_target_tokens) == (1, 0)
    assert smallest.observer_chunk_max_tokens == 256
    assert Settings().scaled(0.5).observer_chunk_max_tokens is None


def test_the_reference_is_generated_from_the_code() -> None:
    page = Path(__file__).parent.parent / "docs" / "settings.md"
    assert page.read_text(encoding="utf-8") == reference_markdown()
    assert all(f"| `{name}` |" in reference_markdown() for name in DEFAULTS)


@pytest.mark.parametrize(
    ("key", "successor"),
    [
        ("observationThresholdTokens", "observe_after_tokens, here observeAfterTokens"),
        ("compactionThresholdTokens", "compact_after_tokens, here compactAfterTokens"),
        ("compactionModel", "model"),
        ("thinkingLevel", "model.thinking"),
        ("observerMaxTurnsPerRun", "agent_max_turns, here agentMaxTurns"),
        ("reflectorMaxTurnsPerPass", "agent_max_turns, here agentMaxTurns"),
        ("prunerMaxTurnsPerPass", "agent_max_turns, here agentMaxTurns"),
    ],
)
def test_renamed_keys_warn_with_their_successor_003_160(key: str, successor: str) -> None:
    assert legacy_warnings({key: 1}) == [f"{key} is not used any more; its new name is {successor}"]


def test_keys_that_were_split_or_removed_003_161() -> None:
    split, removed = legacy_warnings({"reflectionThresholdTokens": 1, "compactionMaxToolCalls": 2})
    for successor in (
        "reflect_after_tokens (when the reflector runs)",
        "observations_pool_max_tokens (when a compaction applies the drops)",
        "observations_pool_target_tokens (how far the dropper goes)",
    ):
        assert successor in split
    assert split.endswith("; each in camel case here")
    assert "nothing takes its place" in removed


def test_keys_that_go_on_working_do_not_warn_003_161() -> None:
    assert legacy_warnings({"passive": True, "debugLog": True, "observeAfterTokens": 1, "agentMaxTurns": 2}) == []
    assert PI_KEYS["reflectionContextMaxTokens"] == "reflection_context_max_tokens"


def test_an_unknown_key_in_pis_settings_is_a_warning_003_122() -> None:
    assert legacy_warnings({"observeAfterToken": 1}) == [
        "unknown setting 'observeAfterToken'; the nearest is observeAfterTokens"
    ]
