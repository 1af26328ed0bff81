"""Minutebook into a host's own files and out again: all files are looked at before the first one is written.

What goes in is said by the host's wiring as plain data (edits.py), what becomes of each file is decided without
touching it (installing_plan.py), and what was done is noted in the data folder (installing_record.py), so that a later
install replaces ours, whatever version put it there, and uninstall restores what was there before.
"""

import contextlib
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from minutebook.errors import MinutebookError
from minutebook.hosts.edits import Edit, Target
from minutebook.hosts.installing_files import (
    PRIVATE_MODE,
    PROJECT_MODE,
    FileChanged,
    Writing,
    failed,
    one_at_a_time,
    read_host_file,
    remove_empty,
    remove_temporary,
    write_whole,
)
from minutebook.hosts.installing_plan import Known, Planned, digest_of, planned, taken_out
from minutebook.hosts.installing_record import BACKUPS, RECORD, FileNote, Record, key_of, read_records, records_text

TRIES = 5
"""A host that runs writes its own file now and then (Claude Code its ~/.claude.json)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What came of it. plans: every file, also those that needed no change. record: as noted now; None: nothing is."""

    plans: tuple[Planned, ...]
    record: Record | None = None

    @property
    def changed(self) -> tuple[Planned, ...]:
        """Files that were (or would be) written."""
        return tuple(plan for plan in self.plans if plan.changes)


def install(
    data: Path, target: Target, edits: Sequence[Edit], *, version: str, time: str, later: Sequence[Edit] | None = None
) -> Done:
    """Put the edits in place of what an earlier install of the same host and scope put there.

    later: what the host had to be asked for; None: as it was noted before. Raises BadInput for a file that cannot be
    changed and MinutebookError for one that cannot be written; everything is as it was then.
    """
    with one_at_a_time(data):
        for _ in range(TRIES):
            before = read_records(data)
            old = before.get(key_of(target.host, _project(target)))
            kept = tuple(later if later is not None else old.later if old else ())
            plans = _plans(data, [*edits, *kept], old)
            record = _record(data, target, plans, [*edits, *kept], old, kept, version=version, time=time)
            try:
                return _apply(data, before, plans, record)
            except FileChanged:
                continue
    raise MinutebookError("a file is changed by another program all the time: end the agent, and try again")


def would_install(data: Path, target: Target, edits: Sequence[Edit]) -> Done:
    """The same without writing anything."""
    old = read_records(data).get(key_of(target.host, _project(target)))
    return Done(plans=tuple(_plans(data, [*edits, *(old.later if old else ())], old)), record=old)


def uninstall(data: Path, target: Target, edits: Sequence[Edit], *, dry_run: bool = False) -> Done:
    """Take out what is noted; without a note, what looks like `edits`. Raises as install does."""
    if dry_run:
        return Done(plans=tuple(_removals(data, target, edits)[0]))
    with one_at_a_time(data):
        for _ in range(TRIES):
            plans, old = _removals(data, target, edits)
            before = read_records(data)
            try:
                done = _apply(data, before, plans, None, gone=old)
            except FileChanged:
                continue
            remove_empty(old.folders if old else ())
            return done
    raise MinutebookError("a file is changed by another program all the time: end the agent, and try again")


def note_undo(data: Path, key: str, undo: Sequence[tuple[str, ...]]) -> None:
    """Note the command lines that take a plugin back."""
    with one_at_a_time(data):
        records = read_records(data)
        if key in records:
            _save(data, {**records, key: replace(records[key], undo=tuple(undo))})


def _removals(data: Path, target: Target, edits: Sequence[Edit]) -> tuple[list[Planned], Record | None]:
    old = read_records(data).get(key_of(target.host, _project(target)))
    if old is not None:
        return _plans(data, [], old), old
    return [taken_out(path, read_host_file(path), each) for path, each in _by_file(edits).items()], None


def _plans(data: Path, edits: Sequence[Edit], old: Record | None) -> list[Planned]:
    new, notes = _by_file(edits), dict(old.files) if old else {}
    plans = []
    for path in dict.fromkeys([*new, *notes]):
        note = notes.get(path)
        known = Known(base=_backed_up(note), digest=note.digest, made=note.made) if note else None
        plans.append(planned(path, read_host_file(path), new.get(path, ()), note.edits if note else (), known))
    return plans


def _by_file(edits: Iterable[Edit]) -> dict[str, list[Edit]]:
    """By the real file: one that is reached by a symbolic link is written where it is."""
    found: dict[str, list[Edit]] = {}
    for edit in edits:
        found.setdefault(os.path.realpath(edit.file), []).append(edit)
    return found


