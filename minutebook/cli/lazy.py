"""A click group that loads a command when it is used, and ends every failure in one line and an exit code."""

import contextlib
import errno
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple, NoReturn

import click

from minutebook.errors import MinutebookError

UNEXPECTED = 70
KILLED = 128
"""And the number of the signal: 130 for Ctrl-C."""
PIPE_CLOSED = 141
OUTPUT_LOST = 74
OUTPUT_FAULTS = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG)
"""What a write to stdout can fail with; the store's and the readers' errors are translated where they arise."""
DEBUG = "MINUTEBOOK_DEBUG"


class Lazy(NamedTuple):
    """A command that is not loaded yet: module:attribute, and its line in the help."""

    target: str
    help: str


class PipeClosed(BaseException):
    """Whoever read our output has gone. Not an Exception, so that nothing on the way answers it."""


class LazyGroup(click.Group):
    """sections: heading → command name → where it is."""

    def __init__(self, *args: Any, sections: Mapping[str, Mapping[str, Lazy]], **rest: Any) -> None:
        super().__init__(*args, **rest)
        self.sections = sections
        self.lazy = {name: lazy for commands in sections.values() for name, lazy in commands.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        lazy = self.lazy.get(cmd_name)
        if lazy is None:
            return None
        module, _, attribute = lazy.target.partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command; for a name that is not known, the nearest one is offered."""
        name = args[0]
        if name not in self.lazy and not name.startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(name, self.lazy, n=1)
            hint = f" Did you mean `om {near[0]}`?" if near else " `om --help` lists them."
            raise click.UsageError(f"There is no command {name!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, commands in self.sections.items():
            with formatter.section(heading):
                formatter.write_dl([(name, lazy.help) for name, lazy in commands.items()])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise PipeClosed from None  # before click, which would end with 1

    def main(self, args: Sequence[str] | None = None, **rest: Any) -> NoReturn:  # type: ignore[override]
        """Run a command line and exit. Never a traceback, unless MINUTEBOOK_DEBUG asks for it."""
        _replace_closed_streams()
        _never_fail_on_output()
        rest["standalone_mode"] = False
        code = _exit_code(lambda: super(LazyGroup, self).main(args, **rest))
        sys.exit(code)


def _exit_code(run: Any) -> int:
    try:
        code = run()
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (PipeClosed, BrokenPipeError):
        _leave_pipe()
        return PIPE_CLOSED
    except (click.Abort, KeyboardInterrupt) as error:
        from minutebook.cli.stopping import signal_of

        return KILLED + signal_of(error)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except MinutebookError as error:
        complain(str(error))
        return error.exit_code
    except OSError as error:
        if error.errno not in OUTPUT_FAULTS or error.filename is not None:
            return _unexpected(error)
        _leave_pipe()
        complain(f"the output cannot be written: {error.strerror}")
        return OUTPUT_LOST
    except Exception as error:
        return _unexpected(error)


def complain(message: str) -> None:
    """An error on stderr, each of its lines after our name."""
    for line in message.splitlines() or ["failed"]:
        click.echo(f"om: {printable(line)}", err=True)


def printable(line: str) -> str:
    """One line with whatever a terminal would act on written out."""
    return "".join(c if c.isprintable() or c == "\t" else f"\\u{ord(c):04x}" for c in line)


def _unexpected(error: Exception) -> int:
    if os.environ.get(DEBUG, "").strip() not in ("", "0"):
        traceback.print_exc()
    said = " ".join(str(error).split())[:300]
    complain(
        f"unexpected {type(error).__name__}{': ' if said else ''}{said}: this is a fault of Minutebook; nothing was "
        f"half-written. Please report it with what {DEBUG}=1 prints when you run this again"
    )
    return UNEXPECTED


def _replace_closed_streams() -> None:
    """Where the caller closed a standard stream, its number must not go to the next file that is opened, a store."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), "w" if number else "r"))


def _never_fail_on_output() -> None:
    """A lone surrogate or a narrow terminal encoding shows as an escape."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def _leave_pipe() -> None:
    """Nothing more can be written; the interpreter's own last flush must not complain either."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
