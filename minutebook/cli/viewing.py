"""`om view` and `om compact`: the memory as text."""

import sys

import click

from minutebook.cli.options import JSON, placed
from minutebook.cli.place import NOTHING_YET, ONLY_SUB_AGENTS, Place
from minutebook.cli.showing import counted, harmless, remark, tokens, write, write_json
from minutebook.errors import BadInput
from minutebook.pipeline.answers import composition_data
from minutebook.pipeline.branches import Path
from minutebook.pipeline.compaction import look_at_memory
from minutebook.pipeline.status import read_totals_now
from minutebook.pipeline.viewing import boundary_keeping, view_lines, viewed

NOT_COMPACTED = "No compaction has been confirmed yet, so nothing is visible; `om view --full` shows what is recorded."


@click.command(short_help="the memory itself")
@placed(looking=True)
@click.option("--full", is_flag=True, help="All active memory at the tip, not only what the last compaction showed.")
@click.option("--copy/--no-copy", default=None, help="To the clipboard; by default when the output is a terminal.")
def view(place: Place, full: bool, copy: bool | None) -> None:
    """The memory: what the last confirmed compaction showed the agent, or all that is active.

    On a terminal the text is copied to the clipboard as well.

    \b
    om view
    om view --full | less
    """
    text = view_text(place, full=full)
    write(text)
    _say_whose(place)
    if place.branch.key and not full and not _compacted(place):
        write(f"\n{NOT_COMPACTED}")
    if copy or (copy is None and sys.stdout.isatty()):
        _copy(text)


def view_text(place: Place, *, full: bool) -> str:
    """The rendered memory, and nothing else (003-107)."""
    projection = viewed(place.store, place.branch, place.settings_of(place.branch), full=full)
    return "\n".join(view_lines(projection, "recorded" if full else "visible", shown=harmless))


def _say_whose(place: Place) -> None:
    if not place.branch.key:
        remark(f"om: {ONLY_SUB_AGENTS if place.sessions else NOTHING_YET}")


def _compacted(place: Place) -> bool:
    return bool(place.branch.key and read_totals_now(place.store, place.branch).compacted)


def _copy(text: str) -> None:
    from minutebook.cli.clipboard import copy as to_clipboard

    if to_clipboard(text):
        remark("Copied to the clipboard.")
    else:
        remark("om: not copied: no clipboard program worked (wl-copy, xclip, xsel, termux-clipboard-set or pbcopy)")


@click.command(short_help="what an agent would get back at a compaction")
@placed(looking=True)
@click.option("--boundary", type=click.IntRange(min=0), metavar="N", help="Position of the first entry that stays.")
@click.option(
    "--keep", type=click.IntRange(min=0), metavar="TOKENS", help="About so many tokens of newest entries stay."
)
@JSON
def compact(place: Place, boundary: int | None, keep: int | None, as_json: bool) -> None:
    """What an agent would get back if its context were compacted now. A look: nothing is recorded.

    \b
    om compact
    om compact --keep 20000
    """
    if boundary is not None and keep is not None:
        raise BadInput("--boundary and --keep say the same thing in two ways; give one of them")
    settings, path = place.settings_of(place.branch), Path(place.store, place.branch)
    length = path.length()
    if boundary is not None and boundary > length:
        raise BadInput(f"--boundary {boundary:,}: the branch has {counted(length, 'entry', 'entries')}")
    cut = boundary_keeping(path, keep or 0) if boundary is None else boundary
    _say_whose(place)
    composed = look_at_memory(place.store, place.branch, cut, settings) if place.branch.key else None
    if as_json:
        write_json(
            {
                "boundary": cut,
                "entries": length,
                "composition": composition_data(composed),
            }
        )
    elif composed is None:
        remark(f"No memory before entry {cut:,}: the host's own summary would be used.")
    else:
        write(composed.text)
        full = ", drops applied" if composed.full_fold else ""
        left = f", {counted(composed.left_out, 'record')} left out" if composed.left_out else ""
        replaced = f"{tokens(composed.tokens)} tokens in place of {counted(cut, 'entry', 'entries')}"
        remark(f"{replaced}{full}{left}. Nothing was recorded.")
