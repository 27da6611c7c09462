"""The command `export`, which writes formats of leaderboards, model cards and papers."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, get_args

from lm_eval_cora.cli.arguments import (
    ERROR_STATUS,
    add_command,
    add_out,
    add_reader,
)
from lm_eval_cora.cli.output import EXPORTS, STDOUT, check_output, read_runs_of, say, write_text
from lm_eval_cora.errors import UserError
from lm_eval_cora.export.every_eval_ever import Relationship
from lm_eval_cora.export.score_tables import as_latex, tables_as_markdown
from lm_eval_cora.report.text import as_csv


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "export",
        write_export,
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
    add_out(parser)
    parser.add_argument("--format", choices=EXPORTS, required=True)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="PATH",
        help="a folder for every-eval-ever (default: every_eval_ever), else a file (default: stdout)",
    )
    add_reader(parser)
    submitter = parser.add_argument_group("for every-eval-ever")
    submitter.add_argument("--organization", default="", metavar="NAME", help="who evaluated the models")
    submitter.add_argument(
        "--relationship",
        choices=get_args(Relationship),
        help="relationship of the organization to the makers of the models (default: other)",
    )
    _add_hub(parser)


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
    runs = read_runs_of(given)
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
        text, note = eval_yaml(read_runs_of(given), given.dataset, given.metric), TO_REGISTER
    else:
        source = (given.source_url, given.source_name, given.source_user)
        filing = Filing(given.dataset, given.task_id, *source)
        run = run_to_file(read_runs_of(given), given.task)
        text = eval_results(run, filing, metric=given.metric, percent=given.percent)
        note = other_source(run, filing)
    check_output(given.output or STDOUT)
    if note:
        say(note)
    return text
