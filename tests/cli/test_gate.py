"""The commands `gate` and `plan`: exit statuses in a shell, files, mistakes, and every kind of run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from lm_eval_cora.cli import main
from lm_eval_cora.harness.asking import stop_early
from tests.support.answers_files import answers, write_answers
from tests.support.by_hand import HOSTILE_NAMES, Answers, write_by_hand
from tests.support.messages import tells
from tests.support.stopping import Moody
from tests.support.written import strict, varied, write

GOOD: Answers = {"original": "1111111100" * 10, "x": "1111110100" * 10}
WORSE: Answers = {"original": "1111111000" * 10, "x": "1110010100" * 10}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the answers of a good and of a worse model. The mcqa of the good one is 0.711 to 0.867."""
    folder = tmp_path_factory.mktemp("answers")
    write_by_hand(folder / "good.jsonl", GOOD)
    write_by_hand(folder / "worse.jsonl", WORSE)
    (folder / "gate.yaml").write_text("require: [mcqa >= 0.6]\nno_worse: [mcqa:0.05]\n")
    (folder / "typo.yaml").write_text("requires: [mcqa >= 0.6]\n")
    return folder


STATUSES = {
    "gate good.jsonl --require 'mcqa>=0.7' --require 'mcqa <= 0.9'": 0,
    "gate worse.jsonl --require 'mcqa>=0.9' --require 'mcqa>=0.7'": 1,
    "gate worse.jsonl --require 'mcqa>=0.7' --require 'mcqa>=0.1' --json g.json 2>&1 | true": 2,
    "gate good.jsonl --policy typo.yaml --junit x.xml": 3,
    "gate good.jsonl --require 'mcqa>=0.7' > /dev/full": 3,
}


def gate(*arguments: object) -> int:
    return main(["gate", *map(str, arguments)])


def test_exit_statuses_in_a_shell(files: Path) -> None:
    program = f"{sys.executable} -m lm_eval_cora"
    lines = [f"{program} {command}; echo status ${{PIPESTATUS[0]}} >&2" for command in STATUSES]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    ended = subprocess.run(
        ["bash", "-c", "\n".join(lines)], cwd=files, capture_output=True, text=True, env=environment, check=False
    )
    found = [int(line.split()[1]) for line in ended.stderr.splitlines() if line.startswith("status ")]
    assert dict(zip(STATUSES, found, strict=True)) == STATUSES
    assert "Traceback" not in ended.stderr
    assert not (files / "x.xml").exists()
    assert strict((files / "g.json").read_text())["exit_status"] == 2


def test_a_policy_and_a_baseline(files: Path) -> None:
    good, worse, policy = files / "good.jsonl", files / "worse.jsonl", files / "gate.yaml"
    assert gate(good, "--policy", policy, "--baseline", worse) == 0
    assert gate(worse, "--policy", policy, "--baseline", good) == 1
    assert gate(good, "--policy", policy, "--baseline", worse, "--require", "mcqa>=0.8") == 2


# ---- gate


