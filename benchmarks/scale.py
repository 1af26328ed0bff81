"""How large a run is."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Entries of the stores that are compared, runs of which medians are taken, and the sizes of the engine's rows.

    tail: entries of a growing session that go through the doors one by one, as in a running system; the ones before
    them are written in bulk. recordings: rates of recording at which prompts are counted.
    growth: entries of which the commits of memory are timed.
    """

    small: int = 1_000
    middle: int = 100_000
    large: int = 1_000_000
    tail: int = 400
    runs: int = 200
    growth: int = 400
    whole_folds: int = 3
    file_bytes: int = 3_500_000
    file_runs: int = 9
    recordings: int = 3
    jobs: int = 100
    job_rounds: int = 15
    marks: int = 60
    idle_seconds: float = 20.0
    turns: int = 10_000
    sessions: int = 64
    think_seconds: float = 0.5


FULL = Scale()
TOY = Scale(
    small=80,
    middle=480,
    large=480,
    tail=80,
    runs=1,
    growth=40,
    whole_folds=1,
    file_bytes=20_000,
    file_runs=1,
    recordings=1,
    jobs=4,
    job_rounds=1,
    marks=2,
    idle_seconds=0.2,
    turns=20,
    sessions=4,
    think_seconds=0.02,
)
