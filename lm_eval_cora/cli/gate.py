"""The command `gate`, which checks a run against requirements."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from lm_eval_cora.answers import Reader
from lm_eval_cora.cli.arguments import ERROR_STATUS, add_command, add_reader
from lm_eval_cora.cli.output import STDOUT, check_file, json_text, say, write_bytes
from lm_eval_cora.decide.gate_outputs import as_json, as_junit, as_table
from lm_eval_cora.decide.requirements import Policy, policy_of, read_policy
from lm_eval_cora.decide.verdicts import EXIT_STATUS, overall, remarks, verdicts_of
from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.messages import first_few
from lm_eval_cora.questions.question import shorten
from lm_eval_cora.report.content import Table
from lm_eval_cora.report.text import one_line, table_as_text
from lm_eval_cora.runs.grouping import read_runs
from lm_eval_cora.runs.model_run import Run


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "gate",
        check_gate,
        "check whether a run meets requirements, for use in CI",
        "lm-eval-cora gate out/new --require 'cora>=0.45' --require 'invalid<=0.05'\n"
        "  lm-eval-cora gate out/new --baseline out/old --no-worse cora:0.02\n"
        "  lm-eval-cora gate out/new --policy gate.yaml --junit gate.xml --json gate.json\n\n"
        "A requirement passes if the whole 95% interval meets it, fails if no part of it does, and is undecided\n"
        "otherwise. Exit status 0: all pass; 1: some requirement fails; 2: none fails, but some is undecided;\n"
        "3: the policy or a run cannot be read.",
        error_status=ERROR_STATUS,
    )
    parser.add_argument("out", type=Path, metavar="RUN", help="a run of one model, as for report")
    parser.add_argument(
        "--require",
        action="append",
        default=[],
        metavar="'[TASK:]METRIC>=X'",
        help="a lowest value, or a highest one with <=; may be repeated. Without TASK, for every task of the run",
    )
    parser.add_argument("--baseline", type=Path, metavar="OUT", help="the run of --no-worse, on the same questions")
    parser.add_argument(
        "--no-worse",
        action="append",
        default=[],
        metavar="'[TASK:]METRIC:MARGIN'",
        help="the run is worse than the baseline by MARGIN at most; may be repeated",
    )
    parser.add_argument("--policy", type=Path, metavar="FILE", help="a YAML file with the lists require and no_worse")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write the results as JUnit XML, too")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON, too; - is stdout")
    add_reader(parser)


def check_gate(given: argparse.Namespace) -> int:
    """Check a run against requirements; return 0 if all pass, 1 if one fails, 2 if none fails but one is undecided."""
    policy = policy_of(given.require, given.no_worse) + (read_policy(given.policy) if given.policy else Policy())
    _check_arguments(given, policy)
    runs = _runs_of_one_model(given.out, given.reader)
    baseline = _runs_of_one_model(given.baseline, given.reader) if given.baseline else []
    verdicts = verdicts_of(runs, baseline, policy)
    model = runs[0].model
    notes = [f"{run.model}, {run.task}: {note}" for run in (*runs, *baseline) for note in run.warnings]
    notes += remarks(verdicts)
    numbers = json_text(as_json(verdicts, model, notes))
    files = []
    if given.junit:
        files.append((given.junit, as_junit(verdicts, model)))
    if given.json and given.json != STDOUT:
        files.append((given.json, numbers.encode("utf-8", "backslashreplace")))
    # The status is the result, even if nobody reads what is printed.
    for path, data in files:
        with suppress(BrokenPipeError):
            write_bytes(data, path)
    with suppress(BrokenPipeError):
        for note in notes:
            say(one_line(note))
    with suppress(BrokenPipeError):
        sys.stdout.write(numbers if given.json == STDOUT else _as_text(as_table(verdicts, model)))
        sys.stdout.flush()
    return EXIT_STATUS[overall(verdicts)]


def _as_text(table: Table) -> str:
    return f"{one_line(table.title)}\n\n{table_as_text(table.columns, table.rows)}\n"


def _check_arguments(given: argparse.Namespace, policy: Policy) -> None:
    """Check everything that does not need the runs, which may take minutes to read."""
    if policy == Policy():
        raise UserError("expected a requirement: --require 'cora>=0.45', --no-worse cora:0.02, or --policy FILE")
    if policy.no_worse and not given.baseline:
        raise UserError("--no-worse: expected --baseline OUT, too: the run to compare with")
    if given.baseline and not policy.no_worse:
        raise UserError(f"--baseline {given.baseline}: expected --no-worse METRIC:MARGIN, too")
    paths = {"--junit": given.junit, "--json": given.json}
    for option, path in paths.items():
        if path:
            check_file(path, option)
    if given.junit == STDOUT:
        raise UserError("--junit -: expected a file. Only --json writes to standard output")
    if given.junit and given.json and given.junit.resolve() == given.json.resolve():
        raise UserError(f"--junit and --json: expected two files, got {given.junit} twice")


def _runs_of_one_model(path: Path, reader: Reader | None) -> Sequence[Run]:
    runs = read_runs([path], reader=reader)
    if len(models := dict.fromkeys(run.model for run in runs)) > 1:
        raise UserError(
            f"{path}: expected the runs of one model, got {len(models)}: {first_few(map(shorten, models))}. Name the "
            "folder of one"
        )
    return runs
