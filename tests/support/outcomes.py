"""Answers of two models with known shares of outcomes, and their comparison without the package's code."""

from statistics import NormalDist

import numpy as np

from lm_eval_cora.metrics.responses import ResponseTable

RIGHT = np.array([[1, 1], [1, 0], [0, 0]])
"""The original and another variant of a question with each outcome: always right, right at first, never right."""


def joint(first, second, alike):
    """(3, 3) probabilities of the outcomes of two models with given mcqa and bmca@1.0.

    The share `alike` of the questions is equally hard for both; in the others the models are independent.
    """
    shares = [np.array([b, m - b, 1 - m]) for m, b in (first, second)]
    ends = [np.concatenate([[0.0], np.cumsum(share)]) for share in shares]
    low = np.maximum(ends[0][:-1, None], ends[1][None, :-1])
    high = np.minimum(ends[0][1:, None], ends[1][None, 1:])
    return alike * np.maximum(0.0, high - low) + (1 - alike) * np.outer(*shares)


def tables(chances, questions):
    """The answers of both models to questions whose outcomes have exactly these shares."""
    places = np.repeat(np.arange(9), np.round(chances.reshape(-1) * questions).astype(int))
    return [ResponseTable.from_hits(RIGHT[outcome]) for outcome in (places // 3, places % 3)]


def share_found(metric, chances, questions, level, margin=None):
    """How often the interval of a difference, value ± z standard errors (delta method), excludes 0.

    With a margin, how often it is inside.
    """
    samples = 20_000
    rng = np.random.default_rng(0)
    counts = rng.multinomial(questions, chances.reshape(-1) / chances.sum(), samples) / questions
    values, influences = [], []
    for outcome in (np.arange(9) // 3, np.arange(9) % 3):
        x, y = RIGHT[outcome].T
        m, b = counts @ x, counts @ y
        is_cora = metric == "cora"
        values.append(m * (1 - m + b) if is_cora else m)
        by_m, by_b = (1 - 2 * m + b, m) if is_cora else (np.ones(samples), np.zeros(samples))
        influences.append(by_m[:, None] * (x - m[:, None]) + by_b[:, None] * (y - b[:, None]))
    spread = np.sqrt((counts * (influences[1] - influences[0]) ** 2).sum(axis=1))
    z = NormalDist().inv_cdf((1 + level) / 2)
    change, half = np.abs(values[1] - values[0]), z * spread / np.sqrt(questions)
    return float((change > half if margin is None else change + half <= margin).mean())
