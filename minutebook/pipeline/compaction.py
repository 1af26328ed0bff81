"""compose_memory: what an agent gets back when its context is compacted. No model, no queue, no waiting.

It reads the ledger as it stands. The one thing it writes is the proposal of a fold, which the host's own compaction
record confirms later.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any

from minutebook.errors import CompactionOpen, StoreBusy
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import Path, find_branch
from minutebook.pipeline.checkpoints import checkpoint_of, read_page
from minutebook.pipeline.excerpts import extract_lines
from minutebook.pipeline.folding import BeyondCheckpoint, fold
from minutebook.pipeline.folds import PRODUCER, Proposal, memory_length, proposal_put, read_proposal
from minutebook.pipeline.outbox import waiting_after
from minutebook.pipeline.pages import Page, page_of
from minutebook.pipeline.projection import Projection, compaction_projection, digest_budget
from minutebook.pipeline.remembering import memory_after
from minutebook.pipeline.rendering import extract_room, parts_of, render
from minutebook.records import Branch, MemoryEntry, content_id
from minutebook.settings import Settings
from minutebook.store import codec
from minutebook.store.kernel import Stale, Store
from minutebook.tokens import estimate_tokens

ASKED = ("first_kept", "tokens_before")
EXTRACT_ENTRIES = 400
"""Entries before the cut that the extract looks at; earlier ones are counted."""
COMPOSE_TRIES = 20
SHAPING_SETTINGS = (
    "compaction_max_tokens",
    "extract_max_tokens",
    "observations_pool_max_tokens",
    "reflection_context_max_tokens",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """What a compaction puts in place of the old turns.

    id: hash of branch, boundary and shaping settings. first_kept, tokens_before: exactly as the host gave them.
    left_out: records that did not fit. extracted: entries not yet observed that the text shows or counts.
    observations, reflections: visible ones, left out or not; pool_tokens: of the observations. reference: boundary of
    the full fold in force.
    """

    id: str
    text: str
    boundary: int
    full_fold: bool
    left_out: int
    extracted: int
    observations: int
    reflections: int
    pool_tokens: int
    reference: int | None = None
    first_kept: str = ""
    tokens_before: int | None = None

    @property
    def tokens(self) -> int:
        """Estimated tokens of the whole text."""
        return estimate_tokens(self.text)

    @property
    def details(self) -> Mapping[str, Any]:
        """What a host stores beside its own compaction record, by which our fold is recognised when read back."""
        return {
            "type": "om.folded",
            "version": 1,
            "fullFold": self.full_fold,
            "producer": PRODUCER,
            "composition": self.id,
        }

    def parts(self) -> list[str]:
        """The text in parts that a host's hook can print whole."""
        return parts_of(self.text)


def boundary_of(store: Store, branch: Branch, first_kept: str = "") -> int:
    """Position of the first kept entry; the tip + 1 where the host names none or one that is not known (003-076)."""
    path = Path(store, branch)
    placed = path.find([first_kept]).get(first_kept) if first_kept else None
    return placed.position if placed is not None else path.length()


def compose_memory(
    store: Store,
    branch: Branch,
    boundary: int,
    settings: Settings,
    *,
    first_kept: str = "",
    tokens_before: int | None = None,
) -> Composition | None:
    """The memory before a boundary, as text within compaction_max_tokens; None when there is no memory (003-066).

    Proposes the fold. Asking again for the same boundary while it is open returns the same bytes; another boundary
    raises CompactionOpen (003-079). Same ledger, boundary and settings: same bytes (003-080).
    """
    for _ in range(COMPOSE_TRIES):
        held = read_proposal(store, branch)
        if held is not None and held.is_open_at(store.now(), settings.lease_seconds):
            if held.boundary != boundary:
                raise CompactionOpen(f"{branch.key}: a compaction at entry {held.boundary} is still open")
            if held.settings == shaping_hash(settings):
                return Composition(**held.composed, first_kept=first_kept, tokens_before=tokens_before)
        length, page = _page_seen(store, branch)
        composed = _compose(store, branch, boundary, settings, length, page)
        if composed is None or _propose(store, branch, composed, length, settings, held):
            return composed and replace(composed, first_kept=first_kept, tokens_before=tokens_before)
    raise StoreBusy(f"{branch.key}: {COMPOSE_TRIES} other compactions came first; try again")


