"""A host of tests for installing: its files, what Minutebook wants in them, and one way to put it in."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minutebook.hosts import installing
from minutebook.hosts.edits import Edit, JsonItems, JsonValue, OwnFile, Target, TomlTable, guarded
from minutebook.hosts.installing import Done

TIME = "2026-05-02T10:30:00Z"
SETTINGS = """{
    "model": "opus",
    "hooks": {
        "Stop": [ { "hooks": [ { "type": "command", "command": "say done" } ] } ],
        "Other": []
    },
    "permissions": {"allow": ["Bash(ls:*)"]}
}
"""
CONFIG = '# mine\nmodel = "gpt-5.5"   # good\n\n[mcp_servers.other]\ncommand = "x"\n'


@dataclass
class Host:
    """A host's folder with files, and the data folder of Minutebook beside it."""

    root: Path
    events: tuple[str, ...] = ("Stop", "SessionStart")
    om: str = "/opt/mb/bin/om"
    extra: list[Edit] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return self.root / "home" / ".host"

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def settings(self) -> Path:
        return self.folder / "settings.json"

    @property
    def config(self) -> Path:
        return self.folder / "config.toml"

    @property
    def command(self) -> Path:
        return self.folder / "commands" / "om" / "status.md"

    def target(self, project: Path | None = None) -> Target:
        return Target(
            host="codex",
            om=self.om,
            om_hook=f"{self.om}-hook",
            folder=self.folder,
            home=self.root / "home",
            state_file=self.root / "home" / ".host.json",
            package=self.root,
            project=project,
        )

    def edits(self) -> list[Edit]:
        groups = [
            JsonItems(file=self.settings, path=("hooks", event), items=(self.group(event),)) for event in self.events
        ]
        return [
            *groups,
            JsonValue(file=self.settings, path=("servers", "om"), value={"command": self.om, "args": ["mcp"]}),
            TomlTable(file=self.config, path=("mcp_servers", "om"), values={"command": self.om, "args": ["mcp"]}),
            OwnFile(file=self.command, content=f"Status of Minutebook: !{self.om} status\n".encode()),
            *self.extra,
        ]

    def group(self, event: str) -> dict[str, Any]:
        return {"hooks": [{"type": "command", "command": guarded(f"{self.om}-hook", "host", event), "timeout": 5}]}

    def install(self, *, version: str = "1", later: Sequence[Edit] | None = None) -> Done:
        return installing.install(self.data, self.target(), self.edits(), version=version, time=TIME, later=later)

    def uninstall(self) -> Done:
        return installing.uninstall(self.data, self.target(), self.edits())

    def write(self, settings: str | None = None, config: str | None = None) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if settings is not None:
            self.settings.write_bytes(settings.encode())
        if config is not None:
            self.config.write_bytes(config.encode())

    def files(self) -> dict[str, bytes]:
        """Every file of the home folder by its path in it."""
        home = self.root / "home"
        return {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}

    def hooks(self, event: str) -> list[str]:
        """The commands of an event, in order."""
        groups = json.loads(self.settings.read_bytes()).get("hooks", {}).get(event, [])
        return [hook["command"] for group in groups for hook in group["hooks"]]
