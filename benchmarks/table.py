"""What every benchmark hands over: rows of one table, and medians of interleaved runs to fill them with."""

import gc
import os
import platform
import sqlite3
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from time import perf_counter

Work = Callable[[], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table. ok: None where nothing is demanded."""

    name: str
    measured: str
    bar: str = ""
    ok: bool | None = None

    def __str__(self) -> str:
        verdict = {None: "", True: "ok", False: "OVER"}[self.ok]
        return f"{self.name:<{NAME_WIDTH}}  {self.measured:<{MEASURED_WIDTH}}  {self.bar:<9}  {verdict}".rstrip()


PATIENCE_SECONDS, RUNS_LEAST = 20.0, 7
"""What is far too slow is not measured for as many runs as what is not."""
NAME_WIDTH, MEASURED_WIDTH = 66, 38
HEADINGS = Row(name="what is measured", measured="measured", bar="bar")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """A piece of work to time. before: is done before each run, and not timed."""

    run: Work
    before: Work | None = None

    def seconds(self) -> float:
        if self.before is not None:
            self.before()
        start = perf_counter()
        self.run()
        return perf_counter() - start


def medians(runs: int, works: Mapping[str, Timed | Work]) -> dict[str, float]:
    """Median seconds of each work; they take turns, so that a busy machine slows all of them."""
    timed = {name: work if isinstance(work, Timed) else Timed(run=work) for name, work in works.items()}
    for work in timed.values():
        work.seconds()  # caches are warm, and what is loaded on use is there
    times: dict[str, list[float]] = {name: [] for name in timed}
    gc.collect()
    give_up_at = perf_counter() + PATIENCE_SECONDS
    for run in range(runs):
        if run >= RUNS_LEAST and perf_counter() > give_up_at:
            break
        for name, work in timed.items():
            times[name].append(work.seconds())
    return {name: median(each) for name, each in times.items()}


def ratio_row(name: str, value: float, base: float, bar: float | None) -> Row:
    """How many times as long as the base it takes."""
    shown = f"{value / base:5.2f} x   ({milliseconds(value)} / {milliseconds(base)})"
    if bar is None:
        return Row(name=name, measured=shown)
    return Row(name=name, measured=shown, bar=f"≤ {bar:g} x", ok=value / base <= bar)


def at_most(name: str, value: float, bar: float, unit: str, more: str = "") -> Row:
    """A value with its unit, and its bar."""
    shown = f"{value:5.2f} {unit}{f'   ({more})' if more else ''}"
    return Row(name=name, measured=shown, bar=f"≤ {bar:g} {unit}", ok=value <= bar)


def milliseconds(seconds: float) -> str:
    """Milliseconds with three digits that count."""
    value = seconds * 1e3
    return f"{value:.3f} ms" if value < 10 else f"{value:,.1f} ms" if value < 1_000 else f"{value:,.0f} ms"


def machine() -> str:
    """The facts on which absolute times depend."""
    return (
        f"{os.cpu_count()} cores {platform.machine()} ({_processor()}), {platform.system()}, "
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    )


def _processor() -> str:
    if sys.platform == "linux":
        with open("/proc/cpuinfo") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