def look_at_memory(store: Store, branch: Branch, boundary: int, settings: Settings) -> Composition | None:
    """What compose_memory would return, recording nothing: `om compact`."""
    return _compose(store, branch, boundary, settings, *_page_seen(store, branch))


def shaping_hash(settings: Settings) -> str:
    """A hash of the settings on which the bytes of a composition depend."""
    return content_id(codec.to_json({name: getattr(settings, name) for name in SHAPING_SETTINGS}))


def read_until(store: Store, branch: Branch, length: int) -> list[MemoryEntry]:
    """The branch's memory entries as they stood when its own stream had that length."""
    return [e for e in ledger.read_memory(store, branch) if e.branch != branch.key or e.index < length]


def _page_seen(store: Store, branch: Branch) -> tuple[int, Page | None]:
    """Like _page_now, with what waits for a box to place it: a person's word holds at once."""
    length, page = _page_now(store, branch)
    waiting = waiting_after(store, branch, length)
    if not waiting:
        return length, page
    memory = memory_after(store, branch, waiting, length)
    return length, page_of(checkpoint_of(branch, memory, length).memory)


def _page_now(store: Store, branch: Branch) -> tuple[int, Page | None]:
    """Length of the branch's memory and its page; None when it has none, and not just an older or a newer one."""
    length = memory_length(store, branch)
    for _ in range(COMPOSE_TRIES):
        page = read_page(store, branch, length)
        now = memory_length(store, branch)
        if page is not None or now == length:
            return length, page
        length = now
    return length, None


def _compose(
    store: Store, branch: Branch, boundary: int, settings: Settings, length: int, page: Page | None
) -> Composition | None:
    if page is not None:
        with suppress(BeyondCheckpoint):
            return _composed_of(page, store, branch, boundary, settings)
    seen = [*read_until(store, branch, length), *waiting_after(store, branch, length)]
    whole = page_of(fold(seen), floor=boundary)
    return _composed_of(whole, store, branch, boundary, settings)


def _composed_of(page: Page, store: Store, branch: Branch, boundary: int, settings: Settings) -> Composition | None:
    projection = compaction_projection(
        page,
        boundary,
        pool_max_tokens=settings.observations_pool_max_tokens,
        digest_tokens=digest_budget(settings.reflection_context_max_tokens).digest,
    )
    if projection.empty():
        return None
    extract = _extract(Path(store, branch), projection.observed, boundary, settings)
    return _composition(branch, projection, extract, settings)


def _composition(branch: Branch, projection: Projection, extract: list[str], settings: Settings) -> Composition | None:
    """None when the budget has no room for a single record: the host's own summary says more."""
    rendered = render(
        projection,
        max_tokens=settings.compaction_max_tokens,
        reflections_tokens=settings.reflection_context_max_tokens,
        extract=extract,
    )
    if not rendered.text:
        return None
    return Composition(
        id=content_id(branch.key, str(projection.boundary), shaping_hash(settings)),
        text=rendered.text,
        boundary=projection.boundary,
        full_fold=projection.full_fold,
        left_out=rendered.left_out,
        extracted=max(0, projection.boundary - projection.observed),
        observations=len(projection.observations) + projection.page.left_out,
        reflections=len(projection.reflections) + projection.page.left_out_reflections,
        pool_tokens=projection.pool_tokens,
        reference=projection.reference,
    )


def _extract(path: Path, observed: int, boundary: int, settings: Settings) -> list[str]:
    """Lines of the entries between the last visible batch and the cut, and how many of them are not shown."""
    stop = min(boundary, path.length())
    start = max(observed, stop - EXTRACT_ENTRIES)
    if start >= stop:
        return []
    room = min(settings.extract_max_tokens, extract_room(settings.compaction_max_tokens))
    return extract_lines(path.read(start, stop), room, unread=start - observed)


def _propose(
    store: Store, branch: Branch, composed: Composition, length: int, settings: Settings, held: Proposal | None
) -> bool:
    proposal = Proposal(
        boundary=composed.boundary,
        length=length,
        settings=shaping_hash(settings),
        opened_at=store.now(),
        composed={each.name: getattr(composed, each.name) for each in fields(composed) if each.name not in ASKED},
    )
    put = proposal_put(branch, proposal, if_version=held.version if held else 0)
    written = not isinstance(store.put(put), Stale)
    if written and find_branch(store, branch.key) is None:  # removed while it was composed
        store.delete(put.collection, put.key)
    return written
