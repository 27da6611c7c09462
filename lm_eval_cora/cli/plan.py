"""Plan a comparison of two models: how many questions and requests find a difference, or show that there is none.

lm-eval-cora plan --difference 0.02
lm-eval-cora plan --difference 0.02 --from out/small
lm-eval-cora plan --difference 0.02 --from out/small --from out/large --metric mcqa
lm-eval-cora plan --same 0.02 --from out/large --from out/quantised

One run shows how much questions vary; two runs on the same questions also show how alike the models are.
Without a run, the models of the CoRA paper's tables are used. Exit status 3: something cannot be read.
"""

from lm_eval_cora.cli import console
from lm_eval_cora.decide.plan import CORRELATION, Goal, as_json, as_table, make_plans
from lm_eval_cora.decide.sample_size import LEVEL, POWER, SAME_LEVEL
from lm_eval_cora.runs.grouping import read_runs


def add_arguments(parser: console.Parser) -> None:
    """Add the arguments."""
    parser.argument("--difference", "D", "the difference to find", type=console.between(1e-6, 1, float))
    parser.argument(
        "--same",
        "MARGIN",
        "instead: show that equal models differ by less, as gate --same does",
        type=console.between(1e-6, 1, float),
    )
    parser.argument(
        "--from",
        "OUT",
        "a run, as for report; may be given for a second model on the same questions",
        dest="out",
        **console.REPEATED,
    )
    parser.argument("--metric", "NAME", "metric to compare. Default: the task's leading one, such as cora", default="")
    parser.argument(
        "--power",
        None,
        f"probability that the interval of the difference excludes 0, or is inside the margin (default: {POWER})",
        type=console.between(0.5, 0.9999, float),
        default=POWER,
    )
    parser.argument(
        "--level",
        None,
        f"confidence level of the interval (default: {LEVEL}, with --same {SAME_LEVEL})",
        type=console.between(0.5, 0.9999, float),
    )
    parser.argument(
        "--correlation",
        "R",
        f"""correlation of the two models' results question by question, if it is not measured (default:
        {CORRELATION})""",
        type=console.between(0, 0.99, float),
    )
    parser.shared("reader", "json")


def run(given: console.Given) -> None:
    """Print the questions and requests with which a difference between two models is found."""
    is_same = given.same is not None
    if is_same == (given.difference is not None):
        given.parser.error("expected --difference D or --same MARGIN")
    level = given.level or (SAME_LEVEL if is_same else LEVEL)
    size = given.same if is_same else given.difference
    goal = Goal(size, given.power, level, given.metric, given.correlation, is_same)
    runs = read_runs(given.out, reader=given.reader)
    plans, notes = make_plans(runs, goal)
    notes = [*console.warnings_of(runs), *notes]
    table = as_table(plans, goal)
    console.show(given, as_json(plans, goal, notes), [table], table.note)
    console.say(*notes)
