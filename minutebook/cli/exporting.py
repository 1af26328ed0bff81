"""`om export` and `om import`."""

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import click

from minutebook.cli.choosing import choose_session
from minutebook.cli.lazy import complain
from minutebook.cli.options import JSON, placed
from minutebook.cli.place import Place
from minutebook.cli.showing import remark, write, write_json
from minutebook.errors import BadInput, StoreReadOnly
from minutebook.pipeline.exporting import as_lines, export_rows, note_export, select
from minutebook.pipeline.sessions import list_sessions
from minutebook.pipeline.unpacking import Unpacked, unpack

STANDARD = "-"


@click.command("export", short_help="sessions with their memory as one JSONL file")
@placed(choosing=False, looking=True, in_project=False)
@click.option(
    "--session", "names", metavar="KEY", multiple=True, help="A session, with all that it rests on; else all."
)
@click.option("--output", metavar="FILE", default=STANDARD, show_default=True, help="The file; - is standard output.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@click.option("--with-redaction-key", is_flag=True, help="So that placeholders of secrets stay the same; keep it safe.")
def export_command(place: Place, names: tuple[str, ...], output: str, force: bool, with_redaction_key: bool) -> None:
    """Sessions with their memory, as JSONL that `om import` takes into any store (docs/formats.md).

    With a session go its sub-agents, and the sessions whose beginning it shares. The file holds what the agents saw;
    only this user may read it.

    \b
    om export --output all.jsonl
    om export --session 7f3a --output - | gzip > one.jsonl.gz
    """
    sessions = list_sessions(place.store) if names else []
    chosen = [choose_session(sessions, name, place.project) for name in names]
    selection = select(place.store, [session.key for session in chosen if session])
    rows = export_rows(place.store, selection, with_redaction_key=with_redaction_key)
    with written_file(output, force) as file:
        for line in as_lines(rows):
            file.write(line)
    with suppress(StoreReadOnly):  # what cannot be written to cannot be purged either
        note_export(place.store, "standard output" if output == STANDARD else str(Path(output).absolute()), selection)
    if output != STANDARD:
        remark(f"{_counted(len(selection.sessions), 'session')} written to {output}")


@click.command("import", short_help="take such a file into a store")
@placed(choosing=False, creating=True, in_project=False)
@click.argument("file", metavar="FILE")
@click.option("--dry-run", is_flag=True, help="Read it and say what would be done; write nothing.")
@JSON
def import_command(place: Place, file: str, dry_run: bool, as_json: bool) -> None:
    """Take a file of `om export` into a store; - is standard input.

    What is there already stays as it is, so the same file may be imported again. A session of which the store has other
    entries in the same places is left out, and the exit code is 1.

    \b
    om import all.jsonl --dry-run
    om import all.jsonl --store redis://box:6379/0
    """
    with _readable(file) as path:
        name = "standard input" if file == STANDARD else file
        done = unpack(place.store, lambda: _lines(path, name), name, dry_run=dry_run)
    if as_json:
        write_json(_as_data(done, dry_run))
    else:
        _show(done, dry_run)
    if done.failed():
        raise click.exceptions.Exit(1)


@contextmanager
def written_file(output: str, force: bool) -> Iterator[IO[str]]:
    """Where the lines go: a file is there whole or not at all."""
    if output == STANDARD:
        yield sys.stdout
        return
    target = Path(output)
    if target.exists() and not force:
        raise BadInput(f"{output}: is there already; give another name, or --force")
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with open(beside, "x", encoding="ascii", newline="\n", opener=_private) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        beside.replace(target)
    except OSError as error:
        raise BadInput(f"{output}: {error.strerror or error}") from error
    finally:
        beside.unlink(missing_ok=True)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


@contextmanager
def _readable(file: str) -> Iterator[Path]:
    """A path that can be read twice."""
    if file != STANDARD:
        yield Path(file)
        return
    with tempfile.NamedTemporaryFile(prefix="minutebook-import-") as held:
        while piece := sys.stdin.buffer.read(1 << 20):
            held.write(piece)
        held.flush()
        yield Path(held.name)


def _lines(path: Path, name: str) -> Iterable[bytes]:
    try:
        with open(path, "rb") as file:
            yield from file
    except OSError as error:
        raise BadInput(f"{name}: {error.strerror or error}") from error


def _as_data(done: Unpacked, dry_run: bool) -> dict[str, object]:
    return {
        "dry_run": dry_run,
        "sessions": len(done.sessions),
        "taken": done.taken(),
        "failed": [{"session": key, "error": why} for key, why in done.failed().items()],
        "sources": done.sources,
        "memory": done.memory,
    }


def _show(done: Unpacked, dry_run: bool) -> None:
    taken, failed = len(done.taken()), done.failed()
    same = len(done.sessions) - taken - len(failed)
    would = "would be " if dry_run else ""
    write(f"{_counted(taken, 'session')} {would}taken in, {same} already here, {len(failed)} left out")
    if done.own_key and taken:
        remark("the store keeps its own redaction key: a secret that comes again gets another placeholder than before")
    for key, why in failed.items():
        complain(why if why.startswith(f"{key}: ") else f"{key}: {why}")


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
