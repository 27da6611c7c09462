"""The commands: what they print to stdout and stderr, and their exit status."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import Any

import pytest

from lm_eval_cora import __version__
from lm_eval_cora.cli import main
from tests.support.messages import tells
from tests.support.names import NAMES
from tests.support.simulated import TASKS, Simulated, knows, run
from tests.support.written import Written, copied, lines_of, otherwise, put, strict, varied, write

COMMANDS = ["report", "compare", "plan", "gate", "score", "export", "leaderboard", "guess", "tasks"]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Written:
    return write(tmp_path_factory.mktemp("out"), varied, "cora_demo", {"questions": 3})


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Written:
    return write(tmp_path_factory.mktemp("second"), otherwise, "cora_demo", {"questions": 3}, "an-org/another")


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    common = {"question_id": "q", "answer": "a"}
    lines = [{**common, "kind": "original", "ordinal": 0, "picked": "a"}]
    return put(tmp_path / "answers.jsonl", [*lines, {**common, "kind": "x", "ordinal": 1, "picked": None}])


class Cli:
    """Runs a command; what it wrote is in `out` and `err`."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys
        self.out = self.err = ""

    def __call__(self, *arguments: object) -> int:
        self.capsys.readouterr()
        try:
            code: Any = main([str(argument) for argument in arguments])
        except SystemExit as ended:
            code = ended.code or 0
        self.out, self.err = self.capsys.readouterr()
        return int(code)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(capsys)


def table(text: str) -> list[list[str]]:
    rows = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


def other_notes(text: str) -> list[str]:
    """The messages except the warning that few of the simulated responses follow the format."""
    return [line for line in text.splitlines() if "of the responses follow the format" not in line]


# ---- usage


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_examples(command: str, cli: Cli) -> None:
    assert cli(command, "--help") == 0
    assert "examples:\n" in cli.out
    assert re.search(rf"^  lm-eval-cora {command} ", cli.out, re.MULTILINE)
    assert cli.err == ""


def test_help_names_all_commands(cli: Cli) -> None:
    assert cli("--help") == 0
    assert all(command in cli.out for command in COMMANDS)


def test_the_version(cli: Cli) -> None:
    assert cli("--version") == 0
    assert cli.out == f"lm-eval-cora {__version__}\n"


BAD_USAGE: list[Sequence[str]] = [
    [],
    ["sing"],
    ["report"],
    ["report", "out", "--format", "pdf"],
    ["score"],
    ["export", "out"],
    ["export", "out", "--format", "xml"],
    ["guess", "--options", "1"],
    ["guess", "--options", "x"],
    ["guess", "--variants", "0"],
    ["guess", "--variants", "100000"],
    ["guess", "--rate", "2"],
    ["guess", "--rate", "nan"],
    ["guess", "--certain", "0"],
    ["guess", "--certain", "1"],
    ["tasks", "--check"],
    ["tasks", "--metadata", "{"],
    ["tasks", "--metadata", "[1]"],
    ["tasks", "--metadata", "[" * 100_000],
    ["tasks", "--num_fewshot", "-1"],
    ["tasks", "--limit", "0"],
]


@pytest.mark.parametrize("arguments", BAD_USAGE, ids=lambda arguments: " ".join(arguments)[:40])
def test_bad_usage(arguments: Sequence[str], cli: Cli) -> None:
    assert cli(*arguments) == 2
    assert cli.out == ""
    assert "usage: lm-eval-cora" in cli.err


