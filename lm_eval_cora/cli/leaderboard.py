"""Make a page that ranks many models on many benchmarks.

lm-eval-cora leaderboard runs/ -o index.html
lm-eval-cora leaderboard runs/ -o site/index.html --reports site/reports --csv site/scores.csv
lm-eval-cora leaderboard records/ -o index.html    # records of export --format every-eval-ever
lm-eval-cora leaderboard runs/ --check new/ --junit check.xml

A folder may also have samples of other multiple-choice tasks, logs of Inspect or HELM, and files of answers.

Models that were not asked the same questions in the same way are never in one table. Models are compared
question by question if the samples are there, else by their standard errors, which is conservative. The
page links to a report.html beside the files of a run. --check decides instead whether a run belongs on the
board, and writes no page: whether it was asked as the board's runs, is whole, and agrees with its own files to the last
digit. It finds changes, but no forgery that agrees with itself. Exit status: 0 on success, 1 if a check fails, 3 after
an error.
"""

from contextlib import nullcontext
from pathlib import Path

from lm_eval_cora.cli import console, gate
from lm_eval_cora.decide.submission import check_submission
from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.messages import counted
from lm_eval_cora.renderers.charts import check_drawing
from lm_eval_cora.renderers.page import boards_as_csv, leaderboard_page, run_reports
from lm_eval_cora.report.boards import read_boards
from lm_eval_cora.tables.table import Table
from lm_eval_cora.writing import STDOUT, check_file, check_folder


def add_arguments(parser: console.Parser) -> None:
    """Add the arguments."""
    parser.shared("label")
    parser.argument(
        "out",
        "DIR",
        "a folder with outputs of runs with --log_samples, logs, files of answers, or records; with all its subfolders",
        nargs="+",
    )
    parser.argument("-o --output", "FILE", "the page (default: index.html)", default=Path("index.html"))
    parser.argument("--csv", "FILE", "also write the scores as CSV; - is stdout")
    parser.argument("--reports", "DIR", "also write a report page per run to this folder, and link to it")
    parser.argument(
        "--metric", "NAME", "metric that ranks the models (default: bmca@1.0 or that of the probe)", default=""
    )
    parser.argument("--title", "TITLE", "title of the page (default: Leaderboard)", default="Leaderboard")
    parser.argument("--check", "RUN", "say whether the run of a model, inside or outside of DIR, belongs on the board")
    parser.argument("--junit", "FILE", "write the results of --check as JUnit XML, too")
    parser.argument("--json", "FILE", "write the results of --check as JSON, too; - is stdout")
    parser.argument("--strict", None, "end with status 3, and write nothing, if anything was left out")
    parser.shared("reader")


def run(given: console.Given) -> int:
    """Write the page, and on request a CSV file and a report page per run; or check a run."""
    if given.check:
        return _check(given)
    check_file(given.output, "-o", (".html", ".htm"))
    if given.csv:
        check_file(given.csv, "--csv", (".csv",))
    if given.reports:
        check_drawing()  # reading the runs may take minutes
        check_folder(given.reports, "--reports")
    folder = Path() if given.output == STDOUT else given.output.parent
    with run_reports(given.reports) if given.reports else nullcontext() as write_page:
        boards, notes = read_boards(
            given.out,
            reader=given.reader,
            labels=console.labels_of(given),
            metric=given.metric,
            write_page=write_page,
        )
        console.say(*notes)
        if given.strict and (count := sum("left out " in note for note in notes)):
            raise UserError(
                f"--strict: something was left out ({counted(count, 'note')} above). Repair or remove these files, "
                "or omit --strict"
            )
        page = leaderboard_page(boards, given.title, folder, notes)
    console.write(page, given.output)
    if given.csv:
        console.write(boards_as_csv(boards), given.csv)
    return 0


def _check(given: console.Given) -> int:
    gate.check_files(given)
    model, checks, notes = check_submission(given.out, given.check)
    rows = [[check.task, check.requirement, check.outcome, check.reason] for check in checks]
    return gate.show(given, checks, model, notes, Table(model, ["task", "check", "outcome", "why"], rows))
