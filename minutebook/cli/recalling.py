"""`om recall`."""

import click

from minutebook.cli.lazy import complain
from minutebook.cli.options import JSON, placed
from minutebook.cli.place import NOTHING_YET, Place
from minutebook.cli.showing import write, write_json
from minutebook.errors import BadInput
from minutebook.pipeline.paging import pages_of
from minutebook.pipeline.recall import Recalled, checked_id, recall
from minutebook.pipeline.sourcetext import entry_text


@click.command(
    "recall",
    short_help="a record and the exact source behind it",
    context_settings={"ignore_unknown_options": False},
)
@placed(looking=True)
@click.argument("record_id", metavar="ID")
@click.option("--page", type=click.IntRange(min=0), metavar="N", help="Which page; 0 is all of it.")
@JSON
def recall_command(place: Place, record_id: str, page: int | None, as_json: bool) -> None:
    """A record and the exact source behind it: one id, as shown in brackets by `om view` and `om search`.

    Exit code 1 says that this branch has no such record.

    \b
    om recall 3fa9c2d41b07
    om recall 3fa9c2d41b07 --page 2
    """
    from minutebook.cli import showing_recall

    checked_id(record_id)
    found = recall(place.store, place.branch, record_id) if place.branch.key else Recalled(id=record_id)
    texts = [entry_text(placed.entry) for placed in found.sources]
    pages = pages_of(texts)
    wanted = (0 if as_json else 1) if page is None else page
    if wanted > len(pages):
        raise BadInput(f"--page {wanted}: there {'is 1 page' if len(pages) == 1 else f'are {len(pages)} pages'}")
    pieces = [piece for each in pages for piece in each] if wanted == 0 else pages[wanted - 1]
    if as_json:
        write_json(showing_recall.as_data(found, pieces, wanted, len(pages), place.branch.zone))
    elif found.found:
        write(showing_recall.text_of(found, pieces, wanted, len(pages), place.branch.zone))
    if not found.found:
        if not as_json:
            complain(_not_found(place, record_id))
        raise click.exceptions.Exit(1)


def _not_found(place: Place, record_id: str) -> str:
    if not place.branch.key:
        return f"no record {record_id}: {NOTHING_YET}"
    return f"no record {record_id} on branch {place.branch.key}; --session or --branch looks on another"
