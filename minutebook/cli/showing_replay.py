"""The report of a replay, for people (at most sixty lines a file) and for programs."""

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import reduce
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from minutebook.cli import showing_status
from minutebook.cli.showing import console, counted, fitted, harmless, one_line, tokens
from minutebook.pipeline.rendering import CLOSING, OPENING
from minutebook.workers.models_accounts import Account
from minutebook.workers.replay_report import (
    Compaction,
    NotCompacted,
    Remembered,
    Replayed,
    RoleWork,
    weight_of,
)
from minutebook.workers.replaying import ReplayOptions

COMPACTIONS_SHOWN = 8
REASONS_SHOWN = 2
KINDS_SHOWN = 4
GAPS_SHOWN = 2
INDENT = "  "
GIVES_WAY = ("thought for", "time", "nothing", "left out", "cached", "entry")
"""Columns that a narrow terminal does without, in this order."""
HOSTS = {"claude_code": "Claude Code", "codex": "Codex", "pi": "Pi", "neutral": "neutral"}


def show_replayed(replayed: Replayed, options: ReplayOptions, shown_lines: int) -> None:
    """Everything about one file but what to do next."""
    out = console()
    with out.capture() as captured:
        _heading(out, replayed, options)
        _block(out, "Work", _work_table(replayed.work, replayed.minds))
        if replayed.usage:
            _block(out, "Models", _usage_table(replayed.usage))
        _block(out, "Compactions", *_compactions(replayed))
        _block(out, "Memory", *(Text(text) for text in memory_lines(replayed)))
        if replayed.memory is not None and shown_lines:
            _block(out, _excerpt_heading(replayed.memory), *_excerpt(replayed.memory.text, shown_lines))
    for line in captured.get().splitlines():
        sys.stdout.write(line.rstrip() + "\n")  # tables are padded to their width
    sys.stdout.write("\n")


def _block(out: Console, heading: str, *content: RenderableType) -> None:
    from rich.padding import Padding

    out.print()
    _put(out, _line(heading, "bold"))
    width = out.width - len(INDENT)
    fitting = [fitted(item, out, width, GIVES_WAY) if isinstance(item, Table) else item for item in content]
    out.print(Padding(Group(*fitting), (0, 0, 0, len(INDENT)), expand=False))


def _put(out: Console, text: Text) -> None:
    out.print(text, no_wrap=True, overflow="ellipsis")


def _line(text: str, style: str = "") -> Text:
    return Text(text, style=style, no_wrap=True, overflow="ellipsis")


def _heading(out: Console, replayed: Replayed, options: ReplayOptions) -> None:
    session = replayed.session
    way = ", drained after each turn" if options.step else ""
    _put(out, _line(f"Replayed {one_line(Path(replayed.path).name)} in {replayed.seconds:.1f} s{way}", "bold"))
    host = " ".join(filter(None, (HOSTS.get(session.host, session.host), one_line(session.host_version))))
    agent = f"sub-agent {one_line(session.agent)}" if session.agent else ""
    said = [host, agent, f"“{one_line(session.title)}”" if session.title else "no typed prompt"]
    _put(out, _line(INDENT + " · ".join(filter(None, said))))
    _put(out, _line(INDENT + " · ".join(_sizes(replayed)), "dim"))


def _sizes(replayed: Replayed) -> Iterator[str]:
    yield counted(replayed.entries, "entry", "entries")
    yield f"{tokens(replayed.tokens)} tokens"
    yield counted(replayed.prompts, "typed prompt")
    if len(replayed.session.branches) > 1:
        yield counted(len(replayed.session.branches), "branch", "branches")
    if replayed.known:
        yield f"{replayed.known:,} of the entries were in the store before"
    if replayed.session.model:
        yield one_line(replayed.session.model)


# -- work ----------------------------------------------------------------------------------------------------------


