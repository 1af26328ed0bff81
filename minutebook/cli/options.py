"""Options that many commands share, handed to them as one Place."""

from collections.abc import Callable
from contextlib import closing
from functools import wraps
from pathlib import Path
from typing import Any

import click

from minutebook.cli.place import Place
from minutebook.errors import BadInput

Function = Callable[..., Any]

STORE = click.option(
    "--store",
    metavar="PATH|URL",
    envvar="MINUTEBOOK_STORE",
    help="The store, a file or redis://host:6379/0; MINUTEBOOK_STORE, else the file of this user.",
)
PROJECT = click.option(
    "--project", metavar="DIR", type=click.Path(path_type=Path), help="The project's folder; else the current one."
)
SET = click.option("--set", "assigned", metavar="NAME=VALUE", multiple=True, help="A setting for this run only.")
SESSION = click.option(
    "--session",
    metavar="KEY",
    help="A session by its id or a unique beginning or end of it; else the latest of the project.",
)
BRANCH = click.option("--branch", metavar="KEY", help="A branch likewise; else the session's current one.")
JSON = click.option("--json", "as_json", is_flag=True, help="For programs.")


def placed(
    *, choosing: bool = True, creating: bool = False, looking: bool = False, in_project: bool = True
) -> Callable[[Function], Function]:
    """Give a command a Place as its first argument.

    choosing: of a session. creating: a store that is not there yet. looking: where there is none, none is made.
    in_project: a project's folder matters.
    """

    def decorate(function: Function) -> Function:
        @wraps(function)
        def wrapped(
            *,
            store: str | None,
            assigned: tuple[str, ...],
            project: Path | None = None,
            session: str | None = None,
            branch: str | None = None,
            **rest: Any,
        ) -> Any:
            place = Place(
                named_store=store,
                project=(project or Path.cwd()).absolute(),
                flags=flags_of(assigned),
                session_name=session,
                branch_name=branch,
                creating=creating,
                looking=looking,
            )
            with closing(place):
                return function(place, **rest)

        options = [STORE, *([PROJECT] if in_project else []), SET, *([SESSION, BRANCH] if choosing else [])]
        decorated: Function = wrapped
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


def flags_of(assigned: tuple[str, ...]) -> dict[str, str]:
    """NAME=VALUE as settings take it; raises BadInput."""
    found = {}
    for text in assigned:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise BadInput(f"--set {text!r}: write NAME=VALUE, such as --set observe_after_tokens=5000")
        found[name.strip()] = value
    return found


def model_flags(model: str | None, base_url: str | None) -> dict[str, str]:
    """--model and --base-url as settings."""
    given = {"model": model, "model_base_url": base_url}
    return {name: value for name, value in given.items() if value is not None}
