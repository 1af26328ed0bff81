"""`om status`."""

import click

from minutebook.cli.options import JSON, placed
from minutebook.cli.pausing import paused_lines
from minutebook.cli.place import ONLY_SUB_AGENTS, Place
from minutebook.cli.showing import remark, write_json
from minutebook.pipeline.status import read_status


@click.command(short_help="what is recorded, visible, due or failing")
@placed(looking=True)
@JSON
@click.pass_context
def status(ctx: click.Context, place: Place, as_json: bool) -> None:
    """What is recorded, visible, due or failing on a branch. Tokens (~) are estimates.

    Exit code 1 says that memory is due and that nobody makes it.

    \b
    om status
    om status --session 3f2a --json
    """
    from minutebook.box.state import box_line
    from minutebook.cli import showing_status

    settings = place.settings_of(place.branch)
    found, box = read_status(place.store, place.branch, settings), box_line(place.store, settings)
    if as_json:
        write_json({**showing_status.as_data(found), "box": box})
    else:
        nothing = f"No session: {ONLY_SUB_AGENTS}" if place.sessions else showing_status.NO_SESSION
        showing_status.show_status(found, nothing, box)
        for said in paused_lines(place.store, found.session) if found.session else ():
            remark(said)
    ctx.exit(1 if found.not_made else 0)
