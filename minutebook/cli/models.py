"""`om models`."""

import click

from minutebook.cli.options import JSON, placed
from minutebook.cli.place import Place
from minutebook.cli.showing import write_json


@click.command(short_help="the models of each role, whether they can be asked, what they cost")
@placed(choosing=False, creating=True, looking=True)
@JSON
def models(place: Place, as_json: bool) -> None:
    """The models of each role: whether they can be asked, what they cost, and what was spent. Asks none of them.

    \b
    om models
    om models --json
    om doctor --call    asks each of them once
    """
    from minutebook.cli import showing_models
    from minutebook.pipeline.notices import read_notices
    from minutebook.workers.models_report import read_report

    report, notices = read_report(place.store, place.settings), read_notices(place.store, limit=showing_models.NOTICES)
    if as_json:
        write_json(showing_models.as_data(report, notices))
    else:
        showing_models.show_report(report, notices)
