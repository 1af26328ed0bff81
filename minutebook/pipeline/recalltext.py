"""A recalled record as text: what is recorded, then its sources, page by page."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

from minutebook.pipeline.paging import Piece
from minutebook.pipeline.recall import Recalled, RecalledObservation, RecalledReflection
from minutebook.pipeline.shapes import one_line
from minutebook.pipeline.sourcetext import entry_text
from minutebook.pipeline.wording import counted, minute, tokens
from minutebook.records import Placed, RawPointer, SourceEntry

DESCRIPTION = (
    "Recall the exact source behind one memory. Observations and reflections in memory carry an id of twelve"
    " characters in brackets, such as [3fa9c2d41b07]; give that one id. You get the record and the text of the"
    " conversation that it came from, dropped and retired records too.\n"
    "Use it before you act on a memory whose details matter: exact wording, reasons and decisions, paths, commands,"
    " errors, numbers; or to see what supports a memory. Do not use it to browse, to search by words, or to fetch ids"
    " in advance."
)
"""The recall tool's, the same in every agent (003-094)."""
LINE_CHARACTERS = 160

WHY_GONE = {"user": "taken back by a person", "superseded": "superseded by a correction"}
NO_TEXT = "(no text)"


def headline(found: Recalled) -> str:
    """Success or failure with the counts of what was found (003-096)."""
    counts = [
        counted(len(found.reflections), "reflection"),
        counted(len(found.observations), "observation"),
        counted(len(found.sources), "source"),
    ]
    said = f"{', '.join(counts)}, {tokens(sum(placed.tokens for placed in found.sources))} tokens of source"
    if not found.found:
        return f"Not recalled: this branch has no record [{found.id}] ({said})"
    return f"Recalled [{found.id}]{', in part' if found.partial else ''}: {said}"


def collapsed_lines(found: Recalled, zone: str) -> Iterator[str]:
    """One line a record and a source (003-096)."""
    for reflection in found.reflections:
        yield _cut(f"[{reflection.record.id}] reflection, {reflection.status}: {one_line(reflection.record.content)}")
    for seen in found.observations:
        yield _cut(f"[{seen.record.id}] observation, {seen.status}: {one_line(seen.record.content)}")
    for number, placed in enumerate(found.sources, start=1):
        said = f"{role_of(placed.entry)}, {minute(placed.entry.time, zone)}"
        yield _cut(f"{number} of {len(found.sources)}: {said}, {tokens(placed.tokens)} tokens")


def _cut(line: str) -> str:
    return line if len(line) <= LINE_CHARACTERS else line[: LINE_CHARACTERS - 1] + "…"


def text_of(
    found: Recalled,
    pieces: Sequence[Piece],
    page: int,
    pages: int,
    zone: str,
    *,
    next_page: str = "om recall {id} --page {page}",
) -> str:
    """The answer as text: the records, then their sources in ledger order; the records only on the first page.

    next_page: how to ask for the page after this one.
    """
    lines: list[str] = []
    if page <= 1:
        lines += record_lines(found)
    else:
        lines.append(f"[{found.id}], continued")
    for piece in pieces:
        lines += ["", source_heading(found, piece, zone), *source_body(found.sources[piece.index], piece)]
    if pages > 1 and page:
        more = f"; next: {next_page.format(id=found.id, page=page + 1)}" if page < pages else ""
        lines += ["", f"page {page} of {pages}{more}"]
    return "\n".join(lines)


def record_lines(found: Recalled) -> Iterator[str]:
    """What is recorded, its status, and what of its support is missing."""
    if found.collision:
        yield f"Several records share the id {found.id} ({found.kind}); all of them are shown."
    for reflection in found.reflections:
        yield from _reflection(reflection)
    for observation in found.observations:
        yield from _observation(observation, supporting=observation.record.id != found.id)
    total = sum(placed.tokens for placed in found.sources)
    yield f"{counted(len(found.sources), 'source')}, {tokens(total)} tokens"
    if found.empty_reason:
        yield found.empty_reason
    if found.partial:
        yield from _partial(found)


