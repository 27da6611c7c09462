"""The command line of `lm-eval-cora`. Results go to stdout or a file, messages to stderr."""

from __future__ import annotations

import argparse
import os
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from shlex import join
from typing import TextIO

from lm_eval_cora import __version__
from lm_eval_cora.cli import compare, export, gate, guess, leaderboard, plan, read, report, run, score, tasks
from lm_eval_cora.cli.arguments import Command, Parser
from lm_eval_cora.cli.output import STDOUT
from lm_eval_cora.errors import UserError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Returns:
        The exit status: 0 on success, 1 after an error, 130 after Ctrl-C. 1 and 2 are results of `gate`, so it returns
        3 after an error, as do `plan`, `leaderboard`, `compare --history` and exports for leaderboards of the Hub.
    """
    with _streams():
        return _main(arguments)


@contextmanager
def _streams() -> Iterator[None]:
    """Let stdout and stderr take any text, also if they are closed, and end without an error if nobody reads them."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed with >&- in the shell; files opened later must not take its place
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream := getattr(sys, name), TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # escape what the terminal cannot print
    try:
        yield
    finally:
        _flush(sys.stdout)
        _flush(sys.stderr)


def _flush(stream: TextIO) -> None:
    try:
        stream.flush()
    except OSError:  # discard the rest, because Python flushes again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _main(arguments: Sequence[str] | None) -> int:
    given, others = make_parser().parse_known_args(arguments)
    if others and given.command is not run.run_harness:
        given.parser.error(f"unrecognized arguments: {' '.join(others)}")
    given.others = others
    given.typed = _typed(sys.argv[1:] if arguments is None else arguments)
    status = 0
    try:
        command: Command = given.command
        status = command(given) or 0
        sys.stdout.flush()
    except UserError as error:
        if getattr(given, "verbose", False) and error.__cause__ is not None:
            traceback.print_exception(error.__cause__)
        print(f"lm-eval-cora {given.name}: {error}", file=sys.stderr)
        return int(given.error_status)
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        if isinstance(error, BrokenPipeError):  # for example after `| head`
            return status
        output = getattr(given, "output", None) or STDOUT
        where = error.filename or ("standard output" if output == STDOUT else output)
        message = f"{where}: {error.strerror}" if error.strerror else error  # our own errors name the file
        print(f"lm-eval-cora {given.name}: {message}", file=sys.stderr)
        return int(given.error_status)
    return status


_SECRET = re.compile(r"(token|key|header)=", re.IGNORECASE)


def _typed(arguments: Sequence[str]) -> str:
    """The command line as typed, for messages and logs; replaced by a placeholder if an argument contains a secret."""
    if any(_SECRET.search(argument) for argument in arguments):
        return "(not shown, because it contains a secret)"
    return join(["lm-eval-cora", *arguments])


_COMMANDS = (run, report, compare, plan, gate, score, export, leaderboard, read, guess, tasks)
"""The commands, in the order of `--help`."""


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
        command.add(commands)
    return parser
