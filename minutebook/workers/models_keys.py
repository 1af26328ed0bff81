"""How a provider is reached: key, headers, server. Keys come from the environment or from a file of keys.

They are handed to the call and to nothing else: not to os.environ, the store, a log or a message.
"""

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minutebook.errors import BadSetting
from minutebook.places import config_dir, read_private_file
from minutebook.settings import ModelChoice, Settings
from minutebook.workers import models_hosts
from minutebook.workers.models_library import OTHER_KEYS, WITH_USUAL_KEY, library

KEYS_FILE = "keys.toml"
NO_KEY = "none"
"""Sent to a server of one's own, where the client insists on a key and there is none."""
NEEDS_NO_KEY = frozenset({"ollama", "ollama_chat", "lm_studio", "llamafile", "hosted_vllm", "xinference", "vllm"})
SIGNED: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "bedrock": (
        ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_BEARER_TOKEN_BEDROCK"),
        ("~/.aws/credentials", "~/.aws/config"),
    ),
    "vertex_ai": (
        ("GOOGLE_APPLICATION_CREDENTIALS", "VERTEXAI_CREDENTIALS"),
        ("~/.config/gcloud/application_default_credentials.json",),
    ),
}
"""Providers whose requests are signed with credentials: variables or files that hold them (003-132)."""
SECRET_ENDINGS = ("_API_KEY", "_TOKEN", "_ACCESS_KEY", "_SECRET_KEY")
"""Of variables that hold keys. A provider may quote one back, in no form that redaction would know."""
PARAMETERS = {
    "_API_BASE": "base_url",
    "_BASE_URL": "base_url",
    "_API_VERSION": "api_version",
    "_API_KEY": "api_key",
    "_TOKEN": "api_key",
}


@dataclass(frozen=True, slots=True)
class Access:
    """How to call. parameters: of litellm.completion. missing: what has to be set first; empty when usable.

    how: key, header, signed, none or login, for people.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict, repr=False)
    how: str = ""
    missing: str = ""

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not stand in any message, the longest first: the environment's keys too, which litellm reads."""
        headers = self.parameters.get("extra_headers", {}).values()
        named = [value for name, value in self.parameters.items() if name not in ("base_url", "api_version")]
        texts = [value for value in (*named, *headers) if isinstance(value, str) and value != NO_KEY]
        texts += [value.strip() for name, value in os.environ.items() if name.endswith(SECRET_ENDINGS)]
        parts = {part for text in texts for part in (text, text.removeprefix("Bearer "))}
        return tuple(sorted(parts, key=lambda part: (-len(part), part)))


@dataclass(frozen=True, slots=True)
class Keys:
    """A file of keys. keys: name → value, as in the environment. headers: provider → header → value."""

    path: Path
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    headers: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)


def read_keys(settings: Settings) -> Keys:
    """The file of keys; empty where none is named and the usual one is not there. Raises BadSetting."""
    named = settings.keys_file
    path = Path(named).expanduser() if named else config_dir() / KEYS_FILE
    content = read_private_file(path, "keys")
    if content is None:
        if named:
            raise BadSetting(f"{path}: no such file; keys_file names it")
        return Keys(path)
    return _parsed(path, content)


