"""Status as lines for a person, without colours: what `om status` prints and agents show."""

from collections.abc import Iterator
from dataclasses import dataclass

from minutebook.pipeline.clocks import Reading
from minutebook.pipeline.keeping_out import IGNORED, PAUSED
from minutebook.pipeline.sessions import Session
from minutebook.pipeline.status import Status, percent
from minutebook.pipeline.wording import counted, minute, one_line, tokens

LABEL_WIDTH = 20
BROKEN_LISTED = 12
GAPS_LISTED = 5


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the panel: label, what it says, and a reading to draw."""

    label: str
    text: str
    reading: Reading | None = None
    after: str = ""


def status_text(status: Status) -> str:
    """The whole status as plain text, for an agent's interface."""
    blocks = [[heading(status), subheading(status)]]
    blocks += [[_plain(row) for row in rows] for rows in (records(status), clocks(status), rest(status))]
    blocks.append([notice for notice, _ in notices_of(status)])
    return "\n\n".join("\n".join(filter(None, block)) for block in blocks if block)


def _plain(row: Row) -> str:
    if row.reading is None:
        return f"{row.label:<{LABEL_WIDTH}} {row.text}"
    share, after = percent(row.reading), f"  {row.after}" if row.after else ""
    return f"{row.label:<{LABEL_WIDTH}} {tokens(row.reading.tokens)} / {row.reading.threshold:,} ({share:,} %){after}"


def heading(status: Status) -> str:
    """Which session this is; "" for none."""
    title = status.session.title if status.session else ""
    return " ".join(filter(None, (one_line(status.branch.key), f"“{one_line(title)}”" if title else "")))


def subheading(status: Status) -> str:
    """How long it is, when it was last heard of, and how its branch stands."""
    said = [counted(status.entries, "entry", "entries"), f"{tokens(status.source_tokens)} tokens"]
    if status.session is not None:
        said.append(f"{counted(status.session.prompts, 'prompt')}")
        said.append(f"last turn {minute(status.session.last_time, status.branch.zone)}")
    if status.branch.parent:
        said.append(f"branch at entry {status.branch.fork:,} of {one_line(status.branch.parent)}")
    if status.siblings > 0:
        said.append(f"{counted(status.siblings, 'other branch', 'other branches')}")
    return " · ".join(said)


def records(status: Status) -> Iterator[Row]:
    """003-097: what is recorded, and the drift of what is visible."""
    observations = [
        f"{status.observations:,} recorded",
        f"{status.dropped:,} dropped",
        f"{status.active:,} active",
        f"{status.visible:,} visible",
    ]
    yield Row("Observations", " / ".join(observations) + drift(status.added, status.removed))
    reflections = [f"{status.reflections:,} recorded", f"{status.reflections_visible:,} visible"]
    if status.retired:
        reflections.insert(1, f"{status.retired:,} retired")
    yield Row("Reflections", " / ".join(reflections) + drift(status.reflections_added, 0))


def drift(added: int, removed: int) -> str:
    """+N only in full, −N visible but dropped since; each only when there is some."""
    return (f"  +{added:,}" if added else "") + (f"  −{removed:,}" if removed else "")


def clocks(status: Status) -> Iterator[Row]:
    """003-098 to 003-100: the readings that decide."""
    yield Row("Next observation", "", status.observe)
    yield Row("Next reflection", "", status.reflect)
    yield Row("Next compaction", "", status.compact, status.compact_mode)
    yield Row("Visible pool", "", status.visible_pool, "at 100 % the next compaction applies the drops")
    yield Row("Active pool", "", status.active_pool, "over 100 % the dropper works")
    yield Row("Reflections carried", "", status.context, "by a compaction, digest included")


