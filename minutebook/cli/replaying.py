"""`om replay`: the main job, in the foreground."""

import math
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import click

from minutebook.cli.check import ROLES
from minutebook.cli.options import JSON, PROJECT, SET, flags_of, model_flags
from minutebook.cli.place import Place, file_of, is_file, shown_url
from minutebook.cli.showing import counted, one_line, remark, write_json
from minutebook.cli.stopping import STOPPING, stops_like_ctrl_c, was_interrupted
from minutebook.errors import BadInput
from minutebook.store.kernel import Store
from minutebook.workers.choosing import minds_of
from minutebook.workers.replay_report import Replayed
from minutebook.workers.replaying import Progress, Recording, ReplayOptions, Tell, read_recording
from minutebook.workers.replaying import replay as play
from minutebook.zones import machine_zone

SHOWN_LINES = 12
STORE_NAME = "replay.sqlite"


@click.command(short_help="play recorded sessions as if live, and report")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--store", metavar="PATH|URL", help="A store that stays; else a temporary one.")
@click.option("--keep", is_flag=True, help="Do not delete the temporary store.")
@click.option(
    "--scale", type=float, default=1.0, metavar="X", help="All numbers of tokens times X, for short sessions."
)
@click.option("--step", is_flag=True, help="Work off what is due after each turn: the same memory every time.")
@click.option("--window", type=click.IntRange(min=1), metavar="TOKENS", help="The model's window, for the ratio mode.")
@click.option("--model", metavar="PROVIDER/ID", help="The setting `model`, for this run only.")
@click.option("--base-url", metavar="URL", help="The setting `model_base_url`, for this run only.")
@click.option("--concurrency", type=click.IntRange(1, 64), metavar="N", help="Jobs of one role at once.")
@click.option(
    "--show", type=click.IntRange(min=0), default=SHOWN_LINES, metavar="N", help="Records shown of the memory."
)
@PROJECT
@SET
@JSON
def replay(
    files: tuple[Path, ...],
    store: str | None,
    keep: bool,
    scale: float,
    step: bool,
    window: int | None,
    model: str | None,
    base_url: str | None,
    concurrency: int | None,
    show: int,
    project: Path | None,
    assigned: tuple[str, ...],
    as_json: bool,
) -> None:
    """Play recorded sessions turn by turn as if live, then report what is remembered.

    Observer, reflector, digester and dropper work in the background, on the real queue; the context is compacted
    whenever compact_after_tokens is reached. Without --step a turn waits only when the workers are far behind, which in
    a live session they have minutes to catch up. Compactions in the file are not replayed. Exit code 1 says that a
    worker failed and memory is due.

    \b
    om replay session.jsonl
    om replay --scale 0.1 --store ./try.sqlite short.jsonl
    om replay --model openai/gpt-5-mini session.jsonl
    """
    if not (math.isfinite(scale) and scale > 0):
        raise BadInput(f"--scale {scale:g}: give a number above 0, such as 0.1")
    if store is not None and not store.strip():
        raise BadInput("--store: give a path or sqlite:///path")
    recordings = [read_recording(file) for file in dict.fromkeys(files)]
    with stops_like_ctrl_c(), _store_at(store, keep) as (url, kept):
        flags = {**flags_of(assigned), **model_flags(model, base_url)}
        place = Place(named_store=url, project=(project or Path.cwd()).absolute(), flags=flags, creating=True)
        settings = place.settings
        options = ReplayOptions(
            settings=settings.scaled(scale),
            window=window,
            concurrency=concurrency or settings.worker_concurrency,
            step=step,
            zone=settings.zone or machine_zone(),
        )
        with closing(place):
            asked = [*_words("--model", model), *_words("--base-url", base_url)]
            report = _Report(url, kept, scale, options, show, as_json, len(recordings), asked)
            done = report.run(place.store, recordings)
    if any(map(was_left_undone, done)):
        click.get_current_context().exit(1)