def _backed_up(note: FileNote) -> bytes | None:
    return read_host_file(note.backup) if note.backup else None


def _record(
    data: Path,
    target: Target,
    plans: Sequence[Planned],
    edits: Sequence[Edit],
    old: Record | None,
    later: Sequence[Edit],
    *,
    version: str,
    time: str,
) -> Record:
    by_file, notes = _by_file(edits), {}
    for plan in plans:
        if plan.file in by_file and plan.after is not None:
            note = old.files.get(plan.file) if old else None
            if note is not None and not plan.changes:
                notes[plan.file] = replace(note, edits=tuple(by_file[plan.file]))
                continue
            backup = "" if plan.base is None else _backup_for(data, target.host, plan, time)
            notes[plan.file] = FileNote(
                backup=backup, digest=digest_of(plan.after), edits=tuple(by_file[plan.file]), made=plan.made
            )
    return Record(
        host=target.host,
        project=_project(target),
        plugin=target.plugin,
        version=version,
        om=target.om,
        om_hook=target.om_hook,
        time=old.time if old and not any(plan.changes for plan in plans) else time,
        files=notes,
        later=tuple(later),
        folders=old.folders if old else (),
        undo=old.undo if old else (),
    )


def _backup_for(data: Path, host: str, plan: Planned, time: str) -> str:
    """Where the base is kept: named by its content, so that the same is kept once."""
    assert plan.base is not None
    name = f"{time[:10]}-{digest_of(plan.base)[:12]}-{os.path.basename(plan.file)}"  # noqa: PTH119
    there = sorted((data / BACKUPS / host).glob(f"*-{name[11:]}"))
    return str(there[0] if there else data / BACKUPS / host / name)


def _apply(
    data: Path,
    before: Mapping[str, Record],
    plans: Sequence[Planned],
    record: Record | None,
    gone: Record | None = None,
) -> Done:
    """Backups, then the note, then the files: whoever is killed in between is taken out all the same."""
    writing = Writing()
    path = str(data)
    try:
        if record is not None:
            _keep_backups(record, plans)
            _save(data, {**before, record.key: record})
        for plan in plans:
            path = plan.file
            remove_temporary(path)
            if plan.changes:
                writing.write(path, plan.before, plan.after, _mode(record or gone))
        path = str(data)
        record = _with_folders(record, writing.folders)
        _save(data, {**_without(before, gone), **({record.key: record} if record else {})})
    except BaseException as error:
        writing.take_back()
        with contextlib.suppress(OSError):
            _save(data, before)
        if isinstance(error, OSError):
            raise failed(path, error) from error
        raise
    return Done(plans=tuple(plans), record=record)


def _without(records: Mapping[str, Record], gone: Record | None) -> dict[str, Record]:
    return {key: each for key, each in records.items() if gone is None or key != gone.key}


def _with_folders(record: Record | None, made: Sequence[str]) -> Record | None:
    return replace(record, folders=tuple(dict.fromkeys([*record.folders, *made]))) if record and made else record


def _keep_backups(record: Record, plans: Sequence[Planned]) -> None:
    for plan in plans:
        note = record.files.get(plan.file)
        if note is not None and note.backup and plan.base is not None and not os.path.exists(note.backup):  # noqa: PTH110
            os.makedirs(os.path.dirname(note.backup), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120
            write_whole(note.backup, plan.base, PRIVATE_MODE)


def _mode(record: Record | None) -> int:
    return PROJECT_MODE if record is not None and record.project else PRIVATE_MODE


def _save(data: Path, records: Mapping[str, Record]) -> None:
    file = data / RECORD
    content = records_text(records) if records else None
    if read_host_file(str(file)) == content:
        return
    if content is None:
        file.unlink()
    else:
        write_whole(str(file), content, PRIVATE_MODE)


def _project(target: Target) -> str:
    return str(target.project) if target.project else ""


def program_folders() -> list[Path]:
    """Where the programs of this installation may be, the likeliest first."""
    import sys
    import sysconfig

    started = Path(sys.argv[0])
    folders = [Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))]
    user = f"{os.name}_user"
    folders += [Path(sysconfig.get_path("scripts", user))] if user in sysconfig.get_scheme_names() else []
    return [*folders, started.parent.absolute()] if started.name in ("om", "minutebook") else folders


def program_of_ours(name: str, folders: Sequence[Path]) -> str:
    """The absolute path of a program of this installation; MinutebookError where there is none."""
    for folder in folders:
        if shutil.which(name, path=str(folder)):
            return str(folder / name)
    raise MinutebookError(f"{name} was not found beside this Python: install Minutebook with pip, pipx or uv")
