"""Commands on several models: labels, baselines, metrics, figures and formats."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from lm_eval_cora.cli import main
from lm_eval_cora.report.sections import charts_of, make_report
from lm_eval_cora.runs.grouping import read_runs
from tests.support.answers_files import answers, write_answers
from tests.support.by_hand import HOSTILE_NAMES
from tests.support.documents import run_models
from tests.support.messages import tells
from tests.support.written import Written, otherwise, strict, varied, write

FORMATS = ".html, .htm, .md, .json, .csv"


class Cli:
    """Runs a command; what it wrote is in `out` and `err`."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys
        self.out = self.err = ""

    def __call__(self, *arguments: object) -> int:
        self.capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        self.out, self.err = self.capsys.readouterr()
        return code

    def error(self, *arguments: object) -> str:
        """The only line of the message of a command that fails."""
        assert self(*arguments) == 1
        assert self.out == ""
        (line,) = self.err.splitlines()
        return line


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(capsys)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> list[Written]:
    rules = {"a/one": varied, "b/two": otherwise, "c/three": lambda doc: varied(doc, "third")}
    return [
        write(tmp_path_factory.mktemp(name[0]), rule, "cora_demo_order", {"questions": 4}, name)
        for name, rule in rules.items()
    ]


def folders(three: Sequence[Written]) -> list[Path]:
    return [written.folder for written in three]


# ---- compare


def test_three_models_as_tables(three: list[Written], cli: Cli) -> None:
    assert cli("compare", *folders(three)) == 0
    assert tells(cli.out, "cora_demo_order: 4 questions", "differences in cora", "b/two - a/one", "c/three - b/two")
    assert tells(cli.out, "p (Holm)", "hold for all pairs")
    rows = [line for line in cli.out.splitlines() if line.startswith("|")]
    assert all(row.endswith("|") for row in rows)


def test_the_baseline_and_the_metric(three: list[Written], cli: Cli) -> None:
    assert cli("compare", *folders(three), "--baseline", "c/three", "--metric", "acc", "--metric", "mcqa") == 0
    assert tells(cli.out, "differences in acc", "a/one - c/three", "differences in mcqa")
    assert "differences in cora" not in cli.out
    assert "b/two - a/one" not in cli.out
    assert cli("compare", *folders(three), "--baseline", three[1].folder, "--json") == 0
    (found,) = strict(cli.out)
    assert {pair["before"] for metric in found["metrics"].values() for pair in metric["pairs"]} == {"b/two"}


def test_labels(three: list[Written], cli: Cli, tmp_path: Path) -> None:
    first, second, _ = folders(three)
    labels = ["--label", f"{first}=Small one", "--label", f"{second}/=Large = big"]
    assert cli("compare", first, second, *labels, "--json") == 0
    (found,) = strict(cli.out)
    assert (found["before"]["model"], found["after"]["model"]) == ("Small one", "Large = big")
    assert cli("compare", first, second, *labels, "--json", "--baseline", "Large = big") == 0
    assert strict(cli.out)[0]["before"]["model"] == "Large = big"
    assert cli("report", first, second, *labels, "--format", "json") == 0
    assert [run["model"] for run in strict(cli.out)] == ["Small one", "Large = big"]
    for kind, told in (("csv", "Small one,cora_demo_order"), ("latex", "Small one & "), ("markdown", "| Small one ")):
        assert cli("export", first, second, *labels, "--format", kind) == 0
        assert told in cli.out
    records = tmp_path / "records"
    submitter = ["--organization", "Some Lab", "--relationship", "third_party"]
    assert cli("export", first, *labels[:2], "--format", "every-eval-ever", "-o", records, *submitter) == 0
    (path,) = records.rglob("Small one/*[0-9a-f].json")
    record = strict(path.read_text())
    assert record["model_info"]["id"] == "Small one"
    source = record["source_metadata"]
    assert (source["source_organization_name"], source["evaluator_relationship"]) == ("Some Lab", "third_party")


