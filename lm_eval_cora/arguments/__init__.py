"""The argument parser of `lm-eval-cora`, with the texts of `--help`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from lm_eval_cora import __version__
from lm_eval_cora.arguments.deciding import add_gate, add_plan
from lm_eval_cora.arguments.parser import Command, Parser
from lm_eval_cora.arguments.reporting import add_compare, add_export, add_leaderboard, add_report
from lm_eval_cora.arguments.running import add_guess, add_read, add_run, add_score, add_tasks

_ADD = {
    "run": add_run,
    "report": add_report,
    "compare": add_compare,
    "plan": add_plan,
    "gate": add_gate,
    "score": add_score,
    "export": add_export,
    "leaderboard": add_leaderboard,
    "read": add_read,
    "guess": add_guess,
    "tasks": add_tasks,
}
"""The commands, in the order of `--help`."""


def make_parser(run: Mapping[str, Command]) -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    parser = Parser(
        prog="lm-eval-cora",
        description="Run `lm_eval` with fewer requests, and report, compare and export its results.",
        epilog="lm-eval-cora COMMAND --help shows the arguments of a command, with examples.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, dest="name")
    for name, add in _ADD.items():
        add(commands, run[name])
    return parser
