"""The arguments of `plan` and `gate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lm_eval_cora.arguments.parser import ERROR_STATUS, Command, add_command, add_json, add_reader, between
from lm_eval_cora.planning.sample_size import LEVEL, POWER
from lm_eval_cora.planning.typical import CORRELATION


def add_plan(commands: Any, run: Command) -> None:
    """Add the command `plan`."""
    parser = add_command(
        commands,
        "plan",
        run,
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


def add_gate(commands: Any, run: Command) -> None:
    """Add the command `gate`."""
    parser = add_command(
        commands,
        "gate",
        run,
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
