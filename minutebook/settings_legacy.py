"""What the `observational-memory` section of Pi's settings may hold that is not used: old keys, and unknown ones."""

from collections.abc import Mapping

from minutebook.settings import SETTINGS

RENAMED: Mapping[str, str] = {
    "observationThresholdTokens": "observe_after_tokens",
    "compactionThresholdTokens": "compact_after_tokens",
    "compactionModel": "model",
    "thinkingLevel": "model.thinking",
    "observerMaxTurnsPerRun": "agent_max_turns",
    "reflectorMaxTurnsPerPass": "agent_max_turns",
    "prunerMaxTurnsPerPass": "agent_max_turns",
}
"""Version 2 keys that have one successor."""

SPLIT: Mapping[str, Mapping[str, str]] = {
    "reflectionThresholdTokens": {
        "reflect_after_tokens": "when the reflector runs",
        "observations_pool_max_tokens": "when a compaction applies the drops",
        "observations_pool_target_tokens": "how far the dropper goes",
    }
}
"""Version 2 keys that did several things, and what does each of them now."""

REMOVED = ("compactionMaxToolCalls",)
"""Version 2 keys without a successor."""


def camel_case(name: str) -> str:
    """The key of a setting in Pi's settings: observe_after_tokens is observeAfterTokens there."""
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


PI_KEYS: Mapping[str, str] = {camel_case(setting.name): setting.name for setting in SETTINGS}
"""Key in Pi's settings -> setting."""


def legacy_warnings(section: Mapping[str, object]) -> list[str]:
    """One warning for each key of the section that is not used, in the order of the section (003-122, 160, 161)."""
    return [legacy_warning(key) for key in section if key not in PI_KEYS]


def legacy_warning(key: str) -> str:
    """What is to be said of a key that is none of ours."""
    if key in RENAMED:
        return f"{key} is not used any more; its new name is {RENAMED[key]}{_written_here(RENAMED[key])}"
    if key in SPLIT:
        successors = ", ".join(f"{name} ({purpose})" for name, purpose in SPLIT[key].items())
        return f"{key} is not used any more; instead there are {successors}; each in camel case here"
    if key in REMOVED:
        return f"{key} is not used any more, and nothing takes its place"
    from difflib import get_close_matches

    return f"unknown setting {key!r}; the nearest is {get_close_matches(key, PI_KEYS, n=1, cutoff=0.0)[0]}"


def _written_here(name: str) -> str:
    """How Pi's settings file spells it, where that is another way."""
    here = camel_case(name)
    return f", here {here}" if here != name else ""
