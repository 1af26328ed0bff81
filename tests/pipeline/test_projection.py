"""Memory and a boundary -> what is visible before it."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from builders import concluded, deliver, memory_of, observed, say
from memories import batch, conversation, digested, dropped, host_compacted, reflected, superseded, turns

from minutebook.pipeline import ledger
from minutebook.pipeline.branches import Path as SourcePath
from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.compaction import compose_memory
from minutebook.pipeline.corrections import note, retire
from minutebook.pipeline.pages import citations_in, page_of
from minutebook.pipeline.projection import (
    Projection,
    compaction_projection,
    digest_budget,
    full_projection,
    project,
    visible_projection,
)
from minutebook.pipeline.status import read_totals_now
from minutebook.records import Branch, Reflection, Tier, reflection_line, tier_of_citations
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.store.sqlite import SqliteStore

DIGEST_TOKENS = 4_000
FIRST, SECOND, THIRD = (observed(f"event {name}", sources=(f"e{at}",)) for at, name in enumerate("abc"))
OLD, NEW = concluded("an old conclusion", FIRST), concluded("a new conclusion", SECOND)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = SqliteStore(tmp_path / "store.db")
    yield opened
    opened.close()


@pytest.fixture
def branch(store: Store) -> Branch:
    return conversation(store, 40)


def at(store: Store, branch: Branch, boundary: int, *, reference: int | None = None) -> Projection:
    return project(page_of(memory_of(store, branch)), boundary, reference=reference, digest_tokens=DIGEST_TOKENS)


def next_at(store: Store, branch: Branch, boundary: int, pool_max_tokens: int = 20_000) -> Projection:
    return compaction_projection(
        page_of(memory_of(store, branch)), boundary, pool_max_tokens=pool_max_tokens, digest_tokens=DIGEST_TOKENS
    )


def visible(store: Store, branch: Branch) -> Projection:
    chain = [each.key for each in ledger.chain_of(store, branch)]
    return visible_projection(ledger.read_memory(store, branch), chain, digest_tokens=DIGEST_TOKENS)


def contents(projection: Projection) -> list[str]:
    return [record.content for record in (*projection.observation_records(), *projection.reflection_records())]


def tiers(projection: Projection) -> list[Tier]:
    return [tier_of_citations(citations_in(key)) for key in projection.keep_keys()]


def concluded_ids(records: Sequence[Reflection]) -> list[str]:
    return [record.id for record in records]


@pytest.mark.parametrize(
    ("total", "digest", "high_water", "target"),
    [(10_000, 4_000, 6_000, 4_000), (9_000, 3_600, 5_400, 3_600), (1, 1, 0, 1), (7, 2, 5, 2)],
)
def test_digest_budget_003_029(total: int, digest: int, high_water: int, target: int) -> None:
    budget = digest_budget(total)
    assert (budget.digest, budget.high_water, budget.target) == (digest, high_water, target)


def test_a_batch_that_straddles_the_cut_is_visible_003_067(store: Store, branch: Branch) -> None:
    batch(store, branch, 0, 10, FIRST)
    batch(store, branch, 10, 20, SECOND)
    assert contents(at(store, branch, 15)) == ["event a", "event b"]
    assert contents(at(store, branch, 11)) == ["event a", "event b"]
    assert contents(at(store, branch, 10)) == ["event a"]


def test_reflections_are_visible_without_any_full_fold_003_068(store: Store, branch: Branch) -> None:
    batch(store, branch, 0, 20, FIRST, SECOND)
    reflected(store, branch, 10, OLD)
    reflected(store, branch, 20, NEW)
    assert concluded_ids(at(store, branch, 20).reflection_records()) == [OLD.id, NEW.id]
    assert concluded_ids(at(store, branch, 19).reflection_records()) == [OLD.id]
    assert at(store, branch, 9).reflection_records() == []
    retire(store, branch, OLD.id, time="2026-05-02T10:30:00Z")
    assert concluded_ids(at(store, branch, 20).reflection_records()) == [NEW.id]


def test_a_drop_waits_for_the_next_full_fold_003_069(store: Store, branch: Branch) -> None:
    batch(store, branch, 0, 10, FIRST, SECOND)
    dropped(store, branch, 10, FIRST)
    assert contents(at(store, branch, 30)) == ["event a", "event b"]
    assert contents(at(store, branch, 30, reference=9)) == ["event a", "event b"]
    assert contents(at(store, branch, 30, reference=10)) == ["event b"]


def test_a_drop_covered_after_the_boundary_does_not_belong_to_it_003_071(store: Store, branch: Branch) -> None:
    """Also when the last full fold was further on than this boundary."""
    batch(store, branch, 0, 10, FIRST, SECOND)
    dropped(store, branch, 30, FIRST)
    assert contents(at(store, branch, 20, reference=35)) == ["event a", "event b"]
    assert contents(at(store, branch, 30, reference=35)) == ["event b"]


def test_a_full_pool_makes_a_full_fold_003_070(store: Store, branch: Branch) -> None:
    batch(store, branch, 0, 10, FIRST, SECOND)
    dropped(store, branch, 10, FIRST)
    pool = FIRST.tokens + SECOND.tokens
    normal, full = next_at(store, branch, 20, pool + 1), next_at(store, branch, 20, pool)
    assert (normal.full_fold, normal.reference, contents(normal)) == (False, None, ["event a", "event b"])
    assert (full.full_fold, full.reference, contents(full)) == (True, 20, ["event b"])


def test_drops_of_a_confirmed_full_fold_stay_applied_003_070(store: Store, branch: Branch) -> None:
    batch(store, branch, 0, 10, FIRST, SECOND)
    dropped(store, branch, 10, FIRST)
    pool = FIRST.tokens + SECOND.tokens
    small = Settings(observations_pool_max_tokens=pool, observations_pool_target_tokens=1)
    assert compose_memory(store, branch, 20, small) is not None
    assert contents(next_at(store, branch, 30)) == ["event a", "event b"], "proposed is not confirmed"
    host_compacted(store, "e20", after="e39")
    assert contents(next_at(store, branch, 30)) == ["event b"]
    dropped(store, branch, 21, SECOND)
    assert contents(next_at(store, branch, 30)) == ["event b"], "covered after the last full fold"


def test_what_is_covered_decides_and_not_when_it_was_written_003_071(store: Store, branch: Branch) -> None:
    """An import may bring a batch late that covers an early span."""
    batch(store, branch, 0, 30, FIRST)
    batch(store, branch, 5, 5, SECOND)
    batch(store, branch, 30, 40, THIRD)
    reflected(store, branch, 40, NEW)
    reflected(store, branch, 10, OLD)
    assert contents(at(store, branch, 30)) == ["event a", "event b", "an old conclusion"]
    assert contents(at(store, branch, 5)) == ["event a", "event b"]


def test_a_note_belongs_to_every_projection(store: Store, branch: Branch) -> None:
    said = note(store, branch, "never touch main", timestamp="2026-05-02 10:30", time="2026-05-02T10:30:00Z")
    assert [contents(at(store, branch, boundary)) for boundary in (0, 1, 40)] == [[said.content]] * 3


def test_a_correction_holds_wherever_it_is_visible(store: Store, branch: Branch) -> None:
    """The old observation and its reflection are gone wherever the correction is seen, and there before it."""
    old, new = observed("the port is 8080"), observed("the port is 8443, not 8080")
    rests = concluded("services listen on 8080", old)
    batch(store, branch, 0, 10, old)
    reflected(store, branch, 10, rests)
    digested(store, branch, 10, "services listen on 8080", rests)
    batch(store, branch, 10, 20, new)
    superseded(store, branch, 10, 20, old, rests)
    before = at(store, branch, 10)
    assert contents(before) == ["the port is 8080", "services listen on 8080"]
    assert before.digest is not None
    for boundary in (11, 15, 20, 40):
        after = at(store, branch, boundary)
        assert contents(after) == ["the port is 8443, not 8080"]
        assert after.digest is None
    assert contents(full_projection(page_of(memory_of(store, branch)), digest_tokens=DIGEST_TOKENS)) == [new.content]
    assert compose_memory(store, branch, 30, Settings()) is not None
    host_compacted(store, "e30", after="e39")
    assert contents(visible(store, branch)) == [new.content]


def test_a_persons_correction_holds_at_every_boundary(store: Store, branch: Branch) -> None:
    batch(store, branch, 0, 10, FIRST, SECOND)
    reflected(store, branch, 10, OLD)
    retire(store, branch, FIRST.id, time="2026-05-02T10:30:00Z")
    assert {tuple(contents(at(store, branch, boundary))) for boundary in (1, 10, 40)} == {("event b",)}


def test_the_digest_replaces_the_reflections_up_to_its_watermark_003_072(store: Store, branch: Branch) -> None:
    batch(store, branch, 0, 10, FIRST, SECOND)
    reflected(store, branch, 10, OLD, NEW)
    digested(store, branch, 10, "what was concluded", OLD)
    shown = at(store, branch, 10)
    assert shown.digest is not None and shown.digest.content == "what was concluded"
    assert shown.recent_lines() == [reflection_line(NEW)]
    assert concluded_ids(shown.reflection_records()) == [OLD.id, NEW.id]


def test_a_digest_over_its_share_or_beyond_the_projection_is_not_used_003_072(store: Store, branch: Branch) -> None:
    batch(store, branch, 0, 20, FIRST, SECOND)
    reflected(store, branch, 10, OLD)
    reflected(store, branch, 20, NEW)
    digested(store, branch, 20, "x" * 400, NEW)
    page = page_of(memory_of(store, branch))
    assert project(page, 20, reference=None, digest_tokens=100).digest is not None
    for boundary, share in ((20, 99), (19, 100)):
        shown = project(page, boundary, reference=None, digest_tokens=share)
        assert shown.digest is None
        assert shown.recent == shown.reflections


def test_a_digest_up_to_a_retired_reflection_is_not_used_003_072(store: Store, branch: Branch) -> None:
    batch(store, branch, 0, 10, FIRST, SECOND)
    reflected(store, branch, 10, OLD, NEW)
    retire(store, branch, NEW.id, time="2026-05-02T10:30:00Z")
    digested(store, branch, 10, "imported, up to one that was gone by then", NEW)
    assert at(store, branch, 10).digest is None


def test_the_furthest_watermark_wins_then_the_newest_003_073(store: Store, branch: Branch) -> None:
    batch(store, branch, 0, 10, FIRST, SECOND)
    reflected(store, branch, 10, OLD, NEW)
    digested(store, branch, 10, "far, first", NEW)
    digested(store, branch, 10, "far, second", NEW)
    digested(store, branch, 10, "near, newest", OLD)
    digested(store, branch, 10, "far, from an old fold", NEW, fromFold=True)
    digested(store, branch, 10, "of another branch", concluded("unknown here"))
    digest = at(store, branch, 10).digest
    assert digest is not None and digest.content == "far, second"


def test_a_digest_whose_watermark_came_later_is_ignored_003_073(store: Store, branch: Branch) -> None:
    digested(store, branch, 10, "foretold", OLD)
    reflected(store, branch, 10, OLD)
    assert at(store, branch, 10).digest is None


def test_a_digest_that_may_tell_what_comes_after_the_boundary_is_not_used_003_071(store: Store, branch: Branch) -> None:
    reflected(store, branch, 30, NEW)
    reflected(store, branch, 10, OLD)
    digested(store, branch, 30, "both of them", OLD)
    assert at(store, branch, 30).digest is not None
    assert at(store, branch, 20).digest is None


def test_a_digest_made_after_a_retirement_is_used(store: Store, branch: Branch) -> None:
    reflected(store, branch, 10, OLD, NEW)
    retire(store, branch, OLD.id, time="2026-05-02T10:30:00Z")
    digested(store, branch, 10, "without the old one", NEW)
    digest = at(store, branch, 10).digest
    assert digest is not None and digest.content == "without the old one"


def test_a_tombstone_hides_what_comes_later_003_152(store: Store, branch: Branch) -> None:
    dropped(store, branch, 5, FIRST)
    batch(store, branch, 0, 10, FIRST, SECOND)
    assert contents(at(store, branch, 20, reference=20)) == ["event b"]
    assert contents(full_projection(page_of(memory_of(store, branch)), digest_tokens=1)) == ["event b"]


def test_coverage_says_nothing_about_provenance_003_153(store: Store, branch: Branch) -> None:
    """A record may cite entries far before the span that its batch covers."""
    early = observed("cites the first entry", sources=("e0",))
    batch(store, branch, 20, 30, early)
    assert contents(at(store, branch, 20)) == []
    assert contents(at(store, branch, 21)) == [early.content]


def test_visible_memory_is_that_of_the_last_confirmed_compaction_003_078(store: Store, branch: Branch) -> None:
    batch(store, branch, 0, 10, FIRST)
    assert visible(store, branch).empty()
    assert compose_memory(store, branch, 20, Settings()) is not None
    assert visible(store, branch).empty(), "proposed is not visible yet"
    host_compacted(store, "e20", after="e39")
    batch(store, branch, 10, 20, SECOND)
    assert contents(visible(store, branch)) == ["event a"]


def test_drift_003_078(store: Store, branch: Branch) -> None:
    """Only in full; visible but dropped since; reflections only in full: alone and together."""
    batch(store, branch, 0, 10, FIRST)
    reflected(store, branch, 10, OLD)
    assert compose_memory(store, branch, 20, Settings()) is not None
    host_compacted(store, "e20", after="e39")

    def now() -> tuple[int, int, int]:
        totals = read_totals_now(store, branch)
        return totals.added, totals.removed, totals.reflections_added

    assert now() == (0, 0, 0)
    batch(store, branch, 20, 30, SECOND, THIRD)
    assert now() == (2, 0, 0)
    dropped(store, branch, 30, FIRST, THIRD)
    assert now() == (1, 1, 0)
    reflected(store, branch, 30, NEW)
    assert now() == (1, 1, 1)
    retire(store, branch, OLD.id, time="2026-05-02T10:30:00Z")
    assert now() == (1, 1, 1), "what was visible and is retired hides nothing that is new"


def test_a_branch_never_sees_its_siblings_memory_003_156(store: Store) -> None:
    root = conversation(store, 10)
    batch(store, root, 0, 6, FIRST)
    left = deliver(store, [say("left", id="left", parent="e5")])
    right = deliver(store, [say("right", id="right", parent="e5")])
    assert left.key != right.key != root.key
    batch(store, left, 6, 7, SECOND)
    batch(store, right, 6, 7, THIRD)
    assert contents(at(store, left, 7)) == ["event a", "event b"]
    assert contents(at(store, right, 7)) == ["event a", "event c"]
    assert contents(at(store, root, 10)) == ["event a"]


def test_a_digest_and_a_fold_past_the_fork_are_not_the_childs_003_158(store: Store) -> None:
    root = conversation(store, 10)
    batch(store, root, 0, 4, FIRST)
    reflected(store, root, 4, OLD)
    reflected(store, root, 9, NEW)
    digested(store, root, 9, "past the fork", NEW)
    assert compose_memory(store, root, 9, Settings()) is not None
    host_compacted(store, "e9", after="e9")
    child = deliver(store, [say("elsewhere", id="child", parent="e5")])
    assert SourcePath(store, child).length() == 7
    assert at(store, child, 7).digest is None
    assert contents(at(store, child, 7)) == ["event a", "an old conclusion"]
    assert visible(store, child).empty()
    assert contents(visible(store, load_branch(store, root.key))) == [
        "event a",
        "an old conclusion",
        "a new conclusion",
    ]


def test_a_digest_whose_watermark_is_not_on_the_path_is_ignored_003_158(store: Store) -> None:
    """Such as one that was imported with a marker of its own."""
    root = conversation(store, 10)
    reflected(store, root, 4, OLD)
    reflected(store, root, 9, NEW)
    digested(store, root, 4, "both of them", NEW)
    child = deliver(store, [say("elsewhere", id="child", parent="e5")])
    assert at(store, child, 7).digest is None
    assert contents(at(store, child, 7)) == ["an old conclusion"]


def test_a_fold_before_the_fork_is_the_childs_too_003_158(store: Store) -> None:
    root = conversation(store, 10)
    batch(store, root, 0, 4, FIRST)
    assert compose_memory(store, root, 4, Settings()) is not None
    host_compacted(store, "e4", after="e9")
    deliver(store, turns(2, 10))
    child = deliver(store, [say("elsewhere", id="child", parent="e9")])
    assert child.parent == root.key
    batch(store, child, 10, 11, SECOND)
    assert contents(visible(store, child)) == ["event a"]


def test_a_projection_by_itself_is_empty_003_066() -> None:
    assert Projection(boundary=5).empty()


def test_tiers_count_the_visible_reflections_that_cite_003_021(store: Store, branch: Branch) -> None:
    """Each once, however often it cites; one beyond the boundary does not count."""
    batch(store, branch, 0, 10, FIRST, SECOND, THIRD)
    reflected(store, branch, 10, concluded("one", FIRST, SECOND, SECOND))
    reflected(store, branch, 20, concluded("two", FIRST))
    assert tiers(at(store, branch, 20)) == ["strong", "partial", "none"]
    assert tiers(at(store, branch, 10)) == ["partial", "partial", "none"]