def test_errors_are_one_line_on_stderr(cli: Cli, out: Written, tmp_path: Path, answers: Path) -> None:
    other = write(tmp_path / "other", varied, "cora_demo", {"questions": 3, "seed": 1})
    broken = put(tmp_path / "broken.jsonl", ["{"])
    missing = tmp_path / "missing"
    for arguments, told in (
        (["report", missing], f"{missing}: there is no such file or folder"),
        (["report", out.folder, missing], f"{missing}: there is no such file or folder"),
        (["report", put(tmp_path / "samples.jsonl", [])], "samples.jsonl: there are no samples"),
        (
            ["report", put(tmp_path / "mine.csv", ["id,ok", "1,1"])],
            "mine.csv: expected the columns 'question', 'variant'",
        ),
        (["compare", out.folder, missing], f"{missing}: there is no such file or folder"),
        (["compare", out.folder, other.folder, "--json"], "cannot be compared"),
        (["compare", out.folder], "expected two or more models, got one"),
        (["compare", out.folder, other.folder, "--baseline", "nobody"], "--baseline nobody: expected"),
        (["compare", out.folder, out.folder, "--metric", "corra"], "Did you mean 'cora'"),
        (["report", out.folder, "--label", "elsewhere=Small"], "--label elsewhere=Small: expected PATH=NAME"),
        (["report", out.folder, "--label", f"{out.folder}="], "expected PATH=NAME"),
        (["report", out.folder, "-o", "page.pdf"], "-o page.pdf: expected a name that ends in .html"),
        (["score", f"{missing}.jsonl"], "missing.jsonl"),
        (["score", broken], "broken.jsonl line 1 is not valid JSON"),
        (["score", tmp_path / "mine.csv"], "Name yours: --question COLUMN, --variant COLUMN, --correct COLUMN"),
        (["score", tmp_path / "mine.csv", "--correct", "okay"], "--correct 'okay': there is no such column"),
        (["export", missing, "--format", "csv"], f"{missing}: there is no such file or folder"),
        (["tasks", "--check", "cora_nothing"], "there is no task 'cora_nothing'"),
        (["report", out.folder, "--format", "md", "-o", tmp_path], str(tmp_path)),
        (["report", out.folder, "--format", "md", "-o", broken / "below"], str(broken)),
    ):
        assert cli(*arguments) == 1, arguments
        assert cli.out == ""
        lines = [line for line in cli.err.splitlines() if line.startswith(f"lm-eval-cora {arguments[0]}: ")]
        assert len(lines) == 1
        assert told in lines[0]
        assert "Traceback" not in cli.err


# ---- report and export


@pytest.mark.parametrize("format_name", ["md", "json", "csv"])
def test_a_report_as_text(format_name: str, cli: Cli, out: Written, second: Written, tmp_path: Path) -> None:
    assert cli("report", out.folder, second.folder, "--format", format_name) == 0
    printed = cli.out
    assert "cora_demo" in printed
    assert "some-org/some-model" in printed
    assert "an-org/another" in printed
    assert other_notes(cli.err) == []
    if format_name == "json":
        assert [entry["model"] for entry in strict(printed)] == ["some-org/some-model", "an-org/another"]
    if format_name == "csv":
        assert len({len(row) for row in csv.reader(printed.splitlines())}) == 1
    path = tmp_path / "new" / "folders" / "report"
    assert cli("report", out.folder, second.folder, "--format", format_name, "-o", path) == 0
    assert cli.out == ""
    assert other_notes(cli.err) == [f"wrote {path}"]
    assert path.read_text(encoding="utf-8") == printed
    assert cli("report", out.folder, second.folder, "--format", format_name, "--output", "-") == 0
    assert cli.out == printed


