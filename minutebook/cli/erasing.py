"""`om purge` and `om retention`: sessions go, with everything that rests on them. Both only say what would go, without
--yes.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from minutebook.cli.choosing import choose_session, is_folder
from minutebook.cli.erasing_plans import Aged, Plan, aged_families, as_data, done_with, plan_of, scrubbed, show_plan
from minutebook.cli.options import JSON, placed
from minutebook.cli.place import Place
from minutebook.cli.showing import counted, harmless, remark, write, write_json
from minutebook.errors import BadInput, NotFound
from minutebook.pipeline.boxkeys import checked_user, owner_of
from minutebook.pipeline.erasing import Erasure, derived_of, erase_all, finish_erasures
from minutebook.pipeline.purged import forget_tombstone
from minutebook.projects import project_name
from minutebook.server.tokens import TOKENS, list_tokens

DAYS_MOST = 100_000
YES = click.option("--yes", is_flag=True, help="Do it; without, it is only said what would go.")


@click.command(short_help="remove a session or a user with everything that rests on them")
@placed(choosing=False, looking=True, in_project=False)
@click.option("--session", "name", metavar="KEY", help="A session by its id or a unique beginning or end of it.")
@click.option("--user", metavar="NAME", help="All sessions of a user of a team box, and the user's tokens.")
@click.option("--project", "project_name", metavar="P", help="All sessions of a project: its folder, or its name.")
@click.option("--with-copies", is_flag=True, help="Also sessions that copied the beginning of these.")
@click.option("--forget-tombstone", "forget", metavar="KEY", help="Allow a purged session again: its whole key.")
@click.option("--scrub", is_flag=True, help="Only write the store's files anew, where that could not be done before.")
@YES
@JSON
def purge(
    place: Place,
    name: str | None,
    user: str | None,
    project_name: str | None,
    with_copies: bool,
    forget: str | None,
    scrub: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Remove sessions with everything that rests on them: memory, checkpoints, folds, errors, questions, debug logs.

    Nothing of them is left in the store but a tombstone without a name, so that neither a late delivery of the same
    file nor a push from a laptop brings them back. Files of `om export` and `om backup` are listed, not touched.

    \b
    om purge --session 3f2a91
    om purge --user alice --yes
    om purge --forget-tombstone claude_code:3f2a91c7-...
    """
    if sum(each is not None for each in (name, user, project_name, forget, scrub or None)) != 1:
        raise BadInput("give one of --session KEY, --user NAME, --project P, --forget-tombstone KEY and --scrub")
    if forget is not None or scrub:
        write(scrubbed(place.store) if forget is None else _allow(place, forget))
        return
    ended = finish_erasures(place.store) if yes else 0
    keys = _keys(place, name, user, project_name)
    tokens = [each.id for each in list_tokens(place.store) if each.user == user] if user else []
    if not keys and not tokens:
        if not ended:
            raise NotFound(
                f"nothing to remove: no session of {user or project_name}; `om sessions` lists what there is"
            )
        remark("om: a purge that had been interrupted was ended; nothing else was to be removed")
        return
    erasure = derived_of(place.store, keys, with_copies=with_copies)
    plan = plan_of(place, erasure, tokens)
    if erasure.copies and not with_copies:
        _say(plan, as_json, removed=False)
        copies = ", ".join(erasure.copies)
        what = counted(len(erasure.copies), "other session")
        raise BadInput(
            f"{what} copied the beginning of these and read it there: {copies}; --with-copies removes them, too"
        )
    _carry_out(place, plan, as_json, yes, lambda: _purge(place, erasure, tokens))


@click.command(short_help="remove sessions by their age")
@placed(choosing=False, looking=True, in_project=False)
@click.option("--days", type=click.IntRange(1, DAYS_MOST), metavar="N", help="In place of the setting retention_days.")
@YES
@JSON
def retention(place: Place, days: int | None, yes: bool, as_json: bool) -> None:
    """Remove sessions without a new entry for retention_days, with everything that rests on them.

    What copied each other's beginning, and sub-agents, go together when all of it is old enough. A session stays while
    work is due, pending or running on it, or a compaction is open. Purged sessions are not taken in again.

    \b
    om retention --days 180
    om retention --yes
    """
    older = days or place.settings.retention_days
    if older is None:
        remark("om: retention_days is not set, so nothing is removed by age; --days N, or set it")
        return
    if yes:
        finish_erasures(place.store)
    aged = aged_families(place, older)
    erasure = derived_of(place.store, aged.keys)
    plan = plan_of(place, erasure, [])
    if not aged.keys:
        _say(plan, as_json, removed=False, aged=aged)
        if not as_json:
            write(f"No session is older than {counted(older, 'day')}{_kept(aged)}.")
        return
    _carry_out(
        place, plan, as_json, yes, lambda: erase_all(place.store, erasure, reason="retention", unless_moved=True), aged
    )


def _allow(place: Place, key: str) -> str:
    if not forget_tombstone(place.store, key):
        raise NotFound(f"no tombstone of {key!r}: give the whole key, as in `claude_code:3f2a91c7-...`")
    return harmless(f"{key} may be taken in again: om ingest FILE, or the next push of its laptop")


def _keys(place: Place, name: str | None, user: str | None, project: str | None) -> list[str]:
    """The sessions that are meant."""
    if name is not None:
        if not name:
            raise BadInput("--session: give a session's key")
        found = choose_session(place.sessions, name, Path.cwd())
        return [found.key] if found else []
    if user is not None:
        checked_user(user)
        return [each.key for each in place.sessions if owner_of(each.key) == user]
    if not project:
        raise BadInput("--project: give a folder or a project's name")
    folder = Path(project)
    named = {each.project for each in place.sessions}
    meant = {each for each in named if each == project or is_folder(each, folder) or project_name(each) == project}
    return [each.key for each in place.sessions if each.project in meant]


def _purge(place: Place, erasure: Erasure, tokens: Sequence[str]) -> None:
    if tokens:  # first, so that no laptop sends anything more
        place.store.erase([], [(TOKENS, each) for each in tokens])
    erase_all(place.store, erasure)


def _carry_out(
    place: Place, plan: Plan, as_json: bool, yes: bool, act: Callable[[], Any], aged: Aged | None = None
) -> None:
    if not yes:
        _say(plan, as_json, removed=False, aged=aged)
        if not as_json:
            write(f"Nothing was removed{_kept(aged)}. --yes does it.")
        return
    gone = act()
    left = done_with(place, plan)
    _say(plan, as_json, removed=True, aged=aged)
    if as_json:
        return
    moved = len(plan.erasure.families) - len(gone) if aged and gone is not None else 0
    again = f"; {counted(moved, 'family', 'families')} moved meanwhile and stayed" if moved else ""
    write(f"Removed{again}{_kept(aged)}. {left}")


def _say(plan: Plan, as_json: bool, *, removed: bool, aged: Aged | None = None) -> None:
    if as_json:
        write_json(as_data(plan, removed=removed, aged=aged))
    elif plan.erasure.families or plan.tokens:
        show_plan(plan, removed=removed)


def _kept(aged: Aged | None) -> str:
    """Old enough, and why they stay all the same."""
    if aged is None or not aged.kept:
        return ""
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in sorted(aged.kept.items()))
    return f"; old enough, but kept: {reasons}"
