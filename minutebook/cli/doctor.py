"""`om doctor`."""

from dataclasses import asdict

import click

from minutebook.cli.check import Check
from minutebook.cli.checks import checks
from minutebook.cli.checks_box import box_checks
from minutebook.cli.options import JSON, placed
from minutebook.cli.place import Place
from minutebook.cli.showing import console, counted, one_line, remark, write_json

MARKS = {"ok": ("✓", "+", "green"), "info": ("·", "-", "dim"), "fail": ("✗", "x", "red")}
NAME_WIDTH = 18


@click.command(short_help="check this installation, one fix for each fault")
@placed(choosing=False, creating=True)
@JSON
@click.option("--call", is_flag=True, help="Ask each configured model once; costs a few tokens.")
@click.pass_context
def doctor(ctx: click.Context, place: Place, as_json: bool, call: bool) -> None:
    """Check this installation, its settings and its store; one fix for each line that fails.

    \b
    om doctor
    om doctor --call
    """
    found = list(checks(place))
    if place.store_file is None:
        from minutebook.cli.checks_server import server_checks

        found += server_checks(place)
    found += box_checks(place)
    if call:
        from minutebook.cli.checks_models import model_checks

        found += model_checks(place)
    failed = [check for check in found if check.verdict == "fail"]
    if as_json:
        write_json({"ok": not failed, "checks": [asdict(check) for check in found]})
    else:
        for check in found:
            _show(check)
        remark(f"{counted(len(failed), 'check')} failed" if failed else "Nothing is wrong.")
    ctx.exit(1 if failed else 0)


def _show(check: Check) -> None:
    from rich.text import Text

    out = console()
    sign, plain, style = MARKS[check.verdict]
    line = Text(f"{sign if 'utf' in out.encoding else plain} ", style=style)
    line.append(f"{check.name:<{NAME_WIDTH}} ", style="bold" if check.verdict == "fail" else "default")
    line.append(one_line(check.said), style="dim" if check.verdict == "info" else "default")
    out.print(line, soft_wrap=True)
    if check.fix:
        out.print(Text(f"  {'':<{NAME_WIDTH}} fix: {one_line(check.fix)}", style="yellow"), soft_wrap=True)
