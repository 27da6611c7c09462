"""Each script in benchmarks/ runs from the checkout at a tiny size and prints numbers."""

import json
import re
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

from tests.support.scripts import run_all

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "benchmarks").glob("*.py"))

TINY = {
    "clusters": ["--runs", "2", "--clusters", "10", "--truth", "40"],
    "interval_widths": ["--samples", "2", "--questions", "10", "--truth", "40"],
    "confidence": ["--runs", "3"],
    "existing": ["--samples", "20"],
    "extremes": ["--runs", "1", "--questions", "10", "--chance", "20"],
    "interval_coverage": ["--runs", "2"],
    "letter_bias": ["--runs", "2", "--questions", "10"],
    "leaderboard": ["--models", "2", "--tasks", "1", "--questions", "5"],
    "letter_preference": ["--runs", "1", "--questions", "40"],
    "maths": ["--questions", "2"],
    "metrics": ["--questions", "20"],
    "overhead": ["--questions", "5", "--repeats", "1"],
    "plan_power": ["--samples", "1", "--run", "500", "--pairs", "1"],
    "report": ["--megabytes", "0.1", "--copied", "2", "--models", "2", "--questions", "5"],
    "request_counts": ["--questions", "20", "--models", "2", "--real", "0"],
    "scale": ["--questions", "20", "--answers", "200"],
    "several_models": ["--runs", "1", "--sizes", "20"],
    "startup": ["--repeats", "1", "--runs", "1", "--ours-alone"],
    "tables": ["--questions", "20"],
    "until": ["--runs", "2", "--models", "1", "--questions", "150"],
}

LABELLED = {"model": "m", "prompt": "p", "options": ["Ice", "Fog"], "response": "The answer is B.", "label": "B"}

NAMES = [file.stem for file in FILES if "__main__" in file.read_text()]
"""The scripts. They import the other files."""


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("benchmarks")
    (folder / "labelled.jsonl").write_text(json.dumps(LABELLED) + "\n")
    given = {**TINY, "readers": [str(folder / "labelled.jsonl")]}
    return run_all({name: [f"benchmarks/{name}.py", *given[name]] for name in NAMES}, folder)


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_prints_numbers(name, ran):
    status, out, err = ran[name]
    assert status == 0, (out + err)[-4000:]
    assert re.search(r"\d", out)


@pytest.mark.parametrize("name", [file.stem for file in FILES])
def test_a_benchmark_does_not_hide_a_module(name):
    """`python benchmarks/NAME.py` puts the folder first on the path."""
    assert name not in sys.stdlib_module_names
    elsewhere = [path for path in sys.path if Path(path).resolve() not in (ROOT, ROOT / "benchmarks")]
    assert PathFinder.find_spec(name, elsewhere) is None