def test_the_table_and_the_files(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    junit, numbers = tmp_path / "new" / "gate.xml", tmp_path / "gate.json"
    arguments = ["--require", "mcqa>=0.6", "--require", "mcqa>=0.75", "--baseline", files / "worse.jsonl"]
    written = ["--junit", junit, "--json", numbers]
    assert gate(files / "good.jsonl", *arguments, "--no-worse", "mcqa:0.05", *written) == 2
    out, err = capsys.readouterr()
    assert tells(out, "good: undecided", "mcqa ≥ 0.6", "pass", "mcqa ≥ 0.75", "undecided", "574", "no worse by", "pass")
    assert tells(err, f"wrote {junit}", f"wrote {numbers}")
    root = ElementTree.parse(junit).getroot()
    assert (root.attrib["tests"], root.attrib["failures"], root.attrib["errors"]) == ("3", "0", "1")
    told = strict(numbers.read_text())
    assert (told["model"], told["outcome"], told["exit_status"]) == ("good", "undecided", 2)
    assert [each["outcome"] for each in told["requirements"]] == ["pass", "undecided", "pass"]
    assert [each["questions_to_decide"] for each in told["requirements"]] == [None, 574, None]


def test_json_on_stdout(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate(files / "good.jsonl", "--require", "mcqa>=0.6", "--json", "-") == 0
    assert strict(capsys.readouterr().out)["outcome"] == "pass"


MISTAKES = {
    "no requirement": ([], "expected a requirement: --require"),
    "no baseline": (["--no-worse", "mcqa:0.1"], "--no-worse: expected --baseline OUT"),
    "baseline alone": (["--baseline", "worse.jsonl", "--require", "mcqa>=0.1"], "expected --no-worse METRIC:MARGIN"),
    "a metric": (["--require", "mqca>=0.1"], "has no metric 'mqca'. Did you mean 'mcqa'"),
    "a task": (["--require", "other:mcqa>=0.1"], "no such task"),
    "a text": (["--require", "mcqa=>0.1"], "expected [TASK:]METRIC>=NUMBER"),
    "no policy": (["--policy", "none.yaml"], "none.yaml: No such file"),
    "a folder": (["--require", "mcqa>=0.1", "--junit", "."], "--junit .: expected a file, got a folder"),
    "a file as folder": (["--require", "mcqa>=0.1", "--json", "gate.yaml/x"], "expected a folder, but "),
    "junit on stdout": (["--require", "mcqa>=0.1", "--junit", "-"], "--junit -: expected a file"),
    "twice": (["--require", "mcqa>=0.1", "--junit", "x", "--json", "./x"], "expected two files, got x twice"),
    "no run as baseline": (["--baseline", "nowhere", "--no-worse", "mcqa:0.1"], "nowhere"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str, files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, told = MISTAKES[name]
    monkeypatch.chdir(files)
    before = sorted(files.iterdir())
    assert gate("good.jsonl", *arguments, *([] if "--junit" in arguments else ["--junit", "new/gate.xml"])) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert tells(err, "lm-eval-cora gate: ", told)
    assert sorted(files.iterdir()) == before


def test_a_run_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n")
    for path in (tmp_path / "nowhere", tmp_path / "bad.csv"):
        assert gate(path, "--require", "cora>=0.5") == 3
        assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_files_of_answers(suffix: str, tmp_path: Path) -> None:
    path = write_answers(tmp_path / f"m{suffix}", answers("m", 0.9, 40))
    assert gate(path, "--require", "cora>=0.1", "--require", "invalid<=0.5") == 0
    assert gate(path, "--require", "cora>=0.99") == 1


def test_runs_of_the_harness(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    full, stopped, target = tmp_path / "full", tmp_path / "stopped", tmp_path / "target"
    write(full, Moody(3), "cora_demo", {"questions": 12}, "a/full")
    write(stopped, stop_early(Moody(3), "exact"), "cora_demo", {"questions": 12}, "a/stopped")
    write(target, stop_early(Moody(3), target="whole:0.2"), "cora_demo", {}, "a/target")
    told = []
    for folder in (full, stopped, target):
        assert gate(folder, "--require", "cora>=0.01", "--require", "cora<=0.99", "--json", "-") == 0
        told.append([(each["low"], each["high"]) for each in strict(capsys.readouterr().out)["requirements"]])
    assert told[0] == told[1] != told[2]
    assert gate(target, "--require", f"cora>={sum(told[2][0]) / 2}", "--json", "-") == 2
    assert "a run with a smaller E of --target whole:E decides" in capsys.readouterr().out
    assert gate(stopped, "--baseline", full, "--no-worse", "cora:0.3") == 0
    capsys.readouterr()
    assert gate(stopped, "--require", "invalid<=0.5") == 3
    assert tells(capsys.readouterr().err, "has no metric 'invalid'", "stopped early", "cora")
    assert gate(target, "--baseline", full, "--no-worse", "cora:0.1") == 3
    assert "--target followed only a sample" in capsys.readouterr().err
    assert gate(tmp_path, "--require", "cora>=0.1") == 3
    assert tells(capsys.readouterr().err, "expected the runs of one model, got 3", "a/full")


def test_several_tasks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for task in ("cora_demo_order", "cora_demo_sampling"):
        write(tmp_path, varied, task, {"questions": 3}, "a/one")
    assert gate(tmp_path, "--require", "acc>=0.01", "--require", "cora_demo_order:cora>=0", "--json", "-") in (0, 2)
    found = strict(capsys.readouterr().out)["requirements"]
    assert [each["task"] for each in found] == ["cora_demo_order", "cora_demo_sampling", "cora_demo_order"]
    assert gate(tmp_path, "--require", "cora>=0.1") == 3
    assert tells(capsys.readouterr().err, "cora_demo_sampling has no metric 'cora'", "Name the task that has it")


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_hostile_names(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, varied, "cora_demo_order", {"questions": 2}, "a/b")
    (results,) = tmp_path.rglob("results_*.json")
    text = strict(results.read_text())
    text["model_name"] = HOSTILE_NAMES[name]
    results.write_text(json.dumps(text))
    junit = tmp_path / "gate.xml"
    assert gate(tmp_path, "--require", "acc>=0", "--junit", junit) == 0
    out, _ = capsys.readouterr()
    assert len(out.splitlines()) == 5
    assert ElementTree.parse(junit).getroot().attrib["tests"] == "1"


# ---- plan


def test_a_plan(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--difference", "0.05", "--from", str(files / "good.jsonl"), "--metric", "mcqa"]) == 0
    out, err = capsys.readouterr()
    assert tells(out, "a difference of 0.05 with a probability of 0.8 (95% intervals)", "answers", "0.30 (assumed)")
    assert tells(err, "100 questions in the run")
    both = ["--from", str(files / "good.jsonl"), "--from", str(files / "worse.jsonl")]
    assert main(["plan", "--difference", "0.05", *both, "--power", "0.9", "--json"]) == 0
    told = strict(capsys.readouterr().out)
    assert (told["difference"], told["power"], told["level"]) == (0.05, 0.9, 0.95)
    (plan,) = told["plans"]
    assert plan["correlation_measured"]
    assert plan["models"] == ["good", "worse"]
    assert plan["requests"] == 2 * plan["questions"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--difference", "0.1", "--from", "nowhere"], "nowhere"),
        (["--difference", "0.1", "--metric", "corra"], "Did you mean 'cora'"),
        (["--difference", "0.1", "--from", "good.jsonl", "--metric", "corra"], "Did you mean 'cora'"),
    ],
)
def test_plans_that_cannot_be_made(
    arguments: list[str], told: str, files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(files)
    assert main(["plan", *arguments]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert told in err


@pytest.mark.parametrize(
    "line", ["plan", "plan --difference 0", "plan --difference 0.1 --power 1", "gate", "gate x --z"]
)
def test_wrong_usage_has_the_status_of_an_error(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^3$"):
        main(line.split())
    assert tells(capsys.readouterr().err, "usage: lm-eval-cora ", "error: ")
