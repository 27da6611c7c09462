"""Spread of the recalls of the letters: how much the accuracy depends on the letter of the right option."""

from __future__ import annotations

from math import nan, sqrt

import numpy as np

from lm_eval_cora.metrics.estimate import IN_95_PERCENT, UNDEFINED, Estimate, wilson
from lm_eval_cora.metrics.extremes import FEWEST
from lm_eval_cora.metrics.facts import metric
from lm_eval_cora.metrics.kinds import accuracies, covariance_of, influence_on, kinds_of, strata_of, trials_of
from lm_eval_cora.metrics.responses import Floats, ResponseTable
from lm_eval_cora.metrics.several import normal_draws
from lm_eval_cora.variants.order import POSITIONS

_LARGEST_SPREAD = 0.5
"""Largest standard deviation of numbers from 0 to 1."""

_HALVINGS = 40

_ROUNDING = 1e-12
"""Recalls whose variances around their mean sum to less vary only together."""


@metric(
    "Standard deviation over letters of the accuracy of the variants whose right option is printed at the letter.",
    bounds=(0.0, 0.5),
)
def recall_spread(table: ResponseTable) -> Estimate:
    """Spread of the recalls of the letters: how much the accuracy depends on the letter of the right option.

    The recall r_d is the accuracy of the variants whose right option is printed at letter d. The spread of A letters is
    their population standard deviation,

        sqrt((1 / A) sum over d of (r_d - mean of r)^2).

    All orders count, so with one number of options each question is in all recalls, and easy questions at one letter
    cannot look like a preference. With several numbers of options the recalls are adjusted as in `acc_min`, because
    only some questions have the last letters.

    The spread is above 0 even if all letters have the same recall; see `recall_spread_by_chance`. The recalls are about
    normal with the covariance of the sample. The standard error is the standard deviation of the spread of 20,000 such
    draws. The 95% interval has the true spreads that give a spread at least as large, and one at least as small, with a
    probability of 2.5% or more. If the spread is below the one expected by chance, the upper end is that of the
    expected one. If no question of the sample has different answers at different letters, the recalls are taken to vary
    independently, each by Wilson's interval.

    Args:
        table: Answers to N questions of the order probe, in any orders.

    Returns:
        A value from 0 to 0.5, slightly above at most because of the adjustment; nan without questions and for other
        probes. The standard error is nan with one question. The influence of single questions is undefined, as for
        `acc_min`: the bias differs between models, so a difference of spreads has no error.

    Example:
        >>> from lm_eval_cora.answers.records import Record
        >>> kinds = ["answer_at_A", "answer_at_B"]
        >>> records = [Record("q1", 2, place, kind, (0, 1), 0, picked=place) for place, kind in enumerate(kinds)]
        >>> recall_spread(ResponseTable.from_records(records)).value  # the recall of A is 1, that of B is 0
        0.5

    Source: RStd of Zheng et al. 2024 (arXiv:2309.03882), which uses the original order only.
    """
    if not is_order_probe(table):
        return UNDEFINED
    kinds, strata = [kinds_of(table, positions=True)], strata_of(table, macro=False)
    recalls = accuracies(kinds, strata)[0]
    spread = float(recalls.std())
    if len(table.sizes) < 2:
        return Estimate(spread, nan)
    covariance = covariance_of(influence_on(kinds, strata))
    if (covariance - covariance.mean(axis=0)).trace() < _ROUNDING:  # no recall varies against the others, but it could
        rates = zip(recalls.clip(0, 1).tolist(), trials_of(kinds, strata).tolist(), strict=True)
        widths = [high - low for low, high in (wilson(rate * trials, trials) for rate, trials in rates)]
        covariance = np.diag((np.array(widths) / (2 * IN_95_PERCENT)) ** 2)
    draws = normal_draws(covariance)
    error = float((recalls + draws).std(axis=1).std(ddof=1))
    return Estimate(spread, error, ends=_ends(recalls, draws))


@metric("Expected recall_spread if all letters had the same true recall.")
def recall_spread_by_chance(table: ResponseTable) -> Estimate:
    """Expected spread of the recalls if all letters had the same true recall.

    This is the mean spread of normal variables with the covariance of the recalls over questions. Answers to the same
    question depend on each other, so it is smaller than for independent samples.

    Args:
        table: Answers to N questions of the order probe, in any orders.

    Returns:
        A value of at least 0, without a standard error; nan with fewer than ten questions, and for other probes.

    Example:
        >>> from lm_eval_cora.answers.records import Record
        >>> records = [
        ...     Record(f"q{number}", 2, place, kind, (0, 1), 0, picked=number // (1 + place) % 2)
        ...     for number in range(100)
        ...     for place, kind in enumerate(["answer_at_A", "answer_at_B"])
        ... ]
        >>> round(recall_spread_by_chance(ResponseTable.from_records(records)).value, 2)
        0.03

    Source: ours.
    """
    if not is_order_probe(table) or len(table.sizes) < FEWEST:
        return UNDEFINED
    influence = influence_on([kinds_of(table, positions=True)], strata_of(table, macro=False))
    return Estimate(float(normal_draws(covariance_of(influence)).std(axis=1).mean()), nan)


def is_order_probe(table: ResponseTable) -> bool:
    """Whether the kinds of the answers are the letters of the right option, as in the order probe.

    Example:
        >>> is_order_probe(ResponseTable.from_hits([[1, 0]]))
        False
    """
    return bool(len(table.sizes)) and set(table.kinds) <= set(POSITIONS)


def _ends(recalls: Floats, draws: Floats) -> tuple[float, float]:
    """The ends of the interval of the spread: true spreads for which the observed one is in a tail of 2.5%.

    The true recalls lie on the line from equal recalls through the observed ones.
    """
    centred, spread = recalls - recalls.mean(), float(recalls.std())
    draws = draws - draws.mean(axis=1, keepdims=True)
    if spread < _ROUNDING:  # the recalls are equal, so no line through them is given
        centred = np.eye(len(recalls))[0] - np.eye(len(recalls))[-1]
    along = draws @ centred / sqrt(len(recalls) * (centred @ centred))
    squares = (draws**2).mean(axis=1)
    least = max(spread, float(np.sqrt(squares).mean()))

    def edge(observed: float, tail: float) -> float:
        """The true spread that is exceeded by the observed one with the probability of the tail."""
        low, high = 0.0, 2.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            above = (middle**2 + 2 * middle * along + squares >= observed**2).mean()
            low, high = (middle, high) if above < tail else (low, middle)
        return low

    return min(edge(spread, 0.025), spread), max(min(edge(least, 0.975), _LARGEST_SPREAD), spread)
