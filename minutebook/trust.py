"""Which projects' settings files may decide where text goes: a list that only `om trust` changes.

A project is trusted as its file was when it was trusted: one changed byte and it is not.
"""

import os
from pathlib import Path

from minutebook.errors import BadSetting
from minutebook.places import data_dir, project_settings_file, read_settings_file
from minutebook.settings_pi import PROJECT_FILE, SECTION, section_digest

TRUST_FILE = "trusted.json"


def is_trusted(project: Path, folder: Path | None = None) -> bool:
    """Whether the project's settings file is the one that was trusted; False for none and for an unreadable list."""
    try:
        digest = _digest(project)
        return digest is not None and _read(_list_file(folder)).get(_key(project)) == digest
    except BadSetting:
        return False


def is_section_trusted(project: Path, folder: Path | None = None) -> bool:
    """The same for our section of the project's settings of Pi."""
    try:
        digest = section_digest(project)
        return digest is not None and _read(_list_file(folder)).get(_section_key(project)) == digest
    except BadSetting:
        return False


def trust(project: Path, folder: Path | None = None) -> None:
    """Trust the project's settings file, and our section of Pi's, as they are now; BadSetting where there is none."""
    digests = {_key(project): _digest(project), _section_key(project): section_digest(project)}
    found = {key: digest for key, digest in digests.items() if digest is not None}
    if not found:
        raise BadSetting(f"nothing to trust: there is no {project_settings_file(project)}")
    _write(_list_file(folder), {**_read(_list_file(folder)), **found})


def untrust(project: Path, folder: Path | None = None) -> bool:
    """Take the trust back; whether there was any."""
    listed = _read(_list_file(folder))
    left = {key: digest for key, digest in listed.items() if key not in (_key(project), _section_key(project))}
    if len(left) < len(listed):
        _write(_list_file(folder), left)
    return len(left) < len(listed)


def _list_file(folder: Path | None) -> Path:
    return (folder or data_dir()) / TRUST_FILE


def _key(project: Path) -> str:
    return os.path.realpath(project)


def _section_key(project: Path) -> str:
    return f"{_key(project)}/{PROJECT_FILE}#{SECTION}"


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
