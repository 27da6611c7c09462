"""Questions that share passages: coverage of the intervals and level of the tests, on simulated models.

python benchmarks/clusters.py [--runs 500] [--clusters 10 20 50] [--truth 20000] [--sizes alike unequal]

Each passage has 2 to 12 questions ("alike"), or 2 to 60 of which more than n are in 2 / n of the passages ("unequal");
each question has four variants. The answers of a passage have an intraclass correlation of 0, 0.1 or 0.5: the ability
of the model on a passage has a beta distribution. "effective" is the mean effective number of passages. The number in
brackets is the root mean square of the standard errors, relative to the standard deviation of the values. "alone"
ignores the passages. The true values come from `--truth` passages. "difference" and "p" compare two equal models,
"kinds" tests equal kinds of variants; both tests should reject in 5% of the runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
from tqdm import tqdm

from lm_eval_cora import metrics
from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.metrics.paired import difference, p_value
from lm_eval_cora.metrics.responses import ResponseTable

ACCURACY, VARIANTS = 0.75, 4
KINDS = tuple(f"answer_at_{letter}" for letter in "ABCD")
METRICS: dict[str, Callable[[ResponseTable], Estimate]] = {
    "acc": metrics.acc,
    "mcqa": metrics.mcqa,
    "bmca@1.0": partial(metrics.bmca, level=1.0),
    "cora": metrics.cora,
    "core": metrics.core,
    "ci": metrics.ci,
    "macro_acc": metrics.macro_acc,
    "acc_min": metrics.acc_min,
}


Draw = Callable[[np.random.Generator, int], np.ndarray]
SIZES: dict[str, Draw] = {
    "alike": lambda rng, clusters: rng.integers(2, 13, clusters),
    "unequal": lambda rng, clusters: np.minimum(60, 2 / (1 - rng.random(clusters))).astype(int),
}


def answers(
    rng: np.random.Generator, clusters: int, correlation: float, draw: Draw, models: int = 1
) -> list[ResponseTable]:
    """Answers of models, alike on average, to the questions of some passages."""
    sizes = draw(rng, clusters)
    cluster = np.repeat(np.arange(clusters), sizes)
    names = {"clusters": tuple(map(str, cluster)), "categories": tuple(map(str, cluster % 2))}
    return [
        ResponseTable.from_hits(hits(rng, cluster, correlation), kinds=KINDS, **order(len(cluster)), **names)
        for _ in range(models)
    ]


def hits(rng: np.random.Generator, cluster: np.ndarray, correlation: float) -> np.ndarray:
    """(questions, variants) right answers; questions of a passage, and variants of a question, are alike."""
    shape = (1 / correlation - 1) if correlation else np.inf
    ability = np.full(cluster.max() + 1, ACCURACY)
    if correlation:
        ability = rng.beta(ACCURACY * shape, (1 - ACCURACY) * shape, len(ability))
    own = rng.beta(2, 2, (len(cluster), 1)) < ability[cluster][:, None]
    return np.where(rng.random((len(cluster), VARIANTS)) < 0.7, own, rng.random((len(cluster), VARIANTS)) < ACCURACY)


def order(questions: int) -> dict[str, np.ndarray]:
    """The columns of the kinds: the right option is printed at the first letter, the second, ..."""
    return {"kind": np.tile(np.arange(VARIANTS), questions)}


def alone(table: ResponseTable) -> ResponseTable:
    """The same answers, without passages."""
    return replace(table, clusters=("",) * len(table.sizes))


def contains(interval: tuple[float, float], truth: float) -> bool:
    """Whether an interval contains the true value."""
    return interval[0] <= truth <= interval[1]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--clusters", type=int, nargs="+", default=[10, 20, 50])
    parser.add_argument("--truth", type=int, default=20_000, help="passages for the true values (default: 20000)")
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), choices=SIZES, help="questions in a passage")
    given = parser.parse_args()
    cases = list(product(given.sizes, (0.0, 0.1, 0.5), given.clusters))
    print("| sizes | correlation | passages | effective |", " | ".join(METRICS), end="")
    print(" | alone: acc | difference | p < 0.05 | kinds: p < 0.05 |")
    print("|---|---|---|---|" + "---|" * (len(METRICS) + 4))
    for case in tqdm(cases, leave=False, disable=None):
        sizes, correlation, clusters = case
        rng = np.random.default_rng(0)
        (everyone,) = answers(rng, given.truth, correlation, SIZES[sizes])
        truths = {name: metric(alone(everyone)).value for name, metric in METRICS.items() if name != "acc_min"}
        truths["acc_min"] = truths["acc"]
        covered = dict.fromkeys((*METRICS, "alone", "difference", "p", "kinds"), 0)
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in METRICS}
        effective = 0.0
        for _ in range(given.runs):
            one, other = answers(rng, clusters, correlation, SIZES[sizes], models=2)
            effective += one.effective / given.runs
            for name, metric in METRICS.items():
                estimate = metric(one)
                covered[name] += contains(estimate.interval, truths[name])
                found[name].append(tuple(estimate))
            covered["alone"] += contains(metrics.acc(alone(one)).interval, truths["acc"])
            pair = metrics.cora(one), metrics.cora(other)
            covered["difference"] += contains(difference(*pair)[2:], 0.0)
            covered["p"] += p_value(*pair) < 0.05
            covered["kinds"] += metrics.acc_range_p(one).value < 0.05
        cells = {name: f"{count / given.runs:.3f}" for name, count in covered.items()}
        for name, numbers in found.items():
            values, errors = np.array(numbers).T
            cells[name] += f" ({np.sqrt(np.mean(errors**2)) / values.std():.2f})"
        row = [*map(str, case), f"{effective:.1f}", *cells.values()]
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
