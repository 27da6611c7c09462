"""Simulate a model that prefers letters, and compare the errors of the letter bias metrics with repeated samples.

For each metric, the ratio is that of the root mean square of the standard errors to the standard deviation of the
values. "Without the prior" is the same ratio for the error of acc_pride as a plain share, without that of the prior.
The share is how often the 95% interval contains the value of 40,000 questions.

    python benchmarks/letter_bias.py [--runs 1000] [--questions 10 20 50 200 1000]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # the checkout, not an installed version

from lm_eval_cora.metrics import Estimate, acc_permuted, acc_pride, recall_spread, recall_spread_by_chance
from lm_eval_cora.metrics.estimate import standard_error
from lm_eval_cora.metrics.responses import ResponseTable
from tests.support.letters import PRIOR, planted

MODELS: dict[str, dict[str, Any]] = {
    "answers anywhere": {},
    "90% of the answers at A, varied priors": {"at_first": 0.9, "varied": 1.5},
    "no bias": {"prior": (0.25,) * len(PRIOR), "varied": 0.0},
}

METRICS = {"acc_permuted": acc_permuted, "acc_pride": acc_pride, "recall_spread": recall_spread}

POPULATION = 40_000


def row(found: Sequence[Estimate], truth: float) -> str:
    """The ratio of error and standard deviation, and the share of intervals that contain the truth."""
    values, errors = np.array([tuple(one) for one in found]).T
    inside = [low <= truth <= high for low, high in (one.interval for one in found)]
    spread = values.std(ddof=1) if len(values) > 1 else np.nan
    return f"{np.sqrt(np.mean(errors**2)) / spread:.2f} | {np.mean(inside):.0%}"


def as_share(table: ResponseTable, pride: Estimate) -> Estimate:
    """The estimate with the error that it would have if the prior were known."""
    hits = round(pride.value * len(table.sizes))
    return Estimate(pride.value, standard_error((np.arange(len(table.sizes)) < hits).astype(float)))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--questions", type=int, nargs="+", default=[10, 20, 50, 200, 1000])
    options = parser.parse_args()
    names = [f"{name} | right" for name in METRICS]
    print("| model | questions |", " | ".join(names), "| without the prior | spread | by chance |")
    print("|---" * (len(names) * 2 + 5), "|", sep="")
    for name, settings in MODELS.items():
        whole, _ = planted(np.random.default_rng(options.runs), POPULATION, **settings)
        truths = {metric: compute(whole).value for metric, compute in METRICS.items()}
        if name == "no bias":
            truths["recall_spread"] = 0.0
        for size in options.questions:
            tables = [planted(np.random.default_rng(run), size, **settings)[0] for run in range(options.runs)]
            found = {metric: list(map(compute, tables)) for metric, compute in METRICS.items()}
            plain = [as_share(table, pride) for table, pride in zip(tables, found["acc_pride"], strict=True)]
            spreads = [
                float(np.mean([one.value for one in each]))
                for each in (found["recall_spread"], map(recall_spread_by_chance, tables))
            ]
            parts = [row(each, truths[metric]) for metric, each in found.items()]
            last = row(plain, truths["acc_pride"]).partition(" | ")[0]
            print(f"| {name} | {size} |", " | ".join(parts), f"| {last} | {spreads[0]:.4f} | {spreads[1]:.4f} |")


if __name__ == "__main__":
    main()
