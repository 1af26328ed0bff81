"""How anything is printed: text, JSON, tables for people. rich is loaded when a table is shown."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import click

from minutebook.pipeline.wording import UNKNOWN_TIME, counted, harmless, minute, one_line, seconds, tokens

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

__all__ = [
    "UNKNOWN_TIME",
    "cell_len",
    "console",
    "counted",
    "fitted",
    "harmless",
    "minute",
    "one_line",
    "remark",
    "seconds",
    "show",
    "tokens",
    "write",
    "write_json",
]

PIPED_WIDTH = 140


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
