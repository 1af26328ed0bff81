"""What is read while an agent waits: a compaction, the status, the clocks. Does it grow with the session?"""

import json
from collections.abc import Iterator

from benchmarks import flat
from benchmarks.bench import Bench
from benchmarks.growing import DENSE, MIXED, NODROP, Grown
from benchmarks.table import Row, Timed, at_most, medians, milliseconds, ratio_row
from benchmarks.writing import words
from minutebook.pipeline.clocks import due_roles
from minutebook.pipeline.compaction import compose_memory
from minutebook.pipeline.folds import abandon_fold
from minutebook.pipeline.readings import read_state
from minutebook.pipeline.shapes import counted_observation, observation_data
from minutebook.pipeline.status import read_status
from minutebook.records import Branch, Observation, observation_id
from minutebook.settings import Settings
from minutebook.store.kernel import Store

DOCUMENT_BYTES = 250_000
FLAT_BAR, STATUS_BAR, DUE_BAR = 1.3, 1.5, 1.2
COMPOSE_MILLISECONDS, DOCUMENTS = 3.0, 3.0


def compose_rows(bench: Bench) -> Iterator[Row]:
    """compose_memory: flat with the session's length, and quick where memory grew with it."""
    small, large = bench.scale.small, bench.scale.large
    long, short = _flat_pair(bench)
    yield ratio_row(f"compose_memory, {large:,} against {small:,} entries, equal text", long, short, FLAT_BAR)
    document = json.dumps(record_document())
    for profile, count in dict.fromkeys([(MIXED, bench.scale.middle), (NODROP, bench.scale.middle), (MIXED, large)]):
        grown = bench.grown(profile, count)
        done = medians(bench.scale.runs, {"compose": composing(grown), "loads": lambda: json.loads(document)})
        name = f"compose_memory, {count:,} entries of profile {profile.name}"
        yield at_most(name, done["compose"] * 1e3, COMPOSE_MILLISECONDS, "ms", f"{len(shown(grown)):,} characters")
        yield ratio_row(
            f"  against json.loads of {len(document) // 1000} KB of records", done["compose"], done["loads"], DOCUMENTS
        )
    dense = bench.grown(DENSE, bench.scale.middle // 10)
    time = medians(bench.scale.runs, {"compose": composing(dense)})["compose"]
    yield Row(name=f"compose_memory, {dense.growing.count:,} entries of profile dense", measured=milliseconds(time))


def _flat_pair(bench: Bench) -> tuple[float, float]:
    stores = {str(count): bench.flat(count) for count in (bench.scale.large, bench.scale.small)}
    texts = {_composed(store, branch, flat.length(store, branch)) for store, branch in stores.values()}
    assert len(texts) == 1, "the compositions must show the same memory"
    works = {name: composing_at(store, branch, flat.length(store, branch)) for name, (store, branch) in stores.items()}
    done = medians(bench.scale.runs, works)
    return done[str(bench.scale.large)], done[str(bench.scale.small)]


def status_rows(bench: Bench) -> Iterator[Row]:
    """`om status` without the program around it."""
    small, middle, large = bench.scale.small, bench.scale.middle, bench.scale.large
    pairs = {count: bench.flat(count) for count in (large, small)}
    done = _statuses(bench, pairs)
    yield ratio_row(f"status, {large:,} against {small:,} entries, equal memory", done[large], done[small], STATUS_BAR)
    pairs = {count: (grown.store, grown.branch) for count in (large, small) if (grown := bench.grown(MIXED, count))}
    done = _statuses(bench, pairs)
    yield ratio_row(f"status, {large:,} against {small:,} entries, mixed", done[large], done[small], STATUS_BAR)
    grown = bench.grown(MIXED, middle)
    time = _statuses(bench, {middle: (grown.store, grown.branch)})[middle]
    yield Row(name=f"status, {middle:,} entries, mixed", measured=milliseconds(time))


def _statuses(bench: Bench, pairs: dict[int, tuple[Store, Branch]]) -> dict[int, float]:
    def work(store: Store, branch: Branch) -> Timed:
        abandon_fold(store, branch)  # no composition is open most of the time
        return Timed(run=lambda: read_status(store, branch, Settings()))

    done = medians(max(1, bench.scale.runs // 2), {str(count): work(*pair) for count, pair in pairs.items()})
    return {int(name): time for name, time in done.items()}


def due_rows(bench: Bench) -> Iterator[Row]:
    """What a worker asks after every append: which roles are due."""
    small, large = bench.scale.small, bench.scale.large
    pairs = {count: bench.flat(count) for count in (large, small)}
    arrived = dict.fromkeys(pairs, 0)

    def append(count: int) -> None:
        arrived[count] += 1
        number = 2**31 + arrived[count]
        flat.grow(*pairs[count], range(number, number + 1))

    def asking(count: int) -> Timed:
        store, branch = pairs[count]
        return Timed(run=lambda: due_roles(read_state(store, branch), Settings()), before=lambda: append(count))

    done = medians(bench.scale.runs, {str(count): asking(count) for count in pairs})
    name = f"due_roles after an append, {large:,} against {small:,} entries"
    yield ratio_row(name, done[str(large)], done[str(small)], DUE_BAR)


def composing(grown: Grown) -> Timed:
    """compose_memory with its one write, the proposal, and each time as if for the first."""
    return composing_at(grown.store, grown.branch, grown.boundary)


def composing_at(store: Store, branch: Branch, boundary: int) -> Timed:
    return Timed(run=lambda: _composed(store, branch, boundary), before=lambda: abandon_fold(store, branch))


def _composed(store: Store, branch: Branch, boundary: int) -> str:
    composed = compose_memory(store, branch, boundary, Settings())
    assert composed is not None
    return composed.text


def shown(grown: Grown) -> str:
    """What a compaction at the tip gives."""
    abandon_fold(grown.store, grown.branch)
    return _composed(grown.store, grown.branch, grown.boundary)


def record_document() -> list[dict[str, object]]:
    """Observations as they are stored, in all about DOCUMENT_BYTES of JSON."""
    rows: list[dict[str, object]] = []
    size = 0
    while size < DOCUMENT_BYTES:
        content, sources = f"{words(len(rows), 14)} {len(rows)}", (f"{len(rows):08x}",)
        key = observation_id(content, "2026-01-01 00:00", sources)
        record = Observation(
            id=key, content=content, timestamp="2026-01-01 00:00", relevance="medium", source_ids=sources
        )
        rows.append(observation_data(counted_observation(record)))
        size += len(json.dumps(rows[-1])) + 2
    return rows
