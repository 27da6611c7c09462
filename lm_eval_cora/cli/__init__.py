"""The command line of `lm-eval-cora`. Results go to stdout or a file, messages to stderr."""

import argparse
import os
import re
import signal
import sys
import traceback
from collections.abc import Sequence
from io import TextIOWrapper
from shlex import join
from textwrap import indent
from typing import Any, TextIO

from lm_eval_cora import __version__
from lm_eval_cora.cli import compare, export, gate, leaderboard, plan, read, report, run, score, tasks
from lm_eval_cora.cli.console import ERROR_STATUS, Parser, say
from lm_eval_cora.errors import UserError
from lm_eval_cora.report.writing import STDOUT

_COMMANDS: tuple[Any, ...] = (run, report, compare, plan, gate, score, export, leaderboard, read, tasks)
"""The commands, in the order of `--help`. The docstring of a module is the help of its command: a sentence, examples
and remarks. It has `add_arguments` and `run`, which returns the exit status if that is not 0."""

_SECRET = re.compile(r"""(token|key|headers?|secret|password|authorization)["']*\s*[=:]""", re.IGNORECASE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Returns:
        The exit status: 0 on success, 1 after an error, 130 after Ctrl-C. 1 and 2 are results of `gate`, so it returns
        3 after an error, as do `plan`, `leaderboard`, `compare --history` and exports for leaderboards of the Hub.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed with >&- in the shell; files opened later must not take its place
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream := getattr(sys, name), TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # escape what the terminal cannot print
    try:
        return _run(sys.argv[1:] if arguments is None else arguments)
    finally:
        _flush(sys.stdout)
        _flush(sys.stderr)


def _flush(stream: TextIO) -> None:
    try:
        stream.flush()
    except OSError:  # nobody reads it: discard the rest, because Python flushes again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _run(arguments: Sequence[str]) -> int:
    try:
        given, others = make_parser().parse_known_args(arguments)
        if others and given.name != "run":
            given.parser.error(f"unrecognized arguments: {' '.join(others)}")
    except SystemExit as ended:
        gate.note_error(arguments, ended.__cause__)
        raise
    typed = join(["lm-eval-cora", *arguments])
    given.typed = "(not shown, because it contains a secret)" if _SECRET.search(typed) else typed  # for logs
    given.others, given.status = others, 0
    try:
        given.status = given.command.run(given) or given.status
        sys.stdout.flush()
        return int(given.status)
    except UserError as error:
        if getattr(given, "verbose", False) and error.__cause__ is not None:
            traceback.print_exception(error.__cause__)
        message = str(error)
    except KeyboardInterrupt as stopped:
        return 128 + int((stopped.args or [signal.SIGINT])[0])  # as a shell says which signal ended a program
    except BrokenPipeError:  # for example after `| head`
        return int(given.status)
    except OSError as error:
        output = getattr(given, "output", None) or STDOUT
        where = error.filename or ("standard output" if output == STDOUT else output)
        message = f"{where}: {error.strerror}" if error.strerror else str(error)
    gate.note_error(arguments, message)
    say(f"lm-eval-cora {given.name}: {message}")
    return int(given.error_status)


def make_parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    parser = Parser(
        prog="lm-eval-cora",
        description="Run `lm_eval` with fewer requests, and report, compare and export its results.",
        epilog="lm-eval-cora COMMAND --help shows the arguments of a command, with examples.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, dest="name")
    for command in _COMMANDS:
        summary, _, about = (command.__doc__ or "").partition("\n\n")  # none with python -OO
        examples, blank, remarks = about.rstrip().partition("\n\n")
        subparser: Parser = commands.add_parser(
            command.__name__.rpartition(".")[2],
            help=f"{summary[:1].lower()}{summary[1:-1]}",
            description=summary,
            epilog=f"examples:\n{indent(examples, '  ')}{blank}{remarks}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(subparser)
        status, subparser.usage_status = (ERROR_STATUS,) * 2 if command in (plan, gate, leaderboard) else (1, 2)
        subparser.set_defaults(command=command, parser=subparser, error_status=status)
    return parser
