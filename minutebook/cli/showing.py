"""How anything is printed: text, JSON, tables for people. rich is loaded when a table is shown."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import click

from minutebook.workers.showing import UNREADABLE_TIME, local_minute, zone_of

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

PIPED_WIDTH = 140
UNKNOWN_TIME = "Unknown time"


def write(text: str, *, end: str = "\n") -> None:
    """Text on stdout; exact in a pipe, and on a terminal without what a terminal would act on."""
    sys.stdout.write((harmless(text) if sys.stdout.isatty() else text) + end)


def remark(text: str) -> None:
    """A line for the person that is no part of the output."""
    click.echo(harmless(text), err=True)


def write_json(data: Mapping[str, Any] | Sequence[Any]) -> None:
    """JSON on stdout, readable, and valid whatever the encoding of the stream."""
    narrow = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") != "utf8"
    text = json.dumps(data, ensure_ascii=narrow, indent=2)
    if not narrow and any("\ud800" <= c <= "\udfff" for c in text):
        text = json.dumps(data, indent=2)
    sys.stdout.write(text + "\n")


def console() -> "Console":
    """Where tables go: colours only on a terminal, no markup in what is shown."""
    import os

    from rich.console import Console

    class Piped(Console):
        def on_broken_pipe(self) -> NoReturn:
            raise BrokenPipeError  # not rich's exit code 1, which says something else with several commands

    width = None if sys.stdout.isatty() or os.environ.get("COLUMNS") else PIPED_WIDTH
    return Piped(file=sys.stdout, width=width, highlight=False, markup=False, emoji=False)


def show(renderable: "RenderableType") -> None:
    """Print a rich table or text."""
    console().print(renderable)


def fitted(table: "Table", out: "Console", width: int, gives_way: Sequence[str]) -> "Table":
    """The table, without as many of these columns as it takes to show the others whole."""
    from rich.measure import Measurement

    unlimited = out.options.update_width(10_000)
    for name in gives_way:
        if Measurement.get(out, unlimited, table).maximum <= width:
            break
        table = _without(table, name)
    return table


def _without(table: "Table", name: str) -> "Table":
    from rich.table import Table

    kept = [column for column in table.columns if column.header != name]
    columns = [column.copy() for column in kept]
    made = Table(*columns, box=table.box, pad_edge=table.pad_edge, header_style=table.header_style)
    made.padding = table.padding
    for row, cells in zip(table.rows, zip(*(column.cells for column in kept), strict=True), strict=True):
        made.add_row(*cells, style=row.style)
    return made


def cell_len(text: str) -> int:
    """How many cells of a terminal the text needs."""
    from rich.cells import cell_len as cells

    return cells(text)


def harmless(text: str) -> str:
    """The text with control characters (but line breaks and tabs) and invisible direction marks written out."""
    if text.isprintable():
        return text
    return "".join(_shown(c) for c in text)


def one_line(text: str) -> str:
    """The text on one line, harmless."""
    return harmless(" ".join(text.split()))


def _shown(c: str) -> str:
    if c in "\n\t" or c.isprintable() or not (ord(c) < 32 or 127 <= ord(c) < 160 or c in _DIRECTIONS):
        return c
    return f"\\x{ord(c):02x}" if ord(c) < 256 else f"\\u{ord(c):04x}"


_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def tokens(count: int) -> str:
    """Tokens for people: grouped by thousands, marked as an estimate (003-103)."""
    return f"~{count:,}"


def counted(count: int, one: str, many: str = "") -> str:
    """`1 entry`, `2 entries`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def minute(time: str, zone: str) -> str:
    """A time to the minute in the session's zone, or `Unknown time`."""
    shown = local_minute(time, zone_of(zone))
    return UNKNOWN_TIME if shown == UNREADABLE_TIME else shown


def seconds(count: float) -> str:
    """A span of time for people: 45 s, 3 min, 2 h, 5 d."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if count >= 2 * size:
            return f"{count / size:.0f} {unit}"
    return f"{count:.0f} s"
