"""What `om doctor` asks of the team box that the settings name. Nothing is sent and nothing is changed."""

import time
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from typing import TYPE_CHECKING

from minutebook.cli.check import Check
from minutebook.cli.place import Place
from minutebook.cli.showing import counted
from minutebook.errors import BoxFailed, BoxRefused, BoxUnreachable, MinutebookError
from minutebook.settings import Settings
from minutebook.settings_loading import load
from minutebook.store.opening import open_store
from minutebook.version import __version__

if TYPE_CHECKING:
    from minutebook.box.behind import Behind
    from minutebook.box.client import BoxClient
    from minutebook.box.wire import Me

ANSWER_SECONDS = 3.0
"""Who asks how things are does not want to wait as long as `om sync`, which tries again anyway."""
BUSY_SECONDS = 2.0
CLOCK_SLACK_SECONDS = 60.0
UNREACHABLE = "is `om serve` running there, is the network up, and is box_url right? `om sync` goes on by itself"
NO_BOX = "is box_url the address of an `om serve`, and of a version that fits this one?"


def box_checks(place: Place) -> Iterator[Check]:
    """Whether the box answers, the token is good, the versions and clocks are the same, and what is not in step.

    Nothing where no box is set, or where another line says what is wrong with the settings.
    """
    try:
        settings = load(None, place.flags).settings  # as `om sync` reads them
    except MinutebookError:
        return
    if settings.box_url is None:
        return
    if find_spec("httpx") is None:
        yield Check("box", "fail", "box_url is set, and what asks it is missing", "pip install 'minutebook[box]'")
        return
    try:
        yield from _asked(place, settings)
    except MinutebookError as error:
        yield failed(error)


def _asked(place: Place, settings: Settings) -> Iterator[Check]:
    from minutebook.box.access import access_to_box
    from minutebook.box.client import BoxClient

    access = access_to_box(settings)
    with BoxClient(access, tries=1, silence_seconds=ANSWER_SECONDS) as client:
        me = client.me()
        said = f"{access.url} answers; the token is {me.user}'s, for {', '.join(me.projects)}"
        yield Check("box", "info" if access.warning else "ok", f"{said}; {access.warning}".removesuffix("; "))
        yield from version(me.version)
        yield from clock(me.time - time.time() if me.time else 0.0)
        if place.store_file is not None and place.may_have_store():
            yield from _in_step(place, client, settings, me)


def failed(error: MinutebookError) -> Check:
    """The box did not answer, or not this token, or there is no token: what was said, and what to do."""
    if isinstance(error, BoxUnreachable):
        return Check("box", "fail", str(error), UNREACHABLE)
    if isinstance(error, BoxFailed) and not isinstance(error, BoxRefused):
        return Check("box", "fail", str(error), NO_BOX)
    said, _, advice = str(error).rpartition(": ")
    return Check("box", "fail", said or str(error), advice)


def version(there: str) -> Iterator[Check]:
    """Both sides understand each other; who looks for a reason should know all the same."""
    if there and there != __version__:
        yield Check("version of the box", "info", f"{there} there, {__version__} here")


def clock(ahead_seconds: float) -> Iterator[Check]:
    """Tokens end by the box's clock, and entries have the times of this machine."""
    if abs(ahead_seconds) >= CLOCK_SLACK_SECONDS:
        how = "ahead of" if ahead_seconds > 0 else "behind"
        yield Check("clock of the box", "info", f"{abs(ahead_seconds):,.0f} s {how} this machine's: set one of them")


def _in_step(place: Place, client: "BoxClient", settings: Settings, me: "Me") -> Iterator[Check]:
    from minutebook.box.behind import how_far_behind
    from minutebook.box.state import box_line, is_quiet, known_user

    with closing(open_store(place.url, busy_seconds=BUSY_SECONDS, create=False)) as store:
        before = known_user(store)
        if before not in ("", me.user):
            fix = f"use the token of {before}, or another MINUTEBOOK_HOME"
            yield Check("token of the box", "fail", f"this store was synced as {before}, not as {me.user}", fix)
            return
        found = how_far_behind(store, client, settings, me)
        yield in_step(found, box_line(store, settings).partition(", ")[2], runs=not is_quiet(store, client.url))


def in_step(found: "Behind", line: str, *, runs: bool) -> Check:
    """What the box lacks and what this machine does. line: what `om status` says of it. runs: `om sync`."""
    if not found.apart:
        return Check("in step", "ok", f"{counted(found.branches, 'branch', 'branches')} as on the box")
    lacks = [
        f"the box lacks {counted(found.sources, 'source entry', 'source entries')}" if found.sources else "",
        f"this machine lacks {counted(found.memory, 'memory entry', 'memory entries')}" if found.memory else "",
        f"{counted(found.offers, 'note or fold', 'notes or folds')} still to be placed" if found.offers else "",
    ]
    said = f"{found.apart:,} of {counted(found.branches, 'branch', 'branches')} not: {', '.join(filter(None, lacks))}"
    if runs:
        return Check("in step", "info", f"{said}; `om sync` is at it")
    return Check("in step", "fail", said, f"om sync ({line})" if line else "om sync")
