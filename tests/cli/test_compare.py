"""`lm-eval-cora compare`: two models, several, other tasks of the harness, and `--history`."""

import re

import pytest

from tests.support.messages import tells
from tests.support.written import strict


def test_a_warning_about_several_runs_is_one_line(cli):
    assert cli("export one two --format csv") == 0
    (line,) = [line for line in cli.err.splitlines() if "follow the format" in line]
    assert tells(line, "a/one, cora_demo; b/two, cora_demo: fewer than 90% of the responses")


def test_two_models(cli):
    (found,) = strict(printed := cli.printed("compare one two --json"))
    assert cli.printed("compare one two --format json") == printed
    assert (found["before"]["model"], found["after"]["model"]) == ("a/one", "b/two")
    names = {line.split("|")[1].strip() for line in cli.printed("compare one two").splitlines() if line[:1] == "|"}
    assert {*found["metrics"], *found["kinds"], "kind of variant"} - names == {"cora"}
    assert "cora *" in names
    assert "* ranks the models." in cli.out


def test_the_baseline_the_metric_and_labels(cli):
    printed = cli.printed("compare one two three --baseline c/three --metric acc --metric mcqa")
    assert tells(printed, "differences in acc", "a/one - c/three", "differences in mcqa")
    assert tells(cli.err, "only one model", "cora_demo_sampling")
    (found,) = strict(cli.printed("compare one two --label one=Small --label two=Large --baseline Large --json"))
    assert (found["before"]["model"], found["after"]["model"]) == ("Large", "Small")


@pytest.mark.parametrize(
    ("name", "part"),
    [("latex", "Differences-to-a-one}"), ("markdown", "Differences to a/one"), ("csv", "cora_demo,mcqa,a/one,b/two,")],
)
def test_differences_as_tables_for_a_paper(name, part, cli, tmp_path):
    line = f"compare one two three --metrics mcqa,cora --format {name}"
    assert part in (printed := cli.printed(line))
    assert cli.printed(line, "-o", tmp_path / "table") == ""
    assert (tmp_path / "table").read_text() == printed


def test_the_layout_of_a_table_for_a_paper(cli):
    line = "compare one two three --baseline three --format markdown --metric acc,mcqa"
    printed = cli.printed(f"{line} --rows tasks --intervals")
    assert printed.startswith("### Differences to c/three of c/three, a/one, b/two (3 questions)")
    assert re.search(r"\| cora_demo \| .*0\.\d{3} \[0\.\d{3}, 0\.\d{3}\]", printed)
    assert cli.printed(f"{line} --width 1").count("###") == 1
    assert cli("compare one two --width 1") == 2
    assert "--rows and --width and --intervals: expected --format latex or markdown" in cli.err


def test_others_are_compared_if_one_model_cannot_be(cli):
    assert cli("compare one two seed --json") == 1
    (found,) = strict(cli.out)
    assert found["after"]["model"] == "b/two"
    assert tells(cli.err, "lm-eval-cora compare: cora_demo: a/one and d/seed cannot be compared")


# ---- --history
@pytest.mark.parametrize(
    ("suffix", "start"), [("html", b"<!DOCTYPE html>"), ("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")]
)
def test_a_history_as_table_page_and_figure(suffix, start, cli, tmp_path):
    path = tmp_path / "new" / f"history.{suffix}"
    printed = cli.printed("compare --history one two -o", path)
    assert printed.startswith("cora_demo: CoRA of the versions\n\n| version ")
    assert path.read_bytes().lstrip().startswith(start)
    assert f"wrote {path}" in cli.err


def test_a_history_as_json(cli):
    (task,) = strict(cli.printed("compare --history one two --metric mcqa --json"))
    assert [version["version"] for version in task["versions"]] == ["a/one", "b/two"]
    assert task["versions"][1]["metrics"]["mcqa"]["difference"].keys() == {"value", "stderr", "low", "high"}
