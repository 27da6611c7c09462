"""Compare models on the same questions, with standard errors and tests.

lm-eval-cora compare out/small out/large
lm-eval-cora compare out/small out/medium out/large --baseline out/small
lm-eval-cora compare out/small out/large --changed -o changed.csv
lm-eval-cora compare out/small out/large --format latex --metrics cora,mcqa,bmca@1.0 -o table.tex
lm-eval-cora compare --history checkpoints/ -o history.html

Differences are new minus old: a run minus one before it, or minus the baseline. With two models, every
metric is compared. With more, all pairs are compared, or each model with the baseline, with intervals
and p-values that hold for all pairs together. Runs of other tasks of the harness are compared document by
document.
"""

from lm_eval_cora.cli import console
from lm_eval_cora.errors import UserError
from lm_eval_cora.export.output_formats import NAMES, ON_PAPER
from lm_eval_cora.metrics.estimate import for_json
from lm_eval_cora.renderers.charts import check_drawing
from lm_eval_cora.renderers.figures import FORMATS, figure
from lm_eval_cora.renderers.page import render
from lm_eval_cora.report.comparison import compare_models
from lm_eval_cora.report.history import NOTE, as_json, chart_of, read_history, report_of, summary_of, tables_of
from lm_eval_cora.report.pair_views import as_jsonl, explanation_of
from lm_eval_cora.tables.table_formats import TABLE_FORMATS, as_csv
from lm_eval_cora.writing import STDOUT, check_file, check_folder


def add_arguments(parser: console.Parser) -> None:
    """Add the arguments."""
    parser.shared("label", "out")
    parser.argument("--baseline", "MODEL", "path or name of the model with which the others are compared")
    parser.argument(
        "--history",
        None,
        "take the runs as versions of one model, sorted by date, and compare each with the version before",
    )
    parser.argument("--changed", None, "list the answers that changed between two models, with both responses")
    parser.argument(
        "-o --output",
        "FILE",
        """write the tables of --format to a file; with --history, also write a chart of the versions: a page
        (html) or a figure (svg, pdf, png); with --changed all changed answers (csv, jsonl)""",
    )
    parser.argument(
        "--metrics --metric",
        "NAMES",
        """metrics to compare, in this order: a,b,c; may be repeated. Default: all metrics of two models; of more
        models the task's leading metric, such as cora, and mcqa and bmca@1.0; with --history the leading metric""",
        **NAMES,
    )
    parser.argument(
        "--format",
        None,
        """text: tables for a terminal (default); latex (booktabs, graphicx) and markdown: one table for a paper,
        with the differences to the baseline, or to the first model;
        csv: a line per pair of models and metric, with all digits; json: as --json""",
        choices=("text", *TABLE_FORMATS, "json"),
        default="text",
    )
    for name, option in ON_PAPER.items():
        parser.argument(f"--{name}", option.metavar, option.about, **option.settings)
    parser.shared("reader", "json")


_CHANGED = {".csv": lambda found: as_csv(each.data for each in found), ".jsonl": as_jsonl}


def run(given: console.Given) -> None:
    """Compare models, or the versions of one."""
    given.json |= given.format == "json"
    form = TABLE_FORMATS.get(given.format)
    if form and any((given.history, given.changed, given.json)):
        given.parser.error(f"--format {given.format}: expected no --history, --changed or --json")
    layout, is_paper = {name: getattr(given, name) for name in ON_PAPER}, form and not form.has_all_digits
    if any(layout.values()) and not is_paper:
        given.parser.error(f"--{' and --'.join(ON_PAPER)}: expected --format latex or markdown")
    if given.history:
        if given.changed:
            given.parser.error("--changed: expected no --history")
        _print_history(given)
        return
    if form:
        console.check_output(given.output or STDOUT)
    elif given.output:
        if not given.changed:
            given.parser.error(f"-o: expected --format {', '.join(TABLE_FORMATS)}, or --history, or --changed, too")
        if given.output.suffix.lower() not in _CHANGED:
            raise UserError(f"-o {given.output}: expected a name that ends in .csv or .jsonl")
        check_file(given.output, "-o")
    baseline = given.baseline or ("" if is_paper else None)  # a paper has the differences to one model
    chosen = {"reader": given.reader, "baseline": baseline, "metrics": given.metrics, "changed": given.changed}
    found = compare_models(given.out, labels=console.labels_of(given), **chosen)
    console.say(*found.notes)
    if found.changed:
        tables = (table for each in found.changed for table in each.tables)
        console.show(given, [for_json(vars(each)) for each in found.changed], tables)
        if given.output:
            console.write(_CHANGED[given.output.suffix.lower()](found.changed), given.output)
    compared = [each for each in found.found if each.chosen or not form]
    if compared and form:
        shown = found.paper_tables(given.metrics, **layout) if is_paper else [each.data for each in compared]
        console.write(form.write(shown), given.output or STDOUT)
    elif compared and given.json:
        console.write_json([each.as_json for each in compared])
    elif compared:
        console.print_tables(found.tables, explanation_of(found.tables))
    if found.refused:
        raise UserError("\n".join(found.refused))


_PAGES = (".html", ".htm")


def _print_history(given: console.Given) -> None:
    """Print the versions of a model by date, and write their chart."""
    given.error_status = console.ERROR_STATUS
    if given.baseline:
        raise UserError("--baseline: expected no --history, which compares each version with the one before")
    path = given.output
    if path:  # before the runs are read
        suffixes = (*_PAGES, *(f".{name}" for name in FORMATS))
        is_file = path != STDOUT and not path.is_dir()
        if not is_file or path.suffix.lower() not in suffixes:
            raise UserError(f"-o {path}: expected the name of a file that ends in {', '.join(suffixes)}")
        check_folder(path.parent, "-o")
        check_drawing()
    labels = console.labels_of(given)
    histories, notes = read_history(given.out, reader=given.reader, labels=labels, metrics=given.metrics)
    console.say(*notes)
    console.show(given, as_json(histories), tables_of(histories), f"{summary_of(histories)}\n\n{NOTE}")
    if path and (suffix := path.suffix.lower()) in _PAGES:
        console.write(render(report_of(histories, notes, "History")), path)
    elif path:
        console.write(figure(chart_of(histories), suffix.removeprefix(".")), path)
