"""`lm-eval-cora export`: every format from the command line."""

import shutil
from pathlib import Path

import yaml

from tests.support.messages import tells
from tests.support.written import strict


def test_formats_of_one_file(cli, tmp_path):
    line, file = "export one --label 'one=Small one' --format", tmp_path / "new" / "x"
    told = {"csv": "Small one,cora_demo", "latex": "Small one & ", "markdown": "| Small one ", "model-index": "name:"}
    for name, part in told.items():
        printed = cli.printed(line, name)
        assert part in printed
        assert cli.printed(line, name, "-o", file) == ""
        assert file.read_text() == printed


def test_methods_and_prompts(cli, tmp_path):
    printed = cli.printed("methods one two --metrics mcqa")
    assert tells(
        printed, "cora_demo: 3 questions", "Differences are paired by question.", "Sources: [@cavalin2025cora;"
    )
    assert cli.printed("methods one two --metrics mcqa --latex -o", tmp_path / "methods.tex") == ""
    assert r"\begin{filecontents*}{methods.bib}" in (tmp_path / "methods.tex").read_text()
    assert cli.printed("export one --format prompts").startswith("## cora_demo: original\n")
    assert cli.printed("export one --format prompts --latex").startswith(r"\subsection*{cora\_")
    assert cli("methods one --metrics mv1") == 1
    assert "--metrics mv1: there is no such metric. Did you mean 'mv'?" in cli.err


def test_chosen_metrics(cli):
    assert "| model" in (printed := cli.printed("export one --format markdown --metrics mv,cora --metrics ci"))
    assert printed.index("MV") < printed.index("CoRA") < printed.index("CI")
    assert cli("export one --format model-index --metrics mv") == 1
    assert "--metrics: --format model-index does not accept it" in cli.err


def test_records(cli, tmp_path):
    line = "export one --label 'one=Small one' --organization 'Some Lab' --relationship third_party"
    printed = cli.printed(line, "--format", "every-eval-ever", "-o", tmp_path)
    (path,) = tmp_path.rglob("Small one/*[0-9a-f].json")
    assert printed.splitlines()[0] == str(path)
    record = strict(path.read_text())
    assert record["model_info"]["id"] == "Small one"
    source = record["source_metadata"]
    assert (source["source_organization_name"], source["evaluator_relationship"]) == ("Some Lab", "third_party")


def test_a_result_for_the_hub(cli, tmp_path):
    place = tmp_path / "model" / ".eval_results" / "cora.yaml"
    line = "export good.jsonl --format eval-results --dataset a/b --task-id answers"
    assert cli(line, "--percent", "-o", place) == 0
    (entry,) = yaml.safe_load(place.read_text("utf-8"))
    assert entry["dataset"] == {"id": "a/b", "task_id": "answers"}
    assert 1 < entry["value"] < 100
    (entry,) = yaml.safe_load(cli.printed(line, "--metric", "mcqa"))
    assert entry["notes"].startswith("mcqa of answers ")


def test_an_error_leaves_the_previous_file(cli, tmp_path):
    shutil.copy("gate.yaml", tmp_path / "x.yaml")
    assert cli("export good.jsonl --format eval-results --dataset ab --task-id x -o", tmp_path / "x.yaml") == 3
    assert (tmp_path / "x.yaml").read_bytes() == Path("gate.yaml").read_bytes()
