"""The arguments of the command line: what may stand there, and what --help says of it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn, get_args

from lm_eval_cora import __version__
from lm_eval_cora.answers import Reader
from lm_eval_cora.metrics.guessing import CERTAIN
from lm_eval_cora.stopping.rule import EXACT
from lm_eval_cora.suggestions import did_you_mean

Command = Callable[[argparse.Namespace], None]


class _Parser(argparse.ArgumentParser):
    """A parser that suggests commands, options and choices, as `suggest_on_error` of Python 3.14 does."""

    def error(self, message: str) -> NoReturn:
        self.usage_error(message)

    def usage_error(self, message: str, *, others: Iterable[str] = ()) -> NoReturn:
        """Print the usage and what is wrong, and end the program.

        Args:
            message: What is wrong.
            others: Options that another program takes.
        """
        word, known = "", set(others)
        if chosen := re.search(r"invalid choice: (['\"])(.*)\1 \(choose from (.*)\)$", message, re.DOTALL):
            word, known = chosen[2], set(re.findall(r"[\w.-]+", chosen[3]))
        elif unknown := re.search(r"unrecognized arguments: .*?(?<!\S)(--?\w[^\s=]*)", message, re.DOTALL):
            word, known = unknown[1], known | set(self._option_string_actions)
        meant = did_you_mean(word, known)
        super().error(f"{message}.{meant}" if meant else message)


def make_parser(run: Mapping[str, Command]) -> argparse.ArgumentParser:
    """The parser of the command line.

    Args:
        run: The function of each command.

    Returns:
        A parser whose namespaces hold that function as `command`, and as `usage_error` what says that the arguments
        are wrong and ends the program.
    """
    parser = _Parser(
        prog="lm-eval-cora",
        description="Run `lm_eval` for fewer requests; look at, compare and hand on what it measured.",
        epilog="lm-eval-cora COMMAND --help shows what a command takes, with examples.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, dest="name")

    running = _command(
        commands,
        "run",
        run["run"],
        "what `lm_eval run` does, with as few requests as it takes",
        "lm-eval-cora run --model hf --model_args pretrained=ORG/MODEL --tasks cora_medqa --stop exact\n"
        "  lm-eval-cora run --model hf --model_args pretrained=ORG/MODEL --tasks cora_mmlu --stop exact "
        "--target-stderr 0.01\n\n"
        "All other options are those of `lm_eval run`: lm_eval run --help. No text is sent twice, also without the\n"
        "options above. docs/cost.md says what each of them saves.",
        abbreviations=False,  # --s would be the harness' --samples
    )
    running.usage = (
        "%(prog)s [-h] [--stop exact] [--budget N | --target-stderr E] [--max_gen_toks N,N] [--no_cache] [--verbose] "
        "ARGUMENTS OF lm_eval run"
    )
    running.add_argument(
        "--stop",
        choices=[EXACT],
        help="ask each question only until its first wrong answer: cora, ci, mcqa and bmca@1.0 are those of the full "
        "run, other metrics are not printed",
    )
    running.add_argument(
        "--budget",
        type=_between(1, 10**12),
        metavar="N",
        help="ask whole questions, drawn by the seed, for at most N requests, of all tasks together; where letters are "
        "scored (_mc) each is one",
    )
    running.add_argument(
        *("--target-stderr", "--target_stderr"),  # the harness' options have the other line
        type=_between(1e-6, 1, float),
        metavar="E",
        help="ask whole questions, drawn by the seed, until the standard error of cora is below E, which is looked at "
        "after 100 and each further quarter",
    )

    running.add_argument(
        *("--max_gen_toks", "--max-gen-toks"),
        type=_growing,
        default=(),
        metavar="N,N",
        help="tokens of a written answer: with 32,512 all are asked for with 32, and those that are cut off before "
        "their answer is settled again with 512; the scores are those of 512",
    )

    running.add_argument(
        *("--no_cache", "--no-cache"),
        action="store_true",
        help="do not keep greedy answers in a file in the folder of --output_path, from which a run that died goes on",
    )
    running.add_argument("--verbose", action="store_true", help="show the traceback of an error, too")

    report = _command(
        commands,
        "report",
        run["report"],
        "a page (or text) of one run or several, models side by side",
        "lm-eval-cora report out/\n"
        "  lm-eval-cora report out/small out/large -o both.html\n"
        "  lm-eval-cora report out/ --format md",
    )
    _add_out(report)
    report.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="where to write; - is stdout. Default: report.html, text formats to stdout",
    )
    report.add_argument(
        "--format",
        choices=["html", "md", "json", "csv"],
        help="html: a page with plots; md: its tables; json, csv: every metric. Default: as -o ends, else html",
    )
    _add_reader(report)
    report.add_argument("--title", default="Consistency of the answers", help="title of the page and of md")

    comparing = _command(
        commands,
        "compare",
        run["compare"],
        "the difference of two runs on the same questions, with errors",
        "lm-eval-cora compare out/small out/large",
    )
    comparing.add_argument("first", type=Path, metavar="A", help="output folder of the harness, one model")
    comparing.add_argument("second", type=Path, metavar="B", help="another; the difference is B - A")
    _add_reader(comparing)
    _add_json(comparing)

    score = _command(
        commands,
        "score",
        run["score"],
        "the metrics of answers got without the harness",
        "lm-eval-cora score answers.jsonl --json\n\n"
        "lines of the file:\n"
        '{"question_id": 1, "kind": "original", "ordinal": 0, '
        '"picked": "Ice", "answer": "Ice", "options": ["Ice", "Fog"]}\n'
        '{"question_id": 1, "kind": "shuffled", "ordinal": 1, '
        '"picked": "Fog", "answer": "Ice", "options": ["Fog", "Ice"]}\n\n'
        "picked is null where the answer is invalid. options, category, followed (true or false) and\n"
        "reader (a name) may be left out; without options all pairs of variants count as comparable.\n"
        "A variant of the kind original is needed for mcqa, ci and cora.",
    )
    score.add_argument("file", type=Path, metavar="FILE.jsonl")
    _add_json(score)

    export = _command(
        commands,
        "export",
        run["export"],
        "the numbers as leaderboards and model cards take them",
        "lm-eval-cora export out/ --format every-eval-ever -o records/\n"
        "  lm-eval-cora export out/ --format model-index -o card.yml     # goes between the --- of a model card\n"
        "  lm-eval-cora export out/ --format csv -o scores.csv",
    )
    _add_out(export)
    export.add_argument("--format", choices=["every-eval-ever", "model-index", "csv"], required=True)
    export.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="PATH",
        help="a folder for every-eval-ever (default: every_eval_ever), else a file (default: stdout)",
    )
    _add_reader(export)

    guess = _command(
        commands,
        "guess",
        run["guess"],
        "how far guessing gets, and the minimum success guessing rate, MSGR (CoRA, appendix A)",
        "lm-eval-cora guess --options 5 --variants 10",
    )
    guess.add_argument("--options", type=_between(2, 1_000_000), default=5, help="options of a question (default: 5)")
    guess.add_argument("--variants", type=_between(1, 1_000), default=10, help="variants of a question (default: 10)")
    guess.add_argument("--rate", type=_between(0, 1, float), help="chance of a right answer, instead of 1 / options")
    guess.add_argument(
        "--certain",
        type=_between(1e-9, 1 - 1e-9, float),
        default=CERTAIN,
        help=f"probability that counts as always (default: {CERTAIN})",
    )
    _add_json(guess)

    tasks = _command(
        commands,
        "tasks",
        run["tasks"],
        "the tasks; what a run would cost, and whether it would start",
        "lm-eval-cora tasks medqa\n"
        '  lm_eval ls tasks --include_path "$(lm-eval-cora tasks --path)"\n'
        "  lm-eval-cora tasks --check cora_medqa\n"
        """  lm-eval-cora tasks --check cora_local --metadata '{"cora": {"data_files": "my.jsonl"}}'""",
    )
    tasks.add_argument(
        "names", nargs="*", metavar="TASK", help="tasks or groups; without --check a part of the name will do"
    )
    tasks.add_argument("--path", action="store_true", help="print only the folder of the task files")
    tasks.add_argument("--check", action="store_true", help="load them and build their requests, without a model")
    tasks.add_argument(
        "--metadata",
        nargs="+",
        action="append",
        default=[],
        metavar="ARG",
        help="with --check, as for lm_eval run: JSON, or key=value for what is not of this package",
    )
    tasks.add_argument("--num_fewshot", type=_between(0, 1_000), metavar="N", help="with --check, as for lm_eval run")
    tasks.add_argument(
        "--limit", type=_between(1, 10**9), metavar="N", help="with --check, as for lm_eval run: variants"
    )
    tasks.add_argument("--include_path", type=Path, metavar="FOLDER", help="with --check: task files of your own")
    return parser


def _command(
    commands: Any, name: str, run: Command, summary: str, examples: str, *, abbreviations: bool = True
) -> argparse.ArgumentParser:
    parser: _Parser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"examples:\n  {examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=abbreviations,
    )
    parser.set_defaults(command=run, usage_error=parser.usage_error)
    return parser


def _add_out(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "out", nargs="+", type=Path, metavar="OUT", help="what --output_path named, or files in it; with --log_samples"
    )


def _add_reader(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--reader",
        choices=get_args(Reader),
        help="read the responses of the samples again: as a careful person does, or by the papers' rules. "
        "Default: as each run read them",
    )


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="all digits, as JSON")


def _between(low: float, high: float, read: Callable[[str], float] = int) -> Callable[[str], float]:
    def checked(text: str) -> float:
        number = read(text)
        if not low <= number <= high:
            raise argparse.ArgumentTypeError(f"{text} is not from {low:,} to {high:,}")
        return number

    checked.__name__ = "whole number" if read is int else "number"  # argparse: "invalid whole number value"
    return checked


def _growing(text: str) -> tuple[int, ...]:
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if not numbers or numbers[0] < 1 or list(numbers) != sorted(set(numbers)):
        raise argparse.ArgumentTypeError(f"{text!r}: expected one whole number, or growing ones such as 32,512")
    return numbers
