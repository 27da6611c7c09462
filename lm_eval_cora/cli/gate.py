"""Check whether a run meets requirements, for use in CI.

lm-eval-cora gate out/new --require 'cora>=0.45' --require 'invalid<=0.05'
lm-eval-cora gate out/new --baseline out/old --no-worse cora:0.02
lm-eval-cora gate out/quantised --baseline out/new --same cora:0.02
lm-eval-cora gate out/new --policy gate.yaml --junit gate.xml --json gate.json

A requirement passes if the whole cautious 95% interval meets it (of --same the 90% interval: two one-sided
tests), fails if no part of it does, and is undecided otherwise. Each end of a cautious interval holds alone,
so it may be wider than the 95% interval of report, score and csv. Exit status 0: all pass; 1: some requirement fails;
2: none fails, but some is undecided; 3: the policy or a run cannot be read. The last line counts the outcomes,
in colour on a terminal (NO_COLOR=1 switches the colours off).
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from lm_eval_cora.cli import console
from lm_eval_cora.decide import verdicts
from lm_eval_cora.decide.verdicts import EXIT_STATUS, Check, Requirement, Verdict, read_requirements
from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.question import printable
from lm_eval_cora.runs.grouping import read_runs
from lm_eval_cora.runs.model_run import check_one_model, selected
from lm_eval_cora.tables.table import Table
from lm_eval_cora.writing import STDOUT, check_file


def add_arguments(parser: console.Parser) -> None:
    """Add the arguments."""
    parser.argument("out", "RUN", "a run of one model, as for report")
    parser.argument(
        "--require",
        "'[TASK:]METRIC>=X'",
        "a lowest value, a highest one with <=, or half the width of the interval with ±; may be repeated. Without "
        "TASK, for every task of the run",
        **console.REPEATED,
    )
    parser.argument(
        "--baseline",
        "OUT",
        "the run of --no-worse and --same, on the same questions: a path, or another model of RUN",
    )
    parser.argument(
        "--no-worse",
        "'[TASK:]METRIC:MARGIN'",
        "the run is worse than the baseline by MARGIN at most; may be repeated",
        **console.REPEATED,
    )
    parser.argument(
        "--same",
        "'[TASK:]METRIC:MARGIN'",
        "the run differs from the baseline by MARGIN at most, in both directions; may be repeated",
        **console.REPEATED,
    )
    parser.argument("--policy", "FILE", "a YAML file with the lists require, no_worse and same")
    parser.argument("--junit", "FILE", "write the results as JUnit XML, too")
    parser.argument("--json", "FILE", "write the results as JSON, too; - is stdout")
    parser.shared("select", "reader")


def run(given: console.Given) -> int:
    """Check a run against requirements; return 0 if all pass, 1 if one fails, 2 if none fails but one is undecided."""
    requirements = read_requirements(given.require, given.no_worse, given.policy, given.same)
    _check_arguments(given, requirements)
    every = read_runs([given.out], reader=given.reader)
    runs = selected(every, given.select)
    check_one_model(runs, str(given.out))
    baseline = [run for run in every if run.model == str(given.baseline)]
    if given.baseline and not baseline:
        others = read_runs([given.baseline], reader=given.reader)
        baseline = [run for run in others if run.model == runs[0].model] or others
    check_one_model(baseline, f"--baseline {given.baseline}")
    found, model = verdicts.verdicts_of(runs, baseline, requirements), runs[0].model
    notes = [*console.warnings_of([*runs, *baseline]), *verdicts.remarks(found)]
    return show(given, found, model, notes, verdicts.as_table(found, model))


def show(given: console.Given, found: Sequence[Verdict | Check], model: str, notes: Sequence[str], table: Table) -> int:
    """Write verdicts to the files that were named, print them, and return the exit status."""
    given.status = EXIT_STATUS[verdicts.overall(found)]  # it is the result, even if nobody reads what is printed
    if given.junit:
        console.write(verdicts.as_junit(found, model, given.name), given.junit)
    if given.json:
        console.write_json(verdicts.as_json(found, model, notes), given.json)
    console.say(*notes)
    if given.json != STDOUT:
        console.print_tables([table], verdicts.summary(found))
    return int(given.status)


def note_error(arguments: Sequence[str], error: object) -> None:
    """Write an error to the file of --junit, also if the arguments are wrong, because CI systems show this file."""
    found = re.match(r"(?:gate|leaderboard)\0(?:.*\0)?--ju\w*[=\0]([^\0-][^\0]*)", "\0".join(arguments), re.DOTALL)
    if error and found:
        from xml.sax.saxutils import quoteattr  # slow to import

        message = quoteattr(printable(str(error)))
        case = f'<testcase name="{arguments[0]}"><error type="error" message={message}/></testcase>'
        text = f'<testsuite name="lm-eval-cora" tests="1" failures="0" errors="1">{case}</testsuite>\n'
        with suppress(UserError, OSError):
            console.write(text, Path(found[1]))


def _check_arguments(given: console.Given, requirements: Sequence[Requirement]) -> None:
    """Check everything that does not need the runs, which may take minutes to read."""
    compares = [requirement for requirement in requirements if requirement.compares]
    if not requirements:
        raise UserError(
            "expected a requirement: --require 'cora>=0.45', --no-worse cora:0.02, --same cora:0.02, or --policy FILE"
        )
    if compares and not given.baseline:
        option = "--same" if compares[0].sign == "same within" else "--no-worse"
        raise UserError(f"{option}: expected --baseline OUT, too: the run to compare with")
    if given.baseline and not compares:
        raise UserError(f"--baseline {given.baseline}: expected --no-worse or --same METRIC:MARGIN, too")
    check_files(given)


def check_files(given: console.Given) -> None:
    """Check the files of --junit and --json."""
    files = {option: path for option, path in (("--junit", given.junit), ("--json", given.json)) if path}
    for option, path in files.items():
        check_file(path, option)
    if given.junit == STDOUT:
        raise UserError("--junit -: expected a file. Only --json writes to standard output")
    if len({path.resolve() for path in files.values()}) < len(files):
        raise UserError(f"--junit and --json: expected two files, got {given.junit} twice")
