"""The command line: arguments, and what goes where. Results go to stdout or a file, all else to stderr."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from io import TextIOWrapper
from math import floor
from pathlib import Path
from typing import Any

from lm_eval_cora import __version__
from lm_eval_cora.benchmarks import BenchmarkError
from lm_eval_cora.metrics.estimate import for_json
from lm_eval_cora.metrics.guessing import CERTAIN, MOST_VARIANTS, at_least, msgr
from lm_eval_cora.options import OptionError
from lm_eval_cora.question import shorten
from lm_eval_cora.report import ReportError
from lm_eval_cora.report.answers_file import read_answers, score_answers
from lm_eval_cora.report.compare import as_json as comparison_as_json
from lm_eval_cora.report.compare import as_table, compare, pair_runs
from lm_eval_cora.report.page import render
from lm_eval_cora.report.plots import check_drawing
from lm_eval_cora.report.runs import Run, read_runs
from lm_eval_cora.report.sections import make_report
from lm_eval_cora.report.text import as_csv, as_json, as_markdown, table_as_text
from lm_eval_cora.task_files import task_list, tasks_folder

_STDOUT = Path("-")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: As on the command line, without the program's name.

    Returns:
        The exit status: 0, 1 after an error, 130 after Ctrl-C. Bad usage ends in 2, by argparse.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that cannot print a character must not end a report
            stream.reconfigure(errors="backslashreplace")
    given = _parser().parse_args(arguments)
    try:
        command: Callable[[argparse.Namespace], None] = given.command
        command(given)
        sys.stdout.flush()
    except (ReportError, OptionError, BenchmarkError) as error:
        print(f"lm-eval-cora {given.name}: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # `| head` has seen enough; what Python flushes at its end has nowhere to go
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        print(f"lm-eval-cora {given.name}: {error.filename or ''}: {error.strerror or error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _report(given: argparse.Namespace) -> None:
    if given.format == "html":
        check_drawing()  # before minutes of reading
    runs = _runs(given.out)
    output = given.output or (Path("report.html") if given.format == "html" else _STDOUT)
    if given.format == "json":
        text = as_json(runs)
    elif given.format == "csv":
        text = as_csv(runs)
    else:
        report = make_report(runs, given.title)
        text = as_markdown(report) if given.format == "md" else render(report)
    _write(text, output)


def _runs(paths: Sequence[Path]) -> list[Run]:
    """The runs, and on stderr what the reader must know about them."""
    runs = read_runs(paths)
    for run in runs:
        notes = [*run.notes, *(f"the results file says something else: {told}" for told in run.differences)]
        for note in notes:
            _say(f"{run.model}, {run.task}: {note}")
    return runs


def _compare(given: argparse.Namespace) -> None:
    before, after = read_runs([given.first]), read_runs([given.second])
    pairs = pair_runs(before, after)
    compared = [(one, other, compare(one, other)) for one, other in pairs]
    if given.json:
        _print_json([comparison_as_json(*row) for row in compared])
        return
    for one, other, rows in compared:
        table = as_table(one, other, rows)
        print(f"{table.title}\n\n{table_as_text(table.columns, table.rows)}\n\n{table.note}\n")
    alone = {run.task for run in (*before, *after)} - {run.task for pair in pairs for run in pair}
    if alone:
        _say(f"only in one of the two: {', '.join(sorted(alone))}")


def _score(given: argparse.Namespace) -> None:
    table = read_answers(given.file)
    scores = score_answers(table)
    reasons = {name: score.reason for name, score in scores.items() if score.reason}
    if given.json:
        metrics = for_json({name: score.estimate for name, score in scores.items()})
        counts = {"questions": len(table.sizes), "answers": len(table.picked)}
        _print_json({**counts, "metrics": metrics, "undefined": reasons})
        return
    rows = [
        [name, f"{score.estimate.value:.4f}", "±", f"{score.estimate.stderr:.4f}".replace("nan", "N/A")]
        for name, score in scores.items()
        if not score.reason
    ]
    print(table_as_text(["Metric", "Value", "", "Stderr"], rows))
    smallest, largest = int(table.sizes.min()), int(table.sizes.max())
    variants = f"{smallest}" if smallest == largest else f"{smallest} to {largest}"
    _say(f"{len(table.sizes):,} questions with {variants} variants")
    for reason in dict.fromkeys(reasons.values()):
        _say(f"undefined: {', '.join(name for name in reasons if reasons[name] == reason)}: {reason}")


def _export(given: argparse.Namespace) -> None:
    runs = _runs(given.out)
    if given.format == "csv":
        _write(as_csv(runs), given.output or _STDOUT)
    elif given.format == "model-index":
        from lm_eval_cora.export.model_index import model_index  # huggingface_hub takes a second to import

        _write(model_index(runs), given.output or _STDOUT)
    else:
        from lm_eval_cora.export.every_eval_ever import write_every_eval_ever

        for path in write_every_eval_ever(runs, given.output or Path("every_eval_ever")):
            print(path)


def _guess(given: argparse.Namespace) -> None:
    rate = 1 / given.options if given.rate is None else given.rate
    chances, rates = at_least(given.variants, rate), msgr(given.variants, given.certain)
    if given.json:
        rows = [
            {"at_least": p, "probability": float(chance), "msgr": float(least)}
            for p, (chance, least) in enumerate(zip(chances, rates, strict=True))
        ]
        _print_json({"variants": given.variants, "rate": rate, "certain": given.certain, "rows": rows})
        return
    print(
        f"{given.variants} variants, each right with probability {rate:.4g}: the chance that at least p are right; and "
        f"MSGR(p), the success rate from which at least p are right with probability {given.certain:g}.\n"
    )
    # Truncated, as the paper prints it: a rate is not reached by rounding up.
    table: list[list[str | int]] = [
        [p, f"{chance:.7f}" if chance >= 1e-7 else f"{chance:.1e}", f"{floor(least * 1e4) / 1e4:.4f}"]
        for p, (chance, least) in enumerate(zip(chances, rates, strict=True))
    ]
    print(table_as_text(["p", "P(at least p)", "MSGR(p)"], table))


def _tasks(given: argparse.Namespace) -> None:
    if given.check:
        from lm_eval_cora.harness.rehearsal import rehearse  # the harness takes seconds to import

        costs = rehearse(
            [name for names in given.check for name in names.split(",")],
            given.metadata,
            num_fewshot=given.num_fewshot,
            limit=given.limit,
            include_path=given.include_path,
        )
        for name, cost in costs.items():
            print(f"{name}: {cost}")
        return
    rows: list[list[str | int]] = []
    for task in task_list():
        fewest, most = task.docs_per_question()
        docs: str | int = most if fewest == most else f"{fewest} to {most}"
        rows.append([task.name, task.benchmark.published_rows or "yours", docs])
    print(table_as_text(["task", "questions", "docs per question"], rows))
    print(f"\nThe task files are in {tasks_folder()}")


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def _write(text: str, path: Path) -> None:
    if path == _STDOUT:
        sys.stdout.write(text)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="backslashreplace")  # half an emoji is no text of a file
    _say(f"wrote {path}")


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lm-eval-cora",
        description="Look at, compare and hand on what `lm_eval run --tasks cora_...` measured.",
        epilog="lm-eval-cora COMMAND --help shows what a command takes, with examples.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, dest="name")

    report = _command(
        commands,
        "report",
        _report,
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
    report.add_argument("--format", choices=["html", "md", "json", "csv"], default="html")
    report.add_argument("--title", default="Consistency of the answers", help="title of the page")

    comparing = _command(
        commands,
        "compare",
        _compare,
        "the difference of two runs on the same questions, with errors",
        "lm-eval-cora compare out/small out/large",
    )
    comparing.add_argument("first", type=Path, metavar="A", help="output folder of the harness, one model")
    comparing.add_argument("second", type=Path, metavar="B", help="another; the difference is B - A")
    _add_json(comparing)

    score = _command(
        commands,
        "score",
        _score,
        "the metrics of answers got without the harness",
        "lm-eval-cora score answers.jsonl --json\n\n"
        "a line of the file:\n"
        '  {"question_id": "q1", "kind": "shuffled", "ordinal": 1, "picked": "Fog", "answer": "Ice",\n'
        '   "options": ["Fog", "Ice"], "category": "water"}\n\n'
        "picked is null where the answer is invalid. Without options, which may be left out as the\n"
        "category may, all pairs of variants count as comparable. A variant of the kind original is\n"
        "needed for mcqa, ci and cora.",
    )
    score.add_argument("file", type=Path, metavar="FILE.jsonl")
    _add_json(score)

    export = _command(
        commands,
        "export",
        _export,
        "the numbers as leaderboards and model cards take them",
        "lm-eval-cora export out/ --format every-eval-ever -o records/\n"
        "  lm-eval-cora export out/ --format model-index >> README.md\n"
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

    guess = _command(
        commands,
        "guess",
        _guess,
        "how far guessing gets (CoRA, appendix A)",
        "lm-eval-cora guess --options 5 --variants 10",
    )
    guess.add_argument("--options", type=_whole(2, 1_000_000), default=5, help="options of a question (default: 5)")
    guess.add_argument(
        "--variants", type=_whole(1, MOST_VARIANTS), default=10, help="variants of a question (default: 10)"
    )
    guess.add_argument("--rate", type=_share, help="chance of a right answer, instead of 1 / options")
    guess.add_argument(
        "--certain", type=_share_inside, default=CERTAIN, help=f"probability that counts as always (default: {CERTAIN})"
    )
    _add_json(guess)

    tasks = _command(
        commands,
        "tasks",
        _tasks,
        "the tasks; what a run would cost, and whether it would start",
        "lm-eval-cora tasks\n"
        "  lm-eval-cora tasks --check cora_medqa\n"
        """  lm-eval-cora tasks --check cora_local --metadata '{"cora": {"data_files": "my.jsonl"}}'""",
    )
    tasks.add_argument(
        "--check", nargs="+", metavar="TASK", help="load tasks or groups, and build their requests, without a model"
    )
    tasks.add_argument("--metadata", type=_json_object, default={}, metavar="JSON", help="as for lm_eval run")
    tasks.add_argument("--num_fewshot", type=_whole(0, 1_000), metavar="N", help="as for lm_eval run")
    tasks.add_argument("--limit", type=_whole(1, 10**9), metavar="N", help="as for lm_eval run: variants")
    tasks.add_argument("--include_path", type=Path, metavar="FOLDER", help="task files of your own")
    return parser


def _command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], None], summary: str, examples: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"examples:\n  {examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=run)
    return parser


def _add_out(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "out", nargs="+", type=Path, metavar="OUT", help="what --output_path named, or files in it; with --log_samples"
    )


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="all digits, as JSON")


def _whole(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        number = int(text)
        if not low <= number <= high:
            raise argparse.ArgumentTypeError(f"{number} is not from {low:,} to {high:,}")
        return number

    read.__name__ = "whole number"
    return read


def _share(text: str) -> float:
    number = float(text)
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not from 0 to 1")
    return number


def _share_inside(text: str) -> float:
    number = float(text)
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return number


def _json_object(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise argparse.ArgumentTypeError(f"is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"""is {shorten(text)}, not an object such as '{{"cora": {{"seed": 1}}}}'""")
    return value
