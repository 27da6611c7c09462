"""What the commands share: the parser, arguments, checks of paths, and how results and messages are written.

Help and errors need no more than this module. So it imports what reads runs and writes tables where it is used.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, get_args

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.messages import did_you_mean
from lm_eval_cora.questions.question import Reader, printable
from lm_eval_cora.writing import STDOUT, check_file, write_file

if TYPE_CHECKING:
    from lm_eval_cora.runs.model_run import Run
    from lm_eval_cora.tables.table import Table

ERROR_STATUS = 3
"""Exit status after an error of `gate`, whose results are 0, 1 and 2, and of commands for the same scripts."""

_OTHER_FORMATS = (".pdf", ".svg", ".png", ".jpg", ".jpeg", ".docx", ".xlsx", ".pptx")
"""Suffixes of files that no command writes as its output."""

_PATHS = ("DIR", "FILE", "FOLDER", "OUT", "PATH", "RUN")  # arguments with these names in the help are paths
Given = argparse.Namespace  # the arguments that a command was given


class Parser(argparse.ArgumentParser):
    """A parser that suggests commands, options and choices, as `suggest_on_error` of Python 3.14 does."""

    usage_status = 2

    def argument(self, names: str, metavar: str | None, about: str, group: Any = None, **settings: Any) -> None:
        """Add an argument: a path if `_PATHS` has its metavar, a switch if it has no metavar and no settings."""
        if metavar is not None:
            settings["metavar"] = metavar
        elif not settings:
            settings["action"] = "store_true"
        if metavar in _PATHS:
            settings["type"] = Path
        (group or self).add_argument(*names.split(), help=about, **settings)

    def shared(self, *keys: str) -> None:
        """Add arguments that several commands have."""
        for key in keys:
            names, metavar, about, settings = _SHARED[key]
            self.argument(names, metavar, about, **settings)

    def error(self, message: str, others: Iterable[str] = ()) -> NoReturn:
        """Print the usage and an error message, with suggestions also from other options, and exit."""
        word, known = "", set(others)
        if chosen := re.search(r"invalid choice: (['\"])(.*)\1 \(choose from (.*)\)$", message, re.DOTALL):
            word, known = chosen[2], set(re.findall(r"[\w.-]+", chosen[3]))
        elif unknown := re.search(r"unrecognized arguments: .*?(?<!\S)(--?\w[^\s=]*)", message, re.DOTALL):
            word, known = unknown[1], known | set(self._option_string_actions)
        meant = did_you_mean(word, known)
        self.print_usage(sys.stderr)
        print(f"{self.prog}: error: {message}{f'.{meant}' if meant else ''}", file=sys.stderr)
        raise SystemExit(self.usage_status) from UserError(message)


REPEATED: dict[str, Any] = {"action": "append", "default": []}  # settings of an argument that may be repeated
_SHARED: dict[str, tuple[str, str | None, str, dict[str, Any]]] = {
    "label": (
        "--label",
        "OUT=NAME",
        "name of the model of a path; may be repeated. Default: the model's name without its path",
        REPEATED,
    ),
    "out": (
        "out",
        "OUT",
        "samples of any task (the --output_path of a run with --log_samples), logs or answers, as for score",
        {"nargs": "+"},
    ),
    "select": (
        "--select",
        "MODEL",
        "the model whose runs are used, if there are several. Default: all, or the only one",
        {"default": ""},
    ),
    "reader": (
        "--reader",
        None,
        """how to read the saved responses: as a careful person would (flexible) or by the papers' rules (strict).
    Default: the reader of each run""",
        {"choices": get_args(Reader)},
    ),
    "json": ("--json", None, "print JSON with all digits", {}),
}
"""Names, metavar, help and settings of arguments that several commands have."""


def between(low: float, high: float, read: Callable[[str], float] = int) -> Callable[[str], float]:
    """Make the type of a number in a range."""

    def checked(text: str) -> float:
        number = read(text)
        if not low <= number <= high:
            raise argparse.ArgumentTypeError(f"expected a number from {low:,} to {high:,}, got {text}")
        return number

    checked.__name__ = "whole number" if read is int else "number"  # argparse: "invalid whole number value"
    return checked


def labels_of(given: Given) -> dict[Path, str]:
    """The names of models given by --label PATH=NAME."""
    labels = {}
    for text in given.label:
        places = (found.start() for found in re.finditer("=", text))  # a path may contain one, too
        place = next((place for place in places if Path(text[:place]) in given.out), len(text))
        name = text[place + 1 :].strip()
        if not name:
            paths = ", ".join(map(str, given.out))
            raise UserError(f"--label {text}: expected PATH=NAME with one of the paths {paths}, and a name")
        labels[Path(text[:place])] = name
    if repeated := [name for name, count in Counter(labels.values()).items() if count > 1]:
        raise UserError(f"--label: expected a different name for each path, got {repeated[0]!r} twice")
    return labels


def read_runs_of(given: Given) -> list[Run]:
    """Read the runs and print their warnings to stderr."""
    from lm_eval_cora.runs.grouping import read_runs
    from lm_eval_cora.runs.model_run import selected

    runs = selected(read_runs(given.out, reader=given.reader, labels=labels_of(given)), given.select)
    say(*warnings_of(runs))
    return runs


def warnings_of(runs: Iterable[Run]) -> list[str]:
    """The warnings of runs, with the names of model and task."""
    return [f"{run.model}, {run.task}: {warning}" for run in runs for warning in run.warnings]


def check_output(path: Path) -> None:
    """Check the file of -o, whose format is named, before the runs are read, which may take minutes."""
    if path.suffix.lower() in _OTHER_FORMATS:
        from lm_eval_cora.export.output_formats import FORMATS

        raise UserError(
            f"-o {path}: there is no such format. Charts as PDF, SVG and PNG: lm-eval-cora report OUT --figures "
            f"DIR. Formats of report: html, md, json, csv; of export: {', '.join(FORMATS)}"
        )
    check_file(path, "-o")


def write_json(value: Any, path: Path = STDOUT) -> None:
    """Write a value as JSON, on lines."""
    write(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n", path)


def show(given: Given, value: Any, tables: Iterable[Table], note: str = "") -> None:
    """Print a value as JSON if --json is given, else tables."""
    if given.json:
        write_json(value)
    else:
        print_tables(tables, note)


def print_tables(tables: Iterable[Table], note: str = "") -> None:
    """Print tables with their titles, and a note."""
    from lm_eval_cora.tables.table_formats import one_line, table_as_text

    texts = [f"{one_line(table.title)}\n\n{table_as_text(table.columns, table.rows)}" for table in tables]
    print(coloured("\n\n".join([*texts, note] if note else texts)))


_COLOURS = {"pass": 32, "fail": 31, "undecided": 33}  # green, red and yellow, as numbers of ANSI
_OUTCOME = re.compile(rf"(?<= )({'|'.join(_COLOURS)})(?=[ ,]|$)", re.MULTILINE)


def coloured(text: str) -> str:
    """Colour the outcomes of a gate in a text if stdout is a terminal that may show colours (https://no-color.org)."""
    is_plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    if is_plain or not sys.stdout.isatty():
        return text
    return _OUTCOME.sub(lambda found: f"\x1b[{_COLOURS[found[1]]}m{found[1]}\x1b[0m", text)


def write(content: str | bytes, path: Path) -> None:
    """Write a file and say so, or write a text to stdout if the path is `STDOUT`."""
    if path == STDOUT and isinstance(content, str):
        sys.stdout.write(content)
    else:
        write_file(path, content)
        say(f"wrote {path}")


def say(*texts: str) -> None:
    """Print messages to stderr, a line each, because names in them may be hostile. Nobody has to read them.

    Messages that are equal but for the names before the colon are one.
    """
    with suppress(BrokenPipeError):
        about: dict[str, list[str]] = {}
        for text in dict.fromkeys(texts):
            about.setdefault(text.partition(": ")[2] or text, []).append(text)
        for note, (*others, last) in about.items():
            names = (text.removesuffix(note)[:-2] for text in others)
            print(printable("; ".join([*names, last])), file=sys.stderr)
