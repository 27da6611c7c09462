"""The commands of `lm-eval-cora`. Results go to stdout or a file, messages to stderr."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from math import floor, isnan
from pathlib import Path
from shlex import join, quote
from typing import Any, TextIO

import yaml

from lm_eval_cora.answer_columns import COLUMNS
from lm_eval_cora.answer_rows import read_answers
from lm_eval_cora.arguments import make_parser
from lm_eval_cora.benchmarks import BenchmarkError
from lm_eval_cora.discovery.location import remove_leftovers, tasks_folder
from lm_eval_cora.export.score_tables import as_latex, tables_as_markdown
from lm_eval_cora.metrics.estimate import Estimate, for_json
from lm_eval_cora.metrics.guessing import at_least, msgr
from lm_eval_cora.options import OptionError
from lm_eval_cora.report import ReportError
from lm_eval_cora.report.comparison import compare_models
from lm_eval_cora.report.drawing.charts import check_drawing
from lm_eval_cora.report.figures import write_figures
from lm_eval_cora.report.page import render
from lm_eval_cora.report.runs import Run, read_runs
from lm_eval_cora.report.sections import charts_of, make_report
from lm_eval_cora.report.text import as_csv, as_json, as_markdown, table_as_text
from lm_eval_cora.report.writing import replace_file
from lm_eval_cora.sources import scores_of_rows
from lm_eval_cora.suggestions import did_you_mean
from lm_eval_cora.task_files import TaskFile, task_list

_STDOUT = Path("-")

HARNESS = "lm-eval>=0.4.12,<0.5"
"""The harness that this package needs, as in pyproject.toml."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: The arguments of the command line, without the program's name; None reads `sys.argv`.

    Returns:
        The exit status: 0 on success, 1 after an error, 130 after Ctrl-C.

    Raises:
        SystemExit: With status 2 if the usage is wrong, and with 0 after `--help` and `--version`.
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
    given, others = make_parser(_COMMANDS).parse_known_args(arguments)
    if others and given.command is not _run:
        given.usage_error(f"unrecognized arguments: {' '.join(others)}")
    given.others = others
    given.typed = _typed(sys.argv[1:] if arguments is None else arguments)
    for folder in remove_leftovers():
        _say(f"lm-eval-cora: {folder} is left over from version 0.1.0. Delete it: rm -r {quote(str(folder))}")
    try:
        command: Callable[[argparse.Namespace], None] = given.command
        command(given)
        sys.stdout.flush()
    except (ReportError, OptionError, BenchmarkError) as error:
        if getattr(given, "verbose", False) and error.__cause__ is not None:
            traceback.print_exception(error.__cause__)
        print(f"lm-eval-cora {given.name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        if isinstance(error, BrokenPipeError):  # for example after `| head`
            return 0
        where = error.filename or getattr(given, "output", None) or "standard output"
        message = f"{where}: {error.strerror}" if error.strerror else error  # our own errors name the file
        print(f"lm-eval-cora {given.name}: {message}", file=sys.stderr)
        return 1
    return 0


_SECRET = re.compile(r"(token|key|header)=", re.IGNORECASE)


def _typed(arguments: Sequence[str]) -> str:
    """The command line as typed, for messages and logs; replaced by a placeholder if an argument contains a secret."""
    if any(_SECRET.search(argument) for argument in arguments):
        return "(not shown, because it contains a secret)"
    return join(["lm-eval-cora", *arguments])


@contextmanager
def _importing_the_harness() -> Iterator[None]:
    """Turn the ImportError of a missing, shadowed or outdated harness into a one-line error."""
    try:
        yield
    except ImportError as error:
        raise ReportError(
            f"cannot import the harness: {str(error).partition(chr(10))[0]}. Install it for {sys.executable}: "
            f"pip install '{HARNESS}'"
        ) from None


def _run(given: argparse.Namespace) -> None:
    with _importing_the_harness():
        from lm_eval_cora.harness.run import RunDied, run  # takes seconds

    _as_the_harness_parses(given, given.others)
    try:
        run(
            given.others,
            stop=given.stop,
            budget=given.budget,
            target=given.target_stderr,
            whole=given.target,
            limits=given.max_gen_toks,
            keeps=not given.no_cache,
            command=given.typed,
        )
    except RunDied as died:
        if isinstance(died.__cause__, KeyboardInterrupt):
            _say(f"\nlm-eval-cora run: {died}")
            raise died.__cause__ from None
        _say("")  # end the line of a progress bar
        raise ReportError(str(died)) from died.__cause__


def _as_the_harness_parses(given: argparse.Namespace, arguments: Sequence[str]) -> argparse.Namespace:
    """Parse arguments with the harness' own parser. If it refuses them, print our usage and exit."""
    with _importing_the_harness():
        from lm_eval_cora.harness.dry_run import UsageError, harness_arguments, harness_options  # takes seconds

    try:
        return harness_arguments(arguments)
    except UsageError as error:
        how = f". {_HOW}" if "--metadata" in arguments and "recognized" not in str(error) else ""
        given.usage_error(f"{error}{how}", others=harness_options())
        raise


_HOW = """Pass the options of lm-eval-cora as JSON: --metadata '{"cora": {"seed": 1}}'"""


def _report(given: argparse.Namespace) -> None:
    kind = given.format or _format_of(given.output)
    if kind == "html" or given.figures:
        check_drawing()  # reading the runs may take minutes
    if given.width and not given.figures:
        given.usage_error("--width: expected --figures DIR, too")
    output = given.output or (Path("report.html") if kind == "html" else _STDOUT)
    _check_output(output)
    if given.figures and given.figures.exists() and not given.figures.is_dir():
        raise ReportError(f"--figures {given.figures}: expected a folder, got a file")
    runs = _runs(given)
    report = make_report(runs, given.title) if kind in ("html", "md") or given.figures else None
    if kind == "json":
        text = as_json(runs)
    elif kind == "csv":
        text = as_csv(runs)
    else:
        assert report is not None
        text = as_markdown(report) if kind == "md" else render(report)
    _write(text, output)
    if given.figures and report is not None:
        paths = write_figures(charts_of(report), given.figures, given.width)
        _say(f"wrote {len(paths)} files to {given.figures}")


_FORMAT_OF = {".html": "html", ".htm": "html", ".md": "md", ".json": "json", ".csv": "csv"}


def _format_of(output: Path | None) -> str:
    """The format of a report by the name of its file.

    Raises:
        ReportError: If the name has another suffix.
    """
    if output is None or output == _STDOUT or not output.suffix:
        return "html"
    found = _FORMAT_OF.get(output.suffix.lower())
    if found is None:
        raise ReportError(
            f"-o {output}: expected a name that ends in {', '.join(_FORMAT_OF)}, or --format. For charts as PDF, SVG "
            "and PNG: --figures DIR. For a table in LaTeX: lm-eval-cora export --format latex"
        )
    return found


def _runs(given: argparse.Namespace) -> list[Run]:
    """Read the runs and print their warnings to stderr."""
    runs = read_runs(given.out, reader=given.reader, labels=_labels(given))
    for run in runs:
        for note in run.warnings:
            _say(f"{run.model}, {run.task}: {note}")
    return runs


def _compare(given: argparse.Namespace) -> None:
    found = compare_models(
        given.out,
        reader=given.reader,
        labels=_labels(given),
        baseline=given.baseline,
        metrics=given.metric,
    )
    for note in found.notes:
        _say(note)
    if found.values and given.json:
        _print_json(found.values)
    elif found.values:
        for table in found.tables:
            print(f"{table.title}\n\n{table_as_text(table.columns, table.rows)}\n")
        print(found.explanation)
    if found.refused:
        raise ReportError("\n".join(found.refused))


def _labels(given: argparse.Namespace) -> dict[Path, str]:
    """The names of models given by --label PATH=NAME.

    Raises:
        ReportError: If a label has no name, or its path is none of the paths.
    """
    labels = {}
    for text in given.label:
        path = next((path for path in given.out if text.startswith((f"{path}=", f"{path}/="))), None)
        name = "" if path is None else text.removeprefix(str(path)).lstrip("/")[1:].strip()
        if path is None or not name:
            raise ReportError(
                f"--label {text}: expected PATH=NAME with one of the paths {', '.join(map(str, given.out))}, and a name"
            )
        labels[path] = name
    if repeated := [name for name, count in Counter(labels.values()).items() if count > 1]:
        raise ReportError(f"--label: expected a different name for each path, got {repeated[0]!r} twice")
    return labels


def _score(given: argparse.Namespace) -> None:
    rows = read_answers(given.file, {column: getattr(given, column) for column in COLUMNS})
    scores = scores_of_rows(rows)
    if given.json:
        counts = {"questions": scores.questions, "answers": scores.answers, "readers": rows.readers}
        _print_json({**counts, "metrics": for_json(dict(scores)), "undefined": scores.undefined})
        return
    cells = [
        [name, f"{estimate.value:.4f}", "±", f"{estimate.stderr:.4f}".replace("nan", "N/A"), _interval(estimate)]
        for name, estimate in scores.items()
        if name not in scores.undefined
    ]
    print(table_as_text(["Metric", "Value", "", "Stderr", "95%"], cells))
    _say(scores.size)
    for note in scores.remarks:
        _say(note)


def _interval(estimate: Estimate) -> str:
    low, high = estimate.interval
    return "" if isnan(low) else f"[{low:.4f}, {high:.4f}]"


def _export(given: argparse.Namespace) -> None:
    if given.format == "every-eval-ever":
        folder = given.output or Path("every_eval_ever")
        if folder == _STDOUT or folder.is_file():
            raise ReportError(f"-o {folder}: expected a folder, because every-eval-ever writes several files")
    else:
        _check_output(given.output or _STDOUT)
    runs = _runs(given)
    if given.format == "csv":
        _write(as_csv(runs), given.output or _STDOUT)
    elif given.format in ("latex", "markdown"):
        _write(as_latex(runs) if given.format == "latex" else tables_as_markdown(runs), given.output or _STDOUT)
    elif given.format == "model-index":
        from lm_eval_cora.export.model_index import model_index  # huggingface_hub takes a second to import

        _write(model_index(runs), given.output or _STDOUT)
    else:
        from lm_eval_cora.export.every_eval_ever import write_every_eval_ever

        for path in write_every_eval_ever(runs, folder):
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
        f"{given.variants} variants of a question, each answered correctly with probability {rate:.4g}.\n"
        "P(at least p): probability that at least p variants are correct.\n"
        f"MSGR(p): lowest success rate at which at least p variants are correct with probability {given.certain:g}.\n"
    )
    # Truncated instead of rounded, as in the paper's table.
    table: list[list[str | int]] = [
        [p, f"{chance:.7f}" if chance >= 1e-7 else f"{chance:.1e}", f"{floor(least * 1e4) / 1e4:.4f}"]
        for p, (chance, least) in enumerate(zip(chances, rates, strict=True))
    ]
    print(table_as_text(["p", "P(at least p)", "MSGR(p)"], table))