def rest(status: Status) -> Iterator[Row]:
    """003-101, 003-102 and who thinks."""
    yield Row("Dropper", f"{status.dropper}; {tokens(status.since_drop_tokens)} tokens since its last coverage")
    yield Row("All reflections", f"{tokens(status.reflection_tokens)} tokens")
    if status.digest is None:
        yield Row("Digest", "none")
    else:
        yield Row("Digest", f"{tokens(status.digest.tokens)} tokens, up to reflection [{status.digest.through}]")
    yield Row("Mind", status.mind)
    if status.minds:
        by = ", ".join(f"{one_line(name)} {count:,}" for name, count in sorted(status.minds.items()))
        yield Row("Recorded by", by)


def notices_of(status: Status) -> Iterator[tuple[str, str]]:
    """What is only said when there is something (003-104), each with its style."""
    if status.passive:
        yield "Passive: no role works and no compaction is asked for; turns are still taken in.", "yellow"
    if status.running:
        yield f"At work: {', '.join(status.running)}", "green"
    if status.pending:
        yield f"Waiting for a worker: {', '.join(status.pending)}", ""
    for role, reason in status.due.items():
        yield f"Due: {role} ({reason})", ""
    if status.open_compaction is not None:
        yield f"A compaction at entry {status.open_compaction:,} is open: its host has not confirmed it yet.", "yellow"
    for error in status.errors:
        yield f"{error.role} failed at {minute(error.at, status.branch.zone)}: {one_line(error.error)}", "red"
    yield from _gaps(status)
    yield from _intake(status)
    if status.malformed:
        yield (
            f"{counted(status.malformed, 'memory record')} could not be read and {_is(status.malformed)} skipped.",
            "yellow",
        )
    if status.why_not_made:
        why = one_line(status.why_not_made)
        yield f"Memory is due and not being made: {why}. `om worker --until-idle` makes it now.", "bold red"


def _gaps(status: Status) -> Iterator[tuple[str, str]]:
    for gap in status.gaps[:GAPS_LISTED]:
        yield f"Gap [{gap.id}]: entries {gap.since:,} to {gap.covers - 1:,} not observed: {one_line(gap.reason)}", "red"
    if len(status.gaps) > GAPS_LISTED:
        yield f"… and {len(status.gaps) - GAPS_LISTED:,} more gaps; `om jobs` lists them.", "red"


def _intake(status: Status) -> Iterator[tuple[str, str]]:
    session = status.session
    if session is None:
        return
    if session.versions:
        yield (
            f"{counted(session.versions, 'entry', 'entries')} came again with another text; both versions are kept.",
            "yellow",
        )
    if session.replaced:
        yield (
            f"The session's file was replaced {counted(session.replaced, 'time')} and read again from its start.",
            "yellow",
        )
    if kept_out := kept_out_words(session):
        yield f"Kept out: {kept_out}.", ""
    if session.unknown:
        kinds = ", ".join(f"{one_line(kind)} {count:,}" for kind, count in sorted(session.unknown.items()))
        yield f"Rows of an unknown kind, not taken in: {kinds}", "yellow"
    if session.broken_count:
        numbers = broken_lines(session.broken, session.broken_count)
        yield f"Lines that could not be decoded, by their numbers: {numbers}", "yellow"


def kept_out_words(session: Session) -> str:
    """How much of a session was not recorded on purpose; "" for nothing."""
    paused, ignored = session.skipped.get(PAUSED, 0), session.skipped.get(IGNORED, 0)
    said = [
        f"{counted(paused, 'entry', 'entries')} of a paused time" if paused else "",
        f"{counted(ignored, 'tool call or result', 'tool calls and results')} of ignored paths" if ignored else "",
    ]
    return ", ".join(filter(None, said))


def broken_lines(broken: list[int], count: int) -> str:
    """Broken lines by number, the first of them where there are many."""
    listed = ", ".join(f"{line:,}" for line in broken[:BROKEN_LISTED])
    more = count - min(len(broken), BROKEN_LISTED)
    return f"{listed} and {more:,} more" if more > 0 else listed


def _is(count: int) -> str:
    return "is" if count == 1 else "are"
