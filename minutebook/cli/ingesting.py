"""`om ingest`: session files into the ledger."""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from minutebook.cli.ingest_report import Report
from minutebook.cli.lazy import complain
from minutebook.cli.options import JSON, placed
from minutebook.cli.place import Place
from minutebook.cli.showing import remark, write_json
from minutebook.errors import BadSetting, BadTranscript
from minutebook.hosts.delivering import STEP_BYTES, deliver, head_of, read_before, readings, size_of
from minutebook.hosts.detecting import detect, holds_export
from minutebook.pipeline.intake import mark_ended
from minutebook.pipeline.sessions import find_session
from minutebook.settings_loading import load
from minutebook.zones import machine_zone


@click.command(short_help="take session files in")
@placed(choosing=False, creating=True)
@click.argument("paths", metavar="FILE|DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--estimate", is_flag=True, help="Say what it would be and cost; write nothing.")
@click.option("--wait", is_flag=True, help="Work until what is due is done.")
@JSON
@click.pass_context
def ingest(
    ctx: click.Context, place: Place, paths: tuple[Path, ...], estimate: bool, wait: bool, as_json: bool
) -> None:
    """Take session files in: Claude Code, Codex, Pi, OpenCode exports or neutral JSONL.

    Of a folder, every .jsonl in it, and every .json that is an OpenCode export.

    What was taken in before is not read again. Exit code 2 says that a file could not be taken in.

    \b
    om ingest session.jsonl
    om ingest --estimate ~/.claude/projects
    """
    from minutebook.cli import showing_ingest

    settings = place.settings
    files, reports = found_files(paths)
    with _progress(sum(map(size_of, files)), shown=not as_json) as advance:
        for file in files:
            reports.append(_one(place, file, estimate=estimate, zone=settings.zone, advance=advance))
            _say(reports[-1], as_json, estimate)
    for report in reports:
        if report.error:
            complain(report.error)
    if as_json:
        write_json(showing_ingest.as_data(reports, settings, estimate=estimate))
    elif estimate:
        showing_ingest.show_estimate(reports, settings)
    if not estimate:
        _end_what_is_over(place, reports)
    code = _then(place, reports, wait=wait, quiet=as_json) if not estimate else 0
    ctx.exit(2 if any(report.error for report in reports) else code)


def _say(report: Report, as_json: bool, estimate: bool) -> None:
    from minutebook.cli import showing_ingest

    if report.purged:
        again = f"`om purge --forget-tombstone {report.session}` allows it again"
        remark(f"om: {report.path}: {report.session} was removed on purpose, so it is not taken in; {again}")
    elif not (as_json or estimate or report.error):
        showing_ingest.show_report(report)


def found_files(paths: Iterable[Path]) -> tuple[list[Path], list[Report]]:
    """The session files that are meant, each once; and a report with an error for what holds none."""
    files: dict[Path, None] = {}
    failed = []
    for path in paths:
        if os.path.isdir(path):  # noqa: PTH112 (never raises)
            inside = sorted(file for file in path.rglob("*.json*") if _is_meant(file))
            files.update(dict.fromkeys(file.absolute() for file in inside))
            if not inside:
                failed.append(
                    Report(
                        path=str(path),
                        error=f"{path}: no .jsonl file in this folder, and no .json that is an OpenCode export",
                    )
                )
        else:
            files[path.absolute()] = None
    return list(files), failed


def _is_meant(file: Path) -> bool:
    """Of the files of a folder: each .jsonl, and each .json that a host exported."""
    if file.suffix not in (".jsonl", ".json") or not os.path.isfile(file):  # noqa: PTH113
        return False
    try:
        return file.suffix == ".jsonl" or holds_export(file)
    except BadTranscript:
        return False


def _one(place: Place, file: Path, *, estimate: bool, zone: str | None, advance: Any) -> Report:
    report = Report(path=str(file))
    try:
        report.host, reader = detect(file)
        if estimate:
            for reading in readings(reader, file, _cursor(place, reader, file), advance):
                report.add(reading)
        else:
            named, ignore = zone or machine_zone(), _ignored(place, report.host, reader, file)
            report.came(
                deliver(place.store, report.host, file, zone=named, ignore=ignore, each=report.add, advance=advance)
            )
    except (BadTranscript, BadSetting) as error:  # of wrong settings: what is to be kept out is not known
        report.error = str(error)
    return report


def _ignored(place: Place, host: str, reader: Any, file: Path) -> tuple[str, ...]:
    """The globs of this place and of the session's own project."""
    head = head_of(reader, file)
    folder = Path(head.project) if head and Path(head.project).is_absolute() else None
    own = load(folder, place.flags, pi=host == "pi").settings
    return tuple(dict.fromkeys([*place.settings.ignore, *own.ignore]))


def _cursor(place: Place, reader: Any, file: Path) -> Mapping[str, Any] | None:
    """Where the file was read to. An estimate makes no store."""
    session = read_before(place.store, reader, file) if place.may_have_store() else None
    return session.cursor if session else None


def _end_what_is_over(place: Place, reports: Sequence[Report]) -> None:
    """A session whose last turn is long past is over: its tail is due without waiting for more."""
    for report in reports:
        session = find_session(place.store, report.session) if report.session else None
        if session is not None and is_over(session.last_time, place.store.now(), place.settings.flush_idle_seconds):
            mark_ended(place.store, session.key)


def is_over(last_time: str, now: float, idle_seconds: float) -> bool:
    """Whether the last turn lies at least so long back; a session without times is not over."""
    try:
        return now - datetime.fromisoformat(last_time).timestamp() >= idle_seconds
    except (ValueError, OverflowError, OSError):
        return False


def _then(place: Place, reports: Sequence[Report], *, wait: bool, quiet: bool) -> int:
    """Have what is due done: here and now, or by a worker."""
    from minutebook.cli import showing_ingest

    if wait and place.may_have_store():
        from minutebook.workers.choosing import ProjectSettings
        from minutebook.workers.foreground import run_worker

        code = run_worker(place.url, until_idle=True, settings_for=ProjectSettings(place.flags))
        if not quiet:
            made = dict.fromkeys(r.session for r in reports if r.session)
            showing_ingest.show_made(place.store, made, failed=code != 0)
        return code
    listening = place.wake_worker()
    if any(report.new for report in reports) and not quiet:
        showing_ingest.show_next(listening, place.settings.box_url)
    return 0


@contextmanager
def _progress(total: int, *, shown: bool) -> Iterator[Any]:
    """A bar on a terminal's stderr while there is much to read; what is called with (file, bytes read, its size)."""
    if not shown or total < STEP_BYTES or not sys.stderr.isatty():
        yield lambda file, at, size: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        tasks: dict[Path, Any] = {}

        def advance(file: Path, at: int, size: int) -> None:
            task = tasks.get(file)
            if task is None:
                task = tasks[file] = progress.add_task(file.name[:40], total=size)
            progress.update(task, completed=at)
            if at >= size:
                progress.remove_task(tasks.pop(file))

        yield advance
