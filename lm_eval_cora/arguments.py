"""The argument parser of `lm-eval-cora`, with the texts of `--help`."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn, get_args

from lm_eval_cora import __version__
from lm_eval_cora.answer_columns import COLUMNS
from lm_eval_cora.answers import Reader
from lm_eval_cora.metrics.guessing import CERTAIN
from lm_eval_cora.options import OptionError
from lm_eval_cora.planning.sample_size import LEVEL, POWER
from lm_eval_cora.planning.typical import CORRELATION
from lm_eval_cora.stopping.rule import EXACT
from lm_eval_cora.stopping.whole import parse_target
from lm_eval_cora.suggestions import did_you_mean

EXPORTS = ["eval-results", "eval-yaml", "every-eval-ever", "model-index", "latex", "markdown", "csv"]
"""The formats of `export`."""

HUB_ERROR_STATUS = 3
"""Exit status of `export` after an error in a file for a leaderboard of the Hub, so that scripts do not submit it."""

Command = Callable[[argparse.Namespace], int | None]
"""A command: it writes its results, and returns the exit status if that is not 0."""


class _Parser(argparse.ArgumentParser):
    """A parser that suggests commands, options and choices, as `suggest_on_error` of Python 3.14 does.

    Attributes:
        usage_status: Exit status after wrong arguments.
    """

    usage_status = 2

    def error(self, message: str) -> NoReturn:
        self.usage_error(message)

    def usage_error(self, message: str, *, others: Iterable[str] = ()) -> NoReturn:
        """Print the usage and an error message, and exit with `usage_status`.

        Args:
            message: The error message.
            others: Options of another program, for suggestions.
        """
        word, known = "", set(others)
        if chosen := re.search(r"invalid choice: (['\"])(.*)\1 \(choose from (.*)\)$", message, re.DOTALL):
            word, known = chosen[2], set(re.findall(r"[\w.-]+", chosen[3]))
        elif unknown := re.search(r"unrecognized arguments: .*?(?<!\S)(--?\w[^\s=]*)", message, re.DOTALL):
            word, known = unknown[1], known | set(self._option_string_actions)
        meant = did_you_mean(word, known)
        self.print_usage(sys.stderr)
        self.exit(self.usage_status, f"{self.prog}: error: {message}{f'.{meant}' if meant else ''}\n")


def make_parser(run: Mapping[str, Command]) -> argparse.ArgumentParser:
    """Make the parser of the command line.

    Args:
        run: The function of each command.

    Returns:
        A parser. Its namespaces contain the function as `command`, and as `usage_error` the function that reports
        wrong arguments and exits.
    """
    parser = _Parser(
        prog="lm-eval-cora",
        description="Run `lm_eval` with fewer requests, and report, compare and export its results.",
        epilog="lm-eval-cora COMMAND --help shows the arguments of a command, with examples.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, dest="name")

    running = _command(
        commands,
        "run",
        run["run"],
        "run `lm_eval` with fewer requests",
        "lm-eval-cora run --model hf --model_args pretrained=ORG/MODEL --tasks cora_medqa --stop exact\n"
        "  lm-eval-cora run --model hf --model_args pretrained=ORG/MODEL --tasks cora_mmlu --stop exact "
        "--target-stderr 0.01\n\n"
        "All options of `lm_eval run` work here, too: lm_eval run --help. Identical requests are sent once, with or\n"
        "without the options above.",
        abbreviations=False,  # otherwise --s would mean our --stop, not the harness' --samples
    )
    running.usage = (
        "%(prog)s [-h] [--stop exact] [--budget N | --target-stderr E | --target whole:E] [--max_gen_toks N,N] "
        "[--no_cache] [--verbose] ARGUMENTS OF lm_eval run"
    )
    running.add_argument(
        "--stop",
        choices=[EXACT],
        help="stop each question at its first wrong answer. cora, ci, mcqa and bmca@1.0 equal those of the full run; "
        "other metrics are not printed",
    )
    running.add_argument(
        "--budget",
        type=_between(1, 10**12),
        metavar="N",
        help="send at most N requests, for all tasks together, on a random sample of questions (see the option seed). "
        "In tasks that score letters (_mc) each letter is one request. The tasks get the same number of questions. "
        "Standard errors are about other questions of the same kind, not about the full benchmark",
    )
    running.add_argument(
        *("--target-stderr", "--target_stderr"),  # the harness writes its options with underscores
        type=_between(1e-6, 1, float),
        metavar="E",
        help="add randomly drawn questions (see the option seed) until the standard error of cora is below E. The "
        "error is tested after 100 questions and after each increase by a quarter. It is about other questions of the "
        "same kind, not about the full benchmark",
    )
    running.add_argument(
        "--target",
        type=_whole,
        metavar="whole:E",
        help="estimate the values that the full benchmark would give: ask the originals of randomly drawn questions, "
        "and follow randomly drawn right ones to their first wrong answer, until half the width of the 95%% interval "
        "of cora is at most E. Standard errors are about the full benchmark: they are 0 if everything is asked. Only "
        "cora, ci, mcqa and bmca@1.0 are printed",
    )

    running.add_argument(
        *("--max_gen_toks", "--max-gen-toks"),
        type=_increasing,
        default=(),
        metavar="N,N",
        help="token limits of a written answer. With 32,512 every answer is first limited to 32 tokens. If it is cut "
        "off before it is settled, it is requested again with 512. The scores are those of 512",
    )

    running.add_argument(
        *("--no_cache", "--no-cache"),
        action="store_true",
        help="do not save greedy answers in the folder of --output_path. An interrupted run resumes from the saved "
        "answers",
    )
    running.add_argument("--verbose", action="store_true", help="print the traceback of an error")

    report = _command(
        commands,
        "report",
        run["report"],
        "make a page (or text) of one or more runs, with the models side by side",
        "lm-eval-cora report out/\n"
        "  lm-eval-cora report out/small out/large -o both.html\n"
        "  lm-eval-cora report out/ --format md\n"
        "  lm-eval-cora report out/ --figures figures/",
    )
    _add_out(report)
    report.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="output file; - is stdout. Default: report.html for html, stdout for the other formats",
    )
    report.add_argument(
        "--format",
        choices=["html", "md", "json", "csv"],
        help="html: a page with charts; md: its tables; json, csv: every metric. Default: by the file name of -o, else "
        "html",
    )
    report.add_argument(
        "--figures",
        type=Path,
        metavar="DIR",
        help="also write every chart to this folder, as SVG, PDF and PNG for a paper",
    )
    report.add_argument(
        "--width",
        type=_between(2, 20, float),
        metavar="INCHES",
        help="width of the figures (default: 3.4, a column of a two-column paper)",
    )
    _add_reader(report)
    report.add_argument("--title", default="Consistency of the answers", help="title of the html or md report")

    comparing = _command(
        commands,
        "compare",
        run["compare"],
        "compare models on the same questions, with standard errors and tests",
        "lm-eval-cora compare out/small out/large\n"
        "  lm-eval-cora compare out/small out/medium out/large --baseline out/small\n"
        "  lm-eval-cora compare --history checkpoints/ -o history.html\n\n"
        "With two models, every metric is compared; the difference is the second minus the first. With more, all\n"
        "pairs are compared, or each model with the baseline, with intervals that hold for all pairs together and\n"
        "p-values corrected by Holm's method. Runs of other tasks of the harness are compared document by document.",
    )
    _add_out(comparing)
    comparing.add_argument(
        "--baseline", metavar="MODEL", help="path or name of the model with which the others are compared"
    )
    comparing.add_argument(
        "--history",
        action="store_true",
        help="take the runs as versions of one model, sorted by date, and compare each with the version before",
    )
    comparing.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="with --history, also write a chart of the versions: a page (html) or a figure (svg, pdf, png)",
    )
    comparing.add_argument(
        "--metric",
        action="append",
        default=[],
        metavar="NAME",
        help="metric to compare; may be repeated. Default: all metrics of two models; of more models the task's "
        "leading metric, such as cora, and mcqa and bmca@1.0; with --history the leading metric",
    )
    _add_reader(comparing)
    _add_json(comparing)

    planning = _command(
        commands,
        "plan",
        run["plan"],
        "plan a comparison of two models: how many questions and requests find a difference",
        "lm-eval-cora plan --difference 0.02\n"
        "  lm-eval-cora plan --difference 0.02 --from out/small\n"
        "  lm-eval-cora plan --difference 0.02 --from out/small --from out/large --metric mcqa\n\n"
        "One run shows how much questions vary; two runs on the same questions also show how alike the models are.\n"
        "Without a run, the models of the CoRA paper's tables are used. Exit status 3: something cannot be read.",
        error_status=3,
    )
    planning.add_argument(
        "--difference", type=_between(1e-6, 1, float), required=True, metavar="D", help="the difference to find"
    )
    planning.add_argument(
        "--from",
        dest="out",
        action="append",
        default=[],
        type=Path,
        metavar="OUT",
        help="a run, as for report; may be given for a second model on the same questions",
    )
    planning.add_argument(
        "--metric", default="", metavar="NAME", help="metric to compare. Default: the task's leading one, such as cora"
    )
    planning.add_argument(
        "--power",
        type=_between(0.5, 0.9999, float),
        default=POWER,
        help=f"probability that the interval of the difference excludes 0 (default: {POWER})",
    )
    planning.add_argument(
        "--level",
        type=_between(0.5, 0.9999, float),
        default=LEVEL,
        help=f"confidence level of the interval (default: {LEVEL})",
    )
    planning.add_argument(
        "--correlation",
        type=_between(0, 0.99, float),
        metavar="R",
        help=f"correlation of the two models' results question by question, if it is not measured (default: "
        f"{CORRELATION})",
    )
    _add_reader(planning)
    _add_json(planning)

    gate = _command(
        commands,
        "gate",
        run["gate"],
        "check whether a run meets requirements, for use in CI",
        "lm-eval-cora gate out/new --require 'cora>=0.45' --require 'invalid<=0.05'\n"
        "  lm-eval-cora gate out/new --baseline out/old --no-worse cora:0.02\n"
        "  lm-eval-cora gate out/new --policy gate.yaml --junit gate.xml --json gate.json\n\n"
        "A requirement passes if the whole 95% interval meets it, fails if no part of it does, and is undecided\n"
        "otherwise. Exit status 0: all pass; 1: some requirement fails; 2: none fails, but some is undecided;\n"
        "3: the policy or a run cannot be read.",
        error_status=3,
    )
    gate.add_argument("out", type=Path, metavar="RUN", help="a run of one model, as for report")
    gate.add_argument(
        "--require",
        action="append",
        default=[],
        metavar="'[TASK:]METRIC>=X'",
        help="a lowest value, or a highest one with <=; may be repeated. Without TASK, for every task of the run",
    )
    gate.add_argument("--baseline", type=Path, metavar="OUT", help="the run of --no-worse, on the same questions")
    gate.add_argument(
        "--no-worse",
        action="append",
        default=[],
        metavar="'[TASK:]METRIC:MARGIN'",
        help="the run is worse than the baseline by MARGIN at most; may be repeated",
    )
    gate.add_argument("--policy", type=Path, metavar="FILE", help="a YAML file with the lists require and no_worse")
    gate.add_argument("--junit", type=Path, metavar="FILE", help="write the results as JUnit XML, too")
    gate.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON, too; - is stdout")
    _add_reader(gate)

    score = _command(
        commands,
        "score",
        run["score"],
        "compute the metrics of answers that were not collected with the harness",
        "lm-eval-cora score answers.csv --question id --correct ok --original is_original\n\n"
        "The file has one row per variant of a question: csv, tsv, json, jsonl or parquet. A column needs no option\n"
        "if it has its name (or question_id, ordinal, options). A line of a jsonl file, for example:\n"
        '{"question": "q1", "variant": "original", "picked": "Ice", "answer": "Ice", "printed": ["Ice", "Fog"]}\n\n'
        "report, compare, plan, gate and export accept such a file in place of a folder. It needs the usual names of\n"
        "columns.",
    )
    score.add_argument("file", type=Path, metavar="FILE", help="the answers")
    for name, column in COLUMNS.items():
        score.add_argument(f"--{name}", metavar="COLUMN", help=column.about)
    _add_json(score)

    export = _command(
        commands,
        "export",
        run["export"],
        "export results in the formats of leaderboards and model cards",
        "lm-eval-cora export out/ --format every-eval-ever -o records/\n"
        "  lm-eval-cora export out/ --format model-index -o card.yml     # paste it between the --- of a model card\n"
        "  lm-eval-cora export out/ --format latex -o table.tex           # needs \\usepackage{booktabs}\n"
        "  lm-eval-cora export out/ --format csv -o scores.csv\n"
        "  lm-eval-cora export out/ --format eval-results --dataset ORG/BENCHMARK --task-id cora_medqa -o cora.yaml\n"
        "  lm-eval-cora export out/ --format eval-yaml --dataset ORG/BENCHMARK -o eval.yaml\n\n"
        "eval-results is a file for .eval_results/ of a model repository on the Hub; eval-yaml makes a dataset on the\n"
        "Hub a benchmark. Nothing is uploaded. Exit status 3: one of these two cannot be made, nothing is written.",
    )
    _add_out(export)
    export.add_argument("--format", choices=EXPORTS, required=True)
    export.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="PATH",
        help="a folder for every-eval-ever (default: every_eval_ever), else a file (default: stdout)",
    )
    _add_reader(export)
    _add_hub(export)

    board = _command(
        commands,
        "leaderboard",
        run["leaderboard"],
        "make a page that ranks many models on many benchmarks",
        "lm-eval-cora leaderboard runs/ -o index.html\n"
        "  lm-eval-cora leaderboard runs/ -o site/index.html --reports site/reports --csv site/scores.csv\n"
        "  lm-eval-cora leaderboard records/ -o index.html    # records of export --format every-eval-ever\n\n"
        "Models that were not asked the same questions in the same way are never in one table. Models are compared\n"
        "question by question if the samples are there, else by their standard errors, which is conservative. The\n"
        "page links to a report.html beside the files of a run. Exit status: 0 on success, 3 after an error.",
        error_status=3,
    )
    _add_label(board)
    board.add_argument(
        "out",
        nargs="+",
        type=Path,
        metavar="DIR",
        help="a folder with outputs of runs with --log_samples, or with records; it is searched recursively",
    )
    board.add_argument(
        "-o", "--output", type=Path, default=Path("index.html"), metavar="FILE", help="the page (default: index.html)"
    )
    board.add_argument("--csv", type=Path, metavar="FILE", help="also write the scores as CSV; - is stdout")
    board.add_argument(
        "--reports", type=Path, metavar="DIR", help="also write a report page per run to this folder, and link to it"
    )
    board.add_argument("--title", default="Leaderboard", help="title of the page (default: Leaderboard)")
    _add_reader(board)

    guess = _command(
        commands,
        "guess",
        run["guess"],
        "show what guessing achieves, and the minimum success guessing rate, MSGR (CoRA, appendix A)",
        "lm-eval-cora guess --options 5 --variants 10",
    )
    guess.add_argument("--options", type=_between(2, 1_000_000), default=5, help="options per question (default: 5)")
    guess.add_argument("--variants", type=_between(1, 1_000), default=10, help="variants per question (default: 10)")
    guess.add_argument("--rate", type=_between(0, 1, float), help="chance of a correct answer (default: 1 / options)")
    guess.add_argument(
        "--certain",
        type=_between(1e-9, 1 - 1e-9, float),
        default=CERTAIN,
        help=f"probability that counts as certain, for MSGR (default: {CERTAIN})",
    )
    _add_json(guess)

    tasks = _command(
        commands,
        "tasks",
        run["tasks"],
        "list the tasks, or check that they would run and what they would cost",
        "lm-eval-cora tasks medqa\n"
        '  lm_eval ls tasks --include_path "$(lm-eval-cora tasks --path)"\n'
        "  lm-eval-cora tasks --check cora_medqa\n"
        """  lm-eval-cora tasks --check cora_local --metadata '{"cora": {"data_files": "my.jsonl"}}'""",
    )
    tasks.add_argument(
        "names", nargs="*", metavar="TASK", help="tasks or groups; without --check, part of a name is enough"
    )
    tasks.add_argument("--path", action="store_true", help="print only the folder of the task files")
    tasks.add_argument("--check", action="store_true", help="load the tasks and build their requests, without a model")
    tasks.add_argument(
        "--metadata",
        nargs="+",
        action="append",
        default=[],
        metavar="ARG",
        help="with --check, as for lm_eval run: options as JSON; key=value for other packages",
    )
    tasks.add_argument("--num_fewshot", type=_between(0, 1_000), metavar="N", help="with --check, as for lm_eval run")
    tasks.add_argument(
        "--limit", type=_between(1, 10**9), metavar="N", help="with --check, as for lm_eval run: number of variants"
    )
    tasks.add_argument("--include_path", type=Path, metavar="FOLDER", help="with --check: folder of your task files")
    return parser


def _command(
    commands: Any,
    name: str,
    run: Command,
    summary: str,
    examples: str,
    *,
    abbreviations: bool = True,
    error_status: int = 1,
) -> argparse.ArgumentParser:
    parser: _Parser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"examples:\n  {examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=abbreviations,
    )
    parser.set_defaults(command=run, usage_error=parser.usage_error, error_status=error_status)
    parser.usage_status = max(_Parser.usage_status, error_status)  # 2 is a result of `gate`
    return parser


def _add_label(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--label",
        action="append",
        default=[],
        metavar="OUT=NAME",
        help="name of the model of a path; may be repeated. Default: the model's name without its path",
    )


def _add_out(parser: argparse.ArgumentParser) -> None:
    _add_label(parser)
    parser.add_argument(
        "out",
        nargs="+",
        type=Path,
        metavar="OUT",
        help="the --output_path of a run with --log_samples, or files in it; or a file of answers (see score)",
    )


def _add_reader(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--reader",
        choices=get_args(Reader),
        help="how to read the saved responses: as a careful person would (flexible) or by the papers' rules (strict). "
        "Default: the reader of each run",
    )


def _add_hub(parser: argparse.ArgumentParser) -> None:
    hub = parser.add_argument_group("for eval-results and eval-yaml")
    for name, value, about in (
        ("dataset", "ORG/NAME", "id of the benchmark dataset on the Hub; required"),
        ("metric", "NAME", "metric on the leaderboard. Default: the task's leading one, such as cora"),
        ("task-id", "ID", "a task id in the dataset's eval.yaml; required for eval-results"),
        ("task", "NAME", "the task of the run to export, if there are several; only eval-results"),
        ("source-url", "URL", "address of logs or of a report; only eval-results"),
        ("source-name", "NAME", "name to show for this address; only eval-results"),
        ("source-user", "NAME", "user or organization on the Hub that made the result; only eval-results"),
    ):
        hub.add_argument(f"--{name}", default="", metavar=value, help=about)
    hub.add_argument(
        "--percent",
        action="store_true",
        help="write the value from 0 to 100, as some leaderboards have it, instead of 0 to 1; only eval-results",
    )


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON with all digits")


def _between(low: float, high: float, read: Callable[[str], float] = int) -> Callable[[str], float]:
    def checked(text: str) -> float:
        number = read(text)
        if not low <= number <= high:
            raise argparse.ArgumentTypeError(f"expected a number from {low:,} to {high:,}, got {text}")
        return number

    checked.__name__ = "whole number" if read is int else "number"  # argparse: "invalid whole number value"
    return checked


def _whole(text: str) -> str:
    try:
        parse_target(text)
    except OptionError as error:
        raise argparse.ArgumentTypeError(str(error).partition(": ")[2]) from None
    return text


def _increasing(text: str) -> tuple[int, ...]:
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if not numbers or numbers[0] < 1 or list(numbers) != sorted(set(numbers)):
        raise argparse.ArgumentTypeError(f"expected one whole number or increasing ones such as 32,512, got {text!r}")
    return numbers
