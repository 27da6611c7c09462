"""Simulate models, and count how often the test of letter preference rejects, next to its two earlier versions.

The models without a letter preference choose by content. Their rejections are false: at most 5% should occur. The
models with a preference pick the letter A in a tenth of the answers or questions, whatever is printed there. "Pearson"
counts every pick as independent, "Wald" counts questions. Both compare the picks of each letter with equal shares and
the statistic with the chi-square distribution. The test is not printed with fewer than ten questions per letter. The
last table is about the effect size.

    python benchmarks/letter_preference.py [--runs 1000] [--questions 30 40 100 1000]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import cache
from math import isnan
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2

sys.path.insert(0, str(Path(__file__).parents[1]))  # the checkout, not an installed version

from lm_eval_cora.metrics import position_cramers_v, position_p_value
from lm_eval_cora.metrics.responses import Floats, Ints, ResponseTable
from lm_eval_cora.questions.options import Orders
from lm_eval_cora.questions.question import Question
from lm_eval_cora.variants.order import POSITIONS, order

LEVEL = 0.05

SHARES_OF_A, LEAST = (0.0, 0.03, 0.1, 0.4, 0.9), 40  # true values of V, and the questions that it needs

INVALID = -1

Chances = Callable[[np.random.Generator, int, int], Floats]
"""Makes (N, n) probabilities that a model picks each of the n options of N questions. Option 0 is right."""


class Model(NamedTuple):
    """A model that chooses by content, except in some questions or answers.

    Attributes:
        chances: The choice by content.
        a_in_answers: Share of the answers with the letter A.
        a_in_questions: Share of the questions with the letter A in all variants.
        own_letter: Share of the questions with a letter of their own in all variants: any letter, equally often.
    """

    chances: Chances
    a_in_answers: float = 0
    a_in_questions: float = 0
    own_letter: float = 0


def right(rng: np.random.Generator, questions: int, options: int) -> Floats:
    return np.eye(options)[np.zeros(questions, dtype=int)]


def guesses(rng: np.random.Generator, questions: int, options: int) -> Floats:
    return np.full((questions, options), 1 / options)


def knows(rng: np.random.Generator, questions: int, options: int) -> Floats:
    """70% right in each variant, else any wrong option."""
    return np.tile([0.7, *[0.3 / (options - 1)] * (options - 1)], (questions, 1))


def prefers_a_wrong_option(rng: np.random.Generator, questions: int, options: int) -> Floats:
    """The last wrong option of the source in 30% of the questions, the right option in the others."""
    return np.eye(options)[np.where(rng.random(questions) < 0.3, options - 1, 0)]


def has_preferences(rng: np.random.Generator, questions: int, options: int) -> Floats:
    """Each question has its own probabilities of all options, mostly near 0 or 1."""
    return rng.dirichlet(np.full(options, 0.3), questions)


def is_nearly_consistent(rng: np.random.Generator, questions: int, options: int) -> Floats:
    """The same option in 95% of the questions, any option in the others."""
    always = np.eye(options)[rng.integers(options, size=questions)]
    return np.where(rng.random((questions, 1)) < 0.95, always, 1 / options)


NO_PREFERENCE = {
    "70% right": Model(knows),
    "guesses": Model(guesses),
    "one wrong option in 30% of the questions": Model(prefers_a_wrong_option),
    "preferences for options": Model(has_preferences),
    "nearly consistent": Model(is_nearly_consistent),
    "another letter in each question": Model(has_preferences, own_letter=0.5),
}

PREFERENCE = {
    "70% right, A in 10% of the answers": Model(knows, a_in_answers=0.1),
    "guesses, A in 10% of the answers": Model(guesses, a_in_answers=0.1),
    "right, A in 10% of the answers": Model(right, a_in_answers=0.1),
    "right, A in 10% of the questions": Model(right, a_in_questions=0.1),
}

LAYOUTS = (
    ("swap", (4,)),
    ("swap", (10,)),
    ("swap", (3, 4, 10)),
    ("cyclic", (4,)),
    ("cyclic", (10,)),
    ("cyclic", (3, 4, 10)),
    ("all", (4,)),
)
"""Orders, and the numbers of options of the questions in turn. Mixed numbers also have 20% invalid answers."""


@cache
def letters_of(orders: Orders, options: int) -> Ints:
    """(homes, variants, options) letter of each option, right option first, by its letter in the source."""
    texts = tuple(map(str, range(options)))
    printed = np.array(
        [
            [variant.printed for variant in order(Question("q", "?", texts, home), orders=orders)]
            for home in range(options)
        ]
    )
    letters = np.argsort(printed, axis=2)  # by identity, which is the place in the source
    for home in range(options):
        letters[home] = np.concatenate([letters[home][:, [home]], np.delete(letters[home], home, axis=1)], axis=1)
    return letters


def answers(
    rng: np.random.Generator, questions: int, options: int, orders: Orders, model: Model, invalid: float
) -> tuple[Ints, Ints]:
    """(N, variants) letters that a model picks, and (N, variants) letters of the right option."""
    letters = letters_of(orders, options)[rng.integers(options, size=questions)]
    variants = letters.shape[1]
    limits = model.chances(rng, questions, options).cumsum(axis=1)[:, None, :]
    drawn = rng.random((questions, variants, 1)) * limits[:, :, -1:]
    picked = np.take_along_axis(letters, (drawn >= limits).sum(axis=2)[:, :, None], axis=2)[:, :, 0]
    kind = rng.random((questions, 1))
    picked = np.where(kind < model.own_letter, rng.integers(options, size=(questions, 1)), picked)
    is_a = (rng.random(picked.shape) < model.a_in_answers) | (kind > 1 - model.a_in_questions)
    return np.where(rng.random(picked.shape) < invalid, INVALID, np.where(is_a, 0, picked)), letters[:, :, 0]


def simulate(
    rng: np.random.Generator, questions: int, options: Sequence[int], orders: Orders, model: Model
) -> ResponseTable:
    """The answers of a model as a table."""
    parts: list[tuple[int, Ints, Ints]] = []
    for place, number in enumerate(options):
        count = len(range(place, questions, len(options)))
        parts.append((number, *answers(rng, count, number, orders, model, 0.2 if len(options) > 1 else 0)))
    position, right_at = (np.concatenate([part[column].ravel() for part in parts]) for column in (1, 2))
    return ResponseTable.from_columns(
        [f"{number:06d}" for number in range(questions)],
        np.concatenate([np.full(len(picked), picked.shape[1]) for _, picked, _ in parts]),
        position == right_at,
        kinds=POSITIONS,
        kind=right_at,
        position=position,
        options=np.concatenate([np.full(picked.size, number) for number, picked, _ in parts]),
    )


def former(table: ResponseTable) -> tuple[bool, bool]:
    """Whether the two earlier tests reject: Pearson's, and Wald's by question."""
    valid = table.position >= 0
    letters = int(table.options.max())
    cell = table.question[valid] * letters + table.position[valid]
    observed = np.bincount(cell, minlength=len(table.sizes) * letters).reshape(-1, letters)
    options = np.maximum.reduceat(table.options, np.cumsum(table.sizes) - table.sizes)[:, None]
    even = (np.arange(letters) < options) * observed.sum(axis=1, keepdims=True) / options
    total, limit = (observed - even).sum(axis=0), chi2.ppf(1 - LEVEL, letters - 1)
    pearson = (total**2 / np.maximum(even.sum(axis=0), 1e-9)).sum() > limit
    covariance = np.cov((observed - even).T) * len(even)
    if np.linalg.matrix_rank(covariance, hermitian=True) < letters - 1:
        return bool(pearson), False
    return bool(pearson), bool(total @ np.linalg.pinv(covariance, hermitian=True) @ total > limit)


def rejections(runs: int, questions: int, options: Sequence[int], orders: Orders, model: Model) -> list[float]:
    """Share of runs in which Pearson's test, Wald's and the p-value reject; nan if no p-value is printed."""
    rng = np.random.default_rng(questions)
    found = []
    for _ in range(runs):
        table = simulate(rng, questions, options, orders, model)
        p_value = position_p_value(table).value
        found.append((*former(table), np.nan if isnan(p_value) else p_value <= LEVEL))
    return np.array(found, dtype=np.float64).mean(axis=0).tolist()


def effects(runs: int, questions: int, share: float) -> tuple[float, float]:
    """Mean V and coverage if a share of all answers is A, and the others are even: this share is the true V."""
    rng, model = np.random.default_rng(questions), Model(guesses, a_in_answers=share)
    found = [position_cramers_v(simulate(rng, questions, (4,), "cyclic", model)) for _ in range(runs)]
    covered = [each.interval[0] <= share <= each.interval[1] for each in found]
    return float(np.mean([each.value for each in found])), float(np.mean(covered))


def shown(share: float) -> str:
    return "not printed" if isnan(share) else f"{share:.3f}"


def main() -> None:
    """Print the rejections of each model, and the most false rejections of any model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--questions", type=int, nargs="+", default=[30, 40, 100, 1_000])
    arguments = parser.parse_args()
    for title, models in (("Without a letter preference", NO_PREFERENCE), ("With a letter preference", PREFERENCE)):
        print(f"{title}: share of {arguments.runs:,} runs in which a test rejects\n")
        print("| orders | options | questions | model | Pearson | Wald | p <= 0.05 |\n|---|---|---|---|---|---|---|")
        for orders, options in LAYOUTS:
            for questions in arguments.questions:
                for name, model in models.items():
                    found = rejections(arguments.runs, questions, options, orders, model)
                    row = (orders, ", ".join(map(str, options)), f"{questions:,}", name, *map(shown, found))
                    print(f"| {' | '.join(row)} |", flush=True)
        print()
    print("Cramér's V with cyclic orders of four options: mean, and coverage of its 95% intervals\n")
    print("| questions | true V | mean | coverage |\n|---|---|---|---|")
    for questions in arguments.questions:
        for share in SHARES_OF_A if questions >= LEAST else ():
            mean, coverage = effects(arguments.runs, questions, share)
            print(f"| {questions:,} | {share:.2f} | {mean:.3f} | {coverage:.3f} |", flush=True)


if __name__ == "__main__":
    main()