def _work_table(work: Mapping[str, RoleWork], minds: Mapping[str, Mapping[str, int]]) -> Table:
    table = _table("role", "runs", "recorded", "nothing", "failed", "gaps", "thought for", "mind")
    for role, row in work.items():
        counts = (row.runs, row.recorded, row.nothing, row.failed, row.gaps)
        bad = "red" if row.failed or row.gaps else "" if row.runs else "dim"
        seconds = f"{row.seconds:.2f} s" if row.runs else ""
        table.add_row(
            role, *(f"{count:,}" for count in counts), seconds, mind_text(row.mind, minds.get(role, {})), style=bad
        )
    return table


def mind_text(last: str, records: Mapping[str, int]) -> str:
    """The mind of a role; where several recorded, how many records each."""
    if len(records) < 2:
        return one_line(next(iter(records), last))
    return ", ".join(f"{one_line(mind)} {count:,}" for mind, count in records.items())


def _usage_table(usage: Sequence[Account]) -> Table:
    """What providers reported; the cached tokens are part of the input."""
    table = _table("role", "requests", "input", "cached", "output", "cost", "model")
    total = reduce(Account.plus, usage)
    rows = [(line.role, line.model, line) for line in usage]
    for role, model, line in [*rows, ("all", "", total)]:
        counts = (line.requests, line.input_tokens, line.cached_tokens, line.output_tokens)
        style = "bold" if line is total else ""
        table.add_row(role, *(f"{count:,}" for count in counts), cost_text(line), one_line(model), style=style)
    return table


def cost_text(line: Account) -> str:
    """US dollars, as far as prices are known."""
    if line.unpriced == line.requests:
        return "not known"
    return f"${line.cost_usd:.4f}{' and more' if line.unpriced else ''}"


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column(first, no_wrap=True, style="cyan", overflow="ellipsis", min_width=2)
    for name in others:
        table.add_column(
            name, no_wrap=True, justify="left" if name in ("mind", "model") else "right", overflow="ellipsis"
        )
    return table


# -- compactions ---------------------------------------------------------------------------------------------------


def _compactions(replayed: Replayed) -> Iterator[RenderableType]:
    if replayed.compactions:
        yield _compaction_table(replayed.compactions)
        full = [f"{number:,}" for number, one in enumerate(replayed.compactions, 1) if one.full_fold]
        if full:
            yield _line(f"full folds, which apply the drops: {', '.join(full)}", "dim")
    elif not replayed.not_compacted and replayed.known:
        yield _line("none in this run; some of the session was in the store before")
    elif not replayed.not_compacted:
        yield _line("none: the session stays below compact_after_tokens (--scale 0.1 makes a short one compact)")
    for noted in replayed.not_compacted[:REASONS_SHOWN]:
        yield _line(_not_compacted(noted), "yellow")
    rest = len(replayed.not_compacted) - REASONS_SHOWN
    if rest > 0:
        yield _line(f"… and {rest:,} more times without one", "yellow")
    if replayed.recorded_compactions:
        yield _line(f"the file's own compactions: {replayed.recorded_compactions:,}, not replayed", "dim")


def _compaction_table(compactions: Sequence[Compaction]) -> Table:
    table = _table("#", "prompt", "entry", "context before → after", "memory", "pool", "left out", "time")
    shown, more = _some(compactions)
    for number, one in shown:
        if more and number == shown[1][0]:
            table.add_row("…", *[""] * 7)
        table.add_row(
            f"{number:,}",
            f"{one.turn:,}",
            f"{one.at:,}",
            f"{tokens(one.before_tokens)} → {tokens(one.after_tokens)}",
            tokens(one.memory_tokens),
            tokens(one.pool_tokens),
            f"{one.left_out:,}",
            f"{one.milliseconds:.1f} ms",
        )
    return table


def _some(compactions: Sequence[Compaction]) -> tuple[list[tuple[int, Compaction]], bool]:
    """The first and the last ones where there are many, with their numbers."""
    numbered = list(enumerate(compactions, 1))
    if len(numbered) <= COMPACTIONS_SHOWN:
        return numbered, False
    return numbered[:1] + numbered[-(COMPACTIONS_SHOWN - 2) :], True


