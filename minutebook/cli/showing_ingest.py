"""What `om ingest` took in, or would."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from minutebook.cli.ingest_report import Report
from minutebook.cli.sessions import line_of
from minutebook.cli.showing import counted, harmless, remark, tokens, write
from minutebook.cli.showing_status import broken_lines
from minutebook.pipeline.sessions import find_session
from minutebook.pipeline.status import mind_in_use
from minutebook.settings import Settings
from minutebook.store.kernel import Store


def show_report(report: Report) -> None:
    """A few lines a file; what was left out only where there is something."""
    name = f" {report.session}" if report.session else ""
    write(harmless(f"{report.path}: {report.host}{name}"))
    said = [counted(report.new, "new entry", "new entries")]
    if report.duplicates:  # prompts and tokens are of all that was read
        said.append(f"{report.duplicates:,} known already")
    else:
        said += [counted(report.prompts, "prompt"), f"{tokens(report.tokens)} tokens"]
    if report.versions:
        said.append(f"{counted(report.versions, 'entry', 'entries')} with another text than before, kept as versions")
    write(f"  {', '.join(said)}")
    if report.replaced:
        write("  the file was replaced since it was last read; it was read again from its start")
    for line in left_out(report):
        write(harmless(f"  {line}"))


def left_out(report: Report) -> list[str]:
    """What of the file is no source entry, by kind; and broken lines by number."""
    lines = []
    if report.skipped:
        lines.append(f"left aside, known kinds: {kinds(report.skipped)}")
    if report.unknown:
        lines.append(f"not taken in, unknown kinds: {kinds(report.unknown)}")
    if report.broken:
        lines.append(f"could not be decoded, line {broken_lines(report.broken, len(report.broken))}")
    return lines


def kinds(counts: Counter[str]) -> str:
    """`kind 3, other 1`, the most frequent first."""
    return ", ".join(
        f"{kind} {count:,}" for kind, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )


def spans_of(report: Report, settings: Settings) -> int:
    """How many spans the observer would be due for, the rest of a span counted; none of a sub-agent's by default."""
    if report.agent and not settings.observe_subagents:
        return 0
    return -(-report.tokens // settings.observe_after_tokens)


def show_estimate(reports: Sequence[Report], settings: Settings) -> None:
    """What taking these files in would be and cost."""
    total = estimate_data(reports, settings)
    for report in reports:
        if not report.error:
            spans = _spans(report, settings)
            entries = counted(report.entries, "entry", "entries")
            write(harmless(f"{report.path}: {report.host}, {entries}, {tokens(report.tokens)} tokens, {spans}"))
    sessions, entries = counted(total["sessions"], "session"), counted(total["entries"], "entry", "entries")
    write(
        f"{sessions}, {entries}, {tokens(total['tokens'])} tokens to read: {counted(total['spans'], 'span')} to observe"
    )
    if total["mind"] == "extractive":
        write("No model is configured: the extractive mind works, 0 calls, 0 USD. Nothing was written.")
    else:
        calls = counted(total["calls"], "call")
        write(
            f"{total['mind']}: at least {calls}, reading about {tokens(total['tokens'])} tokens. Nothing was written."
        )


def _spans(report: Report, settings: Settings) -> str:
    if report.agent and not settings.observe_subagents:
        return "a sub-agent's, not observed"
    return counted(spans_of(report, settings), "span")


def estimate_data(reports: Sequence[Report], settings: Settings) -> dict[str, Any]:
    """The sums. calls: one for each span at least; without a model none, which costs nothing."""
    good = [report for report in reports if not report.error]
    spans = sum(spans_of(report, settings) for report in good)
    mind = mind_in_use(settings)
    free = mind == "extractive"
    return {
        "sessions": len({report.session for report in good if report.session}),
        "entries": sum(report.entries for report in good),
        "tokens": sum(report.tokens for report in good),
        "spans": spans,
        "calls": 0 if free else spans,
        "mind": mind,
        "cost_usd": 0.0 if free else None,
    }


def as_data(reports: Sequence[Report], settings: Settings, *, estimate: bool) -> dict[str, Any]:
    """For programs."""
    files = [
        {
            "path": report.path,
            "host": report.host,
            "session": report.session,
            "entries": report.entries,
            "tokens": report.tokens,
            "prompts": report.prompts,
            "new": report.new,
            "duplicates": report.duplicates,
            "versions": report.versions,
            "replaced": report.replaced,
            "skipped_rows": dict(report.skipped),
            "unknown_rows": dict(report.unknown),
            "broken_lines": report.broken,
            "branches": list(report.branches),
            "purged": report.purged,
            "error": report.error,
        }
        for report in reports
    ]
    return {"files": files, **({"estimate": estimate_data(reports, settings)} if estimate else {})}


def show_next(listening: bool, box_url: str | None = None) -> None:
    """Who makes the memory of it. box_url: of the box, where one is set."""
    if box_url is not None:
        remark(f"`om sync` takes it to the box at {box_url}, whose workers make the memory.")
    elif listening:
        remark("A worker is running and was told.")
    else:
        remark("No worker is running: `om worker --until-idle` makes the memory now, or use --wait.")


def show_made(store: Store, sessions: Iterable[str], *, failed: bool) -> None:
    """What memory these sessions have now, and why some have none. failed: work is left that waits after a failure."""
    lines = [line_of(store, session) for key in sessions if (session := find_session(store, key)) is not None]
    observations, reflections = sum(line.observations for line in lines), sum(line.reflections for line in lines)
    agents = sum(bool(line.session.agent) for line in lines)
    empty = sum(not line.observations for line in lines if not line.session.agent)
    remark(
        f"{counted(observations, 'observation')} and {counted(reflections, 'reflection')} in "
        f"{counted(len(lines), 'session')}; `om sessions` lists them, `om view --full` shows one."
    )
    if failed:
        remark("Work is left that failed: `om jobs` and `om status` tell why; `om worker --until-idle` tries again.")
    elif empty:
        why = "nothing to record, too short yet (flush_min_tokens), or passive"
        remark(f"{counted(empty, 'session')} without memory: {why}.")
    if agents:
        remark(f"{counted(agents, 'sub-agent')} not observed: --set observe_subagents=true changes that.")
