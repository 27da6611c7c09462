"""Accuracy of each kind of variant, and their mean. `extremes.py` has the lowest and the highest."""

from __future__ import annotations

from dataclasses import replace
from math import hypot, nan
from typing import Any

import numpy as np

from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate, bounded, mean_of, of_influence, ratio_of
from lm_eval_cora.metrics.facts import metric
from lm_eval_cora.metrics.kinds import (
    Kinds,
    accuracies,
    influence_on,
    kinds_of,
    means_by_question,
    strata_of,
    trials_of,
)
from lm_eval_cora.metrics.responses import Bools, ResponseTable

_WHISKER = 1.5
"""An accuracy is an outlier if it is more than this many interquartile ranges outside the quartiles."""

_ROUNDING = 1e-9


@metric(
    "Mean accuracy of the kinds of variants: the mean over questions of the mean within a question.",
    needs=("kind",),
)
def acc_mean(table: ResponseTable) -> Estimate:
    """Mean accuracy of the kinds of variants: the mean over questions of the mean within a question.

    The mean within a question is over its kinds of variants (kinds, templates, positions or samples, by probe). If
    every question has every kind, this is the mean of the accuracies of the kinds.

    Args:
        table: Answers to N questions.

    Returns:
        A share from 0 to 1; nan without questions.

    Example:
        >>> acc_mean(ResponseTable.from_hits([[1, 1, 0], [1, 0, 0]])).value
        0.625

    Source: SCORE, section 3.4.
    """
    means, present = means_by_question(table, table.correct)
    return mean_of(means.sum(axis=1) / present.sum(axis=1))


@metric(
    "Mean of the accuracies of the categories; each category has the same weight.",
    needs=("category",),
)
def macro_acc(table: ResponseTable) -> Estimate:
    """Mean of the accuracies of the categories; each category has the same weight.

    The accuracy of a category is its `acc_mean`. The standard error is (1/C) sqrt(sum s_c^2 / n_c), where category c of
    C has n_c questions and s_c is the standard deviation (ddof 1) of their means. The s_c of categories
    with one question is pooled: it is that of the questions of all of them. If there is only one such category, it is
    pooled with the smallest other category.

    Args:
        table: Answers to N questions.

    Returns:
        A share from 0 to 1; nan without questions. The standard error is nan with one question.

    Example:
        >>> macro_acc(ResponseTable.from_hits([[1, 1], [0, 1]])).value
        0.75

    Source: SCORE, section 3.4 (category-level macro accuracy of MMLU-Pro).
    """
    means, present = means_by_question(table, table.correct)
    values = means.sum(axis=1) / present.sum(axis=1)
    parts = [Kinds(np.zeros(len(values)), values[:, None], np.ones((len(values), 1)))]
    strata = strata_of(table, macro=True)
    if not strata:
        return UNDEFINED
    value = float(accuracies(parts, strata)[0, 0])
    if len(values) < 2:
        return Estimate(value, nan)
    influence = influence_on(parts, strata)[:, 0]
    questions = float(trials_of(parts, strata)[0])
    found = of_influence(value, influence, questions=questions)
    # The few questions of a small category may be alike, so one further question may be wrong instead of right.
    return found if found.ends else replace(found, ends=bounded(value, hypot(found.stderr, 1 / questions)))


