"""Every setting once: its name with the unit, default, what is allowed, and a sentence. No I/O, standard library only.

`Settings()` is the defaults; settings_loading.py reads files, environment and flags over them.
"""

# ruff: noqa: RUF009 (_setting is dataclasses.field with a sentence: it shares nothing mutable)

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple, cast, get_args

from minutebook.errors import BadSetting

Thinking = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]
THINKING_LEVELS: tuple[Thinking, ...] = get_args(Thinking)
CompactMode = Literal["calibrated", "ratio"]

OBSERVER_CHUNK_SMALLEST_TOKENS = 256
INTEGER_LARGEST = 1_000_000_000
"""No count, number of tokens or seconds needs more, and every backend can hold it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """Which model thinks. thinking: sent only to a model that can think; off sends none."""

    provider: str
    id: str
    thinking: Thinking = "low"

    def __str__(self) -> str:
        """As a variable or a file may name it."""
        return "extractive" if self == EXTRACTIVE else f"{self.provider}/{self.id}@{self.thinking}"


EXTRACTIVE = ModelChoice(provider="extractive", id="extractive", thinking="off")
"""Names the mind that needs no model; `Settings.model_of` turns it into None."""


class Refused(ValueError):
    """A value that its rule does not allow; the text says what is allowed. Never leaves settings*.py.

    key: which key of a table is wrong.
    """

    def __init__(self, allowed: str, key: str = "") -> None:
        super().__init__(allowed)
        self.key = key


class Rule(NamedTuple):
    """What a setting may be. check: a typed value to the value kept; parse: the text of a variable to a typed value.

    Both raise Refused.
    """

    allowed: str
    check: Callable[[object], Any]
    parse: Callable[[str], object]
    smallest: int = 0


class Setting(NamedTuple):
    """One setting as people see it. project: what an untrusted project's file may do with it.

    free: set it. lower: set it, but not above what it would be without. trusted: nothing before `om trust`.
    unset: what happens when it is not set, for settings whose default is no value.
    """

    name: str
    default: Any
    rule: Rule
    sentence: str
    project: Literal["free", "lower", "trusted"]
    unset: str

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return f"MINUTEBOOK_{self.name.upper()}"


def _integer(text: str) -> object:
    return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else text


def _number(text: str) -> object:
    return float(text) if re.fullmatch(r"-?[0-9]{0,18}(\.[0-9]{0,18})?", text) and re.search("[0-9]", text) else text


def _boolean(text: str) -> object:
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if text.lower() not in words:
        raise Refused("one of 1, true, yes, on, 0, false, no, off")
    return words[text.lower()]


def _at_least(smallest: int) -> Rule:
    allowed = f"a whole number from {smallest} to {INTEGER_LARGEST}"

    def check(value: object) -> int:
        if type(value) is not int or not smallest <= value <= INTEGER_LARGEST:
            raise Refused(allowed)
        return value

    return Rule(allowed, check, _integer, smallest)


def _number_rule(allowed: str, holds: Callable[[float], bool]) -> Rule:
    def check(value: object) -> float:
        if type(value) not in (int, float) or not math.isfinite(value) or not holds(value):  # type: ignore[arg-type]
            raise Refused(allowed)
        return float(value)  # type: ignore[arg-type]

    return Rule(allowed, check, _number)


def _check_boolean(value: object) -> bool:
    if type(value) is not bool:
        raise Refused("true or false, without quotes")
    return value


def _check_mode(value: object) -> CompactMode:
    if value == "calibrated" or value == "ratio":
        return value
    raise Refused('"calibrated" or "ratio"')


def _check_zone(value: object) -> str:
    from zoneinfo import ZoneInfo

    if type(value) is not str or not value:
        raise Refused(_ZONE_ALLOWED)
    try:
        return ZoneInfo(value).key
    except (OSError, ValueError, KeyError) as error:
        raise Refused(_ZONE_ALLOWED) from error


_ZONE_ALLOWED = 'an IANA name such as "Europe/Berlin" or "UTC"'
_MODEL_ALLOWED = (
    '"extractive", "provider/id", "provider/id@thinking", or a table of provider, id and, if wanted, thinking'
    f" ({', '.join(THINKING_LEVELS)})"
)


def _check_model(value: object) -> ModelChoice:
    if isinstance(value, ModelChoice):
        return value
    if type(value) is str:
        return _model_of_text(value)
    if not isinstance(value, Mapping) or not {"provider", "id"} <= set(value):
        raise Refused(_MODEL_ALLOWED)
    for key in value:
        if key not in ("provider", "id", "thinking"):
            raise Refused("provider, id and thinking here, and every other setting above this table", key)
    return _model(value["provider"], value["id"], value.get("thinking", "low"))


def _model_of_text(text: str) -> ModelChoice:
    """`provider/id@thinking`. An id may hold slashes, and an @ with a version (`claude@20240620`), which has digits."""
    if text == "extractive":
        return EXTRACTIVE
    provider, _, rest = text.partition("/")
    id_, at, thinking = rest.rpartition("@")
    if not at or (thinking not in THINKING_LEVELS and re.search("[0-9]", thinking)):
        return _model(provider, rest, "low")
    return _model(provider, id_, thinking)


def _model(provider: object, id_: object, thinking: object) -> ModelChoice:
    for key, word in (("provider", provider), ("id", id_)):
        if type(word) is not str or not word or not word.isprintable() or word.strip() != word:
            raise Refused("a provider and an id that are not empty, such as provider/id", key)
    if thinking not in THINKING_LEVELS:
        raise Refused(f"a thinking of {', '.join(THINKING_LEVELS)}", "thinking")
    return ModelChoice(provider=str(provider), id=str(id_), thinking=thinking)


_COUNT = _at_least(1)
_BOOLEAN = Rule("true or false", _check_boolean, _boolean)
_MODEL = Rule(_MODEL_ALLOWED, _check_model, str)


def _setting(
    default: Any,
    rule: Rule,
    sentence: str,
    *,
    project: Literal["free", "lower", "trusted"] = "free",
    unset: str = "",
) -> Any:
    """A field of Settings together with what people are told about it."""
    return field(default=default, metadata={"about": (rule, sentence, project, unset)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The values in force. `Settings()` is the defaults; tests and replay make others with dataclasses.replace.

    Raises BadSetting when the pool's target is not below its maximum; the other rules hold for files, variables and
    flags, where settings_loading.py applies them.
    """

    observe_after_tokens: int = _setting(
        10_000, _COUNT, "The observer is due after this many tokens of new source entries."
    )
    reflect_after_tokens: int = _setting(
        20_000, _COUNT, "The reflector is due after this many tokens of source entries since it last ran."
    )
    reflection_context_max_tokens: int = _setting(
        10_000, _COUNT, "Budget of the digest and the newer reflections together; the digest may take 40 % of it."
    )
    compact_after_tokens: int = _setting(
        81_000, _COUNT, "Compaction is asked for after this many tokens since the first kept entry, where a host can."
    )
    compact_after_tokens_mode: CompactMode = _setting(
        "calibrated",
        Rule('"calibrated" or "ratio"', _check_mode, str),
        "What compact_after_tokens means: a count of tokens, or (ratio) a share of the model's window.",
    )
    compact_after_tokens_ratio: float = _setting(
        0.68,
        _number_rule("a number above 0 and below 1", lambda value: 0 < value < 1),
        "The share of the model's window after which compaction is asked for in ratio mode.",
    )
    observations_pool_max_tokens: int = _setting(
        20_000, _COUNT, "A pool of visible observations of this size makes the next compaction apply the drops."
    )
    observations_pool_target_tokens: int = _setting(
        None,
        _COUNT,
        "The dropper brings the pool of active observations down to this; below observations_pool_max_tokens.",
        unset="half of observations_pool_max_tokens",
    )
    observer_chunk_max_tokens: int | None = _setting(
        None,
        _at_least(OBSERVER_CHUNK_SMALLEST_TOKENS),
        "The most source entries, in tokens, that one observer request carries.",
        unset="20 % of the model's window, or 60000",
    )
    old_memory_max_tokens: int = _setting(
        8_000, _COUNT, "The most reflections and observations, in tokens, that an observer request carries along."
    )
    agent_max_turns: int = _setting(16, _COUNT, "The most model replies in one run of any role.")
    model: ModelChoice | None = _setting(
        None,
        _MODEL,
        "The model of observer, reflector, digester and dropper.",
        project="trusted",
        unset="the extractive mind, which needs none; in Pi the session's own model",
    )
    observer_model: ModelChoice | None = _setting(
        None, _MODEL, "A model for the observer alone.", project="trusted", unset="model"
    )
    reflector_model: ModelChoice | None = _setting(
        None, _MODEL, "A model for the reflector alone.", project="trusted", unset="model"
    )
    digester_model: ModelChoice | None = _setting(
        None, _MODEL, "A model for the digester alone.", project="trusted", unset="model"
    )
    dropper_model: ModelChoice | None = _setting(
        None, _MODEL, "A model for the dropper alone.", project="trusted", unset="model"
    )
    show_worker_notifications: bool = _setting(True, _BOOLEAN, "Show a notice in the host when a worker has run.")
    passive: bool = _setting(
        False, _BOOLEAN, "Start no work and ask for no compaction; memory that exists is still used."
    )
    debug_log: bool = _setting(
        False, _BOOLEAN, "Write what workers do, in counts and ids, to the debug folder of the data folder."
    )
    compaction_max_tokens: int = _setting(32_000, _COUNT, "The most tokens that a compaction's whole text may have.")
    extract_max_tokens: int = _setting(
        2_000, _COUNT, "The most tokens of source entries not yet observed that a compaction quotes."
    )
    keep_recent_tokens: int = _setting(
        20_000, _COUNT, "About as many tokens of newest entries stay verbatim when a replayed session compacts."
    )
    flush_min_tokens: int = _setting(
        1_000, _COUNT, "A session that ended or went idle is observed from this many unobserved tokens on."
    )
    flush_idle_seconds: int = _setting(300, _COUNT, "A session without a new entry for so long counts as idle.")
    span_max_tries: int = _setting(
        5, _COUNT, "After so many failures of one entry it becomes a gap, which is listed and can be retried."
    )
    budget_daily_usd: float = _setting(
        5.0,
        _number_rule("a number from 0 to 1000000", lambda value: 0 <= value <= 1_000_000),
        "What model calls may cost in a day; then the extractive mind works, and 0 allows no paid call.",
        project="lower",
    )
    lease_seconds: int = _setting(
        60, _COUNT, "A worker that gives no sign for so long loses its job.", project="trusted"
    )
    job_deadline_seconds: int = _setting(
        600, _COUNT, "A job that runs longer is given up, whatever its worker says.", project="trusted"
    )
    worker_idle_exit_seconds: int = _setting(
        600, _COUNT, "A worker that a hook started leaves after so long without work.", project="trusted"
    )
    worker_concurrency: int = _setting(2, _COUNT, "How many jobs of one role run at once.", project="trusted")
    sweep_seconds: int = _setting(
        60, _COUNT, "How often a worker derives again from the ledger what is due.", project="trusted"
    )
    retry_first_seconds: int = _setting(
        5, _COUNT, "The wait after a provider's first failure; it doubles with each further one.", project="trusted"
    )
    retry_max_seconds: int = _setting(
        300, _COUNT, "The longest wait between two tries of a provider.", project="trusted"
    )
    zone: str | None = _setting(
        None,
        Rule(_ZONE_ALLOWED, _check_zone, str),
        "The time zone of observations' times, for sessions whose own is not known.",
        project="trusted",
        unset="the machine's zone",
    )
    observe_subagents: bool = _setting(False, _BOOLEAN, "Observe the sessions of subagents too.", project="trusted")

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

    def scaled(self, factor: float) -> "Settings":
        """Every number of tokens times the factor, at least its smallest allowed value: for `om replay --scale`."""
        values = {setting.name: getattr(self, setting.name) for setting in SETTINGS}
        tokens: dict[str, Any] = {
            name: max(BY_NAME[name].rule.smallest, round(number * factor))
            for name, number in values.items()
            if name.endswith("_tokens") and number is not None
        }
        largest_target = tokens["observations_pool_max_tokens"] - 1
        tokens["observations_pool_target_tokens"] = min(tokens["observations_pool_target_tokens"], largest_target)
        return replace(self, **tokens)


SETTINGS: tuple[Setting, ...] = tuple(
    Setting(one.name, one.default, *one.metadata["about"]) for one in fields(Settings)
)
"""All settings in the order of the reference."""
BY_NAME: Mapping[str, Setting] = {setting.name: setting for setting in SETTINGS}