def _reflection(recalled: RecalledReflection) -> Iterator[str]:
    yield f"[{recalled.record.id}] reflection, {recalled.status}{_by(recalled.mind)}"
    yield f"  {one_line(recalled.record.content)}"
    if recalled.status == "retired":
        yield f"  It is retired{_why(recalled)}: no projection shows it any more; it can still be recalled."


def _observation(recalled: RecalledObservation, *, supporting: bool) -> Iterator[str]:
    record = recalled.record
    kind = "supporting observation" if supporting else "observation"
    yield f"[{record.id}] {kind}, {recalled.status}, {record.timestamp}, {record.relevance}{_by(recalled.mind)}"
    yield f"  {one_line(record.content)}"
    if recalled.status == "dropped":
        yield f"  It left active memory{_why(recalled)}; it can still be recalled."


def _why(gone: RecalledObservation | RecalledReflection) -> str:
    if gone.replaced_by:
        return f" (superseded by [{gone.replaced_by}])"
    return f" ({WHY_GONE[gone.why]})" if gone.why in WHY_GONE else ""


def _by(mind: str) -> str:
    return f", recorded by {one_line(mind)}" if mind else ""


def _partial(found: Recalled) -> Iterator[str]:
    yield "This answer is partial:"
    for ids, words in (
        (found.missing, "sources that this branch does not have"),
        (found.foreign, "ids that are no source entries"),
        (found.unknown_supports, "supporting observations that this branch does not have"),
    ):
        if ids:
            yield f"  {words}: {', '.join(one_line(id_) for id_ in ids)}"


def source_heading(found: Recalled, piece: Piece, zone: str) -> str:
    """`--- 1 of 3: tool result Bash (error), 2026-01-21 11:16, entry 14`."""
    placed = found.sources[piece.index]
    number = f"{piece.index + 1} of {len(found.sources)}"
    more = "" if piece.first else ", continued"
    return f"--- {number}: {role_of(placed.entry)}, {minute(placed.entry.time, zone)}, entry {placed.position:,}{more}"


def role_of(entry: SourceEntry) -> str:
    """Role with tool name or custom type (003-095)."""
    name = one_line(entry.tool_name or entry.custom_type)
    said = " ".join(filter(None, (entry.role.replace("_", " "), name)))
    return f"{said} (error)" if entry.is_error else said


def source_body(placed: Placed, piece: Piece) -> Iterator[str]:
    """Where the raw record stands and its hash, then the text as it is."""
    if piece.first:
        if placed.entry.raw is not None:
            yield f"    raw: {place_of(placed.entry.raw)}"
        if placed.entry.text_sha256:
            yield f"    sha256: {placed.entry.text_sha256} ({hash_words(placed.entry)})"
        if placed.entry.version_of:
            yield f"    another version of entry {one_line(placed.entry.version_of)}, which came first"
    if piece.first and piece.last and not piece.text.strip():
        yield NO_TEXT
    else:
        yield piece.text.removesuffix("\n") if not piece.last else piece.text


def place_of(raw: RawPointer) -> str:
    """`file:line, bytes offset-end`; the line only while the file is there."""
    line = line_at(raw.path, raw.offset)
    at = f":{line}" if line else ""
    return f"{one_line(raw.path)}{at}, {raw.length:,} bytes from byte {raw.offset}"


def line_at(path: str, offset: int) -> int:
    """The line, from 1, in which a byte of a file stands; 0 where it cannot be read or is shorter now."""
    try:
        with Path(path).open("rb") as file:
            before, left = 0, offset
            while left and (chunk := file.read(min(left, 1 << 20))):
                before += chunk.count(b"\n")
                left -= len(chunk)
            return 0 if left else before + 1
    except (OSError, ValueError):
        return 0


def hash_words(entry: SourceEntry) -> str:
    """Whether the text below is what was hashed, or differs by its placeholders."""
    same = sha256(entry_text(entry).encode("utf-8", "surrogatepass")).hexdigest() == entry.text_sha256
    return "of the text below" if same else "of the text before secrets were replaced"
