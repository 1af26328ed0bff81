"""`om serve`."""

import logging
import sys
from contextlib import closing

import click

from minutebook.cli.options import placed
from minutebook.cli.place import Place
from minutebook.cli.showing import write
from minutebook.errors import MissingExtra
from minutebook.settings_loading import load
from minutebook.workers.opening import open_patiently

BUSY_SECONDS = 5.0
"""A laptop that is told to come again does; it need not wait as long as a worker would."""
OPENING_SECONDS = 120.0
"""So long a server that is away is tried when the door is started."""


@click.command(short_help="the box's HTTP door")
@placed(choosing=False, creating=True, in_project=False)
def serve(place: Place) -> None:
    """Answer the laptops of a team over HTTP, until Ctrl-C or SIGTERM; what is being answered then is finished.

    Listens on serve_host and serve_port, 127.0.0.1:8765 by default. Clients need a token: `om token create`. The door
    takes in and reads; `om worker` on the same store does the work. A Redis server that is away, or loads its data, is
    waited for, at most two minutes.

    \b
    om serve
    om serve --store redis://127.0.0.1:6379/0 --set serve_port=0
    """
    settings = load(None, place.flags).settings  # the folder from which it is started does not matter
    place.check_store()
    logging.basicConfig(format="om serve: %(message)s", level=logging.WARNING)
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # what clients do wrong is counted, not told
    try:
        from minutebook.server import running
    except ModuleNotFoundError as error:
        raise MissingExtra("server", "om serve") from error
    store = open_patiently(place.url, busy_seconds=BUSY_SECONDS, wait_seconds=OPENING_SECONDS)
    if store is not None:
        with closing(store):
            running.serve(store, settings, say=_say)


def _say(line: str) -> None:
    write(line)
    sys.stdout.flush()
