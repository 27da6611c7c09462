"""Runs as the harness writes them, for tests of the export."""

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from lm_eval_cora.runs.model_run import Run
from tests.support.simulated import knows

HOSTILE = [
    "She said: \"no\", \\ and 'why'\n\n\r\n\t",
    "one line\u2028another\u2029and\x85more\x00",
    "naïve 😀 选",
    "x" * 100_000,
    "</script><b>{{ 7 * 7 }}</b>",
]


def hostile(doc):
    """The lines after the letter."""
    return f"{knows(doc)}\n{HOSTILE[doc['ordinal'] % len(HOSTILE)]}"


class KnowsOne:
    """Right in every variant of the first question; empty responses to the others."""

    def __init__(self):
        self.known = None

    def __call__(self, doc):
        self.known = self.known or doc["question_id"]
        return hostile(doc) if doc["question_id"] == self.known else ""


class Exported(NamedTuple):
    """The runs, the record and the rows of one model."""

    runs: list[Run]
    folder: Path
    files: list[Path]
    record: dict[str, Any]
    rows: list[dict[str, Any]]


def is_valid(files):
    """Whether the published package of Every Eval Ever accepts files, where it is installed (`nox -s schema`)."""
    if find_spec("every_eval_ever") is None:
        return True
    from every_eval_ever.validate import main

    return bool(main([*map(str, files)]) != 1)  # 2 is a warning: a model without a developer in its name


def asked_from(run, **benchmark):
    """The run, with another source of its questions in the results file."""
    config = {**run.config, "benchmark": {"name": "some", **benchmark}}
    return replace(run, results={**run.results, "configs": {run.name: config}})
