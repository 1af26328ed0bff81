"""Which box, and the token for it. The token goes into the header of a request and nowhere else."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from minutebook.errors import BadInput, BadSetting
from minutebook.places import config_dir, read_private_file
from minutebook.settings import Settings

TOKEN_FILE = "box.token"
TOKEN_VARIABLE = "MINUTEBOOK_BOX_TOKEN"
NO_BOX = 'no box is set: write box_url = "https://…" into your minutebook.toml, or set MINUTEBOOK_BOX_URL'
LOOPBACK = re.compile(r"localhost|127(?:\.[0-9]{1,3}){3}|::1")


@dataclass(frozen=True, slots=True)
class Access:
    """url: of the box, without a slash at its end. warning: what a person should know about the way there, or ""."""

    url: str
    token: str = field(repr=False)
    warning: str = ""


def access_to_box(settings: Settings, environ: Mapping[str, str] = os.environ) -> Access:
    """How to reach the box that the settings name. Raises BadInput without one, BadSetting without a usable token."""
    if settings.box_url is None:
        raise BadInput(NO_BOX)
    return Access(settings.box_url, read_token(settings, environ), warning_of(settings.box_url))


def read_token(settings: Settings, environ: Mapping[str, str] = os.environ) -> str:
    """The token: of box_token_file, else of the environment, else of box.token. Messages never quote it."""
    named = settings.box_token_file
    if not named and (token := environ.get(TOKEN_VARIABLE, "").strip()):
        return _checked(token, TOKEN_VARIABLE)
    path = Path(named).expanduser() if named else config_dir(environ) / TOKEN_FILE
    content = read_private_file(path, "token")
    if content is None:
        raise BadSetting(f"{path}: no such file; put the token for the box there (chmod 600), or set {TOKEN_VARIABLE}")
    return _checked(content.decode("utf-8-sig", "replace").strip(), str(path))


def _checked(token: str, where: str) -> str:
    if not re.fullmatch(r"[!-~]{8,500}", token):
        raise BadSetting(f"{where}: no token: it is one word, as `om token create` printed it")
    return token


def warning_of(url: str) -> str:
    """What is wrong with sending a token there; "" for nothing."""
    parts = urlsplit(url)
    if parts.scheme == "https" or LOOPBACK.fullmatch(parts.hostname or ""):
        return ""
    return f"{url}: token and sessions go there unencrypted; use https:// unless the network itself is private"
