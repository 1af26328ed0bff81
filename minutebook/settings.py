"""Every setting once: its name with the unit, default, what is allowed, and a sentence. No I/O, standard library only.

`Settings()` is the defaults; settings_loading.py reads files, environment and flags over them.
"""

# ruff: noqa: RUF009 (_setting is dataclasses.field with a sentence: it shares nothing mutable)

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, cast

from minutebook.errors import BadSetting
from minutebook.settings_rules import (
    BOOLEAN,
    CHAIN,
    COUNT,
    EXTRACTIVE,
    HOST,
    MODEL,
    MONEY,
    PATH,
    THINKING_LEVELS,
    URL,
    WORDS,
    ZONE,
    CompactMode,
    ModelChoice,
    Refused,
    Rule,
    Setting,
    Thinking,
    at_least,
    number_rule,
    words_rule,
)

__all__ = [
    "BY_NAME",
    "EXTRACTIVE",
    "OBSERVER_CHUNK_SMALLEST_TOKENS",
    "SETTINGS",
    "THINKING_LEVELS",
    "ModelChoice",
    "Refused",
    "Rule",
    "Setting",
    "Settings",
    "Thinking",
]

OBSERVER_CHUNK_SMALLEST_TOKENS = 256
NOT_SCALED = ("model_context_tokens",)
"""What a model is stays so however short a replayed session is."""


def _setting(
    default: Any,
    rule: Rule,
    sentence: str,
    *,
    project: Literal["free", "lower", "add", "trusted"] = "free",
    unset: str = "",
) -> Any:
    """A field of Settings together with what people are told about it."""
    return field(default=default, metadata={"about": (rule, sentence, project, unset)})


def _role_model(role: str) -> Any:
    return _setting(None, MODEL, f"A model for the {role} alone.", project="trusted", unset="model")


