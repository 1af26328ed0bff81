"""Status for people and for programs."""

import sys
from typing import TYPE_CHECKING

from minutebook.cli.showing import console, one_line, tokens
from minutebook.pipeline.answers import reading_data
from minutebook.pipeline.answers import status_data as as_data
from minutebook.pipeline.clocks import Reading
from minutebook.pipeline.status import Status, percent
from minutebook.pipeline.statustext import (
    LABEL_WIDTH,
    Row,
    broken_lines,
    clocks,
    drift,
    heading,
    notices_of,
    records,
    rest,
    subheading,
)

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["as_data", "broken_lines", "drift", "notices_of", "reading_data", "show_status"]

BAR_CELLS = 16
NO_SESSION = "No session yet: om ingest FILE takes one in"


def show_status(status: Status, nothing: str = NO_SESSION, box: str = "") -> None:
    """The whole status on stdout. nothing: what is said where there is no session to tell of. box: a line about it."""
    from rich.text import Text

    out = console()
    out.print(Text(heading(status) or nothing, style="bold"), no_wrap=True, overflow="ellipsis")
    out.print(Text(subheading(status), style="dim"), soft_wrap=True)
    for block in (records(status), clocks(status), rest(status)):
        out.print()
        for row in block:
            out.print(_line(row), soft_wrap=True)
    notices = [*notices_of(status), *([(one_line(box), "")] if box else [])]
    if notices:
        out.print()
    for notice, style in notices:
        out.print(Text(notice, style=style), soft_wrap=True)


def _line(row: Row) -> "Text":
    from rich.text import Text

    line = Text()
    line.append(f"{row.label:<{LABEL_WIDTH}}", style="cyan")
    if row.reading is None:
        return line.append(row.text)
    share = percent(row.reading)
    line.append(bar(row.reading), style="yellow" if share >= 100 else "green")
    line.append(f"  {tokens(row.reading.tokens):>9} / {row.reading.threshold:<7,} {share:>5,} %")
    return line.append(f"   {row.after}" if row.after else "", style="dim")


def bar(reading: Reading) -> str:
    """The reading as a bar; in plain characters where the stream has no others."""
    full, empty = ("█", "░") if "utf" in (sys.stdout.encoding or "utf-8").lower() else ("#", "-")
    cells = min(BAR_CELLS, BAR_CELLS * percent(reading) // 100)
    return full * cells + empty * (BAR_CELLS - cells)