@pytest.mark.parametrize("label", ["elsewhere=x", "=x", "x", "OUT", "OUT=", "OUT= ", "OUTside=x"])
def test_labels_that_name_nothing(label: str, three: list[Written], cli: Cli) -> None:
    one, other, _ = folders(three)
    told = cli.error("compare", one, other, "--label", label.replace("OUT", str(one)))
    assert tells(
        told, "lm-eval-cora compare: --label", "expected PATH=NAME with one of the paths", str(one), str(other)
    )


def test_two_labels_of_one_name(three: list[Written], cli: Cli) -> None:
    one, other, _ = folders(three)
    told = cli.error("report", one, other, "--label", f"{one}=Same", "--label", f"{other}=Same")
    assert tells(told, "--label: expected a different name for each path, got 'Same' twice")


@pytest.mark.parametrize("names", [("line breaks", "HTML"), ("right to left", "long", "markup")], ids=", ".join)
def test_hostile_labels(names: tuple[str, ...], three: list[Written], cli: Cli, tmp_path: Path) -> None:
    paths = folders(three)[: len(names)]
    labels = [f"--label={path}={HOSTILE_NAMES[name]}" for path, name in zip(paths, names, strict=True)]
    arguments = (*paths, *labels)
    assert cli("compare", *arguments) == 0
    assert {line[:1] for line in cli.out.split("\n") if " | " in line} == {"|"}
    assert cli("report", *arguments, "-o", tmp_path / "report.html") == 0
    assert "<script>window.hacked" not in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert cli("report", *arguments, "-o", tmp_path / "report.md") == 0
    assert "<script>" not in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_one_of_three_models_that_cannot_be_compared(three: list[Written], cli: Cli, tmp_path: Path) -> None:
    short = write(tmp_path, varied, "cora_demo_order", {"questions": 3}, "d/short").folder
    assert cli("compare", *folders(three)[:2], short, "--json") == 1
    (found,) = strict(cli.out)
    assert found["after"]["model"] == "b/two"
    assert tells(
        cli.err, "lm-eval-cora compare: cora_demo_order: a/one and d/short cannot be compared: 1 of 4 questions"
    )


def test_one_model_is_not_compared(three: list[Written], cli: Cli) -> None:
    told = cli.error("compare", three[0].folder)
    assert tells(told, "expected two or more models, got one", "a/one", "Name the folder of another model")


def test_files_of_answers(cli: Cli, tmp_path: Path) -> None:
    paths = [
        write_answers(tmp_path / name, answers(name, knows))
        for name, knows in (("weak.csv", 0.3), ("strong.jsonl", 0.9), ("middle.parquet", 0.6))
    ]
    assert cli("compare", *paths, "--baseline", "weak", "--label", f"{paths[1]}=Best") == 0
    assert tells(cli.out, "answers: 20 questions", "differences in cora", "Best - weak", "middle - weak")
    assert cli("export", *paths, "--format", "latex") == 0
    assert tells(cli.out, r"\toprule", "model & cora & ", "strong", "middle", "weak", r"\bottomrule")
    assert cli("report", *paths, "-o", tmp_path / "report.md") == 0
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "**strong is the most reliable: CoRA" in text


def test_documents_of_other_tasks(cli: Cli, tmp_path: Path) -> None:
    models = run_models(tmp_path)
    assert cli("compare", models.one, models.two, "--label", f"{models.one}=First") == 0
    assert tells(cli.out, "tiny_choice: 24 documents", "First", "org/two", "lost : gained")
    assert cli("compare", models.one, models.two, "--json") == 0
    assert {value["documents"] for value in strict(cli.out)} == {24}
    told = cli.error("report", models.one)
    assert tells(told, str(models.one), "no samples of lm-eval-cora tasks")


# ---- figures and formats


