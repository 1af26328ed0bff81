"""What a run prints: a line per case, totals per group, what it used. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evals.case_files import Case
from evals.minds import Bill

ALL = "all"


@dataclass(frozen=True)
class Result:
    """A case and what was wrong with it; nothing for a pass."""

    case: Case
    faults: tuple[str, ...]


def line_of(result: Result, width: int) -> str:
    """One line of the table, and a line for each further fault."""
    word = "FAIL" if result.faults else "pass"
    first = f"{word}  {result.case.id:<{width}}  {result.faults[0] if result.faults else ''}".rstrip()
    return "\n".join([first, *(f"{'':<{width + 8}}{fault}" for fault in result.faults[1:])])


def totals(results: Sequence[Result]) -> dict[str, tuple[int, int]]:
    """Group -> passed and all, in the order of the cases; the last is the whole."""
    found: dict[str, tuple[int, int]] = {}
    for result in results:
        for name in (result.case.group, ALL):
            passed, count = found.pop(name, (0, 0)) if name == ALL else found.get(name, (0, 0))
            found[name] = passed + (not result.faults), count + 1
    return found


def share(results: Sequence[Result]) -> float:
    """Passed cases in percent; 0 without any."""
    return 100 * sum(not result.faults for result in results) / len(results) if results else 0.0


def summary(name: str, results: Sequence[Result], bill: Bill) -> Iterator[str]:
    """Totals and what they cost."""
    yield f"{name}: {share(results):.0f} % of {len(results)} cases"
    for group, (passed, count) in totals(results).items():
        yield f"  {group:<14} {passed:>3} of {count}"
    if bill.requests:
        yield (
            f"  {bill.requests} requests; {bill.input_tokens:,} tokens in ({bill.cached_tokens:,} from the cache), "
            f"{bill.output_tokens:,} out; {f'${bill.cost_usd:.4f}' if bill.priced else 'its price is not known'}"
        )
