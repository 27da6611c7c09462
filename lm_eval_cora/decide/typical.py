"""Models for a plan without a run: those of the CoRA paper's tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from lm_eval_cora.metrics import bmca, ci, cora, mcqa
from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.metrics.responses import ResponseTable

CORRELATION = 0.3
"""Correlation of two models if it is not measured: the lowest that was found for frontier models on popular benchmarks,
0.3 to 0.7 (Miller 2024, arXiv:2411.00640, in Anthropic's summary). A lower correlation needs more questions."""

QUESTIONS = 1_000
"""Number of questions of which a typical model's answers consist. Its shares have two or three digits."""


class Model(NamedTuple):
    """A model of the CoRA paper, on one of its benchmarks.

    Attributes:
        name: Its name in the tables.
        benchmark: The benchmark.
        options: Number of options of a question.
        mcqa: MCQA.
        bmca: BMCA(1.0).
        requests: Mean number of requests for a question with `--stop exact`, as simulated for docs/cost.md.
    """

    name: str
    benchmark: str
    options: int
    mcqa: float
    bmca: float
    requests: float

    @property
    def variants(self) -> int:
        """Number of variants of a question in the divergent probe: 2 + 6 (A - 1)."""
        return 2 + 6 * (self.options - 1)


MODELS = (
    Model("GPT4o", "MedQA", 5, 0.85, 0.73, 19.84),
    Model("MedL", "MedQA", 5, 0.74, 0.18, 8.49),
    Model("BioML", "MedQA", 5, 0.73, 0.31, 11.24),
    Model("BMist", "MedQA", 5, 0.38, 0.11, 5.18),
    Model("Mist", "MMLU", 4, 0.64, 0.33, 8.73),
    Model("Llam", "MMLU", 4, 0.58, 0.15, 5.94),
    Model("Gran", "MMLU", 4, 0.65, 0.38, 9.56),
    Model("DSeek", "MMLU", 4, 0.52, 0.16, 5.61),
    Model("Mist", "Arc-C", 4, 0.80, 0.52, 12.50),
    Model("Llam", "Arc-C", 4, 0.72, 0.07, 5.91),
    Model("Gran", "Arc-C", 4, 0.82, 0.61, 13.78),
    Model("DSeek", "Arc-C", 4, 0.64, 0.23, 7.51),
    Model("Mist", "TruthfulQA", 5, 0.41, 0.09, 4.63),
    Model("Llam", "TruthfulQA", 5, 0.41, 0.08, 4.39),
    Model("Gran", "TruthfulQA", 5, 0.34, 0.09, 4.21),
    Model("DSeek", "TruthfulQA", 5, 0.34, 0.05, 3.50),
)
"""MCQA and BMCA(1.0) from CoRA, tables 1 to 4, and the requests that `benchmarks/request_counts.py` measured."""

METRICS: Mapping[str, Callable[[ResponseTable], Estimate]] = {
    "cora": cora,
    "mcqa": mcqa,
    "ci": ci,
    "bmca@1.0": lambda table: bmca(table, level=1.0),
}
"""The metrics that follow from MCQA and BMCA(1.0)."""


def estimate_of(model: Model, metric: str) -> Estimate:
    """The metric of a typical model, from `QUESTIONS` questions."""
    always, right = round(model.bmca * QUESTIONS), round(model.mcqa * QUESTIONS)
    hits = np.zeros((QUESTIONS, 2))
    hits[:always] = 1
    hits[:right, 0] = 1
    return METRICS[metric](ResponseTable.from_hits(hits))


def chosen(metric: str) -> list[tuple[str, Model]]:
    """The models that need the fewest, a middle number of, and the most questions for a metric, with these words."""
    ordered = sorted(MODELS, key=lambda model: estimate_of(model, metric).stderr)
    return [("few", ordered[0]), ("middle", ordered[len(ordered) // 2 - 1]), ("many", ordered[-1])]
