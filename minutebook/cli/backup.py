"""`om backup`: a copy of the whole store, made while it is used, and checked."""

import os
import tempfile
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import click

from minutebook.cli.exporting import written_file
from minutebook.cli.options import JSON, placed
from minutebook.cli.place import Place
from minutebook.cli.showing import counted, harmless, remark, write, write_json
from minutebook.errors import BadInput, NotFound, StoreCorrupt
from minutebook.pipeline.exportfile import Memories, Sources, read_blocks
from minutebook.pipeline.exporting import as_lines, export_rows, select
from minutebook.pipeline.hashed import is_other_text
from minutebook.pipeline.sessions import Session
from minutebook.records import SourceEntry
from minutebook.store.sqlite import SqliteStore
from minutebook.store.sqlite_file import translated
from minutebook.store.sqlite_upkeep import examine


@click.command(short_help="a copy of the whole store, made while it is used")
@placed(choosing=False, looking=True, in_project=False)
@click.argument("target", metavar="FILE|DIR", type=click.Path(path_type=Path))
@click.option("--verify", is_flag=True, help="Check a backup instead of making one.")
@click.option("--force", is_flag=True, help="Overwrite a file that is there.")
@JSON
def backup(place: Place, target: Path, verify: bool, force: bool, as_json: bool) -> None:
    """Copy the whole store into a file, as of one moment, while others go on writing; the copy is checked.

    In a folder the file is named by the time. To restore, stop the workers, and move a backup to where the store was.
    Of a Redis store an export is written, which `om import` takes; copies of Redis' own files are up to its operator.

    \b
    om backup ~/backups
    om backup --verify ~/backups/minutebook-20260502-103000.sqlite
    """
    if verify:
        _report(target, as_json, "whole", damaged := Damaged())
        if damaged.places:
            raise StoreCorrupt(f"{target}: {damaged}: take another backup")
        return
    if not place.may_have_store():
        raise NotFound(f"{place.store_file}: no store there yet, so there is nothing to back up")
    source = place.store
    target = target.absolute()
    file = _file_in(target, ".sqlite" if isinstance(source, SqliteStore) else ".jsonl")
    check_free(file, force, place.store_file)
    if isinstance(source, SqliteStore):
        _copy(source, file, force)
    else:
        _export(place, file, force)
        remark("om: a store on a server is written as an export; tokens, accounts and counts of runs are not in it")
    _report(file, as_json, "written and checked", damaged := Damaged())
    if damaged.places:
        remark(f"om: {damaged}: the store itself has them so; an older backup may have the right words")


def _file_in(target: Path, suffix: str) -> Path:
    """The file itself, or one in the folder, named by the time (UTC)."""
    return target / f"minutebook-{datetime.now(UTC):%Y%m%d-%H%M%S}{suffix}" if target.is_dir() else target


def check_free(file: Path, force: bool, store_file: Path | None) -> None:
    """Raise BadInput where a backup must not be written."""
    if store_file is not None and os.path.realpath(file) == os.path.realpath(store_file):
        raise BadInput(f"{file}: the store itself; give another file")
    if file.exists() and not force:
        raise BadInput(f"{file}: is there already; give another name, or --force")
    if not file.parent.is_dir():
        raise BadInput(f"{file.parent}: no such folder; make it first")


def _copy(source: SqliteStore, file: Path, force: bool) -> None:
    """Write beside the target and move into place, so that a backup is there whole or not at all."""
    with translated(file):
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")  # its mode is 0600
        os.close(handle)
    beside = Path(name)
    try:
        source.copy_to(beside)
        examine(beside, lambda where, entry: None)  # its words are looked at by the report
        with translated(file):
            _to_disk(beside)
            if force:
                beside.replace(file)
            else:
                _move_to_free(beside, file)
            _to_disk(file.parent)
    finally:
        beside.unlink(missing_ok=True)


def _move_to_free(beside: Path, file: Path) -> None:
    """Never over a file that came meanwhile, where the file system can tell."""
    try:
        os.link(beside, file)
    except FileExistsError:
        raise BadInput(f"{file}: is there already; give another name, or --force") from None
    except OSError:  # no hard links here
        beside.replace(file)


def _to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError):  # a folder cannot be synced everywhere
            os.fsync(handle)
    finally:
        os.close(handle)


def _export(place: Place, file: Path, force: bool) -> None:
    """Of a store on a server: its ledger with tombstones and redaction key, as `om export` writes it."""
    selection = select(place.store)
    with written_file(str(file), force) as lines:
        for line in as_lines(export_rows(place.store, selection, with_redaction_key=True)):
            lines.write(line)


class Damaged:
    """Source entries whose words are not those that came in. places: where they stand."""

    def __init__(self) -> None:
        self.places: list[str] = []

    def look(self, where: str, entry: SourceEntry) -> None:
        """Note an entry that is damaged."""
        if is_other_text(entry):
            self.places.append(where)

    def __str__(self) -> str:
        count = counted(len(self.places), "source entry has", "source entries have")
        return f"{count} other words than came in, by its hash: {self.places[0]}"


def _report(file: Path, as_json: bool, what: str, damaged: Damaged) -> None:
    with translated(file):
        size = file.stat().st_size
        with file.open("rb") as opened:
            is_export = opened.read(1) == b"{"
    found = _counts_of_export(file, damaged) if is_export else examine(file, damaged.look)
    if as_json:
        write_json({"file": str(file), "bytes": size, **found, "damaged": len(damaged.places)})
        return
    held = [
        counted(found["sessions"], "session"),
        counted(found["sources"], "source entry", "source entries"),
        counted(found["memory"], "memory entry", "memory entries"),
    ]
    what = f"{what}, but not its words" if damaged.places else what
    kind = "an export" if is_export else f"format {found['format']}"
    write(harmless(f"{file}: {what}: {', '.join(held)}; {kind}, {size / 1024**2:,.1f} MB"))


def _counts_of_export(file: Path, damaged: Damaged) -> dict[str, int]:
    """Read every row; BadInput where one is missing or wrong."""
    counts = {"sessions": 0, "sources": 0, "memory": 0}
    with file.open("rb") as lines:
        for block in read_blocks(lines, str(file)):
            match block:
                case Session():
                    counts["sessions"] += 1
                case Sources():
                    counts["sources"] += len(block.entries)
                    for at, entry in enumerate(block.entries, start=block.at):
                        damaged.look(f"entry {at} before line {block.line}", entry)
                case Memories():
                    counts["memory"] += len(block.entries)
    return counts
