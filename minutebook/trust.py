"""Which projects' settings files may decide where text goes: a list that only `om trust` changes.

A project is trusted as its file was when it was trusted: one changed byte and it is not.
"""

import os
from pathlib import Path

from minutebook.errors import BadSetting
from minutebook.places import data_dir, project_settings_file, read_settings_file

TRUST_FILE = "trusted.json"


def is_trusted(project: Path, folder: Path | None = None) -> bool:
    """Whether the project's settings file is the one that was trusted; False for none and for an unreadable list."""
    try:
        digest = _digest(project)
        return digest is not None and _read(_list_file(folder)).get(_key(project)) == digest
    except BadSetting:
        return False


def trust(project: Path, folder: Path | None = None) -> None:
    """Trust the project's settings file as it is now; raises BadSetting where there is none."""
    digest = _digest(project)
    if digest is None:
        raise BadSetting(f"nothing to trust: there is no {project_settings_file(project)}")
    _write(_list_file(folder), {**_read(_list_file(folder)), _key(project): digest})


def untrust(project: Path, folder: Path | None = None) -> bool:
    """Take the trust back; whether there was any."""
    listed = _read(_list_file(folder))
    found = listed.pop(_key(project), None) is not None
    if found:
        _write(_list_file(folder), listed)
    return found


def _list_file(folder: Path | None) -> Path:
    return (folder or data_dir()) / TRUST_FILE


def _key(project: Path) -> str:
    return os.path.realpath(project)


def _digest(project: Path) -> str | None:
    from hashlib import sha256

    content = read_settings_file(project_settings_file(project))
    return None if content is None else sha256(content).hexdigest()


def _read(path: Path) -> dict[str, str]:
    import json

    try:
        listed = json.loads(path.read_bytes()) if path.exists() else {}
    except (OSError, ValueError) as error:
        raise BadSetting(f"{path}: the list of trusted projects cannot be read; remove it and trust again") from error
    if not isinstance(listed, dict):
        raise BadSetting(f"{path}: not a list of trusted projects; remove it and trust again")
    return listed


def _write(path: Path, listed: dict[str, str]) -> None:
    """Replaced at once, so that a reader sees the old list or the new one."""
    import json
    import tempfile

    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".trusted-", dir=path.parent)  # made with mode 0600
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(listed, file, indent=1, sort_keys=True)
        Path(name).replace(path)
    except OSError as error:
        raise BadSetting(f"{path}: cannot be written: {error.strerror or error}") from error
