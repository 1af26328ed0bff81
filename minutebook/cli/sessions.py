"""`om sessions`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

import click

from minutebook.cli.options import JSON, placed
from minutebook.cli.pausing import paused_lines
from minutebook.cli.place import NOTHING_YET, Place
from minutebook.cli.showing import cell_len, console, counted, minute, one_line, remark, tokens, write_json
from minutebook.pipeline.branches import Path, find_branch
from minutebook.pipeline.keeping_out import IGNORED, PAUSED
from minutebook.pipeline.sessions import Session
from minutebook.pipeline.status import read_totals_now
from minutebook.pipeline.statustext import kept_out_words
from minutebook.projects import project_key
from minutebook.store.kernel import Store

SHOWN = 30
LIMIT_MOST = 1_000_000
SHORT_ID = 8
TITLE_LEAST = 12
PROJECT_LEAST = 18
HEADINGS = ("session", "entries", "tokens", "obs/refl", "last turn")


@dataclass(frozen=True, slots=True)
class Line:
    """A session and what its current branch holds."""

    session: Session
    entries: int
    tokens: int
    observations: int
    reflections: int


@click.command(short_help="the sessions in the store")
@placed(choosing=False, looking=True)
@click.option(
    "--limit", type=click.IntRange(1, LIMIT_MOST), metavar="N", help=f"The N latest; for people {SHOWN}, else all."
)
@JSON
def sessions(place: Place, limit: int | None, as_json: bool) -> None:
    """The sessions in the store, the one touched last first.

    \b
    om sessions
    om sessions --json | jq '.[].key'
    """
    shown = limit if limit or as_json else SHOWN
    lines = [line_of(place.store, session) for session in islice(place.sessions, shown)]
    if as_json:
        write_json([as_data(line) for line in lines])
    elif not lines:
        remark(f"om: {NOTHING_YET}")
    else:
        _show(lines, short_keys(place.sessions))
        if len(place.sessions) > len(lines):
            remark(f"{counted(len(place.sessions) - len(lines), 'older session')} not shown; --limit N shows more")
    if not as_json:
        for said in [*paused_lines(place.store), *kept_out_lines(line.session for line in lines)]:
            remark(said)


def line_of(store: Store, session: Session) -> Line:
    """A session with the numbers of the branch on which its next entry arrives."""
    branch = find_branch(store, session.branch) if session.branch else None
    if branch is None:
        return Line(session, 0, 0, 0, 0)
    path, totals = Path(store, branch), read_totals_now(store, branch)
    return Line(session, path.length(), path.tokens(), totals.active, totals.current)


def as_data(line: Line) -> dict[str, Any]:
    """For programs."""
    session = line.session
    return {
        "key": session.key,
        "host": session.host,
        "session": session.session,
        "agent": session.agent,
        "title": session.title,
        "project": session.project,
        "project_key": project_key(session.project),
        "path": session.path,
        "entries": line.entries,
        "tokens": line.tokens,
        "prompts": session.prompts,
        "observations": line.observations,
        "reflections": line.reflections,
        "started": session.started,
        "last_time": session.last_time,
        "ended": session.ended,
        "branch": session.branch,
        "branches": session.branches,
        "paused": session.skipped.get(PAUSED, 0),
        "ignored": session.skipped.get(IGNORED, 0),
    }


def kept_out_lines(sessions: Iterable[Session]) -> list[str]:
    """A line for each session of which something was not recorded on purpose."""
    said = {session.key: kept_out_words(session) for session in sessions}
    return [f"Kept out of {one_line(key)}: {words}" for key, words in said.items() if words]


def _show(lines: list[Line], keys: Mapping[str, str]) -> None:
    from rich.text import Text

    out = console()
    rows = [cells(line, keys[line.session.key]) for line in lines]
    widths = [max(len(heading), *(len(row[at]) for row in rows)) for at, heading in enumerate(HEADINGS)]
    room = out.width - sum(widths) - 2 * len(widths)
    # A narrow terminal shows the title alone; --json has the project.
    project_width = 0 if room < TITLE_LEAST + PROJECT_LEAST else room * 4 // 10
    title_width = max(TITLE_LEAST, room - project_width - (2 if project_width else 0))
    out.print(
        Text(_row(HEADINGS, widths, "title", "project", title_width, project_width), style="bold"), soft_wrap=True
    )
    for line, row in zip(lines, rows, strict=True):
        title, project = title_of(line.session), one_line(line.session.project)
        out.print(Text(_row(row, widths, title, project, title_width, project_width)), soft_wrap=True)


def _row(
    row: Sequence[str], widths: Sequence[int], title: str, project: str, title_width: int, project_width: int
) -> str:
    first, *numbers, time = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
    shown = beginning(title, title_width)
    padding = " " * max(0, title_width - cell_len(shown))
    last = ending(project, project_width) if project_width else ""
    return "  ".join([first.strip().ljust(widths[0]), *numbers, time, shown + padding, last]).rstrip()


def cells(line: Line, key: str) -> tuple[str, ...]:
    """What is shown of a session whatever the width: key, numbers, time."""
    session = line.session
    return (
        one_line(key),
        f"{line.entries:,}",
        tokens(line.tokens),
        f"{line.observations:,}/{line.reflections:,}",
        minute(session.last_time, session.zone),
    )


def title_of(session: Session) -> str:
    """The title, after how many branches there are where there are several."""
    branches = len(session.branches)
    return f"({branches} branches) {one_line(session.title)}" if branches > 1 else one_line(session.title)


def beginning(text: str, width: int) -> str:
    """As much of the text as fits, by the cells that a terminal needs."""
    if cell_len(text) <= width:
        return text
    while cell_len(text) >= width and text:
        text = text[:-1]
    return text + "…"


def ending(path: str, width: int) -> str:
    """The end of a path that fits: the last folder tells most."""
    while cell_len(path) > width and len(path) > 1:
        path = "…" + path.lstrip("…")[1:]
    return path


def short_keys(sessions: Iterable[Session]) -> dict[str, str]:
    """Key → enough of it to name the session among these: the host and the beginning of its id.

    Ids that begin with a time (version 7) share their first characters when they are of the same minute.
    """
    several = list(sessions)
    names = sorted({f"{session.host}:{session.session}" for session in several})
    shared = [0, *(_shared(*pair) for pair in pairwise(names)), 0]
    enough = {name: max(shared[at : at + 2]) + 1 for at, name in enumerate(names)}
    return {session.key: _short(session, enough) for session in several}


def _shared(one: str, other: str) -> int:
    """How many characters at the beginning are the same."""
    return next((at for at, pair in enumerate(zip(one, other, strict=False)) if len({*pair}) > 1), len(one))


def _short(session: Session, enough: Mapping[str, int]) -> str:
    name = f"{session.host}:{session.session}"
    agent = f"/{session.agent[:12]}" if session.agent else ""
    return name[: max(len(session.host) + 1 + SHORT_ID, enough[name])] + agent