def _tasks(given: argparse.Namespace) -> None:
    metadata, names = _metadata(given) if given.metadata else ({}, given.names)
    if given.path:
        if given.check or names:
            given.usage_error("--path: expected neither TASK nor --check. Use --path alone")
        print(tasks_folder())
        return
    if given.check:
        if not names:
            given.usage_error("--check: expected a task or group, for example: lm-eval-cora tasks --check cora_medqa")
        if given.include_path and not given.include_path.is_dir():
            raise ReportError(f"--include_path {given.include_path}: there is no such folder")
        with _importing_the_harness():
            from lm_eval_cora.harness.dry_run import dry_run  # takes seconds

        costs = dry_run(
            [name for part in names for name in part.split(",")],
            metadata,
            num_fewshot=given.num_fewshot,
            limit=given.limit,
            include_path=given.include_path,
        )
        for name, cost in costs.items():
            print(f"{name}: {cost}")
        return
    rows: list[list[str | int]] = []
    for task in _matching(names):
        fewest, most = task.docs_per_question()
        docs: str | int = most if fewest == most else f"{fewest} to {most}"
        rows.append([task.name, task.benchmark.published_rows or "yours", docs])
    print(table_as_text(["task", "questions", "docs per question"], rows))
    print(f"\nA doc is one variant of a question. The task files are in {tasks_folder()}")


