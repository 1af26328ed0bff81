"""Where Minutebook keeps its files. Standard library only.

Written out for Linux and macOS instead of asking platformdirs: hooks run this before each answer, and the two rules
are five lines. MINUTEBOOK_HOME puts everything into one folder.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from minutebook.errors import BadSetting

GLOBAL_FILE = "minutebook.toml"
PROJECT_FILE = ".minutebook.toml"
STORE_FILE = "minutebook.sqlite"
SETTINGS_FILE_MAX_BYTES = 1_000_000


def data_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of the store, the trust list and the debug log; not created here."""
    return _named(environ, "MINUTEBOOK_HOME") or _platform_dir(environ, "XDG_DATA_HOME", ".local/share")


def config_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of the global settings file: MINUTEBOOK_CONFIG, else MINUTEBOOK_HOME, else the platform's."""
    named = _named(environ, "MINUTEBOOK_CONFIG") or _named(environ, "MINUTEBOOK_HOME")
    return named or _platform_dir(environ, "XDG_CONFIG_HOME", ".config")


def global_settings_file(environ: Mapping[str, str] = os.environ) -> Path:
    """The settings of this person on this machine."""
    return config_dir(environ) / GLOBAL_FILE


def project_settings_file(project: Path) -> Path:
    """The settings that a project's folder carries."""
    return project / PROJECT_FILE


def default_store_path(environ: Mapping[str, str] = os.environ) -> Path:
    """The store that is used when none is named."""
    return data_dir(environ) / STORE_FILE


def read_settings_file(path: Path) -> bytes | None:
    """The bytes of a settings file, None where there is none; raises BadSetting naming the file.

    Only regular files of a sane size: a project could point its file at a pipe or a device, and a hook would hang.
    """
    try:
        if not path.exists():
            return None
        if not path.is_file():
            raise BadSetting(f"{path}: cannot be read as settings: not a regular file")
        with path.open("rb") as file:
            content = file.read(SETTINGS_FILE_MAX_BYTES + 1)
    except OSError as error:
        raise BadSetting(f"{path}: cannot be read: {error.strerror or error}") from error
    if len(content) > SETTINGS_FILE_MAX_BYTES:
        raise BadSetting(f"{path}: larger than {SETTINGS_FILE_MAX_BYTES} bytes, which no settings file needs")
    return content


def read_private_file(path: Path, what: str) -> bytes | None:
    """The same for a file that holds secrets (what: which): BadSetting where others than its owner may read it."""
    content = read_settings_file(path)
    if content is not None and (mode := path.stat().st_mode & 0o777) & 0o077:
        raise BadSetting(f"{path}: others may read your {what} (mode {mode:o}): chmod 600 {path}")
    return content


def _named(environ: Mapping[str, str], variable: str) -> Path | None:
    value = environ.get(variable)
    return Path(os.path.abspath(os.path.expanduser(value))) if value else None  # noqa: PTH100, PTH111 (~nobody stays)


def _platform_dir(environ: Mapping[str, str], variable: str, below_home: str) -> Path:
    """By the XDG rules a relative path in a variable counts as unset."""
    named = environ.get(variable, "")
    if os.path.isabs(named):  # noqa: PTH117
        return Path(named) / "minutebook"
    home = Path(environ.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111
    below = "Library/Application Support" if sys.platform == "darwin" else below_home
    return home / below / "minutebook"
