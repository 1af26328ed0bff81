"""What a setting's value may be: the checks of typed values, and how the text of a variable is read. No I/O."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

Thinking = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]
THINKING_LEVELS: tuple[Thinking, ...] = get_args(Thinking)
CompactMode = Literal["calibrated", "ratio"]

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
        if self == EXTRACTIVE:
            return "extractive"
        return f"{self.provider}{':' if self.is_program else '/'}{self.id}@{self.thinking}"

    @property
    def is_program(self) -> bool:
        """Whether an installed program that is logged in is asked (`host:claude`), and no provider."""
        return self.provider == PROGRAM


PROGRAM = "host"
PROGRAMS = ("claude", "codex")
"""The provider, and the first words of the ids, of models that are asked through an agent's own program."""
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

    free: set it. lower: set it, but not above what it would be without. add: add harmless globs to what it would be
    without. trusted: nothing before `om trust`.
    unset: what happens when it is not set, for settings whose default is no value.
    """

    name: str
    default: Any
    rule: Rule
    sentence: str
    project: Literal["free", "lower", "add", "trusted"]
    unset: str

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return f"MINUTEBOOK_{self.name.upper()}"


def integer_of(text: str) -> object:
    """A whole number, or the text itself, which the check then refuses."""
    return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else text


def _number(text: str) -> object:
    return float(text) if re.fullmatch(r"-?[0-9]{0,18}(\.[0-9]{0,18})?", text) and re.search("[0-9]", text) else text


def _boolean(text: str) -> object:
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if text.lower() not in words:
        raise Refused("one of 1, true, yes, on, 0, false, no, off")
    return words[text.lower()]


def at_least(smallest: int) -> Rule:
    """A whole number from `smallest` on."""
    allowed = f"a whole number from {smallest} to {INTEGER_LARGEST}"

    def check(value: object) -> int:
        if type(value) is not int or not smallest <= value <= INTEGER_LARGEST:
            raise Refused(allowed)
        return value

    return Rule(allowed, check, integer_of, smallest)


def number_rule(allowed: str, holds: Callable[[float], bool]) -> Rule:
    """A finite number for which `holds` is true."""

    def check(value: object) -> float:
        if type(value) not in (int, float) or not math.isfinite(value) or not holds(value):  # type: ignore[arg-type]
            raise Refused(allowed)
        return float(value)  # type: ignore[arg-type]

    return Rule(allowed, check, _number)


def _check_boolean(value: object) -> bool:
    if type(value) is not bool:
        raise Refused("true or false, without quotes")
    return value


def words_rule(*words: str) -> Rule:
    """One of these words."""
    allowed = f"{', '.join(json_text(word) for word in words[:-1])} or {json_text(words[-1])}"

    def check(value: object) -> str:
        if type(value) is not str or value not in words:
            raise Refused(allowed)
        return value

    return Rule(allowed, check, str)


def json_text(word: str) -> str:
    """A word in double quotes, as a file has it."""
    return f'"{word}"'


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
    '"extractive", "provider/id", "provider/id@thinking", "host:claude" or "host:codex" (with /model and @thinking if'
    " wanted), or a table of provider, id and, if wanted, thinking"
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
    provider, _, rest = text.partition(":" if text.startswith(f"{PROGRAM}:") else "/")
    id_, at, thinking = rest.rpartition("@")
    if not at or (thinking not in THINKING_LEVELS and re.search("[0-9]", thinking)):
        return _model(provider, rest, "low")
    return _model(provider, id_, thinking)


def _model(provider: object, id_: object, thinking: object) -> ModelChoice:
    for key, word in (("provider", provider), ("id", id_)):
        if type(word) is not str or not word or not word.isprintable() or word.strip() != word:
            raise Refused("a provider and an id that are not empty, such as provider/id", key)
    program, slash, named = str(id_).partition("/")
    if provider == PROGRAM and (program not in PROGRAMS or (slash and not re.fullmatch(r"\w[\w.:@/\[\]-]*", named))):
        raise Refused("a program that Minutebook can ask: claude or codex, then perhaps / and its model", "id")
    if thinking not in THINKING_LEVELS:
        raise Refused(f"a thinking of {', '.join(THINKING_LEVELS)}", "thinking")
    return ModelChoice(provider=str(provider), id=str(id_), thinking=thinking)


_CHAIN_ALLOWED = 'a list of models such as ["provider/id", "provider/id@thinking"], without "extractive"'


def _check_chain(value: object) -> tuple[ModelChoice, ...]:
    if not isinstance(value, (list, tuple)):
        raise Refused(_CHAIN_ALLOWED)
    try:
        chain = tuple(_check_model(each) for each in value)
    except Refused:
        raise Refused(_CHAIN_ALLOWED) from None
    if EXTRACTIVE in chain:
        raise Refused(f'{_CHAIN_ALLOWED}: for that there is without_provider = "extractive"')
    return chain


def _chain_of_text(text: str) -> object:
    """Models between commas; an empty text is no model."""
    return [part.strip() for part in text.split(",")] if text else []


_URL_ALLOWED = "a URL such as http://127.0.0.1:8080/v1, without a user, a password, a query or a fragment"


def _check_url(value: object) -> str:
    if type(value) is not str or not re.fullmatch(r"https?://[A-Za-z0-9._:\[\]-]+(/[^\s?#@]*)?", value):
        raise Refused(_URL_ALLOWED)
    return value.rstrip("/")


_PATH_ALLOWED = "a path that begins with / or ~/"


def _check_path(value: object) -> str:
    if type(value) is not str or not value.startswith(("/", "~/")) or not value.isprintable():
        raise Refused(_PATH_ALLOWED)
    return value


_WORDS_ALLOWED = 'a list of words such as ["github.com/acme/*"]'


def _check_words(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(each, str) and each.strip() for each in value):
        raise Refused(_WORDS_ALLOWED)
    return tuple(value)


_GLOBS_MOST, _GLOB_MOST_CHARACTERS = 100, 200


def are_harmless_globs(globs: Sequence[str]) -> bool:
    """Whether a stranger may set them: whether a path matches is known at once, however that path is made."""
    return len(globs) <= _GLOBS_MOST and all(map(_is_harmless_glob, globs))


def _is_harmless_glob(glob: str) -> bool:
    """One * at most in a name, one more at the very end, and ** only where the path's beginning is known, or its end is
    not: else the time to match grows with a power of the path's length.
    """
    names = glob.strip().removesuffix("/**").split("/")
    if names[0] == "**" and names[1:2] != [""]:
        del names[0]
    elif names[0] in ("", "~") and "**" in names:
        names.remove("**")
    most = max(name.count("*") for name in "/".join(names).removesuffix("*").split("/"))
    return len(glob) <= _GLOB_MOST_CHARACTERS and most <= 1


_HOST_ALLOWED = 'a name or an address without a port, such as "127.0.0.1" or "0.0.0.0"'


def _check_host(value: object) -> str:
    if type(value) is not str or not re.fullmatch(r"[A-Za-z0-9.-]+|[0-9a-fA-F:]+", value):
        raise Refused(_HOST_ALLOWED)
    return value


COUNT = at_least(1)
BOOLEAN = Rule("true or false", _check_boolean, _boolean)
MODEL = Rule(_MODEL_ALLOWED, _check_model, str)
CHAIN = Rule(_CHAIN_ALLOWED, _check_chain, _chain_of_text)
URL = Rule(_URL_ALLOWED, _check_url, str)
PATH = Rule(_PATH_ALLOWED, _check_path, str)
WORDS = Rule(_WORDS_ALLOWED, _check_words, _chain_of_text)
HOST = Rule(_HOST_ALLOWED, _check_host, str)
ZONE = Rule(_ZONE_ALLOWED, _check_zone, str)
MONEY = number_rule("a number from 0 to 1000000", lambda value: 0 <= value <= 1_000_000)