def _parsed(path: Path, content: bytes) -> Keys:
    """Messages name the line, never what stands there."""
    try:
        table = tomllib.loads(content.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        at = re.search(r"at line (\d+)", str(error))
        where = f"{path}, line {at[1]}" if at else str(path)
        raise BadSetting(f'{where}: not TOML; write [keys] and below it NAME = "value"') from None
    keys, headers = table.get("keys", {}), table.get("headers", {})
    if set(table) - {"keys", "headers"} or not _texts(keys) or not isinstance(headers, dict):
        raise BadSetting(f'{path}: only [keys] with NAME = "value", and [headers.provider] likewise, belong here')
    if not all(_texts(each) for each in headers.values()):
        raise BadSetting(f'{path}: below [headers.provider] belongs Name = "value"')
    return Keys(path, keys, headers)


def _texts(table: object) -> bool:
    return isinstance(table, dict) and all(isinstance(value, str) for value in table.values())


def access_to(choice: ModelChoice, settings: Settings) -> Access:
    """How to reach a model, or what is missing. Raises BadSetting for a file of keys that cannot be used."""
    if choice.is_program:
        return Access(how="login", missing=models_hosts.missing(choice))
    keys = read_keys(settings)
    headers = {name: value for name, value in keys.headers.get(choice.provider, {}).items() if value.strip()}
    shared: dict[str, Any] = {"extra_headers": headers} if headers else {}
    if server := base_url_of(choice, settings):
        shared["base_url"] = server
    found = _from_file(choice, keys)
    if "api_key" in found or any(name.startswith("aws_") for name in found):
        return Access({**found, **shared}, "key")
    if headers:
        return Access({"api_key": NO_KEY, **found, **shared}, "header")
    if _signed(choice.provider):
        return Access({**found, **shared}, "signed")
    missing = _missing(choice, keys)
    if not missing:
        return Access({**found, **shared}, "none" if choice.provider in NEEDS_NO_KEY else "key")
    if server:
        return Access({"api_key": NO_KEY, **found, **shared}, "none")
    return Access({**found, **shared}, missing=f"no key: set {missing}, or put it into {keys.path} below [keys]")


def base_url_of(choice: ModelChoice, settings: Settings) -> str | None:
    """The server that was set for the model's provider: that of `model`, else those of the roles' models."""
    if settings.model_base_url is None:
        return None
    roles = ("observer", "reflector", "digester", "dropper", "judge")
    named = [settings.model] if settings.model else [settings.model_of(role) for role in roles]
    return settings.model_base_url if choice.provider in {each.provider for each in named if each} else None


def _from_file(choice: ModelChoice, keys: Keys) -> dict[str, str]:
    """What the file holds for the provider, under litellm's names of it."""
    found: dict[str, str] = {}
    for name in _names_of(choice):
        value = keys.keys.get(name, "").strip()
        if value:
            found.setdefault(_parameter(name), value)
    return found


def _parameter(name: str) -> str:
    if name.startswith("AWS_"):
        return name.lower()
    return next((parameter for ending, parameter in PARAMETERS.items() if name.endswith(ending)), name.lower())


def _names_of(choice: ModelChoice) -> Sequence[str]:
    """Variables that the provider's keys may have. litellm names only those that are not set."""
    usual = re.sub(r"[^A-Z0-9]", "_", choice.provider.upper())
    named = [f"{usual}_API_KEY", f"{usual}_API_BASE", f"{usual}_API_VERSION", *_asked_for(choice)]
    if choice.provider == "bedrock":
        named += ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION_NAME"]
    return list(dict.fromkeys(named))


def _asked_for(choice: ModelChoice) -> list[str]:
    if choice.provider in WITH_USUAL_KEY:
        usual = f"{choice.provider.upper()}_API_KEY"
        others = OTHER_KEYS.get(choice.provider, ())
        return [] if any(name in os.environ for name in (usual, *others)) else [usual]
    checked = library().validate_environment(f"{choice.provider}/{choice.id}")
    return [str(name) for name in checked.get("missing_keys") or ()]


def _missing(choice: ModelChoice, keys: Keys) -> str:
    """The variables to set, as a text; "" when nothing is missing. Of several keys any one does; an empty one none."""
    if choice.provider in NEEDS_NO_KEY:
        return ""
    usual = f"{choice.provider.upper()}_API_KEY"
    empty = [usual] if os.environ.get(usual, "x").strip() == "" else []
    names = [*empty, *(name for name in _asked_for(choice) if not keys.keys.get(name, "").strip())]
    wanted = [name for name in names if name.endswith(("_API_KEY", "_TOKEN"))]
    others = [name for name in names if name not in wanted]
    return " and ".join([*([" or ".join(dict.fromkeys(wanted))] if wanted else []), *others])


def _signed(provider: str) -> bool:
    variables, files = SIGNED.get(provider, ((), ()))
    return any(os.environ.get(name, "").strip() for name in variables) or any(
        Path(file).expanduser().is_file() for file in files
    )