def _not_compacted(noted: NotCompacted) -> str:
    where = f"at prompt {noted.turn:,}" if noted.turn else "before the first prompt"
    times = f", {noted.times:,} times in a row" if noted.times > 1 else ""
    return f"{where}{times}: {noted.reason}"


# -- memory --------------------------------------------------------------------------------------------------------


def memory_lines(replayed: Replayed) -> Iterator[str]:
    """Records, pools, and what was not taken in or not understood."""
    status, session = replayed.status, replayed.session
    if status is None:
        yield "nothing: no entry of this file has a text to remember"
    else:
        pool, context = status.active_pool, status.context
        yield (
            f"observations: {status.observations:,} recorded, {status.dropped:,} dropped, {status.active:,} active;"
            f" pool {tokens(pool.tokens)} of {pool.threshold:,} tokens"
        )
        digest = f", {tokens(status.digest.tokens)} of them the digest" if status.digest else ", no digest"
        retired = f", {status.retired:,} retired" if status.retired else ""
        yield (
            f"reflections: {status.reflections:,} recorded{retired};"
            f" {tokens(context.tokens)} of {context.threshold:,} tokens carried{digest}"
        )
        if replayed.imported:
            yield f"brought along by the file: {counted(replayed.imported, 'memory entry', 'memory entries')}"
        yield from _gap_lines(replayed)
        for error in status.errors[:GAPS_SHOWN]:
            yield f"{error.role} failed: {one_line(error.error).rstrip('.')}"
    yield f"rows of an unknown kind: {_kinds(session.unknown)}; broken lines: {_broken(replayed)}"
    yield f"redacted: {_kinds(replayed.redactions)}"
    if session.versions:
        yield f"entries that came again with another text: {session.versions:,}, both versions are kept"


def _gap_lines(replayed: Replayed) -> Iterator[str]:
    gaps = replayed.status.gaps if replayed.status else ()
    if not gaps:
        yield "gaps: none"
    for gap in gaps[:GAPS_SHOWN]:
        yield f"gap [{gap.id}]: entries {gap.since:,} to {gap.covers - 1:,} not observed: {one_line(gap.reason)}"
    if len(gaps) > GAPS_SHOWN:
        yield f"… and {len(gaps) - GAPS_SHOWN:,} more gaps"


def _broken(replayed: Replayed) -> str:
    session = replayed.session
    return showing_status.broken_lines(session.broken, session.broken_count) if session.broken_count else "none"


def _kinds(counts: Mapping[str, int]) -> str:
    most = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    shown = [f"{one_line(kind)} {count:,}" for kind, count in most[:KINDS_SHOWN]]
    rest = len(most) - KINDS_SHOWN
    return ", ".join([*shown, *([f"{rest:,} more kinds"] if rest > 0 else [])]) or "none"


# -- the excerpt ---------------------------------------------------------------------------------------------------


def _excerpt_heading(memory: Remembered) -> str:
    if memory.compacted:
        return f"From the memory after the last compaction ({tokens(memory.tokens)} tokens)"
    return f"From the memory that a compaction now would show ({tokens(memory.tokens)} tokens)"


def _excerpt(text: str, shown_lines: int) -> Iterator[Text]:
    for line in excerpt_of(text, shown_lines):
        yield _line(harmless(line), "dim" if line.startswith(("## ", "… ")) else "")


def excerpt_of(text: str, shown_lines: int) -> list[str]:
    """At most so many records of a memory text, fairly from each of its sections, with what is left out counted."""
    sections = list(sections_of(text))
    lines: list[str] = []
    free = shown_lines
    for index, (heading, records) in enumerate(sections):
        share = _share(free, [len(held) for _, held in sections[index:]])
        chosen = _chosen(records, share)
        free -= len(chosen)
        left = len(records) - len(chosen)
        lines += [heading, *chosen, *([f"… {left:,} more"] if left else [])]
    return lines


