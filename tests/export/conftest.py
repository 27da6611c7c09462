"""One run of three tasks, written by the harness, read by the report and exported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from lm_eval.loggers import EvaluationTracker

from lm_eval_cora.export.every_eval_ever import write_every_eval_ever
from lm_eval_cora.report.runs import Run, read_runs

from ..simulated import knows, run

HOSTILE = [
    "She said: \"no\", \\ and 'why'\n\n\r\n\t",
    "one line\u2028another\u2029and\x85more\x00",
    "naïve 😀 选B",
    "x" * 100_000,
    "</script><b>{{ 7 * 7 }}</b>",
]


def hostile(doc: dict[str, Any]) -> str:
    """What follows the letter on the next line."""
    return f"{knows(doc)}\n{HOSTILE[doc['ordinal'] % len(HOSTILE)]}"


class KnowsOne:
    """Right on every variant of the question that comes first, and says nothing to the others."""

    def __init__(self) -> None:
        self.known: str | None = None

    def __call__(self, doc: dict[str, Any]) -> str:
        self.known = self.known or doc["question_id"]
        return hostile(doc) if doc["question_id"] == self.known else ""


class Exported(NamedTuple):
    """The runs, the record and the rows of one model."""

    runs: list[Run]
    folder: Path
    files: list[Path]
    record: dict[str, Any]
    rows: list[dict[str, Any]]


def write(folder: Path, results: dict[str, Any], model: str = "some-org/some-model") -> None:
    """Write what the harness writes with `--log_samples`."""
    tracker = EvaluationTracker(output_path=str(folder))
    tracker.general_config_tracker.log_experiment_args("simulated", f"pretrained={model}", None, None, False)
    samples = results.pop("samples")
    tracker.save_results_aggregated(results, samples)
    for task, lines in samples.items():
        tracker.save_results_samples(task, lines)


def strict(text: str) -> Any:
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"a bare {name}"))


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Of `cora_demo` one of two questions is right; of `_mc` the second is cut off; `_revas` has undefined metrics."""
    folder = tmp_path_factory.mktemp("runs")
    write(folder, run(KnowsOne(), options={"questions": 2}))
    write(folder, run(knows, "cora_demo_mc", {"questions": 2}, limit=26 + 5))
    write(folder, run(knows, "cora_demo_revas", {"questions": 2}))
    return read_runs([folder])


@pytest.fixture(scope="session")
def exported(runs: list[Run], tmp_path_factory: pytest.TempPathFactory) -> Exported:
    folder = tmp_path_factory.mktemp("exported")
    files = write_every_eval_ever(runs, folder)
    record, rows = (file.read_text(encoding="utf-8") for file in files)
    # As some readers do, which take U+2028 for the end of a line, too.
    return Exported(runs, folder, files, strict(record), [strict(line) for line in rows.splitlines()])
