"""Simulate runs with --budget, and measure the coverage of their confidence intervals.

The questions have the outcomes of models in the CoRA paper's tables: right in all variants, right in the original only,
or wrong in the original. A simulated run asks them like --stop exact, and the code of real runs decides when it ends.
The script prints, over many runs, the share of intervals cora +- 1.96 stderr that contain the true CoRA, the mean error
of cora in units of the standard error, and the mean errors of bmca@1.0 and cora. That of bmca@1.0 is shown once more
after the bias that a run with a budget reports in its warning is subtracted.

    python benchmarks/interval_coverage.py [--runs 2000]
"""

from __future__ import annotations

import argparse
import sys
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # the checkout, not an installed version

from lm_eval_cora.harness.notices import bias_of_budget
from lm_eval_cora.harness.rounds import Key, Planned, QuestionOutcome, rounds_of
from lm_eval_cora.metrics.estimate import product_of

# x_i and 1 - x_i + y_i of a question that is right in all variants, in the original only, or in no original
OUTCOMES = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
QUESTIONS = 5_000
VARIANTS = 26
TASK = "cora"

# MCQA and BMCA(1.0) of CoRA's tables, from consistent to inconsistent; the last model is almost always wrong.
MODELS = {
    "almost perfect": (0.99, 0.97),
    "GPT4o": (0.85, 0.73),
    "MedL": (0.74, 0.18),
    "BMist": (0.38, 0.11),
    "DSeek": (0.34, 0.05),
    "weak": (0.05, 0.01),
}

WAYS = {
    # For comparison: samples of a fixed size.
    "100 questions": (100, inf),
    "500 questions": (500, inf),
    **{f"--budget {budget}": (QUESTIONS, budget) for budget in (150, 400, 1000, 3000, 10000)},
}
"""The number of questions, and the budget."""


def one_run(
    agenda: list[Planned], budget: float, mcqa: float, always: float, rng: np.random.Generator
) -> list[QuestionOutcome]:
    """Simulate one run; return the results of its questions."""
    drawn = rng.random(QUESTIONS)
    kinds = np.where(drawn < always, 0, np.where(drawn < mcqa, 1, 2))
    # The place of the first miss after the original is random; early places are more likely.
    costs = np.where(kinds == 0, VARIANTS, np.where(kinds == 1, 1 + rng.geometric(0.3, QUESTIONS).clip(1, 25), 1))
    found: dict[Key, QuestionOutcome] = {}
    for batch in rounds_of(agenda, found, budget):
        for planned in batch:
            kind, cost = kinds[int(planned.question)], int(costs[int(planned.question)])
            found[planned.key] = QuestionOutcome(cost, True, kind < 2, cost, int(kind > 0), 0)
    return [*found.values()]


def simulate(size: int, budget: float, mcqa: float, always: float, runs: int) -> dict[str, Any]:
    """Simulate many runs; return coverage, biases, mean number of questions and largest number of requests."""
    rng = np.random.default_rng(0)
    agenda = [Planned(TASK, str(number), VARIANTS) for number in range(size)]
    truth = mcqa * (1 - mcqa + always)
    covered, errors, questions, requests, wrong = 0, [], [], [], []
    for _ in range(runs):
        found = one_run(agenda, budget, mcqa, always, rng)
        costs = np.array([outcome.requests for outcome in found])
        right, every = (np.array(hits) for hits in zip(*((one.right, not one.others) for one in found), strict=True))
        m, b = right.mean(), every.mean()
        counts = every.sum(), right.sum() - every.sum(), len(found) - right.sum()
        error, stderr = m * (1 - m + b) - truth, product_of(*np.repeat(OUTCOMES, counts, axis=0).T).stderr
        covered += abs(error) <= 1.96 * stderr
        errors.append(error / stderr if stderr else 0.0)
        questions.append(len(found))
        requests.append(costs.sum())
        wrong.append((b - always, b - always - bias_of_budget(costs, every), error))
    return {
        "coverage": covered / runs,
        "bias": float(np.mean(errors)),
        "questions": float(np.mean(questions)),
        "requests": max(requests),
        "wrong": np.mean(wrong, axis=0).tolist(),
    }


def main() -> None:
    """Print one row for each model and each way to end a run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2_000)
    runs = parser.parse_args().runs
    print(f"{runs:,} runs each, from {QUESTIONS:,} questions\n")
    print(
        "| model | ended by | mean questions | most requests | coverage of 95% intervals | mean error / stderr | "
        "bias of bmca@1.0 | less the warning's | bias of cora |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name, (mcqa, always) in MODELS.items():
        for way, (size, budget) in WAYS.items():
            found = simulate(size, budget, mcqa, always, runs)
            bmca, less, cora = (f"{part:+.4f}" for part in found["wrong"])
            print(
                f"| {name} | {way} | {found['questions']:.0f} | {found['requests']:,} | {found['coverage']:.3f} | "
                f"{found['bias']:+.2f} | {bmca} | {less if 'budget' in way else ''} | {cora} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
