"""What is installed where: `installed.json` in the data folder, with where each file's content from before is kept."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minutebook.errors import BadInput
from minutebook.hosts.edits import Edit, JsonItems, JsonValue, OwnFile, TomlTable
from minutebook.hosts.installing_json import Keys

RECORD = "installed.json"
BACKUPS = "backups"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileNote:
    """backup: the file with what was there before us, "" where there was none. digest: of what we wrote.

    edits: what we put in. made: objects, lists and shared values that we made for it.
    """

    backup: str
    digest: str
    edits: tuple[Edit, ...]
    made: tuple[Keys, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One host, for the user (project "") or for a project. version: of Minutebook. files: by their real paths.

    later: edits that the host itself had to be asked for. undo: command lines that take a plugin back.
    """

    host: str
    project: str = ""
    plugin: bool = False
    version: str
    om: str
    om_hook: str
    time: str
    files: Mapping[str, FileNote] = field(default_factory=dict)
    later: tuple[Edit, ...] = ()
    folders: tuple[str, ...] = ()
    undo: tuple[tuple[str, ...], ...] = ()

    @property
    def key(self) -> str:
        """Under which it is noted."""
        return key_of(self.host, self.project)


def key_of(host: str, project: str) -> str:
    """The host's name, and the project's folder where it is for one."""
    return f"{host} {project}".rstrip()


def read_records(folder: Path) -> dict[str, Record]:
    """All that is noted; raises BadInput where the file cannot be understood."""
    file = folder / RECORD
    try:
        data = json.loads(file.read_bytes())
        return {key: _record(each) for key, each in data["installs"].items()}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise BadInput(f"{file}: cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"{file}: no list of what is installed; move it away and install again") from error


def records_text(records: Mapping[str, Record]) -> bytes:
    """The file's content."""
    installs = {key: _data(record) for key, record in sorted(records.items())}
    return (json.dumps({"version": 1, "installs": installs}, indent=2) + "\n").encode()


def _data(record: Record) -> dict[str, Any]:
    files = {
        path: {
            "backup": note.backup,
            "sha256": note.digest,
            "edits": [edit_data(edit) for edit in note.edits],
            "made": [list(path) for path in note.made],
        }
        for path, note in record.files.items()
    }
    names = ("host", "project", "plugin", "version", "om", "om_hook", "time")
    return {
        **{name: getattr(record, name) for name in names},
        "files": files,
        "later": [edit_data(edit) for edit in record.later],
        "folders": list(record.folders),
        "undo": [list(each) for each in record.undo],
    }


def _record(data: dict[str, Any]) -> Record:
    files = {
        path: FileNote(
            backup=note["backup"],
            digest=note["sha256"],
            edits=tuple(edit_of(each) for each in note["edits"]),
            made=tuple(tuple(each) for each in note["made"]),
        )
        for path, note in data["files"].items()
    }
    names = ("host", "project", "plugin", "version", "om", "om_hook", "time")
    return Record(
        **{name: data[name] for name in names},
        files=files,
        later=tuple(edit_of(each) for each in data["later"]),
        folders=tuple(data["folders"]),
        undo=tuple(tuple(each) for each in data["undo"]),
    )


def edit_data(edit: Edit) -> dict[str, Any]:
    """An edit as JSON; of a file of ours only which one."""
    match edit:
        case JsonItems():
            said: dict[str, Any] = {"items": list(edit.items), "mark": edit.mark, "path": list(edit.path)}
        case JsonValue():
            said = {"value": edit.value, "shared": edit.shared, "path": list(edit.path)}
        case TomlTable():
            said = {"values": dict(edit.values), "path": list(edit.path)}
        case OwnFile():
            said = {}
    return {"kind": KINDS[type(edit)], "file": str(edit.file), **said}


def edit_of(data: dict[str, Any]) -> Edit:
    """And back."""
    file = Path(data["file"])
    match data["kind"]:
        case "items":
            return JsonItems(file=file, path=tuple(data["path"]), items=tuple(data["items"]), mark=data["mark"])
        case "value":
            return JsonValue(file=file, path=tuple(data["path"]), value=data["value"], shared=data["shared"])
        case "table":
            return TomlTable(file=file, path=tuple(data["path"]), values=data["values"])
        case "file":
            return OwnFile(file=file, content=b"")
    raise ValueError(data["kind"])


KINDS: Mapping[type, str] = {JsonItems: "items", JsonValue: "value", TomlTable: "table", OwnFile: "file"}
