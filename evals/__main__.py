"""`make eval MODEL=provider/id`: the prompt test set against a mind.

Exit code 1 under the bar of --least, 2 when it cannot run.
"""

import sys
from collections.abc import Sequence

import click

from evals.case_files import Case, read_cases
from evals.checks import faults
from evals.minds import Bill, minds_of
from evals.report import Result, line_of, share, summary
from evals.running import MindFor, run_case
from minutebook.errors import MinutebookError, ProviderFailed

PROVIDER_FAILURES_MAX = 3
"""After so many cases in a row that the provider did not answer, the rest is not asked."""


@click.command()
@click.option("--model", default="extractive", show_default=True, help="provider/id, or extractive.")
@click.option("--base-url", default="", help="Where a server of your own listens.")
@click.option("--prompts", default="", help="A folder of prompts in place of the built-in ones.")
@click.option("--least", default=0.0, show_default=True, help="Exit with 1 under this share of passes, in percent.")
@click.argument("names", nargs=-1)
def main(model: str, base_url: str, prompts: str, least: float, names: tuple[str, ...]) -> None:
    """Run all cases, or those whose id, role or group is named."""
    bill = Bill()
    try:
        cases = read_cases(names)
        with minds_of(model, bill, base_url=base_url, prompts=prompts) as mind_for:
            results = run_all(cases, mind_for)
    except MinutebookError as error:
        click.echo(f"evals: {error}", err=True)
        sys.exit(2)
    click.echo("\n".join(["", *summary(model, results, bill)]))
    sys.exit(1 if share(results) < least else 0)


def run_all(cases: Sequence[Case], mind_for: MindFor) -> list[Result]:
    """Each case in turn, printed as it ends; raises ProviderFailed when the provider does not answer any more."""
    width = max((len(case.id) for case in cases), default=0)
    results: list[Result] = []
    failures = 0
    for case in cases:
        try:
            found, failures = faults(case, run_case(case, mind_for)), 0
        except ProviderFailed as error:
            found, failures = [f"not answered: {error}"], failures + 1
            if failures == PROVIDER_FAILURES_MAX:
                raise
        results.append(Result(case, tuple(found)))
        click.echo(line_of(results[-1], width))
    return results


if __name__ == "__main__":
    main()