def _role_fallbacks(role: str) -> Any:
    return _setting(
        None, CHAIN, f"Models for the {role} alone, as in model_fallbacks.", project="trusted", unset="model_fallbacks"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The values in force. `Settings()` is the defaults; tests and replay make others with dataclasses.replace.

    Raises BadSetting when the pool's target is not below its maximum; the other rules hold for files, variables and
    flags, where settings_loading.py applies them.
    """

    observe_after_tokens: int = _setting(
        10_000, COUNT, "The observer is due after this many tokens of new source entries."
    )
    reflect_after_tokens: int = _setting(
        20_000, COUNT, "The reflector is due after this many tokens of source entries since it last ran."
    )
    reflection_context_max_tokens: int = _setting(
        10_000, COUNT, "Budget of the digest and the newer reflections together; the digest may take 40 % of it."
    )
    compact_after_tokens: int = _setting(
        81_000, COUNT, "Compaction is asked for after this many tokens since the first kept entry, where a host can."
    )
    compact_after_tokens_mode: CompactMode = _setting(
        "calibrated",
        words_rule("calibrated", "ratio"),
        "What compact_after_tokens means: a count of tokens, or (ratio) a share of the model's window.",
    )
    compact_after_tokens_ratio: float = _setting(
        0.68,
        number_rule("a number above 0 and below 1", lambda value: 0 < value < 1),
        "The share of the model's window after which compaction is asked for in ratio mode.",
    )
    observations_pool_max_tokens: int = _setting(
        20_000, COUNT, "A pool of visible observations of this size makes the next compaction apply the drops."
    )
    observations_pool_target_tokens: int = _setting(
        None,
        COUNT,
        "The dropper brings the pool of active observations down to this; below observations_pool_max_tokens.",
        unset="half of observations_pool_max_tokens",
    )
    observer_chunk_max_tokens: int | None = _setting(
        None,
        at_least(OBSERVER_CHUNK_SMALLEST_TOKENS),
        "The most source entries, in tokens, that one observer request carries.",
        unset="20 % of the model's window, or 60000",
    )
    old_memory_max_tokens: int = _setting(
        6_000, COUNT, "The most reflections and observations, in tokens, that an observer request carries along."
    )
    agent_max_turns: int = _setting(16, COUNT, "The most model replies in one run of any role.")
    model: ModelChoice | None = _setting(
        None,
        MODEL,
        "The model of observer, reflector, digester, dropper and judge.",
        project="trusted",
        unset="the extractive mind, which needs none; in Pi the session's own model",
    )
    observer_model: ModelChoice | None = _role_model("observer")
    reflector_model: ModelChoice | None = _role_model("reflector")
    digester_model: ModelChoice | None = _role_model("digester")
    dropper_model: ModelChoice | None = _role_model("dropper")
    judge_model: ModelChoice | None = _role_model("judge")
    model_fallbacks: tuple[ModelChoice, ...] = _setting(
        (), CHAIN, "Models that are asked in this order when the model before them is unavailable.", project="trusted"
    )
    observer_fallbacks: tuple[ModelChoice, ...] | None = _role_fallbacks("observer")
    reflector_fallbacks: tuple[ModelChoice, ...] | None = _role_fallbacks("reflector")
    digester_fallbacks: tuple[ModelChoice, ...] | None = _role_fallbacks("digester")
    dropper_fallbacks: tuple[ModelChoice, ...] | None = _role_fallbacks("dropper")
    judge_fallbacks: tuple[ModelChoice, ...] | None = _role_fallbacks("judge")
    model_base_url: str | None = _setting(
        None,
        URL,
        "The server that is asked for every model of the provider that `model` names.",
        project="trusted",
        unset="the provider's own, or what its environment variable says",
    )
    model_timeout_seconds: int = _setting(
        120, COUNT, "A request to a model that takes longer has failed.", project="trusted"
    )
    model_tries: int = _setting(
        3,
        COUNT,
        "How often one model is asked when its provider is busy or cannot be reached, before the next one is.",
        project="trusted",
    )
    model_cooldown_seconds: int = _setting(
        60, at_least(0), "A model that failed is not asked again for so long; 0 means no pause.", project="trusted"
    )
    model_context_tokens: int | None = _setting(
        None,
        COUNT,
        "The context window of `model` and the roles' models.",
        project="trusted",
        unset="what litellm knows of the model",
    )
    model_price_input_usd: float | None = _setting(
        None,
        MONEY,
        "What a million input tokens of `model` and the roles' models cost.",
        project="trusted",
        unset="what litellm knows of the model",
    )
    model_price_output_usd: float | None = _setting(
        None,
        MONEY,
        "What a million output tokens of `model` and the roles' models cost.",
        project="trusted",
        unset="what litellm knows of the model",
    )
    without_provider: Literal["wait", "extractive"] = _setting(
        "wait",
        words_rule("wait", "extractive"),
        "When no model can be asked: put the work off, or let the extractive mind do it.",
        project="trusted",
    )
    over_budget: Literal["extractive", "wait"] = _setting(
        "extractive",
        words_rule("extractive", "wait"),
        "When budget_daily_usd is spent: let the extractive mind work, or put the work off to the next day (UTC).",
        project="trusted",
    )
    keys_file: str | None = _setting(
        None,
        PATH,
        'A TOML file with a table [keys], such as OPENAI_API_KEY = "..."; only its owner may read it.',
        project="trusted",
        unset="keys.toml in the configuration folder, where there is one",
    )
    prompts_folder: str | None = _setting(
        None,
        PATH,
        "A folder whose observer.md, reflector.md, digester.md, dropper.md or judge.md replaces that prompt.",
        project="trusted",
        unset="the prompts that come with Minutebook",
    )
    show_worker_notifications: bool = _setting(True, BOOLEAN, "Show a notice in the host when a worker has run.")
    passive: bool = _setting(
        False, BOOLEAN, "Start no work and ask for no compaction; memory that exists is still used."
    )
    debug_log: bool = _setting(
        False, BOOLEAN, "Write what workers do, in counts and ids, to the debug folder of the data folder."
    )
    compaction_max_tokens: int = _setting(32_000, COUNT, "The most tokens that a compaction's whole text may have.")
    extract_max_tokens: int = _setting(
        2_000, COUNT, "The most tokens of source entries not yet observed that a compaction quotes."
    )
    keep_recent_tokens: int = _setting(
        20_000, COUNT, "About as many tokens of newest entries stay verbatim when a replayed session compacts."
    )
    flush_min_tokens: int = _setting(
        1_000, COUNT, "A session that ended or went idle is observed from this many unobserved tokens on."
    )
    flush_idle_seconds: int = _setting(300, COUNT, "A session without a new entry for so long counts as idle.")
    span_max_tries: int = _setting(
        5, COUNT, "After so many failures of one entry it becomes a gap, which is listed and can be retried."
    )
    budget_daily_usd: float = _setting(
        5.0,
        MONEY,
        "What model calls may cost in a day; then the extractive mind works, and 0 allows no paid call.",
        project="lower",
    )
    lease_seconds: int = _setting(
        60, COUNT, "A worker that gives no sign for so long loses its job.", project="trusted"
    )
    job_deadline_seconds: int = _setting(
        600, COUNT, "A job that runs longer is given up, whatever its worker says.", project="trusted"
    )
    judge_deadline_seconds: int = _setting(
        20,
        COUNT,
        "`om search --judge` waits so long for the judge, then shows the order of the search.",
        project="trusted",
    )
    worker_idle_exit_seconds: int = _setting(
        600, COUNT, "A worker that a hook started leaves after so long without work.", project="trusted"
    )
    worker_concurrency: int = _setting(2, COUNT, "How many jobs of one role run at once.", project="trusted")
    sweep_seconds: int = _setting(
        60, COUNT, "How often a worker derives again from the ledger what is due.", project="trusted"
    )
    retry_first_seconds: int = _setting(
        5, COUNT, "The wait after a provider's first failure; it doubles with each further one.", project="trusted"
    )
    retry_max_seconds: int = _setting(
        300, COUNT, "The longest wait between two tries of a provider.", project="trusted"
    )
    zone: str | None = _setting(
        None,
        ZONE,
        "The time zone of observations' times, for sessions whose own is not known.",
        project="trusted",
        unset="the machine's zone",
    )
    observe_subagents: bool = _setting(False, BOOLEAN, "Observe the sessions of subagents too.", project="trusted")
    session_model_allowed: bool = _setting(
        True,
        BOOLEAN,
        "Without a configured model, workers of a Pi session think with that session's own model.",
        project="trusted",
    )
    notice_after_turns: int = _setting(
        20, COUNT, "After so many turns of which nothing was recorded though it was due, the agent's user is told once."
    )
    ignore: tuple[str, ...] = _setting(
        (),
        WORDS,
        "Globs of what is kept out: a project's folder that matches is not recorded at all, and of a tool call that"
        " names a matching path neither arguments nor result are.",
        project="add",
    )
    box_url: str | None = _setting(
        None,
        URL,
        "The team box to which `om sync` sends sessions, and from which their memory comes back.",
        project="trusted",
        unset="no box: everything stays on this machine",
    )
    box_token_file: str | None = _setting(
        None,
        PATH,
        "A file that holds the token for the box and nothing else; only its owner may read it.",
        project="trusted",
        unset="MINUTEBOOK_BOX_TOKEN, or box.token in the configuration folder",
    )
    box_projects: tuple[str, ...] = _setting(
        ("*",),
        WORDS,
        "Names of the projects whose sessions are sent, * for any characters; never more than the token allows.",
        project="trusted",
    )
    box_pull: Literal["own", "team", "nothing"] = _setting(
        "own",
        words_rule("own", "team", "nothing"),
        "Sessions that come from the box besides those of this machine: of one's own other machines, or the team's.",
        project="trusted",
    )
    sync_seconds: int = _setting(
        5, COUNT, "How often `om sync` asks the box for new memory; after a failure it waits longer.", project="trusted"
    )
    retention_days: int | None = _setting(
        None,
        COUNT,
        "Sessions without a new entry for so many days are removed by `om retention`, with all that rests on them.",
        project="trusted",
        unset="nothing is removed",
    )
    serve_host: str = _setting("127.0.0.1", HOST, "The address on which `om serve` listens.", project="trusted")
    serve_port: int = _setting(
        8765, at_least(0), "The port on which `om serve` listens; 0 takes a free one.", project="trusted"
    )
    serve_names: tuple[str, ...] = _setting(
        (),
        WORDS,
        "Names by which clients may address `om serve`, besides its address and localhost.",
        project="trusted",
    )
    serve_body_max_bytes: int = _setting(
        8_000_000, COUNT, "The largest request that `om serve` reads.", project="trusted"
    )
    serve_requests_per_minute: int = _setting(
        6_000, COUNT, "How many requests `om serve` answers for one token in a minute.", project="trusted"
    )
    audit_file: str | None = _setting(
        None,
        PATH,
        "The file in which `om serve` notes who read what.",
        project="trusted",
        unset="audit.jsonl in the data folder",
    )

    def __post_init__(self) -> None:
        pool, target = self.observations_pool_max_tokens, cast(int | None, self.observations_pool_target_tokens)
        if target is None:
            target = pool // 2
            object.__setattr__(self, "observations_pool_target_tokens", target)
        if target >= pool:
            raise BadSetting(
                f"observations_pool_target_tokens = {target} must be below observations_pool_max_tokens = {pool}"
            )

    def model_of(self, role: str) -> ModelChoice | None:
        """The model of a role: its own, else `model`; None for the extractive mind."""
        choice = getattr(self, f"{role}_model", None) or self.model
        return None if choice == EXTRACTIVE else choice

    def chain_of(self, role: str) -> tuple[ModelChoice, ...]:
        """The models of a role in the order in which they are asked; empty for the extractive mind."""
        choice = self.model_of(role)
        own: tuple[ModelChoice, ...] | None = getattr(self, f"{role}_fallbacks", None)
        return (choice, *(self.model_fallbacks if own is None else own)) if choice else ()

    def scaled(self, factor: float) -> "Settings":
        """Every number of tokens times the factor, at least its smallest allowed value: for `om replay --scale`."""
        values = {setting.name: getattr(self, setting.name) for setting in SETTINGS}
        tokens: dict[str, Any] = {
            name: max(BY_NAME[name].rule.smallest, round(number * factor))
            for name, number in values.items()
            if name.endswith("_tokens") and name not in NOT_SCALED and number is not None
        }
        largest_target = tokens["observations_pool_max_tokens"] - 1
        tokens["observations_pool_target_tokens"] = min(tokens["observations_pool_target_tokens"], largest_target)
        return replace(self, **tokens)


SETTINGS: tuple[Setting, ...] = tuple(
    Setting(one.name, one.default, *one.metadata["about"]) for one in fields(Settings)
)
"""All settings in the order of the reference."""
BY_NAME: Mapping[str, Setting] = {setting.name: setting for setting in SETTINGS}
