"""`lm-eval-cora compare`: two models, several, other tasks of the harness, and `--history`."""

from pathlib import Path

import pytest

from tests.support.documents import Models
from tests.support.messages import tells
from tests.support.programs import Cli
from tests.support.written import strict


def test_two_models(cli: Cli) -> None:
    (found,) = strict(cli.printed("compare one two --json"))
    assert (found["task"], found["questions"]) == ("cora_demo", 3)
    assert (found["before"]["model"], found["after"]["model"]) == ("a/one", "b/two")
    for row in found["metrics"].values():
        assert row["difference"]["value"] == row["after"]["value"] - row["before"]["value"]
    assert found["kinds"]["original"]["low"] < 0 < found["kinds"]["original"]["high"]
    names = {line.split("|")[1].strip() for line in cli.printed("compare one two").splitlines() if line[:1] == "|"}
    assert {*found["metrics"], *found["kinds"], "kind of variant"} <= names


def test_three_models_and_a_task_of_one_side(cli: Cli) -> None:
    printed = cli.printed("compare one two three")
    assert tells(printed, "cora_demo: 3 questions", "differences in cora", "b/two - a/one", "c/three - b/two")
    assert tells(printed, "p, all together", "hold for all pairs")
    assert all(row.endswith("|") for row in printed.splitlines() if row.startswith("|"))
    assert tells(cli.err, "only one model", "cora_demo_sampling")


def test_the_baseline_and_the_metric(cli: Cli) -> None:
    printed = cli.printed("compare one two three --baseline c/three --metric acc --metric mcqa")
    assert tells(printed, "differences in acc", "a/one - c/three", "differences in mcqa")
    assert "differences in cora" not in printed
    assert "b/two - a/one" not in printed
    (found,) = strict(cli.printed("compare one two three --baseline two --json"))
    assert {pair["before"] for metric in found["metrics"].values() for pair in metric["pairs"]} == {"b/two"}
    (found,) = strict(cli.printed("compare one two --label one=Small --label two=Large --baseline Large --json"))
    assert (found["before"]["model"], found["after"]["model"]) == ("Large", "Small")


def test_others_are_compared_if_one_model_cannot_be(cli: Cli) -> None:
    assert cli("compare one two seed --json") == 1
    (found,) = strict(cli.out)
    assert found["after"]["model"] == "b/two"
    assert tells(cli.err, "lm-eval-cora compare: cora_demo: a/one and d/seed cannot be compared")


def test_documents_of_other_tasks(cli: Cli, models: Models) -> None:
    printed = cli.printed("compare", models.one, models.two, "--label", f"{models.one}=First")
    assert tells(printed, "tiny_choice: 24 documents", "First", "org/two", "lost : gained")
    assert {value["documents"] for value in strict(cli.printed("compare --json", models.one, models.two))} == {24}
    assert cli("report", models.one) == 1
    assert tells(cli.err, str(models.one), "no samples of lm-eval-cora tasks")


# ---- --history
@pytest.mark.parametrize(
    ("suffix", "start"), [("html", b"<!DOCTYPE html>"), ("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")]
)
def test_a_history_as_table_page_and_figure(suffix: str, start: bytes, cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "new" / f"history.{suffix}"
    printed = cli.printed("compare --history one two -o", path)
    assert printed.startswith("cora_demo: CoRA of the versions\n\n| version ")
    assert path.read_bytes().lstrip().startswith(start)
    assert f"wrote {path}" in cli.err


def test_a_history_as_json(cli: Cli) -> None:
    (task,) = strict(cli.printed("compare --history one two --metric mcqa --json"))
    assert [version["version"] for version in task["versions"]] == ["a/one", "b/two"]
    assert task["versions"][1]["metrics"]["mcqa"]["difference"].keys() == {"value", "stderr", "low", "high"}