def was_left_undone(replayed: Replayed) -> bool:
    """Whether memory is still due because what should make it failed: no key, no model, a wrong setting."""
    status = replayed.status
    return status is not None and any(error.role in status.due for error in status.errors)


class _Report:
    """Plays the files one after the other, and says of each what came of it."""

    def __init__(
        self,
        url: str,
        kept: bool,
        scale: float,
        options: ReplayOptions,
        show: int,
        as_json: bool,
        files: int,
        asked: Sequence[str],
    ) -> None:
        self.url = shown_url(url)
        self.kept = kept
        self.scale = scale
        self.options = options
        self.show = show
        self.as_json = as_json
        self.several = files > 1
        self.asked = asked

    def run(self, store: Store, recordings: Sequence[Recording]) -> list[Replayed]:
        from minutebook.cli import showing_replay

        done = []
        for recording in recordings:
            replayed = self._one(store, recording)
            done.append(replayed)
            if not self.as_json:
                showing_replay.show_replayed(replayed, self.options, self.show)
        if self.as_json:
            data = showing_replay.as_data(done, self.options, store=self.url, kept=self.kept, scale=self.scale)
            write_json(data)
        else:
            asked = self._asked_as(recordings)
            showing_replay.show_next(done[-1], self.url, kept=self.kept, several=self.several, asked=asked)
        return done

    def _one(self, store: Store, recording: Recording) -> Replayed:
        asks_models = any(map(self.options.settings.chain_of, ROLES))
        with stops_like_ctrl_c(STOPPING if asks_models else ""), _progress(recording.path.name) as tell:
            reached: list[Progress] = []

            def told(progress: Progress) -> None:
                reached[:] = [progress]
                tell(progress)

            try:
                return play(store, recording, self.options, minds_of(store), tell=told)
            except (KeyboardInterrupt, RuntimeError) as error:
                if not was_interrupted(error):
                    raise
                self._interrupted(recording, reached)
                raise KeyboardInterrupt from error

    def _interrupted(self, recording: Recording, reached: list[Progress]) -> None:
        at = f" at entry {reached[0].entries:,} of {reached[0].total:,}" if reached else ""
        stays = f"what was taken in stays in {self.url}; the same command goes on" if self.kept else "nothing is kept"
        remark(f"om: {recording.path.name} stopped{at}; {stays}")

    def _asked_as(self, recordings: Sequence[Recording]) -> list[str]:
        scale = [] if self.scale == 1 else ["--scale", f"{self.scale:g}"]
        step = ["--step"] if self.options.step else []
        return [*step, *scale, *self.asked, *(str(one.path) for one in recordings)]


def _words(option: str, value: str | None) -> list[str]:
    return [] if value is None else [option, value]


@contextmanager
def _store_at(named: str | None, keep: bool) -> Iterator[tuple[str, bool]]:
    """The named store; else a new one in a temporary folder, which goes with everything in it unless it is kept."""
    if named is not None:
        yield (str(file_of(named)) if is_file(named) else named), True
        return
    folder = Path(tempfile.mkdtemp(prefix="minutebook-"))
    try:
        yield str(folder / STORE_NAME), keep
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _progress(name: str) -> Iterator[Tell]:
    """A bar on a terminal's stderr."""
    if not sys.stderr.isatty():
        yield lambda progress: None
        return
    from rich import progress as bars
    from rich.console import Console
    from rich.markup import escape

    columns = (
        bars.TextColumn("{task.description}", table_column=None),
        bars.BarColumn(bar_width=None),
        bars.TextColumn("{task.fields[said]}"),
        bars.TimeElapsedColumn(),
    )
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(escape(one_line(name)[:32]), total=None, said="")

        def tell(progress: Progress) -> None:
            said = f"turn {progress.turn:,}/{progress.turns:,}, {counted(progress.compactions, 'compaction')}"
            if progress.entries == progress.total:
                said = "the workers finish"
            shown.update(task, total=progress.total, completed=progress.entries, said=said)

        yield tell
