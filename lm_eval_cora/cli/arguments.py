"""The parser of a command, and the arguments that several commands have."""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn, get_args

from lm_eval_cora.answers import Reader
from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.messages import did_you_mean

Command = Callable[[argparse.Namespace], int | None]
"""A command: it writes its results, and returns the exit status if that is not 0."""


ERROR_STATUS = 3
"""Exit status after an error of `gate`, whose results are 0, 1 and 2, and of commands for the same scripts."""


class Parser(argparse.ArgumentParser):
    """A parser that suggests commands, options and choices, as `suggest_on_error` of Python 3.14 does.

    Attributes:
        usage_status: Exit status after wrong arguments.
    """

    usage_status = 2

    def error(self, message: str) -> NoReturn:
        """Report wrong arguments, and exit."""
        self.usage_error(message)

    def usage_error(self, message: str, *, others: Iterable[str] = ()) -> NoReturn:
        """Print the usage and an error message, and exit with `usage_status`."""
        word, known = "", set(others)
        if chosen := re.search(r"invalid choice: (['\"])(.*)\1 \(choose from (.*)\)$", message, re.DOTALL):
            word, known = chosen[2], set(re.findall(r"[\w.-]+", chosen[3]))
        elif unknown := re.search(r"unrecognized arguments: .*?(?<!\S)(--?\w[^\s=]*)", message, re.DOTALL):
            word, known = unknown[1], known | set(self._option_string_actions)
        meant = did_you_mean(word, known)
        self.print_usage(sys.stderr)
        self.exit(self.usage_status, f"{self.prog}: error: {message}{f'.{meant}' if meant else ''}\n")


def add_command(
    commands: Any,
    name: str,
    run: Command,
    summary: str,
    examples: str,
    *,
    abbreviations: bool = True,
    error_status: int = 1,
) -> argparse.ArgumentParser:
    """Add a command to the program."""
    parser: Parser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"examples:\n  {examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=abbreviations,
    )
    parser.set_defaults(command=run, parser=parser, error_status=error_status)
    parser.usage_status = max(Parser.usage_status, error_status)  # 2 is a result of `gate`
    return parser


def add_label(parser: argparse.ArgumentParser) -> None:
    """Add `--label`."""
    parser.add_argument(
        "--label",
        action="append",
        default=[],
        metavar="OUT=NAME",
        help="name of the model of a path; may be repeated. Default: the model's name without its path",
    )


def add_out(parser: argparse.ArgumentParser) -> None:
    """Add the paths of runs, and `--label`."""
    add_label(parser)
    parser.add_argument(
        "out",
        nargs="+",
        type=Path,
        metavar="OUT",
        help="the --output_path of a run with --log_samples, or files in it; or a file of answers (see score)",
    )


def add_reader(parser: argparse.ArgumentParser) -> None:
    """Add `--reader`."""
    parser.add_argument(
        "--reader",
        choices=get_args(Reader),
        help="how to read the saved responses: as a careful person would (flexible) or by the papers' rules (strict). "
        "Default: the reader of each run",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON with all digits")


def between(low: float, high: float, read: Callable[[str], float] = int) -> Callable[[str], float]:
    """Make the type of a number in a range."""

    def checked(text: str) -> float:
        number = read(text)
        if not low <= number <= high:
            raise argparse.ArgumentTypeError(f"expected a number from {low:,} to {high:,}, got {text}")
        return number

    checked.__name__ = "whole number" if read is int else "number"  # argparse: "invalid whole number value"
    return checked


def labels_of(given: argparse.Namespace) -> dict[Path, str]:
    """The names of models given by --label PATH=NAME."""
    labels = {}
    for text in given.label:
        places = [place for place, character in enumerate(text) if character == "="]  # a path may contain one, too
        place = next((place for place in places if Path(text[:place]) in given.out), None)
        path, name = (None, "") if place is None else (Path(text[:place]), text[place + 1 :].strip())
        if path is None or not name:
            raise UserError(
                f"--label {text}: expected PATH=NAME with one of the paths {', '.join(map(str, given.out))}, and a name"
            )
        labels[path] = name
    if repeated := [name for name, count in Counter(labels.values()).items() if count > 1]:
        raise UserError(f"--label: expected a different name for each path, got {repeated[0]!r} twice")
    return labels
