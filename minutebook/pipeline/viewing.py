"""The memory of a branch as lines, and the cut of a compaction that keeps so many tokens."""

from collections.abc import Callable, Iterator

from minutebook.pipeline import ledger
from minutebook.pipeline.branches import Path
from minutebook.pipeline.folding import fold
from minutebook.pipeline.pages import page_of
from minutebook.pipeline.projection import Projection, digest_budget, full_projection, visible_projection
from minutebook.pipeline.remembering import seen_memory
from minutebook.records import Branch
from minutebook.settings import Settings
from minutebook.store.kernel import Store


def viewed(store: Store, branch: Branch, settings: Settings, *, full: bool) -> Projection:
    """What the last confirmed compaction showed, or all that is active; of the empty branch nothing."""
    entries = seen_memory(store, branch) if branch.key else []
    share = digest_budget(settings.reflection_context_max_tokens).digest
    if full:
        return full_projection(page_of(fold(entries)), digest_tokens=share)
    chain = [each.key for each in ledger.chain_of(store, branch)]
    return visible_projection(entries, chain, digest_tokens=share)


def view_lines(projection: Projection, word: str, *, shown: Callable[[str], str] = str) -> Iterator[str]:
    """Digest, reflections, observations; word: visible or recorded; shown: how a line of the digest is written."""
    digest = projection.digest
    if digest is None:
        yield from ("## Digest of older reflections", f"(no digest is {word})")
    else:
        yield f"## Digest of older reflections, up to [{digest.through}], ~{digest.tokens:,} tokens"
        yield from (shown(line) for line in digest.content.splitlines())
    yield from ("", f"## Reflections ({len(projection.recent):,})")
    yield from projection.recent_lines() or [f"(no reflection is {word})"]
    yield from ("", f"## Observations ({len(projection.observations):,})")
    yield from projection.observation_lines() or [f"(no observation is {word})"]


def boundary_keeping(path: Path, keep_tokens: int) -> int:
    """The smallest position from which on at most so many tokens stay."""
    length, total = path.length(), path.tokens()
    low, high = 0, length
    while low < high:
        middle = (low + high) // 2
        if total - path.tokens_before(middle) <= keep_tokens:
            high = middle
        else:
            low = middle + 1
    return low
