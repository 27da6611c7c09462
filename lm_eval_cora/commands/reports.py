"""The commands `report`, `compare` and `export`, which read runs and files of answers."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from lm_eval_cora.arguments.parser import ERROR_STATUS
from lm_eval_cora.commands.output import STDOUT, check_folder, check_output, print_json, say, write_text
from lm_eval_cora.errors import UserError
from lm_eval_cora.export.score_tables import as_latex, tables_as_markdown
from lm_eval_cora.report.comparison import compare_models
from lm_eval_cora.report.drawing.charts import check_drawing
from lm_eval_cora.report.figures import write_figures
from lm_eval_cora.report.page import render
from lm_eval_cora.report.run import Run
from lm_eval_cora.report.runs import read_runs
from lm_eval_cora.report.sections import charts_of, make_report
from lm_eval_cora.report.text import as_csv, as_json, as_markdown, table_as_text


def write_report(given: argparse.Namespace) -> None:
    """Write the report of runs as a page, text or numbers, and its charts as files."""
    kind = given.format or _format_of(given.output)
    if kind == "html" or given.figures:
        check_drawing()  # reading the runs may take minutes
    if given.width and not given.figures:
        given.parser.error("--width: expected --figures DIR, too")
    output = given.output or (Path("report.html") if kind == "html" else STDOUT)
    check_output(output)
    if given.figures:
        check_folder(given.figures, "--figures")
    runs = _runs(given)
    report = make_report(runs, given.title) if kind in ("html", "md") or given.figures else None
    if kind == "json":
        text = as_json(runs)
    elif kind == "csv":
        text = as_csv(runs)
    else:
        assert report is not None
        text = as_markdown(report) if kind == "md" else render(report)
    write_text(text, output)
    if given.figures and report is not None:
        paths = write_figures(charts_of(report), given.figures, given.width)
        say(f"wrote {len(paths)} files to {given.figures}")


_FORMAT_OF = {".html": "html", ".htm": "html", ".md": "md", ".json": "json", ".csv": "csv"}


def _format_of(output: Path | None) -> str:
    """The format of a report by the name of its file."""
    if output is None or output == STDOUT or not output.suffix:
        return "html"
    found = _FORMAT_OF.get(output.suffix.lower())
    if found is None:
        raise UserError(
            f"-o {output}: expected a name that ends in {', '.join(_FORMAT_OF)}, or --format. For charts as PDF, SVG "
            "and PNG: --figures DIR. For a table in LaTeX: lm-eval-cora export --format latex"
        )
    return found


def print_comparison(given: argparse.Namespace) -> None:
    """Print the differences between models."""
    if given.output:
        given.parser.error("-o: expected --history, too")
    found = compare_models(
        given.out,
        reader=given.reader,
        labels=labels_of(given),
        baseline=given.baseline,
        metrics=given.metric,
    )
    for note in found.notes:
        say(note)
    if found.values and given.json:
        print_json(found.values)
    elif found.values:
        for table in found.tables:
            print(f"{table.title}\n\n{table_as_text(table.columns, table.rows)}\n")
        print(found.explanation)
    if found.refused:
        raise UserError("\n".join(found.refused))


_OPTIONS_OF = {
    "eval-results": ("dataset", "task_id", "task", "metric", "percent", "source_url", "source_name", "source_user"),
    "eval-yaml": ("dataset", "metric"),
    "every-eval-ever": ("organization", "relationship"),
}
"""The options of each format for public leaderboards."""


def write_export(given: argparse.Namespace) -> None:
    """Write runs in a format of leaderboards, model cards or papers."""
    accepted = _OPTIONS_OF.get(given.format, ())
    if given.format in ("eval-results", "eval-yaml"):
        given.error_status = ERROR_STATUS
    for name in dict.fromkeys(name for names in _OPTIONS_OF.values() for name in names):
        if getattr(given, name) and name not in accepted:
            raise UserError(f"--{name.replace('_', '-')}: --format {given.format} does not accept it. Leave it out")
    if given.format == "every-eval-ever":
        folder = given.output or Path("every_eval_ever")
        if folder == STDOUT or folder.is_file():
            raise UserError(f"-o {folder}: expected a folder, because every-eval-ever writes several files")
    elif given.format in ("eval-results", "eval-yaml"):
        write_text(_for_the_hub(given), given.output or STDOUT)
        return
    else:
        check_output(given.output or STDOUT)
    runs = _runs(given)
    if given.format == "csv":
        write_text(as_csv(runs), given.output or STDOUT)
    elif given.format in ("latex", "markdown"):
        write_text(as_latex(runs) if given.format == "latex" else tables_as_markdown(runs), given.output or STDOUT)
    elif given.format == "model-index":
        from lm_eval_cora.export.model_index import model_index  # huggingface_hub takes a second to import

        write_text(model_index(runs), given.output or STDOUT)
    else:
        from lm_eval_cora.export.every_eval_ever import write_every_eval_ever

        for path in write_every_eval_ever(runs, folder, given.organization, given.relationship):
            print(path)


def _for_the_hub(given: argparse.Namespace) -> str:
    """Make the file of a model's result or of a benchmark. On an error not even the folder of the output is made."""
    from lm_eval_cora.export.eval_results import Filing, eval_results, other_source, run_to_file
    from lm_eval_cora.export.eval_yaml import TO_REGISTER, eval_yaml

    needed = ("dataset", "task_id") if given.format == "eval-results" else ("dataset",)
    if missing := [f"--{name.replace('_', '-')}" for name in needed if not getattr(given, name)]:
        raise UserError(f"--format {given.format}: expected {' and '.join(missing)}, the ids on the Hub")
    if given.format == "eval-yaml":
        text, note = eval_yaml(_runs(given), given.dataset, given.metric), TO_REGISTER
    else:
        source = (given.source_url, given.source_name, given.source_user)
        filing = Filing(given.dataset, given.task_id, *source)
        run = run_to_file(_runs(given), given.task)
        text = eval_results(run, filing, metric=given.metric, percent=given.percent)
        note = other_source(run, filing)
    check_output(given.output or STDOUT)
    if note:
        say(note)
    return text


def _runs(given: argparse.Namespace) -> list[Run]:
    """Read the runs and print their warnings to stderr."""
    runs = read_runs(given.out, reader=given.reader, labels=labels_of(given))
    for run in runs:
        for note in run.warnings:
            say(f"{run.model}, {run.task}: {note}")
    return runs


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
