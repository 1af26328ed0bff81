"""`om token`: who may use the box."""

import click

from minutebook.cli.options import JSON, placed
from minutebook.cli.place import Place
from minutebook.cli.showing import console, remark, write, write_json
from minutebook.pipeline.workbook import iso_time
from minutebook.server import tokens
from minutebook.server.tokens import Token


@click.group(short_help="who may use the box, and for which projects")
def token() -> None:
    """Who may use the box, and for which projects. Each token is of one user.

    A user reads and writes their own sessions in the projects of the token. With `om token share PROJECT`, everybody
    whose token covers the project reads all sessions of it.

    \b
    om token create --user alice --project 'github.com/acme/*' --days 90
    om token list
    om token revoke 3fa9c2d41b07
    """


@token.command("create", short_help="a new token, shown once")
@placed(choosing=False, creating=True, in_project=False)
@click.option("--user", required=True, metavar="NAME", help="Whose token it is.")
@click.option(
    "--project",
    "projects",
    multiple=True,
    metavar="PROJECT",
    help="A project's name, * for any characters; may be repeated.",
)
@click.option("--days", type=int, metavar="N", help="It expires after so many days.")
@JSON
def create(place: Place, user: str, projects: tuple[str, ...], days: int | None, as_json: bool) -> None:
    """A new token. Its text is shown this once; the store keeps a hash."""
    made, text = tokens.create_token(place.store, user, projects, days=days)
    if as_json:
        write_json({**_data(made, made.created), "token": text})
        return
    write(text)
    until = f" until {iso_time(made.expires)[:10]}" if made.expires else ""
    remark(f"For {made.user}, {_projects(made)}{until}. It is not shown again; `om token revoke {made.id}` ends it.")


@token.command("list", short_help="the tokens, without their texts")
@placed(choosing=False, looking=True, in_project=False)
@JSON
def list_(place: Place, as_json: bool) -> None:
    """The tokens, without their texts, and the projects that the team shares."""
    found, shared, now = tokens.list_tokens(place.store), tokens.shared_projects(place.store), place.store.now()
    if as_json:
        write_json({"tokens": [_data(each, now) for each in found], "shared": shared})
        return
    if found:
        _show(found, now)
    else:
        remark("No tokens yet: om token create --user NAME")
    if shared:
        write(f"Read by the team: {', '.join(shared)}")


@token.command("revoke", short_help="a token is of no use from now on")
@placed(choosing=False, looking=True, in_project=False)
@click.argument("token_id", metavar="ID")
def revoke(place: Place, token_id: str) -> None:
    """A token is of no use from now on, at the next request."""
    revoked, listed = tokens.revoke_token(place.store, token_id)
    gone = "" if listed else " The store is full: it was deleted, and `om token list` does not show it any more."
    remark(f"Token {revoked.id} of {revoked.user} is revoked.{gone}")


@token.command("share", short_help="a project's sessions are for the team")
@placed(choosing=False, creating=True, in_project=False)
@click.argument("name", metavar="PROJECT")
def share(place: Place, name: str) -> None:
    """Everybody whose token covers the project reads all sessions of it, also those that are there already."""
    tokens.share(place.store, name)
    remark(f"{name}: read by everybody whose token covers it.")


@token.command("unshare", short_help="each reads only their own again")
@placed(choosing=False, looking=True, in_project=False)
@click.argument("name", metavar="PROJECT")
def unshare(place: Place, name: str) -> None:
    """Each user reads only their own sessions of the project again. Copies that were fetched stay where they are."""
    was_shared = tokens.unshare(place.store, name)
    remark(f"{name}: each reads only their own{'' if was_shared else '; it was not shared'}.")


def _show(found: list[Token], now: float) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("id", "user", "state", "created", "expires"):
        table.add_column(heading, no_wrap=True)
    table.add_column("projects", overflow="fold")
    for each in found:
        expires = iso_time(each.expires)[:10] if each.expires else "never"
        row = (each.id, each.user, _state(each, now), iso_time(each.created)[:10], expires, ", ".join(each.projects))
        table.add_row(*row)
    console().print(table)


def _state(each: Token, now: float) -> str:
    if each.revoked:
        return "revoked"
    return "valid" if each.is_valid_at(now) else "expired"


def _projects(each: Token) -> str:
    if each.projects == (tokens.ALL_PROJECTS,):
        return "all projects"
    return f"project{'' if len(each.projects) == 1 else 's'} {', '.join(each.projects)}"


def _data(each: Token, now: float) -> dict[str, object]:
    """For programs; nothing that could be used in its place."""
    return {
        "id": each.id,
        "user": each.user,
        "projects": list(each.projects),
        "state": _state(each, now),
        "created": iso_time(each.created),
        "expires": iso_time(each.expires) if each.expires else None,
        "revoked": iso_time(each.revoked) if each.revoked else None,
    }
