r"""Export results in the formats of leaderboards and model cards.

lm-eval-cora export out/ --format every-eval-ever -o records/
lm-eval-cora export out/ --format model-index -o card.yml     # paste it between the --- of a model card
lm-eval-cora export out/ --format latex -o table.tex           # needs \usepackage{booktabs}
lm-eval-cora export out/ --format csv -o scores.csv
lm-eval-cora export out/ --format eval-results --dataset ORG/BENCHMARK --task-id cora_medqa -o cora.yaml
lm-eval-cora export out/ --format eval-yaml --dataset ORG/BENCHMARK -o eval.yaml

eval-results is a file for .eval_results/ of a model repository on the Hub; eval-yaml makes a dataset on the
Hub a benchmark. Nothing is uploaded. Exit status 3: one of these two cannot be made, nothing is written.
"""

from pathlib import Path
from typing import get_args

from lm_eval_cora.cli import console
from lm_eval_cora.errors import UserError
from lm_eval_cora.export.every_eval_ever import Relationship, write_every_eval_ever
from lm_eval_cora.export.hub import Filing, eval_results, eval_yaml, model_index, run_to_file
from lm_eval_cora.export.score_tables import as_latex, tables_as_markdown
from lm_eval_cora.report.text import as_csv
from lm_eval_cora.report.writing import STDOUT


def add_arguments(parser: console.Parser) -> None:
    """Add the arguments."""
    parser.shared("label", "out")
    parser.add_argument("--format", choices=console.EXPORTS, required=True)
    about = "a folder for every-eval-ever (default: every_eval_ever), else a file (default: stdout)"
    parser.argument("-o --output", "PATH", about)
    parser.shared("select", "reader")
    group = parser.add_argument_group("for every-eval-ever")
    parser.argument("--organization", "NAME", "who evaluated the models", default="", group=group)
    about = "relationship of the organization to the makers of the models (default: other)"
    parser.argument("--relationship", None, about, choices=get_args(Relationship), group=group)
    group = parser.add_argument_group("for eval-results and eval-yaml")
    for name, metavar, about in (
        ("--dataset", "ORG/NAME", "id of the benchmark dataset on the Hub; required"),
        ("--metric", "NAME", "metric on the leaderboard. Default: the task's leading one, such as cora"),
        ("--task-id", "ID", "a task id in the dataset's eval.yaml; required for eval-results"),
        ("--task", "NAME", "the task of the run to export, if there are several; only eval-results"),
        ("--source-url", "URL", "address of logs or of a report; only eval-results"),
        ("--source-name", "NAME", "name to show for this address; only eval-results"),
        ("--source-user", "NAME", "user or organization on the Hub that made the result; only eval-results"),
    ):
        parser.argument(name, metavar, about, default="", group=group)
    about = "write the value from 0 to 100, as some leaderboards have it, instead of 0 to 1; only eval-results"
    parser.argument("--percent", None, about, group)


_OPTIONS_OF = {
    "eval-results": ("dataset", "task_id", "task", "metric", "percent", "source_url", "source_name", "source_user"),
    "eval-yaml": ("dataset", "metric"),
    "every-eval-ever": ("organization", "relationship"),
}
"""The options of each format for public leaderboards."""

_NEEDED = {"eval-results": ("dataset", "task_id"), "eval-yaml": ("dataset",)}
_TEXTS = {"csv": as_csv, "latex": as_latex, "markdown": tables_as_markdown, "model-index": model_index}


def run(given: console.Given) -> None:
    """Write runs in a format of leaderboards, model cards or papers."""
    needed = _NEEDED.get(given.format, ())
    if needed:
        given.error_status = console.ERROR_STATUS
    for name in (name for names in _OPTIONS_OF.values() for name in names):
        if getattr(given, name) and name not in _OPTIONS_OF.get(given.format, ()):
            raise UserError(f"--{name.replace('_', '-')}: --format {given.format} does not accept it. Leave it out")
    if missing := [f"--{name.replace('_', '-')}" for name in needed if not getattr(given, name)]:
        raise UserError(f"--format {given.format}: expected {' and '.join(missing)}, the ids on the Hub")
    if given.format == "every-eval-ever":
        folder = given.output or Path("every_eval_ever")
        if folder == STDOUT or folder.is_file():
            raise UserError(f"-o {folder}: expected a folder, because every-eval-ever writes several files")
        for path in write_every_eval_ever(console.read_runs_of(given), folder, given.organization, given.relationship):
            print(path)
        return
    output = given.output or STDOUT
    console.check_output(output)
    runs = console.read_runs_of(given)
    if given.format in _TEXTS:
        text, note = _TEXTS[given.format](runs), ""
    elif given.format == "eval-yaml":
        text, note = eval_yaml(runs, given.dataset, given.metric)
    else:
        filing = Filing(given.dataset, given.task_id, given.source_url, given.source_name, given.source_user)
        text, note = eval_results(run_to_file(runs, given.task), filing, metric=given.metric, percent=given.percent)
    if note:
        console.say(note)
    console.write(text, output)
