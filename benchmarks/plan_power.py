"""Power and error rates of `plan` and `gate`: how often an interval excludes a bound.

The models answer as in `coverage.py`. The plan comes from runs of `--run` questions of both models, and is made for
the true difference. Each of the `--samples` comparisons has as many questions as the plan says. `gate` is asked whether
the value of one model is above a bound. The last table has the exact probability that a share at its bound passes.

    python benchmarks/plan_power.py [--samples 1000] [--run 100000] [--pairs 4]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import NormalDist

import numpy as np
from scipy.stats import binom

sys.path.insert(0, str(Path(__file__).parents[1]))  # the checkout, not an installed version
sys.path.insert(0, str(Path(__file__).parent))

from interval_widths import METRICS, Population, table
from tqdm import tqdm

from lm_eval_cora.decide.sample_size import (
    SAME_LEVEL,
    Contrast,
    Level,
    correlation_of,
    questions_for_same,
    questions_needed,
    with_another,
)
from lm_eval_cora.metrics.estimate import Estimate, share_of, wilson
from lm_eval_cora.metrics.paired import difference, differs

PAIRS = (
    Population("quantised, 3%", 0.7, 0.6, (8, 8), changed=0.03),
    Population("keeps 95% and 98%", 0.75, 0.5, (8, 8), keeps=(0.95, 0.98)),
    Population("another size, close", 0.6, 0.6, (8, 8), gain=0.5),
    Population("another size, far", 0.4, 0.4, (8, 8), gain=1.0),
)

RARE = (
    Population("30% slightly worse", 0.8, 0.8, (8, 8), worse=(0.3, 0.15)),
    Population("5% clearly worse", 0.8, 0.8, (8, 8), worse=(0.05, 0.6)),
)

MOST = 5_000
"""Plans with more questions are left out."""

FEW = (40, 100, 300)
BOUNDS = (0.0044, 0.041, 0.2, 0.5, 0.8, 0.95, 0.99)


def drawn(population: Population, metric: str, questions: int, rng: np.random.Generator) -> list[Estimate]:
    """A metric of the models of a sample."""
    sizes, models = population.drawn(questions, rng)
    return [METRICS[metric](table(sizes, hits)) for hits in models]


def power_of_plan(samples: int, run: int, pairs: Sequence[Population]) -> None:
    """Print how often the interval of a difference excludes 0, with plans from two runs and from one."""
    print("| models | metric | difference | correlation | two runs | power | one run | power |")
    print("|---|---|---|---|---|---|---|---|")
    for population in pairs:
        for metric in METRICS:
            rng = np.random.default_rng(0)
            before, after = drawn(population, metric, run, rng)
            gap, correlation = after.value - before.value, correlation_of(before, after)
            cells = []
            ordered = (before, after) if gap > 0 else (after, before)
            for contrast in (Contrast.of(*ordered), with_another(before, run, abs(gap), correlation)):
                needed = questions_needed(contrast, abs(gap), 0.0)
                if needed is None or needed > MOST:
                    cells += ["n/a" if needed is None else f"{needed:,}", "not measured"]
                    continue
                every = tqdm(range(samples), f"{population.name}, {metric}", leave=False, disable=None)
                found = sum(differs(difference(*drawn(population, metric, needed, rng))) for _ in every)
                cells += [f"{needed:,}", f"{found / samples:.3f}"]
            row = [population.name, metric, f"{gap:+.4f}", f"{correlation:.2f}", *cells]
            print(f"| {' | '.join(row)} |", flush=True)


def power_of_gate(samples: int, run: int) -> None:
    """Print how often a requirement is decided, with the number of questions that `gate` says."""
    print("\n| model | metric | value | bound | would decide it | power | wrong at the bound |")
    print("|---|---|---|---|---|---|---|")
    for population in (Population("middle", 0.6, 0.5, (8, 8)), Population("nearly right", 0.95, 0.4, (8, 8))):
        for metric in METRICS:
            rng = np.random.default_rng(0)
            (estimate,) = drawn(population, metric, run, rng)
            for gap in (0.05, -0.02):
                bound = estimate.value - gap
                needed = questions_needed(Level(estimate, run), estimate.value, bound)
                if needed is None or needed > MOST:
                    continue
                decided = wrong = 0
                for _ in tqdm(range(samples), f"{population.name}, {metric}", leave=False, disable=None):
                    (found,) = drawn(population, metric, needed, rng)
                    low, high = Level(found, needed).interval(found.value, needed)
                    decided += low >= bound if gap > 0 else high <= bound
                    wrong += low > estimate.value if gap > 0 else high < estimate.value
                row = [population.name, metric, f"{estimate.value:.3f}", f"{bound:.3f}", f"{needed:,}"]
                print(f"| {' | '.join([*row, f'{decided / samples:.3f}', f'{wrong / samples:.3f}'])} |", flush=True)


def rates_of_same(samples: int, run: int, pairs: Sequence[Population]) -> None:
    """Print how often `gate --same` passes: models that differ by exactly the margin, and those inside of it."""
    print("\n| models | metric | difference | passes at this margin, 40 | 100 | 300 | margin | needed | passes |")
    print("|---|---|---|---|---|---|---|---|---|")
    z = NormalDist().inv_cdf((1 + SAME_LEVEL) / 2)
    for population in pairs:
        for metric in METRICS:
            rng = np.random.default_rng(0)
            before, after = drawn(population, metric, run, rng)
            gap = after.value - before.value
            margin = abs(gap) + 0.03
            needed = questions_for_same(Contrast.of(before, after), margin, gap)
            row = [population.name, metric, f"{gap:+.4f}"]
            for questions, most in (*((few, abs(gap)) for few in FEW), (needed, margin)):
                if questions is None or questions > MOST:
                    row += ["n/a" if questions is None else f"{questions:,}", "not measured"]
                    continue
                inside = 0
                for _ in tqdm(range(samples), f"{population.name}, {metric}", leave=False, disable=None):
                    change = difference(*drawn(population, metric, questions, rng), z=z, cautious=True)
                    inside += -most <= change.low and change.high <= most
                more = [] if most < margin else [f"{margin:.4f}", f"{questions:,}"]
                row += [*more, f"{inside / samples:.3f}"]
            print(f"| {' | '.join(row)} |", flush=True)


def rates_at_the_bound() -> None:
    """Print the probability that a share at its bound passes, with the intervals of `gate` and of the report."""
    print("\n| questions | bound | passes | with Wilson's interval alone |\n|---|---|---|---|")
    for questions in (40, 100, 300, 1_273):
        rights = np.arange(questions + 1)
        shares = [share_of(rights[1:] <= right) for right in rights]
        lows = np.array([Level(share, questions).interval(share.value, questions)[0] for share in shares])
        alone = np.array([wilson(right, questions)[0] for right in rights])
        for bound in BOUNDS:
            chances = binom.pmf(rights, questions, bound)
            passes, former = chances[lows >= bound].sum(), chances[alone >= bound].sum()
            print(f"| {questions:,} | {bound:g} | {passes:.4f} | {former:.4f} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1_000, help="samples of each case (default: 1000)")
    parser.add_argument("--run", type=int, default=100_000, help="questions of the runs of the plan (default: 100000)")
    parser.add_argument("--pairs", type=int, default=len(PAIRS), help="number of pairs of models (default: all)")
    given = parser.parse_args()
    pairs = PAIRS[: given.pairs]
    power_of_plan(given.samples, given.run, pairs)
    power_of_gate(given.samples, given.run)
    rates_of_same(given.samples, given.run, (*RARE, *pairs))
    rates_at_the_bound()


if __name__ == "__main__":
    main()
