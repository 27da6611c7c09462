"""Count how often the comparison of several models claims a difference, with equal models and with a known order.

python benchmarks/several_models.py [--runs 300] [--sizes 100 300 1000]

A model knows a share of the questions and answers each variant of a known question correctly with a probability. Of
equal models no claim is right, so the shares should be at most 0.05 (300 runs are accurate to about 0.025). With a
known order, the claim that the best model is the best should be frequent, and no other model should be claimed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # the checkout, not an installed version

from tqdm import trange

from lm_eval_cora.metrics import Estimate, cora, leading, pairwise

VARIANTS = 26
EQUAL = (0.65, 0.985)
ORDERED = ((0.5, 0.97), (0.65, 0.985), (0.8, 0.998))


def model(rng: np.random.Generator, knows: float, keeps: float, questions: int) -> Estimate:
    """CoRA of a simulated model."""
    known = rng.random((questions, 1)) < knows
    return cora(np.hstack([known, known & (rng.random((questions, VARIANTS - 1)) < keeps)]))


def claims(models: Sequence[Sequence[float]], questions: int, runs: int) -> tuple[float, float, float, float]:
    """Share of runs in which the last model is called the best, another one is, a p-value rejects, and intervals hold.

    All intervals hold if they contain 0, so the last number is for equal models.
    """
    best = other = rejected = held = 0
    for run in trange(runs, desc=f"{len(models)} models, {questions} questions", disable=None, leave=False):
        rng = np.random.default_rng([questions, len(models), run])
        estimates = [model(rng, *each, questions) for each in models]
        first = leading(estimates)
        best += first == {len(models) - 1}
        other += len(first) == 1 and first != {len(models) - 1}
        pairs = pairwise(estimates).values()
        rejected += any(pair.p_together < 0.05 for pair in pairs)
        held += all(pair.together.low <= 0 <= pair.together.high for pair in pairs)
    return best / runs, other / runs, rejected / runs, held / runs


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=300, help="simulated comparisons per row (default: 300)")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 300, 1000], help="numbers of questions")
    given = parser.parse_args()
    print("| models | questions | some model is called the best | the best one is | p < 0.05 | intervals hold |")
    print("|---|---|---|---|---|---|")
    rows = [(f"{count} equal", [EQUAL] * count) for count in (2, 3, 5)] + [("3 in a known order", list(ORDERED))]
    for name, models in rows:
        for questions in given.sizes:
            best, other, rejected, held = claims(models, questions, given.runs)
            is_ordered = models == list(ORDERED)
            shown = f"{best:.3f}" if is_ordered else "", "" if is_ordered else f"{held:.3f}"
            print(
                f"| {name} | {questions:,} | {best + other:.3f} | {shown[0]} | {rejected:.3f} | {shown[1]} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
