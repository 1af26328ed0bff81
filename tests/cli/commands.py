"""How tests call `om` in this process."""

import json
from collections.abc import Callable
from typing import Any

from click.testing import CliRunner, Result

from minutebook.cli.root import om as group

Om = Callable[..., Result]


def run(*args: str, code: int | None = None) -> Result:
    """Run `om` with these arguments; code: the exit code it must end with."""
    result = CliRunner().invoke(group, args, prog_name="om")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    assert code is None or result.exit_code == code, result.output
    return result


def data_of(result: Result) -> Any:
    """What a command printed with --json."""
    return json.loads(result.stdout)
