"""Measure time, memory and size of leaderboards of runs and of records.

python benchmarks/leaderboard.py [--models 200] [--tasks 10] [--questions 50]

The runs have 20 variants per question and short responses, of which many are equal. Equal responses to the same options
are read once. So one benchmark (`--tasks 1`) takes a time that is more like that of real runs: here, the runs of
several benchmarks have the same responses. The runs are read by one process, then by one per processor; the last column
is the time relative to the first. Records have scores only. The memory is that of all processes together on Linux,
elsewhere that of the largest one.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from pathlib import Path
from typing import Any
from uuid import UUID

sys.path.insert(0, str(Path(__file__).parents[1]))  # the checkout, not an installed version

from benchmarks.report import measured, write_models

COMMAND = "import sys; from lm_eval_cora.cli import main; sys.exit(main(['leaderboard', *sys.argv[1:]]))"
ONE_PROCESS = f"import lm_eval_cora.workers as workers; workers.processors = lambda: 1; {COMMAND}"

SIGNATURE = "cora|task:{task}@1|data:1a2b3c4d|probe:divergent|form:generate|reader:flexible|shots:0|n:{n}x20|v0.2.0"


def write_runs(folder: Path, models: int, tasks: list[str], questions: int) -> int:
    """Write the runs of all models on all tasks; return the number of lines. The tasks have the same answers."""
    count = write_models(folder, models, questions)
    (folder / "questions.jsonl").unlink()
    for place in folder.iterdir():
        (samples,) = place.glob("samples_*.jsonl")
        (results,) = place.glob("results_*.json")
        found = json.loads(results.read_text(encoding="utf-8"))
        found["configs"] = {task: {"metadata": _metadata(task, questions)} for task in tasks}
        results.write_text(json.dumps(found), encoding="utf-8")
        for task in tasks:
            os.link(samples, samples.with_name(samples.name.replace("cora_local", task)))
        samples.unlink()
    return count * len(tasks)


def _metadata(task: str, questions: int) -> dict[str, Any]:
    return {
        "signature": SIGNATURE.format(task=task, n=questions),
        "benchmark": {"name": task.removeprefix("cora_"), "questions": "1a2b3c4d"},
    }


def write_records(folder: Path, models: int, tasks: list[str], questions: int) -> None:
    """Write a record per model, in the layout of `lm-eval-cora export --format every-eval-ever`."""
    for model in range(models):
        dice = random.Random(model)
        record = {
            "source_metadata": {"source_name": "lm-eval-cora"},
            "model_info": {"id": f"an-org/model-{model}"},
            "evaluation_results": [
                _result(task, metric, min(1.0, 0.2 + 0.6 * model / models + dice.gauss(0, 0.02)), questions)
                for task in tasks
                for metric in ("cora", "mcqa", "bmca@1.0", "invalid")
            ],
        }
        (folder / f"{UUID(int=model)}.json").write_text(json.dumps(record), encoding="utf-8")


def _result(task: str, metric: str, value: float, questions: int) -> dict[str, Any]:
    return {
        "evaluation_name": task,
        "evaluation_timestamp": "1795523547.0",
        "metric_config": {"metric_name": metric},
        "score_details": {
            "score": value,
            "uncertainty": {
                "standard_error": {"value": 0.014},
                "confidence_interval": {"lower": value - 0.028, "upper": value + 0.028},
            },
            "details": {
                "signature": SIGNATURE.format(task=task, n=questions),
                "data": "1a2b3c4d",
                "probe": "divergent",
                "reader": "flexible",
                "questions": str(questions),
            },
        },
    }


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=200, help="number of models (default: 200)")
    parser.add_argument("--tasks", type=int, default=10, help="number of benchmarks (default: 10)")
    parser.add_argument("--questions", type=int, default=50, help="questions of each benchmark (default: 50)")
    given = parser.parse_args()
    tasks = [f"cora_bench{number}" for number in range(given.tasks)]
    print(f"{given.models} models x {given.tasks} benchmarks x {given.questions} questions\n")
    print("| source | lines | s processor | s | lines per s processor | MiB of memory | MB of page | of the time |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        write_records(Path(name), given.models, tasks, given.questions)
        measure("records", COMMAND, Path(name), 0)
    with tempfile.TemporaryDirectory() as name:
        lines = write_runs(Path(name), given.models, tasks, given.questions)
        first = measure("runs, one process", ONE_PROCESS, Path(name), lines)
        measure("runs", COMMAND, Path(name), lines, first)


def measure(source: str, command: str, folder: Path, lines: int, first: float = 0.0) -> float:
    """Print a row about the leaderboard of a folder; return its seconds."""
    with tempfile.TemporaryDirectory() as name:
        page = Path(name, "index.html")
        took = measured(command, str(folder), "-o", str(page))
        size = page.stat().st_size / 1e6
    rate = f"{lines / took.processor:,.0f}" if lines else ""
    ratio = f"{took.wall / first:.3f}" if first else ""
    numbers = (
        f"{lines:,}",
        f"{took.processor:.1f}",
        f"{took.wall:.1f}",
        rate,
        f"{took.peak:,.0f}",
        f"{size:.2f}",
        ratio,
    )
    print(f"| {source} | {' | '.join(numbers)} |", flush=True)
    return took.wall


if __name__ == "__main__":
    main()
