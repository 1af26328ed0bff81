"""A digest by selection: the weightiest lines of the old digest and of the reflections, within a budget."""

from collections.abc import Sequence

from minutebook.tokens import estimate_tokens
from minutebook.workers.contract import Desk, DigestBatch
from minutebook.workers.extractive.corrections import Claim, claim, replaced
from minutebook.workers.extractive.subjects import content_words

RANKS = ("Constraint", "Correction", "Identity", "Preference", "Decision", "Finished", "Done", "Declined", "Fact")
"""Labels from the weightiest on; a line without a label stands before the last of them, any other label after all."""
UNLABELLED_RANK = 4


def digest(batch: DigestBatch, desk: Desk) -> None:
    """Propose one text of whole lines, without ids; nothing when not even one line fits."""
    lines = lines_of(batch)
    if lines:
        desk.record([{"content": "\n".join(lines)}])
    else:
        desk.nothing()


def lines_of(batch: DigestBatch) -> list[str]:
    """The chosen lines, weightiest first; of one weight the newest first."""
    known = [line.strip() for line in batch.previous.splitlines() if line.strip()]
    # A digest has its newest lines first; here everything runs from old to new.
    known = list(reversed(known)) + [" ".join(one.content.split()) for one in batch.reflections]
    current = _current(known)
    ranked = sorted(range(len(current)), key=lambda at: (rank(current[at]), -at))
    return _fitting([current[at] for at in ranked], batch.budget_tokens)


def rank(line: str) -> int:
    """The weight of a line by its label, 0 the weightiest."""
    label, found, _ = line.partition(": ")
    if found and label in RANKS:
        return RANKS.index(label)
    return len(RANKS) if label in ("Recurring error", "Often edited") else UNLABELLED_RANK


def _current(lines: Sequence[str]) -> list[str]:
    """Lines without repetitions and without those that a later correction replaces."""
    gone: set[str] = set()
    claims: list[Claim] = []
    latest: dict[frozenset[str] | str, int] = {}
    for at, line in enumerate(lines):
        latest[content_words(line) or line] = at
        found = claim(str(at), line, at)
        if found and line.startswith("Correction: "):
            gone.update(one.id for one in replaced(found.text, claims))
        if found:
            claims.append(found)
    return [lines[at] for at in sorted(latest.values()) if str(at) not in gone]


def _fitting(lines: Sequence[str], budget_tokens: int) -> list[str]:
    """Whole lines as long as the joined text stays within the budget; a long line that does not fit is passed over."""
    chosen: list[str] = []
    size = -1
    for line in lines:
        length = len(line) if line.isascii() else len(line.encode("utf-8", "surrogatepass"))
        if size + 1 + length <= budget_tokens * 4:
            chosen.append(line)
            size += 1 + length
    assert not chosen or estimate_tokens("\n".join(chosen)) <= budget_tokens
    return chosen
