"""Probability of "yes" when the model is asked whether an option is right: REVAS' option probability analysis."""

from __future__ import annotations

from math import inf

import numpy as np

from lm_eval_cora.metrics.estimate import Estimate, ratio_of
from lm_eval_cora.metrics.facts import metric
from lm_eval_cora.metrics.orders import always_right
from lm_eval_cora.metrics.responses import Floats, ResponseTable
from lm_eval_cora.variants.alterations import TRUE_OR_FALSE_RIGHT, TRUE_OR_FALSE_WRONG


@metric("Mean probability of “yes” for the right option, on questions always answered correctly: C_c.")
def confidence_right(table: ResponseTable, *, normalised: bool = False) -> Estimate:
    """Mean probability of "yes" for the right option, on questions always answered correctly: C_c.

    The questions are those answered correctly in all orders of the original. For each, one true-or-false variant asks
    whether the right option is right.

    Args:
        table: Answers to N questions, with true-or-false variants scored by likelihood.
        normalised: Whether to use P(yes) / (P(yes) + P(no)) instead of P(yes).

    Returns:
        A probability from 0 to 1; nan if no question is always answered correctly. A question with a missing
        probability is left out.

    Example:
        >>> from lm_eval_cora.answers.records import Record
        >>> ask = dict(variants=3, answer=0)
        >>> scored = dict(**ask, picked=None, ask="yes_no", yes=np.log(0.5), no=np.log(0.25))
        >>> records = [Record("q1", ordinal=0, kind="original", printed=(0, 1), picked=0, **ask)]
        >>> records += [Record("q1", ordinal=1, kind="true_or_false_right", printed=(0,), selected=(0,), **scored)]
        >>> records += [Record("q1", ordinal=2, kind="true_or_false_wrong", printed=(1,), selected=(1,), **scored)]
        >>> table = ResponseTable.from_records(records)
        >>> round(confidence_right(table).value, 4), round(confidence_right(table, normalised=True).value, 4)
        (0.5, 0.6667)

    Source: MCQA+, table 5.
    """
    right, _, inside = _confidences(table, normalised)
    return ratio_of(right, inside)


@metric(
    "Mean of the largest probability of “yes” among the wrong options, on questions always answered correctly: C_d."
)
def confidence_wrong(table: ResponseTable, *, normalised: bool = False) -> Estimate:
    """Mean of the largest probability of "yes" among the wrong options, on questions always answered correctly: C_d.

    The questions are those answered correctly in all orders of the original. For each, one true-or-false variant per
    wrong option asks whether it is right.

    Args:
        table: Answers to N questions, with true-or-false variants scored by likelihood.
        normalised: Whether to use P(yes) / (P(yes) + P(no)) instead of P(yes).

    Returns:
        A probability from 0 to 1; nan if no question is always answered correctly. A question with a missing
        probability is left out.

    Example:
        >>> import math
        >>> math.isnan(confidence_wrong(ResponseTable.from_hits([[1, 0]])).value)
        True

    Source: MCQA+, table 5.
    """
    _, wrong, inside = _confidences(table, normalised)
    return ratio_of(wrong, inside)


@metric(
    "Confidence in the most likely wrong option relative to the right one: C_d / C_c.",
    bounds=(0.0, inf),
)
def confidence_ratio(table: ResponseTable, *, normalised: bool = False) -> Estimate:
    """Confidence in the most likely wrong option relative to the right one: C_d / C_c, a ratio of two means.

    C_c is `confidence_right` and C_d is `confidence_wrong`. Above 1, the model is more confident in a wrong option than
    in the right one. The interval assumes that no other question is more extreme than those of the sample.

    Args:
        table: Answers to N questions, with true-or-false variants scored by likelihood.
        normalised: Whether to use P(yes) / (P(yes) + P(no)) instead of P(yes).

    Returns:
        A ratio of at least 0; nan if no question is always answered correctly.

    Example:
        >>> import math
        >>> math.isnan(confidence_ratio(ResponseTable.from_hits([[1, 0]])).value)
        True

    Source: MCQA+, table 5; 32.48 / 35.04 = 92.69%.
    """
    right, wrong, inside = _confidences(table, normalised)
    least_right, least_wrong = (values[inside > 0].min(initial=1) for values in (right, wrong))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        limits = float(least_wrong / right.max(initial=0)), float(wrong.max(initial=0) / least_right)
    return ratio_of(wrong, right, members=inside, between=limits)


@metric("Mean of P(yes) + P(no) over all true-or-false variants.")
def yes_no_mass(table: ResponseTable) -> Estimate:
    """Mean of P(yes) + P(no) over all true-or-false variants.

    If it is small, the model prefers other replies, such as "Yes" or "The". The confidence metrics then say little.

    Args:
        table: Answers to N questions, with true-or-false variants scored by likelihood.

    Returns:
        A probability from 0 to 1 with the standard error of a pooled share; nan without such variants.

    Example:
        >>> from lm_eval_cora.answers.records import Record
        >>> scored = dict(answer=0, picked=None, ask="yes_no", selected=(0,), yes=np.log(0.5), no=np.log(0.25))
        >>> record = Record("q1", 1, 0, "true_or_false_right", printed=(0,), **scored)
        >>> yes_no_mass(ResponseTable.from_records([record])).value
        0.75

    Source: ours.
    """
    mass = np.exp(np.minimum(table.yes, 0.0)) + np.exp(np.minimum(table.no, 0.0))
    scored = ~np.isnan(mass)
    return ratio_of(table.sum_by_question(np.where(scored, mass, 0.0)), table.sum_by_question(scored))


def _confidences(table: ResponseTable, normalised: bool) -> tuple[Floats, Floats, Floats]:
    """(N,) each: P(yes) of the right option, the largest P(yes) of a wrong one, and 1. All are 0 outside the subset."""
    yes, no = np.minimum(table.yes, 0.0), np.minimum(table.no, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):  # yes and no may both be -inf
        chance = 1 / (1 + np.exp(no - yes)) if normalised else np.exp(yes)
    chance = np.where(np.isnan(chance), np.inf, chance)  # a missing one becomes the maximum, which is not finite
    right, wrong = np.full((2, len(table.sizes)), -np.inf)
    is_right, is_wrong = table.is_kind(TRUE_OR_FALSE_RIGHT), table.is_kind(TRUE_OR_FALSE_WRONG)
    np.maximum.at(right, table.question[is_right], chance[is_right])
    np.maximum.at(wrong, table.question[is_wrong], chance[is_wrong])
    inside = always_right(table) & np.isfinite(right) & np.isfinite(wrong)
    return np.where(inside, right, 0.0), np.where(inside, wrong, 0.0), inside.astype(np.float64)
