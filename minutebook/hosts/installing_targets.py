"""Which hosts Minutebook can be put into, where each keeps its files, and what each one's wiring wants there."""

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

from minutebook.hosts.edits import Target, Wiring

HOSTS: Mapping[str, str] = {
    "claude-code": "minutebook.hosts.claude_code.wiring",
    "codex": "minutebook.hosts.codex.wiring",
    "pi": "minutebook.hosts.pi.wiring",
}
TITLES: Mapping[str, str] = {"claude-code": "Claude Code", "codex": "Codex", "pi": "Pi"}
PACKAGE = Path(__file__).parent
_FOLDERS: Mapping[str, tuple[str, str]] = {
    "claude-code": ("CLAUDE_CONFIG_DIR", ".claude"),
    "codex": ("CODEX_HOME", ".codex"),
    "pi": ("PI_CODING_AGENT_DIR", ".pi/agent"),
}


def target_of(
    host: str,
    environ: Mapping[str, str],
    *,
    om: str,
    om_hook: str,
    project: Path | None = None,
    plugin: bool = False,
) -> Target:
    """Where Minutebook goes, by the variables that the host itself goes by."""
    home = Path(environ.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111
    folder = host_folder(host, environ)
    named = bool(environ.get("CLAUDE_CONFIG_DIR"))
    return Target(
        host=host,
        om=om,
        om_hook=om_hook,
        folder=folder,
        home=home,
        state_file=(folder if named and host == "claude-code" else home) / ".claude.json",
        package=PACKAGE,
        project=project,
        plugin=plugin,
    )


def host_folder(host: str, environ: Mapping[str, str]) -> Path:
    """The host's own folder."""
    variable, below = _FOLDERS[host]
    home = Path(environ.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111
    named = environ.get(variable)
    return Path(os.path.abspath(os.path.expanduser(named))) if named else home / below  # noqa: PTH100, PTH111


def wiring_of(target: Target) -> Wiring:
    """What the host's wiring wants there."""
    wiring: Callable[[Target], Wiring] = vars(import_module(HOSTS[target.host]))["wiring"]
    return wiring(target)