def test_a_report_as_a_page(cli: Cli, out: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    assert cli("report", out.folder, "--title", "Mine & <yours>") == 0
    assert cli.out == ""
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Mine &amp; &lt;yours&gt;" in page
    assert cli("report", out.folder, "-o", "-", "--title", "Mine & <yours>") == 0
    assert cli.out == page


def test_warnings_are_on_stderr(cli: Cli, out: Written, tmp_path: Path) -> None:
    written = copied(out, tmp_path)
    put(written.samples, ["{", *lines_of(written.samples)[1:]])
    assert cli("report", tmp_path, "--format", "json") == 0
    strict(cli.out)
    assert re.search("some-org/some-model, cora_demo: left out 1 lines?: 1 not JSON", cli.err)
    assert re.search("left out 1 questions?: variants are missing", cli.err)
    assert "results file" in cli.err


def test_an_export_is_the_report_as_csv(cli: Cli, out: Written, tmp_path: Path) -> None:
    assert cli("report", out.folder, "--format", "csv") == 0
    printed = cli.out
    assert cli("export", out.folder, "--format", "csv") == 0
    assert cli.out == printed
    assert cli("export", out.folder, "--format", "csv", "-o", tmp_path / "new" / "scores.csv") == 0
    assert (tmp_path / "new" / "scores.csv").read_text() == printed


def test_text_that_cannot_be_encoded(cli: Cli, out: Written, tmp_path: Path) -> None:
    """An escaped lone surrogate (half an emoji). The harness writes none, other programs do."""
    lines = lines_of(out.samples)
    for line in lines:
        line["doc"]["category"] = line["doc"]["question_id"] + "\ud83d"
    path = put(tmp_path / "samples.jsonl", lines)
    for format_name in ("md", "json", "csv"):
        assert cli("report", path, "--format", format_name, "-o", tmp_path / format_name) == 0


# ---- compare and score


def test_a_comparison(cli: Cli, out: Written, second: Written) -> None:
    assert cli("compare", out.folder, second.folder, "--json") == 0
    (found,) = strict(cli.out)
    assert (found["task"], found["questions"]) == ("cora_demo", 3)
    assert (found["before"]["model"], found["after"]["model"]) == ("some-org/some-model", "an-org/another")
    for name, row in found["metrics"].items():
        assert row["before"]["value"] == out.printed[f"{name},none"]
        assert row["after"]["value"] == second.printed[f"{name},none"]
        assert row["difference"]["value"] == row["after"]["value"] - row["before"]["value"]
    assert cli("compare", out.folder, second.folder) == 0
    names = [row[0] for row in table(cli.out)]
    # A second table has a row per kind of variant, below its heading.
    assert set(names) == {*found["metrics"], *found["kinds"], "kind of variant", next(n for n in names if n[0] == ":")}
    assert found["kinds"]["original"]["low"] < 0 < found["kinds"]["original"]["high"]
    assert other_notes(cli.err) == []


def test_tasks_of_one_side_are_named(cli: Cli, out: Written, second: Written, tmp_path: Path) -> None:
    copied(out, tmp_path)
    write(tmp_path, varied, "cora_demo_order", {"questions": 1})
    assert cli("compare", tmp_path, second.folder) == 0
    (note,) = other_notes(cli.err)
    assert tells(note, "only one model", "cora_demo_order")


def test_scores(cli: Cli, answers: Path) -> None:
    assert cli("score", answers, "--json") == 0
    found = strict(cli.out)
    assert (found["questions"], found["answers"]) == (1, 2)
    assert found["metrics"]["mcqa_plus"] == {"value": 0.5, "stderr": None, "low": None, "high": None}
    assert found["metrics"]["cora"]["value"] == 0.0
    assert "followed" in found["undefined"]
    assert "cora" not in found["undefined"]
    assert cli("score", answers) == 0
    rows = {row[0]: row[1:] for row in table(cli.out)}
    assert rows["mcqa_plus"] == ["0.5000", "±", "N/A", ""]
    assert "followed" not in rows
    assert re.search("1 questions? with 2 variants", cli.err)


def test_scores_without_an_original(cli: Cli, answers: Path) -> None:
    put(answers, [{**line, "kind": "x"} for line in lines_of(answers)])
    assert cli("score", answers, "--json") == 0
    found = strict(cli.out)
    for name in ("mcqa", "cora", "ci", "mcqa_plus_diff"):
        assert found["metrics"][name] == dict.fromkeys(("value", "stderr", "low", "high"))
        assert tells(found["undefined"][name], "the column 'original'", "kind named 'original'")
    assert found["metrics"]["mcqa_plus"]["value"] == 0.5
    assert cli("score", answers) == 0
    assert re.search(r"undefined: mcqa, .*cora.*: .*original", cli.err)


# ---- guess


def test_guessing_is_table_7(cli: Cli) -> None:
    tails = [
        sum(comb(10, j) * Fraction(1, 5) ** j * Fraction(4, 5) ** (10 - j) for j in range(p, 11)) for p in range(11)
    ]
    assert cli("guess") == 0
    rows = table(cli.out)
    assert [float(row[1]) for row in rows] == pytest.approx([float(tail) for tail in tails], abs=5e-8)
    printed = [1, 0.89263, 0.62419, 0.32220, 0.12087, 0.03279, 0.00637, 0.00086, 0.000078, 0.0000042, 0.0000001]
    assert [float(row[1]) for row in rows] == pytest.approx(printed, abs=5e-6)
    assert rows[1][1].startswith("0.89263") or rows[1][1].startswith("0.892625")
    assert cli("guess", "--json") == 0
    found = strict(cli.out)
    assert [row["probability"] for row in found["rows"]] == pytest.approx([float(tail) for tail in tails], rel=1e-12)
    assert (found["variants"], found["rate"]) == (10, 0.2)


@pytest.mark.parametrize(
    ("variants", "rate"), [*((variants, rate) for variants in (1, 26) for rate in (0, 0.5, 1, 1e-300)), (1_000, 0.2)]
)
def test_guessing_at_the_ends(variants: int, rate: float, cli: Cli) -> None:
    assert cli("guess", "--variants", variants, "--rate", rate, "--json") == 0
    rows = strict(cli.out)["rows"]
    assert len(rows) == variants + 1
    assert all(0 <= row["probability"] <= 1 and 0 <= row["msgr"] <= 1 for row in rows)


# ---- tasks


def test_the_list_of_tasks(cli: Cli) -> None:
    assert cli("tasks") == 0
    rows = {row[0]: row[1:] for row in table(cli.out)}
    assert sorted(rows) == NAMES
    assert rows["cora_medqa"] == ["1,273", "26"]
    assert rows["cora_truthfulqa"] == ["817", "8 to 74"]
    assert rows["cora_mmlu"] == ["14,042", "20"]
    assert rows["cora_local"][0] == "yours"
    assert Path(cli.out.splitlines()[-1].rpartition("The task files are in ")[2]).is_dir()


CHECKS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("cora_demo", {"questions": 3}, {}),
    ("cora_demo_mc", {"questions": 2, "seed": 5}, {"num_fewshot": 1}),
    ("cora_demo_revas_mc", {"questions": 1}, {}),
    ("cora_demo_sampling", {"categories": ["astronomy"]}, {}),
    ("cora_demo_plus", {}, {"limit": 2}),
    ("cora_demo", {"questions": 10}, {"limit": 0.3}),
]


