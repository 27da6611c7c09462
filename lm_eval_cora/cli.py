"""The command line of `lm-eval-cora`. Results go to stdout or a file, messages to stderr."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from shlex import join
from typing import TextIO

from lm_eval_cora.arguments import make_parser
from lm_eval_cora.arguments.parser import Command
from lm_eval_cora.commands.gates import check_gate
from lm_eval_cora.commands.history import print_history
from lm_eval_cora.commands.leaderboard import write_leaderboard
from lm_eval_cora.commands.listing import list_tasks
from lm_eval_cora.commands.output import STDOUT
from lm_eval_cora.commands.plans import print_plan
from lm_eval_cora.commands.reports import print_comparison, write_export, write_report
from lm_eval_cora.commands.running import run_harness
from lm_eval_cora.commands.scoring import print_answer, print_guessing, print_scores
from lm_eval_cora.errors import UserError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command."""
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
    given, others = make_parser(_COMMANDS).parse_known_args(arguments)
    if others and given.command is not run_harness:
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


_COMMANDS: dict[str, Command] = {
    "run": run_harness,
    "report": write_report,
    "compare": lambda given: print_history(given) if given.history else print_comparison(given),
    "plan": print_plan,
    "gate": check_gate,
    "score": print_scores,
    "export": write_export,
    "leaderboard": write_leaderboard,
    "read": print_answer,
    "guess": print_guessing,
    "tasks": list_tasks,
}