@metric("Accuracy of each kind of variant.")
def each_kind(table: ResponseTable, *, positions: bool = False) -> dict[str, dict[str, Any]]:
    """Accuracy and share of invalid answers of each kind of variant.

    Args:
        table: Answers to N questions.
        positions: Whether to include the accuracy adjusted for the questions that have the position; see `acc_min`.

    Returns:
        A mapping for each kind; empty without questions. It has

        - `accuracy` and `invalid`: shares from 0 to 1, means over the questions that have the kind;
        - `questions`: the number of these questions;
        - `outlier`: whether the accuracy is more than 1.5 interquartile ranges outside the quartiles of all kinds;
        - `adjusted`: the adjusted accuracy, only with `positions`.

    Example:
        >>> each_kind(ResponseTable.from_hits([[1, 1, 0], [1, 0, 0]]))["variant"]["accuracy"].value
        0.25

    Source: SCORE, figure 3 (box plots) and section 4.1 (the outlier).
    """
    right, present = means_by_question(table, table.correct)
    invalid, _ = means_by_question(table, table.invalid)
    kinds: dict[str, dict[str, Any]] = {}
    for code, kind in enumerate(table.kinds):
        kinds[kind] = {
            "accuracy": ratio_of(right[:, code], present[:, code]),
            "invalid": ratio_of(invalid[:, code], present[:, code]),
            "questions": int(present[:, code].sum()),
        }
    for kind, outlier in zip(kinds, _outliers([part["accuracy"].value for part in kinds.values()]), strict=True):
        kinds[kind]["outlier"] = outlier
    if positions and kinds:
        if present.all():  # the adjustment is 0
            return {kind: {**part, "adjusted": part["accuracy"]} for kind, part in kinds.items()}
        for part, adjusted in zip(kinds.values(), _adjusted(table), strict=True):
            part["adjusted"] = adjusted if part["questions"] > 1 else Estimate(adjusted.value, nan)
    return kinds


def _adjusted(table: ResponseTable) -> list[Estimate]:
    """Accuracy of each position, adjusted for the difficulty of the questions that have it."""
    parts, strata = [kinds_of(table, positions=True)], strata_of(table, macro=False)
    if len(table.sizes) < 2:
        return [Estimate(value, nan) for value in accuracies(parts, strata)[0].tolist()]
    kinds = zip(
        accuracies(parts, strata)[0].tolist(), influence_on(parts, strata).T, trials_of(parts, strata), strict=True
    )
    return [of_influence(value, influence, questions=float(trials)) for value, influence, trials in kinds]


def accuracy_by_kind(table: ResponseTable) -> dict[str, float]:
    """Accuracy of each kind of variant: the mean over questions of the mean within the question.

    Args:
        table: Answers to N questions.

    Returns:
        A share from 0 to 1 for each kind; empty without questions.

    Example:
        >>> accuracy_by_kind(ResponseTable.from_hits([[1, 1, 0], [1, 0, 0]]))
        {'original': 1.0, 'variant': 0.25}

    Source: ours.
    """
    return _by_kind(table, table.correct)


def invalid_by_kind(table: ResponseTable) -> dict[str, float]:
    """Share of invalid answers to each kind of variant: the mean over questions of the mean within the question.

    Args:
        table: Answers to N questions.

    Returns:
        A share from 0 to 1 for each kind; empty without questions.

    Example:
        >>> invalid_by_kind(ResponseTable.from_hits([[1, 1, 0], [1, 0, 0]]))
        {'original': 0.0, 'variant': 0.0}

    Source: ours.
    """
    return _by_kind(table, table.invalid)


def followed_by_kind(table: ResponseTable) -> dict[str, float]:
    """Share of responses in the requested format for each kind of variant, computed as in `invalid_by_kind`.

    Args:
        table: Answers to N questions.

    Returns:
        A share from 0 to 1 for each kind; empty without questions, or if it is unknown for a response (see `followed`).

    Example:
        >>> followed_by_kind(ResponseTable.from_hits([[1, 1, 0], [1, 0, 0]]))
        {'original': 1.0, 'variant': 1.0}

    Source: ours.
    """
    return {} if np.isnan(table.followed).any() else _by_kind(table, table.followed > 0)


def _by_kind(table: ResponseTable, values: Bools) -> dict[str, float]:
    means, present = means_by_question(table, values)
    return dict(zip(table.kinds, (means.sum(axis=0) / present.sum(axis=0)).tolist(), strict=True))


def _outliers(values: list[float]) -> list[bool]:
    if not values:
        return []
    low, high = np.percentile(values, [25, 75])
    reach = _WHISKER * (high - low) + _ROUNDING  # a value exactly at the limit is not an outlier
    return [not low - reach <= value <= high + reach for value in values]