@pytest.mark.parametrize(("task", "options", "arguments"), CHECKS)
def test_the_cost_of_a_run(task: str, options: dict[str, Any], arguments: dict[str, Any], cli: Cli) -> None:
    metadata = json.dumps({"cora": options})
    more = [part for name, value in arguments.items() for part in (f"--{name}", value)]
    assert cli("tasks", "--check", task, "--metadata", metadata, *more) == 0
    model = Simulated(knows)
    results = run(model, task, options, TASKS / "demo", **arguments)
    variants = len(results["samples"][task])
    (line,) = cli.out.splitlines()
    assert line.startswith(f"{task}: ")
    assert f", {len(model.prompts):,} requests" in line
    assert (f", {variants:,} variants, " in line) == (len(model.prompts) > variants)


def test_several_tasks_and_a_folder_of_the_user(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        f"task: mine\ninclude: {Path(__file__).parents[2]}/tasks/demo/cora_demo.yaml\nmetadata: {{version: 1}}\n"
    )
    metadata = '{"cora": {"questions": 1}}'
    names = ["cora_demo,cora_demo_order", "mine"]
    assert cli("tasks", "--check", *names, "--metadata", metadata, "--include_path", tmp_path) == 0
    assert [line.partition(":")[0] for line in cli.out.splitlines()] == ["cora_demo", "cora_demo_order", "mine"]


@pytest.mark.parametrize(
    "options",
    [
        {"question": 1},
        {"questions": 0},
        {"questions": "x"},
        {"seed": 1.5},
        {"categories": ["none"]},
        {"data_files": "no"},
    ],
)
def test_a_bad_option_ends_the_check(options: dict[str, Any], cli: Cli) -> None:
    assert cli("tasks", "--check", "cora_demo", "--metadata", json.dumps({"cora": options})) == 1
    assert cli.out == ""
    assert f"option '{next(iter(options))}'" in cli.err
    assert re.search(r"^lm-eval-cora tasks: (cora_)?demo: ", cli.err, re.MULTILINE)
    assert "Traceback" not in cli.err


def test_too_many_shots_end_the_check(cli: Cli) -> None:
    assert cli("tasks", "--check", "cora_demo", "--num_fewshot", 500) == 1
    assert cli.out == ""
    assert "lm-eval-cora tasks: cora_demo: --num_fewshot 500" in cli.err