def _metadata(given: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Parse `--metadata` as the harness does; return it and all task names, including those typed after it."""
    arguments = ["--tasks", "any"]
    names = list(given.names)
    for first, *words in given.metadata:
        arguments += ["--metadata", first, *(word for word in words if "=" in word)]
        names += [word for word in words if "=" not in word]
    return _as_the_harness_parses(given, arguments).metadata or {}, names


def _matching(parts: Sequence[str]) -> list[TaskFile]:
    """Find the tasks whose names contain one of the parts or that belong to a group of that name; without parts all.

    Raises:
        ReportError: If a part matches no task and no group.
    """
    tasks = task_list()
    groups = {path.stem: path for path in (tasks_folder() / "_groups").glob("*.yaml")}
    chosen = set() if parts else {task.name for task in tasks}
    for part in parts:
        found = {task.name for task in tasks if part in task.name}
        if not found and part in groups:
            found = set(yaml.safe_load(groups[part].read_text(encoding="utf-8"))["task"])
        if not found:
            known = [*groups, *(task.name for task in tasks)]
            meant = did_you_mean(part, known) or did_you_mean(f"cora_{part}", known)
            raise ReportError(f"{part!r} matches no task and no group.{meant} To list all tasks: lm-eval-cora tasks")
        chosen |= found
    return [task for task in tasks if task.name in chosen]


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def _write(text: str, path: Path) -> None:
    if path == _STDOUT:
        sys.stdout.write(text)
        return
    replace_file(path, text.encode("utf-8", "backslashreplace"))  # lone surrogates cannot be encoded
    _say(f"wrote {path}")


def _check_output(path: Path) -> None:
    """Check the output path before the runs are read, which may take minutes."""
    if path.is_dir():
        raise ReportError(f"-o {path}: expected a file, got a folder")
    if path != _STDOUT:
        path.parent.mkdir(parents=True, exist_ok=True)


def _say(text: str) -> None:
    print(text, file=sys.stderr)


_COMMANDS = {
    "run": _run,
    "report": _report,
    "compare": _compare,
    "score": _score,
    "export": _export,
    "guess": _guess,
    "tasks": _tasks,
}
