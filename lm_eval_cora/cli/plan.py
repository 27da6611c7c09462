"""The command `plan`, which finds the size of a comparison."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from lm_eval_cora.cli.arguments import ERROR_STATUS, add_command, add_json, add_reader, between
from lm_eval_cora.cli.output import print_json, say
from lm_eval_cora.decide.plan import Goal, as_json, as_table, plan_runs, plan_typical, remarks
from lm_eval_cora.decide.sample_size import LEVEL, POWER
from lm_eval_cora.decide.typical import CORRELATION
from lm_eval_cora.report.text import one_line, table_as_text
from lm_eval_cora.runs.grouping import read_runs


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "plan",
        print_plan,
        "plan a comparison of two models: how many questions and requests find a difference",
        "lm-eval-cora plan --difference 0.02\n"
        "  lm-eval-cora plan --difference 0.02 --from out/small\n"
        "  lm-eval-cora plan --difference 0.02 --from out/small --from out/large --metric mcqa\n\n"
        "One run shows how much questions vary; two runs on the same questions also show how alike the models are.\n"
        "Without a run, the models of the CoRA paper's tables are used. Exit status 3: something cannot be read.",
        error_status=ERROR_STATUS,
    )
    parser.add_argument(
        "--difference", type=between(1e-6, 1, float), required=True, metavar="D", help="the difference to find"
    )
    parser.add_argument(
        "--from",
        dest="out",
        action="append",
        default=[],
        type=Path,
        metavar="OUT",
        help="a run, as for report; may be given for a second model on the same questions",
    )
    parser.add_argument(
        "--metric", default="", metavar="NAME", help="metric to compare. Default: the task's leading one, such as cora"
    )
    parser.add_argument(
        "--power",
        type=between(0.5, 0.9999, float),
        default=POWER,
        help=f"probability that the interval of the difference excludes 0 (default: {POWER})",
    )
    parser.add_argument(
        "--level",
        type=between(0.5, 0.9999, float),
        default=LEVEL,
        help=f"confidence level of the interval (default: {LEVEL})",
    )
    parser.add_argument(
        "--correlation",
        type=between(0, 0.99, float),
        metavar="R",
        help=f"correlation of the two models' results question by question, if it is not measured (default: "
        f"{CORRELATION})",
    )
    add_reader(parser)
    add_json(parser)


def print_plan(given: argparse.Namespace) -> None:
    """Print the questions and requests with which a difference between two models is found."""
    goal = Goal(given.difference, given.power, given.level, given.metric, given.correlation)
    notes: list[str] = []
    if given.out:
        runs = read_runs(given.out, reader=given.reader)
        for run in runs:
            notes += [f"{run.model}, {run.task}: {note}" for note in run.warnings]
        plans, left_out = plan_runs(runs, goal)
        notes += left_out
    else:
        plans = plan_typical(goal)
    notes += remarks(plans, goal)
    if given.json:
        print_json(as_json(plans, goal, notes))
    else:
        table = as_table(plans, goal)
        print(f"{table.title}\n\n{table_as_text(table.columns, table.rows)}\n\n{table.note}")
    for note in notes:
        say(one_line(note))
