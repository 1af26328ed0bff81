"""What a person in Pi asks for, and what the agent recalls, as text."""

from collections.abc import Mapping
from typing import Any

from minutebook.errors import BadInput
from minutebook.pipeline.paging import pages_of
from minutebook.pipeline.recall import Recalled, checked_id, recall
from minutebook.pipeline.recalltext import collapsed_lines, headline, text_of
from minutebook.pipeline.sourcetext import entry_text
from minutebook.pipeline.status import read_status, read_totals_now
from minutebook.pipeline.statustext import status_text
from minutebook.pipeline.viewing import view_lines, viewed
from minutebook.pipeline.wording import harmless
from minutebook.records import Branch
from minutebook.settings import Settings
from minutebook.store.kernel import Store

NOTHING_YET = "Minutebook: nothing of this session was recorded yet."
STATUS_USAGE = "Usage: /om:status"
VIEW_USAGE = "Usage: /om:view [full]"
RECALL_USAGE = "Usage: /om:recall ID [PAGE], where ID is twelve characters 0-9 a-f, as /om:view shows them in brackets"
NOT_COMPACTED = "No compaction has been confirmed yet, so nothing is visible; /om:view full shows what is recorded."
NEXT_PAGE = "page {page} of {id}"


def status(store: Store, branch: Branch | None, settings: Settings, words: list[str], window: int | None) -> str:
    """`/om:status`. Like the others it raises BadInput with the usage (003-110)."""
    if words:
        raise BadInput(STATUS_USAGE)
    if branch is None:
        return NOTHING_YET
    return harmless(status_text(read_status(store, branch, settings, window=window)))


def view(store: Store, branch: Branch | None, settings: Settings, words: list[str]) -> str:
    """`/om:view [full]` (003-106, 003-107)."""
    if words not in ([], ["full"]):
        raise BadInput(VIEW_USAGE)
    if branch is None:
        return NOTHING_YET
    full = bool(words)
    projection = viewed(store, branch, settings, full=full)
    lines = list(view_lines(projection, "recorded" if full else "visible", shown=harmless))
    if not full and not read_totals_now(store, branch).compacted:
        lines += ["", NOT_COMPACTED]
    return "\n".join(lines)


def copied_id(word: str) -> str:
    """An id as a person copies it out of a view or a sentence: in brackets, in capitals, with what comes after it."""
    return word.strip("[],.;:").lower()


def command_recall(store: Store, branch: Branch | None, words: list[str]) -> str:
    """`/om:recall ID [PAGE]`."""
    if not 1 <= len(words) <= 2 or (len(words) == 2 and not words[1].isdecimal()):
        raise BadInput(RECALL_USAGE)
    record_id = copied_id(words[0])
    try:
        checked_id(record_id)
    except BadInput:
        raise BadInput(RECALL_USAGE) from None
    return str(recalled(store, branch, record_id, int(words[1]) if words[1:] else 1)["text"])


def recalled(store: Store, branch: Branch | None, record_id: str, page: int) -> Mapping[str, Any]:
    """The recall tool's answer: found, its head, the whole page as text, and one line a record and a source (003-096).

    Raises BadRecordId, BadInput for a page that is not there.
    """
    checked_id(record_id)
    found = recall(store, branch, record_id) if branch is not None else Recalled(id=record_id)
    head = headline(found)
    if not found.found or branch is None:
        return {"found": False, "head": head, "text": head, "lines": []}
    pages = pages_of([entry_text(placed.entry) for placed in found.sources])
    if not 1 <= page <= len(pages):
        raise BadInput(f"page {page}: there {'is 1 page' if len(pages) == 1 else f'are {len(pages)} pages'}")
    body = text_of(found, pages[page - 1], page, len(pages), branch.zone, next_page=NEXT_PAGE)
    text = f"{head}\n\n{body}"
    return {"found": True, "head": head, "text": text, "lines": list(collapsed_lines(found, branch.zone))}
