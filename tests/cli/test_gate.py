"""The commands `gate` and `plan`: exit statuses, files, and every kind of run."""

import re
import sys
from unittest.mock import patch
from xml.etree import ElementTree

import pytest

from lm_eval_cora.harness.asking import stop_early
from tests.support.messages import tells
from tests.support.stopping import Moody
from tests.support.written import strict, write


def test_a_policy_and_a_baseline(cli):
    assert cli("gate good.jsonl --policy gate.yaml --baseline worse.jsonl") == 0
    assert cli("gate worse.jsonl --policy gate.yaml --baseline good.jsonl") == 1
    assert cli("gate good.jsonl --policy gate.yaml --baseline worse.jsonl --require mcqa>=0.8") == 2


def test_the_table_and_the_files(cli, tmp_path):
    junit, numbers = tmp_path / "new" / "gate.xml", tmp_path / "gate.json"
    line = "gate good.jsonl --require mcqa>=0.6 --require mcqa>=0.75 --baseline worse.jsonl --no-worse mcqa:0.05"
    assert cli(line, "--junit", junit, "--json", numbers) == 2
    words = ("mcqa ≥ 0.6", "pass", "mcqa ≥ 0.75", "undecided", "574", "no worse by", "pass")
    assert tells(cli.out, "good: undecided", *words)
    assert cli.out.endswith("\n\n2 pass, 0 fail, 1 undecided\n")
    assert tells(cli.err, f"wrote {junit}", f"wrote {numbers}")
    root = ElementTree.parse(junit).getroot()
    assert (root.attrib["tests"], root.attrib["failures"], root.attrib["errors"]) == ("3", "0", "1")
    told = strict(numbers.read_text())
    assert (told["model"], told["outcome"], told["exit_status"]) == ("good", "undecided", 2)
    assert [each["questions_to_decide"] for each in told["requirements"]] == [None, 574, None]
    assert cli(line, "--json", "-") == 2
    assert strict(cli.out) == told


@pytest.mark.parametrize(
    ("variable", "value", "shows"), [("NO_COLOR", "", True), ("NO_COLOR", "0", False), ("TERM", "dumb", False)]
)
def test_colours_on_a_terminal(cli, monkeypatch, variable, value, shows):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(variable, value)
    line = "gate good.jsonl --require mcqa>=0.6 --require mcqa>=0.75 --require mcqa>=0.9"
    assert cli(line) == 1
    piped = cli.out
    with patch.object(type(sys.stdout), "isatty", lambda _: True):
        cli(line)
    last = cli.out.splitlines()[-1]
    assert last == (
        "1 \x1b[32mpass\x1b[0m, 1 \x1b[31mfail\x1b[0m, 1 \x1b[33mundecided\x1b[0m"
        if shows
        else "1 pass, 1 fail, 1 undecided"
    )
    assert re.sub(r"\x1b\[\d+m", "", cli.out) == piped


ERRORS = {
    "gate good.jsonl --require mqca>=0.1": "has no metric 'mqca'",
    "gate good.jsonl --requires 'mcqa>=0.1' --zzzz": "--zzzz",
    "gate": "arguments are required: RUN",
}


@pytest.mark.parametrize("line", ERRORS)
@pytest.mark.parametrize("option", ["--junit {}", "--junit={}"])
def test_errors_are_in_the_junit_file(line, option, cli, tmp_path):
    path = tmp_path / "new" / "x.xml"
    assert cli(f"{line} {option.format(path)}") == 3
    root = ElementTree.parse(path).getroot()
    assert (root.attrib["errors"], root.attrib["failures"]) == ("1", "0")
    assert ERRORS[line] in root.find(".//error").attrib["message"]


def test_runs_of_the_harness(cli, tmp_path):
    full, stopped = tmp_path / "full", tmp_path / "stopped"
    write(full, Moody(3), "cora_demo", {"questions": 12}, "a/full")
    write(stopped, stop_early(Moody(3), "exact"), "cora_demo", {"questions": 12}, "a/stopped")
    told = []
    for folder in (full, stopped):
        printed = cli.printed(f"gate {folder} --require cora>=0.01 --require cora<=0.99 --json -")
        told.append([(each["low"], each["high"]) for each in strict(printed)["requirements"]])
    assert told[0] == told[1]
    assert cli(f"gate {stopped} --baseline {full} --no-worse cora:0.3") == 0
    assert cli(f"gate {stopped} --require invalid<=0.5") == 3
    assert tells(cli.err, "has no metric 'invalid'", "stopped early", "cora")
    assert cli(f"gate {tmp_path} --require cora>=0.1") == 3
    assert tells(cli.err, "expected the runs of one model, got 2", "a/full")


def test_a_plan(cli):
    printed = cli.printed("plan --difference 0.05 --from good.jsonl --metric mcqa")
    assert tells(printed, "a difference of 0.05 with a probability of 0.8 (95% intervals)", "answers", "0.30 (assumed)")
    assert tells(printed, "mcqa *", "* decides")
    assert tells(cli.err, "100 questions in the run")
    told = strict(cli.printed("plan --difference 0.05 --from good.jsonl --from worse.jsonl --power 0.9 --json"))
    assert (told["difference"], told["power"], told["level"]) == (0.05, 0.9, 0.95)
    (plan,) = told["plans"]
    assert plan["correlation_measured"]
    assert plan["models"] == ["good", "worse"]
    assert plan["requests"] == 2 * plan["questions"]
