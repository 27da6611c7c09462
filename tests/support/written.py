"""Runs on disk: files of the harness, made by its own writer from models with known answers, and files of answers."""

import json
import random
import shutil
from collections.abc import Mapping
from dataclasses import replace
from math import isnan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pandas as pd
import pytest
from lm_eval.loggers import EvaluationTracker

from lm_eval_cora.metrics.estimate import for_json
from lm_eval_cora.renderers.markdown import as_markdown
from lm_eval_cora.report.score_views import as_json
from lm_eval_cora.report.sections import make_report
from lm_eval_cora.runs.grouping import read_runs
from tests.support.names import benchmark_of, printed
from tests.support.shown import scores_as_csv
from tests.support.simulated import TASKS, knows, run, says

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


def varied(doc, salt=""):
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


def otherwise(doc):
    """The same with other random choices."""
    return varied(doc, "other")


def save(folder, results, model="some-org/some-model"):
    """Write what the harness writes with `--log_samples`, and return the date in the names of the files."""
    tracker = EvaluationTracker(output_path=str(folder))
    tracker.general_config_tracker.log_experiment_args("simulated", f"pretrained={model}", None, None, False)
    samples = results.pop("samples")
    tracker.save_results_aggregated(results, samples)
    for task, lines in samples.items():
        tracker.save_results_samples(task, lines)
    return str(tracker.date_id)


def write(
    folder,
    rule,
    task,
    options,
    model="some-org/some-model",
    **arguments,
):
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


def copied(written, folder):
    """Copy a run to another folder, to damage it."""
    shutil.copytree(written.folder, folder, dirs_exist_ok=True)
    files = [folder / path.relative_to(written.folder) for path in (written.samples, written.results)]
    return Written(folder, *files, written.printed, written.study)


def strict(text):
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"a bare {name}"))


def lines_of(path):
    return [json.loads(line) for line in path.read_text().split("\n") if line]


def put(path, lines):
    """Write lines: bytes and texts as they are, anything else as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for line in lines:
            text = line if isinstance(line, str | bytes) else json.dumps(line)
            file.write((text if isinstance(text, bytes) else text.encode()) + b"\n")
    return path


def edit(path, change):
    """Change each line of a samples file."""
    lines = lines_of(path)
    for line in lines:
        change(line)
    put(path, lines)


def edit_results(written, change):
    """Change the results file of a run."""
    results = json.loads(written.results.read_text())
    change(results)
    written.results.write_text(json.dumps(results))


def the_run(*paths):
    (found,) = read_runs(paths)
    return found


def everything(*paths):
    """Everything that is reported about runs, in all forms. None of it may raise."""
    runs = read_runs(paths)
    strict(as_json(runs))
    return scores_as_csv(runs) + as_markdown(make_report(runs))


def as_harness(number, undefined):
    return undefined if isnan(number) else number


def check_numbers(run, written, task):
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


# ---- files of answers that were collected without the harness

KINDS = ("original", "shuffled", "nota", "fewer")


def answers(model="small", knows=0.5, questions=20):
    """Answers to four variants of each question. The options depend on the variant, the picks on the model."""
    dice, rows = random.Random(model), []
    for number in range(questions):
        for kind in KINDS:
            printed = random.Random(f"{number} {kind}").sample(["Ice", "Fog", "Rain"], 3)
            pick = "Ice" if dice.random() < knows else dice.choice(["Fog", "Rain", None])
            row = {"question_id": f"q{number}", "variant": kind, "picked": pick, "answer": "Ice", "printed": printed}
            rows.append({**row, "category": "ab"[number % 2], "followed": pick is not None})
    return rows


def _csv(path, rows):
    cells = [{**row, "printed": json.dumps(row["printed"])} if "printed" in row else row for row in rows]
    pd.DataFrame(cells).to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")


WRITERS = {
    ".jsonl": put,
    ".json": lambda path, rows: path.write_text(json.dumps(list(rows))),
    ".csv": _csv,
    ".tsv": _csv,
    ".parquet": lambda path, rows: pd.DataFrame(rows).to_parquet(path),
}


def write_answers(path, rows):
    """Write answers in the format of the file's name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    WRITERS[path.suffix](path, rows)
    return path


def write_by_hand(path, answers):
    """Write answers as a file for `score`.

    For each kind of variant they have a character per question: 1 is right, 0 is wrong, - is a variant that does not
    exist.
    """
    rows = [
        {"question": f"q{number:03}", "variant": kind, "correct": None if mark == "?" else mark == "1"}
        for number, marks in enumerate(zip(*answers.values(), strict=True))
        for kind, mark in zip(answers, marks, strict=True)
        if mark != "-"
    ]
    return put(path, rows)


def runs_by_hand(models):
    """The runs of models whose answers are given, as the report reads them from files, which are gone afterwards."""
    with TemporaryDirectory() as folder:
        files = [Path(folder) / f"{number}.jsonl" for number in range(len(models))]
        runs = read_runs(list(map(write_by_hand, files, models.values())))
    return [replace(run, model=name) for run, name in zip(runs, models, strict=True)]


def run_by_hand(answers, model="model"):
    (run,) = runs_by_hand({model: answers})
    return run


def digits(run):
    """The value, error and interval of each metric as text, because nan differs from itself."""
    return {name: repr((each, each.interval)) for name, each in run.estimates.items()}