def test_every_figure_as_three_files(three: list[Written], cli: Cli, tmp_path: Path) -> None:
    paths = folders(three)
    charts = charts_of(make_report(read_runs(paths)))
    figures = tmp_path / "of" / "paper"
    assert cli("report", *paths, "-o", tmp_path / "report.md", "--figures", figures) == 0
    names = sorted(path.name for path in figures.iterdir())
    assert len(charts) > 4
    assert len(names) == 3 * len(charts)
    assert {path.rpartition(".")[2] for path in names} == {"svg", "pdf", "png"}
    assert len({path.rpartition(".")[0] for path in names}) == len(charts)
    assert all(path.stat().st_size > 1_000 for path in figures.iterdir())
    assert f"wrote {len(names)} files to {figures}" in cli.err
    assert (tmp_path / "report.md").is_file()
    assert {width_of(path) for path in figures.glob("*.png")} == {1020}  # 3.4 inches of 300 pixels


def width_of(png: Path) -> int:
    return int(struct.unpack(">I", png.read_bytes()[16:20])[0])


def test_the_width_of_figures(three: list[Written], cli: Cli, tmp_path: Path) -> None:
    assert cli("report", three[0].folder, "--format", "csv", "--figures", tmp_path, "--width", "7") == 0
    assert {width_of(path) for path in tmp_path.glob("*.png")} == {7 * 300}


@pytest.mark.parametrize("arguments", [["--width", "3.4"], ["--width", "0.1", "--figures", "x"], ["--width", "x"]])
def test_a_width_that_cannot_be_used(arguments: list[str], three: list[Written], cli: Cli) -> None:
    with pytest.raises(SystemExit) as ended:
        cli("report", three[0].folder, *arguments)
    assert ended.value.code == 2


def test_a_file_instead_of_a_folder_for_figures(three: list[Written], cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("kept")
    told = cli.error("report", three[0].folder, "-o", tmp_path / "report.html", "--figures", file)
    assert f"--figures {file}: expected a folder, but {file} is a file" in told
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("name", ["x.pdf", "x.svg", "x.docx", "x.PNG", "x.html.gz"])
def test_a_format_that_there_is_not(name: str, three: list[Written], cli: Cli, tmp_path: Path) -> None:
    told = cli.error("report", three[0].folder, "-o", tmp_path / "new" / name)
    assert tells(told, f"-o {tmp_path / 'new' / name}: expected a name that ends in {FORMATS}", "--figures DIR")
    assert list(tmp_path.iterdir()) == []


def test_a_named_format_goes_before_the_name_of_the_file(three: list[Written], cli: Cli, tmp_path: Path) -> None:
    for name in ("x.json", "x.md", "x"):
        assert cli("report", three[0].folder, "--format", "csv", "-o", tmp_path / name) == 0
        assert (tmp_path / name).read_text().startswith("model,task,metric")
    assert cli("report", three[0].folder, "-o", tmp_path / "X.MD") == 0
    assert (tmp_path / "X.MD").read_text(encoding="utf-8").startswith("# Consistency")


@pytest.mark.parametrize("command", ["report", "export"])
def test_a_named_format_is_not_written_under_the_name_of_another(
    command: str, three: list[Written], cli: Cli, tmp_path: Path
) -> None:
    told = cli.error(command, three[0].folder, "--format", "csv", "-o", tmp_path / "new" / "x.pdf")
    assert tells(told, f"-o {tmp_path / 'new' / 'x.pdf'}: there is no such format", "html, md, json, csv", "latex")
    assert list(tmp_path.iterdir()) == []


def test_a_label_may_spell_its_path_as_the_shell_completes_it(
    monkeypatch: pytest.MonkeyPatch, cli: Cli, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    file = write_answers(tmp_path / "answers.jsonl", answers(questions=2))
    for path in ("./answers.jsonl", "answers.jsonl", str(file)):
        assert cli("report", path, "--label", f"{path}=Small = little", "--format", "json", "-o", "-") == 0
        assert json.loads(cli.out)[0]["model"] == "Small = little"
