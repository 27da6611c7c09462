"""Files of the harness, made by its own writer from models with known answers, and ways to damage them."""

import json
import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from lm_eval.api.model import LM
from lm_eval.loggers import EvaluationTracker

from lm_eval_cora.metrics.estimate import for_json
from lm_eval_cora.report.sections import make_report
from lm_eval_cora.report.text import as_csv, as_json, as_markdown
from lm_eval_cora.runs.grouping import read_runs
from lm_eval_cora.runs.model_run import Run
from tests.support.names import benchmark_of, printed
from tests.support.simulated import TASKS, knows, run, says

Doc = dict[str, Any]
Line = dict[str, Any]

DEMO = [
    *("cora_demo", "cora_demo_mc", "cora_demo_plus", "cora_demo_plus_mc", "cora_demo_revas", "cora_demo_revas_mc"),
    *("cora_demo_prompts", "cora_demo_order", "cora_demo_order_mc", "cora_demo_sampling"),
]
"""All tasks of one benchmark: every probe in every form."""

NOTHING = ["", "I do not know.", "<think>so", "選"]


class Written(NamedTuple):
    """A run on disk, below the folder that --output_path named."""

    folder: Path
    samples: Path
    results: Path
    printed: Mapping[str, Any]
    """The numbers of the task as the harness' table has them."""
    study: Mapping[str, Any]
    """Those that are in the results file alone."""


def varied(doc: Doc, salt: str = "") -> str:
    """Often right, sometimes wrong, sometimes nothing; the same answer to the same variant."""
    dice = random.Random(f"{salt} {doc['question_id']} {doc['ordinal']}")
    chance = dice.random()
    if chance < 0.6:
        return knows(doc)
    if chance < 0.7:
        return dice.choice(NOTHING)
    if doc["ask"] == "yes_no":
        return dice.choice(["yes", "no"])
    if doc["ask"] == "boxed":
        return rf"The final answer is: $\boxed{{{dice.choice(['1', 'x^2', '0.5', '1/2'])}}}$"
    if doc["ask"] == "select_all":
        return " and ".join(sorted(says(doc, identity) for identity in dice.sample(doc["printed"], 2)))
    return says(doc, dice.choice(doc["printed"]))


def otherwise(doc: Doc) -> str:
    """The same with other random choices."""
    return varied(doc, "other")


def save(folder: Path, results: dict[str, Any], model: str = "some-org/some-model") -> str:
    """Write what the harness writes with `--log_samples`, and return the date in the names of the files."""
    tracker = EvaluationTracker(output_path=str(folder))
    tracker.general_config_tracker.log_experiment_args("simulated", f"pretrained={model}", None, None, False)
    samples = results.pop("samples")
    tracker.save_results_aggregated(results, samples)
    for task, lines in samples.items():
        tracker.save_results_samples(task, lines)
    return str(tracker.date_id)


def write(
    folder: Path,
    rule: Callable[[Doc], str] | LM,
    task: str,
    options: Mapping[str, Any],
    model: str = "some-org/some-model",
    **arguments: Any,
) -> Written:
    """Run a task and write its files."""
    results = run(rule, task, options, TASKS / benchmark_of(task), **arguments)
    date = save(folder, results, model)
    below = folder / model.replace("/", "__")
    return Written(
        folder,
        below / f"samples_{task}_{date}.jsonl",
        below / f"results_{date}.json",
        results["results"][task],
        results["configs"][task]["metadata"].get("study") or {},
    )


def copied(written: Written, folder: Path) -> Written:
    """Copy a run to another folder, to damage it."""
    shutil.copytree(written.folder, folder, dirs_exist_ok=True)
    files = [folder / path.relative_to(written.folder) for path in (written.samples, written.results)]
    return Written(folder, *files, written.printed, written.study)


def strict(text: str) -> Any:
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"a bare {name}"))


def lines_of(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def put(path: Path, lines: Sequence[Any]) -> Path:
    """Write lines: bytes and texts as they are, anything else as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for line in lines:
            text = line if isinstance(line, str | bytes) else json.dumps(line)
            file.write((text if isinstance(text, bytes) else text.encode()) + b"\n")
    return path


def edit(path: Path, change: Callable[[Line], Any]) -> None:
    """Change each line of a samples file."""
    lines = lines_of(path)
    for line in lines:
        change(line)
    put(path, lines)


def edit_results(written: Written, change: Callable[[Line], Any]) -> None:
    """Change the results file of a run."""
    results = json.loads(written.results.read_text())
    change(results)
    written.results.write_text(json.dumps(results))


def the_run(*paths: Path) -> Run:
    (found,) = read_runs(paths)
    return found


def everything(*paths: Path) -> str:
    """Everything that is reported about runs, in all forms. None of it may raise."""
    runs = read_runs(paths)
    strict(as_json(runs))
    return as_csv(runs) + as_markdown(make_report(runs))


def as_harness(number: float, undefined: str) -> float | str:
    return undefined if isnan(number) else number


def check_numbers(run: Run, written: Written, task: str) -> None:
    """Check that values are equal to the last digit, and that none is missing."""
    told = {key.removesuffix(",none"): value for key, value in written.printed.items() if key.endswith(",none")}
    names = [name for name in told if not name.endswith("_stderr")]
    assert set(names) == set(printed(task))
    for name in names:
        value, error = run.estimates[name]
        assert as_harness(value, "nan") == told[name], name
        assert as_harness(error, "N/A") == told[f"{name}_stderr"], name
    assert for_json({**run.estimates, **run.studies}).items() >= dict(written.study).items()
    assert run.differences == []
