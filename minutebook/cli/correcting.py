"""`om note` and `om retire`: a person corrects memory."""

import click

from minutebook.cli.options import JSON, placed
from minutebook.cli.place import Place
from minutebook.cli.showing import harmless, minute, write, write_json
from minutebook.pipeline.corrections import note as add_note
from minutebook.pipeline.corrections import retire as take_back
from minutebook.pipeline.shapes import observation_data, one_line
from minutebook.pipeline.workbook import iso_time
from minutebook.records import RELEVANCES, Relevance, observation_line


@click.command(short_help="add an observation of your own")
@placed(looking=True)
@click.argument("text", nargs=-1, required=True)
@click.option("--relevance", type=click.Choice(RELEVANCES), default="critical", show_default=True)
@JSON
def note(place: Place, text: tuple[str, ...], relevance: Relevance, as_json: bool) -> None:
    """Add an observation of your own; it holds at once, in every projection.

    \b
    om note "Deploys go through staging first, never straight to production"
    """
    branch = place.some_branch()
    now = iso_time(place.store.now())
    observation = add_note(
        place.store, branch, " ".join(text), timestamp=minute(now, branch.zone), time=now, relevance=relevance
    )
    if as_json:
        write_json({"branch": branch.key, **observation_data(observation)})
    else:
        write(harmless(observation_line(observation)))


@click.command(short_help="take a record back")
@placed(looking=True)
@click.argument("record_id", metavar="ID")
@JSON
def retire(place: Place, record_id: str, as_json: bool) -> None:
    """Take an observation or a reflection back. It leaves what is visible at once; recall still finds it.

    \b
    om retire 3fa9c2d41b07
    """
    branch = place.some_branch()
    done = take_back(place.store, branch, record_id, time=iso_time(place.store.now()))
    if as_json:
        said = {"id": record_id, "kind": done.kind, "content": done.content, "already": done.already}
        write_json({"branch": branch.key, **said})
        return
    words = "was retired before" if done.already else "retired"
    write(harmless(f"[{record_id}] {done.kind} {words}: {one_line(done.content)}"))
