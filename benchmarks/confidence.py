"""Simulate answers with known confidences, and measure the coverage of the intervals of the metrics of confidence.

A question has a confidence, which its four variants share up to noise, and its variants have correlated answers. Their
accuracy is a linear function of the confidence: with the slope 1 the model is calibrated. The script prints, for each
number of questions, the share of 95% intervals that contain the value of 40,000 questions (for rms_ece that of as many
bins as are used), and in parentheses the mean standard error divided by the standard deviation of the values.

    python benchmarks/confidence.py [--runs 1000]
"""

from __future__ import annotations

import argparse
import sys
from math import sqrt
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # the checkout, not an installed version

from lm_eval_cora import metrics
from lm_eval_cora.metrics.responses import Floats, ResponseTable

NAMES = ("rms_ece", "overconfidence", "auroc", "aurc", "acc_coverage")
MODELS = {"calibrated": (1.0, 0.5), "too confident": (0.5, 0.5), "too cautious": (0.7, 0.8)}
"""The slope of the accuracy, and the accuracy at the confidence 0.5."""
SIZES = (20, 50, 100, 200, 500, 1_000)
VARIANTS = 4


def answers(rng: np.random.Generator, questions: int, slope: float, middle: float) -> tuple[ResponseTable, Floats]:
    """A table of simulated answers, and the true accuracy at the confidence of each."""
    shape = questions, VARIANTS
    confidence = (rng.random((questions, 1)) + 0.3 * (rng.random(shape) - 0.5)).clip(0.001, 0.999)
    true = (middle + slope * (confidence - 0.5)).clip(0, 1)
    right = np.where(rng.random(shape) < 0.6, rng.random((questions, 1)), rng.random(shape)) < true
    return ResponseTable.from_hits(right, confidence=confidence.ravel(), original=None), true.ravel()


def gap_of_bins(table: ResponseTable, true: Floats, bins: int) -> float:
    """The root of the mean squared gap in so many bins of equal mass."""
    parts = np.array_split(np.argsort(-table.confidence), bins)
    return sqrt(np.mean([(true[part] - table.confidence[part]).mean() ** 2 for part in parts]))


def main() -> None:
    """Print one row for each model and number of questions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1_000)
    runs = parser.parse_args().runs
    print(f"| model | questions | {' | '.join(NAMES)} |\n|---|---|{'---|' * len(NAMES)}")
    for model, (slope, middle) in MODELS.items():
        large, true = answers(np.random.default_rng(0), 40_000, slope, middle)
        truth = {name: getattr(metrics, name)(large).value for name in NAMES}
        for size in SIZES:
            truth["rms_ece"] = gap_of_bins(large, true, min(15, size // 10))
            rng, cells = np.random.default_rng(size), []
            tables = [answers(rng, size, slope, middle)[0] for _ in range(runs)]
            for name in NAMES:
                found = [getattr(metrics, name)(table) for table in tables]
                holds = [one.interval[0] - 1e-12 <= truth[name] <= one.interval[1] for one in found]
                spread = np.std([one.value for one in found], ddof=1)
                cells.append(f"{np.mean(holds):.3f} ({np.mean([one.stderr for one in found]) / spread:.2f})")
            print(f"| {model} | {size:,} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
