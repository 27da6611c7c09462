"""The example of a CI workflow: its YAML, its scripts, and the arguments of our commands."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

pytest.importorskip("markdown_it")

from lm_eval_cora.cli import make_parser
from tests.support.markdown import ROOT, blocks

PAGE = ROOT / "docs/deciding.md"


def workflow_of(page):
    (text,) = [block.code for block in blocks(page.read_text()) if block.language == "yaml"]
    return yaml.safe_load(text)


@pytest.fixture(scope="module")
def steps():
    workflow = workflow_of(PAGE)
    assert workflow[True] == ["pull_request"]  # YAML 1.1 reads `on` as true
    return workflow["jobs"]["gate"]["steps"]


def scripts(steps):
    """The scripts of the steps, with the expressions of the CI system replaced by a word."""
    return [re.sub(r"\$\{\{.*?\}\}", "X", step["run"]) for step in steps if "run" in step]


def test_each_step_does_one_thing_and_its_script_is_valid(steps):
    assert all(("run" in step) != ("uses" in step) for step in steps)
    for script in scripts(steps):
        subprocess.run(["bash", "-n", "-c", script], check=True)


def test_the_commands_take_their_arguments(steps):
    parser = make_parser()
    lines = [line for script in scripts(steps) for line in script.splitlines() if line.startswith("lm-eval-cora ")]
    read = [parser.parse_known_args(shlex.split(line.partition(" || ")[0])[1:]) for line in lines]
    assert [given.name for given, _ in read] == ["run", "gate"]
    assert read[0][0].stop == "exact"
    gate, others = read[1]
    assert not others
    assert (gate.out, gate.junit, gate.json) == (Path("out/new"), Path("gate.xml"), Path("gate.json"))


@pytest.mark.parametrize(("status", "ends_with"), [(0, 0), (1, 1), (2, 0), (3, 3)])
def test_an_undecided_gate_is_a_warning(steps, status, ends_with):
    (script,) = [script for script in scripts(steps) if "lm-eval-cora gate" in script]
    command = ["bash", "-e", "-c", f"lm-eval-cora() {{ return {status}; }}\n{script}"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == ends_with
    assert ("::warning::" in ended.stdout) == (status == 2)


def test_each_changed_folder_of_a_leaderboard_is_checked(tmp_path):
    jobs = workflow_of(ROOT / "docs/run-a-leaderboard.md")["jobs"]
    (publish,) = [script for script in scripts(jobs["publish"]["steps"]) if "leaderboard" in script]
    assert make_parser().parse_args(shlex.split(publish)[1:]).strict
    (script,) = [script for script in scripts(jobs["check"]["steps"]) if "leaderboard" in script]
    for name in ("a b", "bad"):
        (tmp_path / "runs" / name).mkdir(parents=True)
    changed = r"runs/a b/x.json\0runs/a b/y.jsonl\0runs/bad/x.json\0runs/README.md\0runs/removed/x.json\0"
    git = f"git() {{ printf '{changed}'; }}"
    ours = 'lm-eval-cora() { echo "$@"; [ "$4" != runs/bad ]; }'
    command = ["bash", "-e", "-c", f"{git}\n{ours}\n{script}"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.stdout.splitlines() == [
        f"leaderboard runs --check runs/{name} --junit check-{number}.xml" for number, name in ((1, "a b"), (2, "bad"))
    ]
    assert ended.returncode == 1