def sections_of(text: str) -> Iterator[tuple[str, list[str]]]:
    """Heading and lines of each section."""
    heading = ""
    records: list[str] = []
    for line in text.splitlines():
        if line.startswith("## "):
            if heading:
                yield heading, records
            heading, records = line, []
        elif heading and line.strip() and line not in (OPENING, CLOSING):
            records.append(line)
    if heading:
        yield heading, records


def _share(free: int, sizes: Sequence[int]) -> int:
    """What the first of the sections may take: an even part, and what the others leave of theirs."""
    even = free // len(sizes)
    return free - sum(min(even, size) for size in sizes[1:])


def _chosen(records: Sequence[str], count: int) -> list[str]:
    """The latest of the most telling, in their order."""
    ranked = sorted(range(len(records)), key=lambda index: (weight_of(records[index]), index), reverse=True)
    return [records[index] for index in sorted(ranked[:count])]


# -- what next -----------------------------------------------------------------------------------------------------


def show_next(replayed: Replayed, store: str, *, kept: bool, several: bool, asked: Sequence[str]) -> None:
    """Commands that work as they stand."""
    out = console()
    if kept:
        _put(out, _line("Try next", "bold"))
    else:
        _put(out, _line("The store was temporary and is deleted. To look around, keep one:", "bold"))
        store = "try.sqlite"
        out.print(f"{INDENT}om replay --store {store} {shlex.join(harmless(word) for word in asked)}", soft_wrap=True)
    for command in next_commands(replayed, store, several=several):
        out.print(INDENT + command, soft_wrap=True)


def next_commands(replayed: Replayed, store: str, *, several: bool) -> list[str]:
    """What to try on the store, with a real id and a real word."""
    where = ["--store", store, *(["--session", replayed.session.key] if several else [])]
    memory = replayed.memory
    commands = [["om", "view", *where, *([] if replayed.compactions else ["--full"])]]
    if memory is not None and memory.recall_id:
        commands.append(["om", "recall", *where, memory.recall_id])
        commands.append(["om", "search", *where, *memory.words])
    else:
        commands.append(["om", "status", *where])
    return [shlex.join(words) for words in commands]


def as_data(
    done: Sequence[Replayed], options: ReplayOptions, *, store: str, kept: bool, scale: float
) -> dict[str, Any]:
    """Everything, in plain data."""
    return {
        "store": store,
        "kept": kept,
        "scale": scale,
        "step": options.step,
        "files": [_file_data(one, store, several=len(done) > 1) for one in done],
    }


def _file_data(replayed: Replayed, store: str, *, several: bool) -> dict[str, Any]:
    session = replayed.session
    return {
        "path": replayed.path,
        "session": session.key,
        "host": session.host,
        "host_version": session.host_version,
        "title": session.title,
        "project": session.project,
        "model": session.model,
        "zone": session.zone,
        "branches": session.branches,
        "seconds": round(replayed.seconds, 3),
        "entries": replayed.entries,
        "new": replayed.new,
        "tokens": replayed.tokens,
        "prompts": replayed.prompts,
        "turns": replayed.turns,
        "work": {role: asdict(row) for role, row in replayed.work.items()},
        "minds": {role: dict(records) for role, records in replayed.minds.items()},
        "usage": [_usage_data(line) for line in replayed.usage],
        "compactions": [asdict(one) for one in replayed.compactions],
        "not_compacted": [asdict(one) for one in replayed.not_compacted],
        "recorded_compactions": replayed.recorded_compactions,
        "imported": replayed.imported,
        "redactions": dict(replayed.redactions),
        "unknown_rows": session.unknown,
        "skipped_rows": session.skipped,
        "broken_lines": session.broken,
        "broken_count": session.broken_count,
        "versions": session.versions,
        "status": showing_status.as_data(replayed.status) if replayed.status else None,
        "memory": asdict(replayed.memory) if replayed.memory else None,
        "try_next": next_commands(replayed, store, several=several),
    }


def _usage_data(line: Account) -> dict[str, Any]:
    return {name: value for name, value in asdict(line).items() if name not in ("day", "session")}
