"""Measure the power that `lm-eval-cora plan` promises: how often the interval of a difference excludes 0.

Two simulated models have known shares of questions that are right in all variants, right in the original only, or wrong
in the original. Some questions are answered alike by both, which makes their results correlated. The plan is made for
the true difference: with the spread of both models (two runs), with that of the lower model and the correlation, and
with that of the higher model and the correlation (one run). Then as many questions are drawn many times, and each
sample is compared as `compare` does.

    python benchmarks/plan_power.py [--samples 1000] [--power 0.8]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # the checkout, not an installed version

from lm_eval_cora.metrics import cora, mcqa
from lm_eval_cora.metrics.paired import difference
from lm_eval_cora.metrics.several import differs
from lm_eval_cora.planning.sample_size import (
    correlation_of,
    questions_needed,
    spread_of,
    spread_with_another,
)
from lm_eval_cora.responses import ResponseTable

METRICS = {"cora": cora, "mcqa": mcqa}

# (mcqa, bmca@1.0) of both models, and the share of questions that both answer alike.
CASES = [
    ((0.74, 0.18), (0.76, 0.24), 0.0),
    ((0.74, 0.18), (0.76, 0.24), 0.6),
    ((0.85, 0.73), (0.88, 0.78), 0.5),
    ((0.38, 0.11), (0.42, 0.15), 0.3),
    ((0.82, 0.61), (0.84, 0.63), 0.7),
]

RIGHT = np.array([[1, 1], [1, 0], [0, 0]])
"""The original and another variant, of a question with each outcome."""


def joint(first: tuple[float, float], second: tuple[float, float], alike: float) -> np.ndarray:
    """(3, 3) probabilities of the outcomes of both models. Questions answered alike have the same difficulty."""
    shares = [np.array([b, m - b, 1 - m]) for m, b in (first, second)]
    ends = [np.concatenate([[0], np.cumsum(share)]) for share in shares]
    low = np.maximum(ends[0][:-1, None], ends[1][None, :-1])
    high = np.minimum(ends[0][1:, None], ends[1][None, 1:])
    return alike * np.maximum(0, high - low) + (1 - alike) * np.outer(*shares)


def tables(counts: np.ndarray) -> list[ResponseTable]:
    """The answers of both models, from the number of questions of each pair of outcomes."""
    places = np.repeat(np.arange(9), counts.reshape(-1))
    return [ResponseTable.from_hits(RIGHT[outcome]) for outcome in (places // 3, places % 3)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1_000, help="samples of each case (default: 1000)")
    parser.add_argument("--power", type=float, default=0.8, help="power of the plans (default: 0.8)")
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    print("| metric | difference | correlation | two runs | power | the lower one | power | the higher one | power |")
    print("|---|---|---|---|---|---|---|---|---|")
    for first, second, alike in CASES:
        chances = joint(first, second, alike)
        population = tables(np.round(chances * 20_000).astype(int))
        for name, metric in METRICS.items():
            before, after = (metric(table) for table in population)
            change, size = difference(before, after), len(population[0].sizes)
            correlation = correlation_of(before, after)
            spreads = [
                spread_of(change.stderr, size),
                *(spread_with_another(own, size, abs(change.value), correlation) for own in (before, after)),
            ]
            cells = []
            for spread in spreads:
                needed = questions_needed(spread, abs(change.value), given.power)
                found = 0
                for counts in rng.multinomial(needed, chances.reshape(-1) / chances.sum(), given.samples):
                    one, other = (metric(table) for table in tables(counts))
                    found += differs(difference(one, other))
                cells += [f"{needed:,}", f"{found / given.samples:.3f}"]
            row = [name, f"{change.value:+.3f}", f"{correlation:.2f}", *cells]
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
