"""What has to be in Pi's folders: the extension, as files of our own. No I/O but reading what is shipped.

For an installer: `wiring(target)` names every file. The extension goes to `<agent folder>/extensions/minutebook/` (the
agent folder is PI_CODING_AGENT_DIR or ~/.pi/agent), or with --project to `<project>/.pi/extensions/minutebook/`, which
Pi loads only in a project that it trusts. Beside it `installed.json` says where om-hook is. Pi finds `index.ts` in a
folder one level deep by itself: no settings file is touched.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from minutebook.hosts.edits import OwnFile, Target, Wiring

FOLDER = "minutebook"
INSTALLED = "installed.json"
PROJECT_NOTE = (
    "Pi loads a project's extensions only after you have trusted the project: start `pi` there and say yes, or pass"
    " --approve."
)
RUNNING_NOTE = "A Pi that is running takes it up with /reload."
TWICE_NOTE = "Where it is there for the user, too, the copy that Pi loads first works."


def wiring(target: Target) -> Wiring:
    """The extension's files and where they go."""
    folder = extension_folder(target.folder, target.project)
    shipped = dict(sorted(shipped_files(target.package).items()))
    edits = [OwnFile(file=folder / name, content=content) for name, content in shipped.items()]
    edits.append(OwnFile(file=folder / INSTALLED, content=installed_json(target.om_hook)))
    notes = (PROJECT_NOTE, TWICE_NOTE) if target.project else (RUNNING_NOTE,)
    return Wiring(edits=tuple(edits), notes=notes)


def extension_folder(agent_folder: Path, project: Path | None) -> Path:
    """Where Pi looks for it."""
    return (project / ".pi" if project else agent_folder) / "extensions" / FOLDER


def shipped_files(package: Path) -> Mapping[str, bytes]:
    """Name → content of the extension as it comes with this installation."""
    return {file.name: file.read_bytes() for file in (package / "pi" / "extension").glob("*.ts")}


def installed_json(om_hook: str) -> bytes:
    """What the installed copy knows of this machine."""
    return (json.dumps({"om_hook": om_hook}, indent=2) + "\n").encode()
