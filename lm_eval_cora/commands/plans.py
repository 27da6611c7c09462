"""The command `plan`, which tells how many questions a comparison needs."""

from __future__ import annotations

import argparse

from lm_eval_cora.commands.output import print_json, say
from lm_eval_cora.planning.plan import Goal, as_json, as_table, plan_runs, plan_typical, remarks
from lm_eval_cora.report.runs import read_runs
from lm_eval_cora.report.text import one_line, table_as_text


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
