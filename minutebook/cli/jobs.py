"""`om jobs`."""

from collections.abc import Sequence
from typing import Any

import click

from minutebook.cli.options import JSON, placed
from minutebook.cli.place import Place
from minutebook.cli.showing import console, counted, minute, one_line, remark, seconds, write, write_json
from minutebook.errors import NotFound, ThinkingFailed
from minutebook.pipeline.branches import list_branches
from minutebook.pipeline.folding import Gap
from minutebook.pipeline.workbook import iso_time
from minutebook.records import Branch
from minutebook.store.kernel import JobState

Placed = tuple[Branch, Gap]


@click.command(short_help="work that is pending or running, and gaps")
@placed(looking=True)
@click.option("--retry", metavar="GAP|all", help="Observe a gap's span once more.")
@JSON
def jobs(place: Place, retry: str | None, as_json: bool) -> None:
    """Work that is pending, running or waiting after a failure, and the gaps, of the whole store or of one session.

    \b
    om jobs
    om jobs --retry 3fa9c2d41b07
    """
    branches = _branches(place)
    gaps = _gaps(place, branches)
    if retry is not None:
        _retry(place, gaps, retry)
        return
    keys = {branch.key for branch in branches}
    states = [state for state in place.store.jobs() if state.job.branch in keys]
    now = place.store.now()
    if as_json:
        write_json(
            {
                "jobs": [job_data(state, now) for state in states],
                "gaps": [gap_data(branch, gap) for branch, gap in gaps],
            }
        )
        return
    if states:
        _show_jobs(states, now)
    for branch, gap in gaps:
        write(gap_line(branch, gap))
    if gaps:
        remark("`om jobs --retry ID` (or all) observes a gap's span once more.")
    if not states and not gaps:
        remark("Nothing is pending or running, and there are no gaps.")


def _branches(place: Place) -> list[Branch]:
    if place.branch_name is not None:
        return [place.some_branch()]
    if place.session_name is not None and place.session is not None:
        return place.branches_of(place.session)
    return list_branches(place.store)


def _gaps(place: Place, branches: Sequence[Branch]) -> list[Placed]:
    """Each gap on the branch that recorded it; of a branch that was named, the inherited ones too."""
    from minutebook.workers.gaps import open_gaps, own_gaps

    seen = open_gaps if place.branch_name is not None else own_gaps
    return [(branch, gap) for branch in branches for gap in seen(place.store, branch)]


def _retry(place: Place, gaps: Sequence[Placed], wanted: str) -> None:
    from minutebook.workers.choosing import mind_for
    from minutebook.workers.gaps import fill_gap

    chosen = [(branch, gap) for branch, gap in gaps if wanted in ("all", gap.id)]
    if not chosen and wanted != "all":
        raise NotFound(f"no open gap {wanted!r}; `om jobs` lists them")
    failed = 0
    for branch, gap in chosen:
        try:
            settings = place.settings_of(branch)
            mind = mind_for("observer", settings, branch, place.store)
            now = iso_time(place.store.now())
            count = fill_gap(place.store, branch, gap.id, mind, settings, now=now)
            write(f"[{gap.id}] filled by {mind.name}: {counted(count, 'observation')}")
        except ThinkingFailed as error:
            failed += 1
            write(f"[{gap.id}] failed again: {one_line(str(error))}")
    if not chosen:
        remark("There are no gaps.")
    if failed:
        raise click.exceptions.Exit(1)


def state_words(state: JobState, now: float) -> str:
    """How a job stands: pending, waiting after a failure, running, or left by a worker that is gone."""
    if state.state == "running":
        left = state.lease_ends - now
        return (
            f"running, its worker must report within {seconds(left)}" if left > 0 else "left by a worker that is gone"
        )
    if state.not_before > now:
        return f"waits {seconds(state.not_before - now)} after a failure" if state.error else "waits"
    return "pending"


def _show_jobs(states: Sequence[JobState], now: float) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("role", "state", "tries"):
        table.add_column(heading, no_wrap=True)
    table.add_column("branch", overflow="fold")
    for state in states:
        table.add_row(
            Text(state.job.role, style="cyan"), state_words(state, now), str(state.tries), one_line(state.job.branch)
        )
        if state.error:
            when = f"{seconds(now - state.failed_at)} ago" if state.failed_at else ""
            table.add_row("", Text(f"failed {when}".strip(), style="red"), "", Text(one_line(state.error), style="red"))
    console().print(table)


def gap_line(branch: Branch, gap: Gap) -> str:
    """A gap in one line."""
    last = gap.covers - 1
    span = f"entry {last:,}" if gap.since >= last else f"entries {gap.since:,} to {last:,}"
    when = minute(gap.time, branch.zone)
    return f"gap [{gap.id}] {span} of {one_line(branch.key)}, {when}: {one_line(gap.reason)}"


def job_data(state: JobState, now: float) -> dict[str, Any]:
    """For programs; seconds from now, negative when past."""
    running = state.state == "running"
    return {
        "role": state.job.role,
        "lineage": state.job.lineage,
        "branch": state.job.branch,
        "state": state.state,
        "tries": state.tries,
        "owner": state.owner if running else "",
        "lease_ends_in_seconds": round(state.lease_ends - now, 3) if running else None,
        "ready_in_seconds": None if running else round(max(0.0, state.not_before - now), 3),
        "error": state.error,
        "failed_at": iso_time(state.failed_at) if state.failed_at else "",
    }


def gap_data(branch: Branch, gap: Gap) -> dict[str, Any]:
    """For programs."""
    return {
        "id": gap.id,
        "branch": branch.key,
        "since": gap.since,
        "covers": gap.covers,
        "reason": gap.reason,
        "time": gap.time,
    }
