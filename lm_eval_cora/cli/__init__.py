"""The command line of `lm-eval-cora`. Results go to stdout or a file, messages to stderr."""

import argparse
import os
import re
import signal
import sys
import traceback
from collections.abc import Collection, Sequence
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from shlex import join
from textwrap import indent
from typing import TextIO

from lm_eval_cora import __version__
from lm_eval_cora.cli.console import ERROR_STATUS, Parser, say
from lm_eval_cora.errors import UserError
from lm_eval_cora.writing import STDOUT

_COMMANDS = ("run", "report", "compare", "plan", "gate", "score", "export", "methods", "leaderboard", "read", "tasks")
"""The commands, in the order of `--help`, each a module that is imported only for its own arguments. Its docstring is
the help: a sentence, examples and remarks. It has `add_arguments` and `run`, which returns the exit status if that is
not 0."""

_FOR_SCRIPTS = ("plan", "gate", "leaderboard")  # commands that end with `ERROR_STATUS` after an error
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
        given, others = make_parser(arguments).parse_known_args(arguments)
        if others and given.name != "run":
            given.parser.error(f"unrecognized arguments: {' '.join(others)}")
    except SystemExit as ended:
        _note_error(arguments, ended.__cause__)
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
    _note_error(arguments, message)
    say(f"lm-eval-cora {given.name}: {message}")
    return int(given.error_status)


def _note_error(arguments: Sequence[str], error: object) -> None:
    if {*arguments[:1]} & {"gate", "leaderboard"}:
        import_module("lm_eval_cora.cli.gate").note_error(arguments, error)


def make_parser(words: Collection[str] = _COMMANDS) -> argparse.ArgumentParser:
    """Make the parser of the command line, with the arguments of the commands that are among some words."""
    parser = Parser(
        prog="lm-eval-cora",
        description="Run `lm_eval` with fewer requests, and report, compare and export its results.",
        epilog="lm-eval-cora COMMAND --help shows the arguments of a command, with examples.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, dest="name")
    for name in _COMMANDS:
        source = Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")  # importing it is slow
        summary, _, about = source.split('"""')[1].partition("\n\n")
        examples, blank, remarks = about.rstrip().partition("\n\n")
        subparser: Parser = commands.add_parser(
            name,
            help=f"{summary[:1].lower()}{summary[1:-1]}",
            description=summary,
            epilog=f"examples:\n{indent(examples, '  ')}{blank}{remarks}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        status, subparser.usage_status = (ERROR_STATUS,) * 2 if name in _FOR_SCRIPTS else (1, 2)
        if name in words:
            command = import_module(f"lm_eval_cora.cli.{name}")
            command.add_arguments(subparser)
            subparser.set_defaults(command=command, parser=subparser, error_status=status)
    return parser
