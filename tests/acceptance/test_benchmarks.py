"""The benchmarks run, at toy size. What they measure is no matter here, but for what is counted and not timed."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from builders import memory_of

from benchmarks.__main__ import GROUPS, main, rows_of
from benchmarks.bench import Bench, benching
from benchmarks.growing import MIXED, NODROP, Profile
from benchmarks.scale import TOY
from minutebook.pipeline.branches import source_stream
from minutebook.records import OBSERVATIONS, REFLECTIONS


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with benching(TOY) as opened:
        yield opened


@pytest.mark.parametrize("group", GROUPS)
def test_each_row_can_be_measured(group: str, bench: Bench) -> None:
    rows = list(rows_of(group, bench))
    assert rows and all(row.name and row.measured for row in rows)
    assert all((row.ok is None) == (row.bar == "") for row in rows)


def test_no_more_than_one_job_of_a_role_waits(bench: Bench) -> None:
    (row,) = rows_of("pending", bench)
    assert row.ok


def test_a_growing_session_has_the_proportions_of_its_profile(bench: Bench) -> None:
    """At 100,000 entries that makes 25,000 observations and 5,000 reflections recorded."""
    grown = bench.grown(MIXED, 440)
    memory = memory_of(grown.store, grown.branch)
    assert (len(memory.observations), len(memory.reflections)) == (440 // 40 * 10, 440 // 40 * 2)
    assert grown.store.tip(source_stream(grown.branch.key)).length == grown.growing.sources
    assert [fold.boundary for fold in memory.folds] == [
        400 // 40 * 37 - 27
    ]  # of the 30 entries that are kept three are memory
    assert memory.malformed == 0


@pytest.mark.parametrize("profile", [MIXED, NODROP])
def test_what_was_written_in_bulk_goes_on_as_if_it_had_not_been(profile: Profile, bench: Bench) -> None:
    """The coverages join without a hole, and the marks are those of the whole memory."""
    grown = bench.grown(profile, 1_600)
    memory = memory_of(grown.store, grown.branch)
    spans = sorted({(held.since, held.covers) for held in memory.observations.values()})
    assert spans[0][0] == 0 and all(before[1] == after[0] for before, after in pairwise(spans))
    marks = grown.store.tip(f"m:{grown.branch.key}").marks
    assert marks["observer"] == spans[-1][1]
    assert marks["pool_tokens"] == sum(held.record.tokens for held in memory.active())
    assert {OBSERVATIONS, REFLECTIONS} <= {
        item.kind for item in grown.store.read(f"m:{grown.branch.key}", reverse=True, limit=9)
    }


def test_an_unknown_group_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["speed"])
    assert "compose" in capsys.readouterr().err
