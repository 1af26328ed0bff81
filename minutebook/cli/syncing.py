"""`om sync`."""

import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType

import click

from minutebook.cli.lazy import KILLED
from minutebook.cli.options import placed
from minutebook.cli.place import Place
from minutebook.cli.showing import remark, write
from minutebook.settings_loading import load
from minutebook.store.kernel import Store

GRACE_SECONDS = 3.0
"""So long after a signal the request in hand may take to end by itself."""


@click.command(short_help="send sessions to a team box, and bring their memory back")
@placed(choosing=False, in_project=False)
@click.option("--once", is_flag=True, help="One pass and a report, then leave.")
@click.option("--rejoin", metavar="KEY", help="A session that parted from the box: try again; implies --once.")
@click.pass_context
def sync(ctx: click.Context, place: Place, once: bool, rejoin: str | None) -> None:
    """Send this machine's sessions to the box that box_url names, and bring the memory that it makes back.

    Runs until Ctrl-C or SIGTERM; one for each store. While the box is away everything stays on this machine and goes
    on from there. Exit code 1 with --once: something failed; the report says what; 128 + the signal that ended it
    before it was done.

    \b
    om sync
    om sync --once
    om sync --rejoin claude_code:5f1c…
    """
    from minutebook.box.access import access_to_box
    from minutebook.box.client import BoxClient
    from minutebook.box.running import keep_in_step
    from minutebook.box.shipping import Shipper
    from minutebook.box.state import only_sender
    from minutebook.workers.foreground import stop_on_signals
    from minutebook.workers.waking import change_counter

    settings = load(None, place.flags).settings  # the folder from which it is started does not matter
    access = access_to_box(settings)
    if access.warning:
        remark(f"om sync: {access.warning}")
    with (
        only_sender(place.store),
        stop_on_signals() as stopped,
        BoxClient(access, stopping=stopped) as client,
        stops_soon(client.give_up) as heard,
    ):
        if rejoin is not None:
            rejoined(place.store, rejoin)
            once = True
        shipper = Shipper(place.store, client, settings)
        if once:
            report = shipper.pass_once()
            report.left = report.left or bool(heard and report.failure)
            write("\n".join(report.lines()))
            ctx.exit(KILLED + heard[0] if heard and report.left else 0 if report.ok else 1)
        keep_in_step(
            shipper,
            sync_seconds=settings.sync_seconds,
            stopped=stopped,
            changes=lambda: change_counter(place.store),
            say=lambda text: remark(f"om sync: {text}"),
        )


@contextlib.contextmanager
def stops_soon(give_up: Callable[[], None]) -> Iterator[list[int]]:
    """Within stop_on_signals: which signals came. give_up is called when the last was GRACE_SECONDS ago."""
    heard: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: give_up())

    def noting(handler: Callable[[int, FrameType | None], object]) -> Callable[[int, FrameType | None], None]:
        def note(number: int, frame: FrameType | None) -> None:
            heard.append(number)
            signal.setitimer(signal.ITIMER_REAL, GRACE_SECONDS)
            handler(number, frame)

        return note

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if callable(handler := signal.getsignal(number)):
            signal.signal(number, noting(handler))  # stop_on_signals puts back what was there before it
    try:
        yield heard
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def rejoined(store: Store, key: str) -> None:
    """Let the session of that key, or of the branch of that key, go to the box again. NotFound, BadInput."""
    from minutebook.errors import BadInput
    from minutebook.pipeline.boxing import rejoin_box
    from minutebook.pipeline.branches import load_branch
    from minutebook.pipeline.readings import session_of
    from minutebook.pipeline.sessions import find_session

    session = find_session(store, key) or session_of(store, load_branch(store, key))
    if session is None or not rejoin_box(store, session):
        raise BadInput(f"{key}: did not part from the box; `om sync --once` says what stays here and why")
