"""Application of the command line: its commands, exit codes, and errors of one line."""

from __future__ import annotations

import contextlib
import errno
import functools
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any, TextIO

import typer
from typer.core import TyperCommand

from keyhole import __version__
from keyhole.cli.options import INTERRUPTED, REFUSED

SUCCESS = 0  # exit code; a bug is 1
NO_SPACE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class OneBudget(TyperCommand):
    """A command that plays one budget, and says so where two are given."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, after a look at the order of the options: it has one that is given twice twice."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        if sum(option.name == "budget" for option in order) > 1:
            from keyhole.errors import ProblemError

            raise ProblemError(
                "--budget is given more than once: `keyhole compare` plays several budgets, "
                "with --budgets 4,8"
            )
        return super().parse_args(ctx, args)


# The module of each command, in the order of --help; only that of the command typed is loaded.
COMMANDS = {
    "run": "run",
    "compare": "compare",
    "diagnose": "diagnose",
    "advise": "advise",
    "predict": "predict",
    "simulate": "simulate",
    "theory": "theory",
    "learners": "learners",
    "create": "stored_learners",
    "ask": "tickets",
    "fill": "tickets",
    "next": "next_step",
    "tell": "tickets",
    "correct": "correct",
    "drop": "tickets",
    "tickets": "tickets",
    "status": "stored_learners",
    "verify": "stored_learners",
    "backup": "backups",
    "restore": "backups",
    "delete": "stored_learners",
    "serve": "serve",
    "keys": "keys",
}
ONE_BUDGET = ("run", "compare", "diagnose", "theory")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"keyhole {__version__}")
        raise typer.Exit


def keyhole(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Learn from examples when every feature of every example costs something to read.

    Results go to standard output; progress goes to standard error if that is a terminal. Exit
    codes: 0 success, 2 unusable input, 130 interrupted, 1 a bug.

    \b
    Examples:
      keyhole run                                        the simulated clinic, 42 tests
      keyhole run flats.csv --target rent --budget 8     your own file
      keyhole run flats.csv --target rent --prices prices.csv --budget 40    for money
      keyhole advise flats.csv --target rent             how many features to buy
      keyhole compare flats.csv --target rent --learner auto --learner random
      keyhole create clinic --features features.csv --budget 8    a learner you ask and tell
      keyhole serve --demo                               the clinic as a service, with pages
      keyhole COMMAND --help
    """


@functools.cache
def application(typed: str | None = None) -> typer.Typer:
    """The application with the command that was typed, or with all commands."""
    app = typer.Typer(
        name="keyhole",
        rich_markup_mode=None,  # plain help: the same everywhere, and several times as fast
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        callback=keyhole,
    )
    for name in [typed] if typed in COMMANDS else COMMANDS:
        module = importlib.import_module(f"keyhole.cli.{COMMANDS[name]}")
        if name == "keys":
            app.add_typer(module.app, name=name)
            continue
        app.command(
            name,
            cls=OneBudget if name in ONE_BUDGET else TyperCommand,
            # So that a label below 0 is not taken for an option.
            context_settings={"ignore_unknown_options": True} if name == "tell" else None,
        )(getattr(module, name))
    return app


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; what went wrong is one line on standard error."""
    if "_KEYHOLE_COMPLETE" in os.environ:  # the shell asks what could follow
        application()(prog_name="keyhole")
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed before we began
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    for out in (sys.stdout, sys.stderr):
        reconfigure = getattr(out, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")  # a terminal without ± is no reason to fail
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        return _invoke(given)
    except KeyboardInterrupt:
        return _say("interrupted", INTERRUPTED)
    except BrokenPipeError:
        _give_up(sys.stdout)  # the reader left, `| head` for instance
        return SUCCESS
    except Exception as error:
        line = _one_line(error)
        if line is None:
            raise
        return _say(line, REFUSED)


def _invoke(given: list[str]) -> int:
    command = typer.main.get_command(application(given[0] if given else None))
    try:
        with command.make_context("keyhole", given or ["--help"]) as context:
            command.invoke(context)
    except typer.Exit as left:
        sys.stdout.flush()
        return left.exit_code
    sys.stdout.flush()
    return SUCCESS


def _one_line(error: Exception) -> str | None:
    """What to tell about an error that is not ours; None for a bug."""
    # Errors of usage: their class is not public in every version of typer, this method is.
    explain = getattr(error, "format_message", None)
    if explain is not None:
        words = " ".join(str(explain()).split()).replace("Value error, ", "")
        return f"{words} (keyhole --help)"
    from keyhole.errors import KeyholeError

    if isinstance(error, KeyholeError):
        from keyhole.cli.spoken import in_options

        return in_options(str(error))
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) and error.errno in NO_SPACE_ERRORS:
        return f"standard output cannot be written: {error.strerror}"
    return None


def _say(line: str, code: int) -> int:
    from keyhole.errors import printable

    for out, text in ((sys.stdout, ""), (sys.stderr, f"keyhole: {printable(line)}\n")):
        try:
            out.write(text)
            out.flush()
        except OSError:  # full, or closed by its reader
            _give_up(out)
    return code


def _give_up(out: TextIO) -> None:
    """What is still buffered has nowhere to go; Python would try again on the way out."""
    with contextlib.suppress(OSError, ValueError):  # not a file: nothing to do
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
