"""The accuracy range: accuracy of each kind of variant, and their mean, lowest and highest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import nan
from typing import Any, NamedTuple

import numpy as np

from lm_eval_cora.metrics.bootstrap import bootstrap
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate, by_influence, mean_of, ratio_of
from lm_eval_cora.responses import Bools, Floats, ResponseTable

_WHISKER = 1.5
"""An accuracy is an outlier if it is more than this many interquartile ranges outside the quartiles."""

_ROUNDING = 1e-9


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
    means, present = _means_by_question(table, table.correct)
    return mean_of(means.sum(axis=1) / present.sum(axis=1))


def acc_min(table: ResponseTable, *, positions: bool = False, macro: bool = False) -> Estimate:
    """Lowest accuracy among the kinds of variants.

    The accuracy of a kind is the mean over questions of the mean within the question. The standard error is
    bootstrapped over questions, and each bootstrap sample has its own lowest kind.

    Args:
        table: Answers to N questions.
        positions: Whether the kinds are positions of the right option. Only questions with enough options have the last
            positions, and these questions may be harder. The accuracy of a position is therefore acc_mean + the mean,
            over the questions that have it, of (accuracy at the position - the question's mean). If all questions have
            all positions, this is the plain accuracy.
        macro: Whether to average over categories, each with the same weight. The accuracy of a kind is then the mean of
            the categories' accuracies. For positions, acc_mean is averaged over all categories, and the mean difference
            over the categories that have the position.

    Returns:
        A share from 0 to 1; with `positions` it may be slightly outside because of the adjustment; nan without
        questions.

    Example:
        >>> acc_min(ResponseTable.from_hits([[1, 1, 0], [1, 0, 0]])).value
        0.25

    Source: SCORE, section 3.4 (accuracy range).
    """
    return _extremes(table, positions, macro)[0]


def acc_max(table: ResponseTable, *, positions: bool = False, macro: bool = False) -> Estimate:
    """Highest accuracy among the kinds of variants.

    The accuracy of a kind and its standard error are computed as in `acc_min`.

    Args:
        table: Answers to N questions.
        positions: Whether the kinds are positions of the right option; see `acc_min`.
        macro: Whether to average over categories; see `acc_min`.

    Returns:
        A share from 0 to 1; with `positions` it may be slightly outside because of the adjustment; nan without
        questions.

    Example:
        >>> acc_max(ResponseTable.from_hits([[1, 1, 0], [1, 0, 0]])).value
        1.0

    Source: SCORE, section 3.4 (accuracy range).
    """
    return _extremes(table, positions, macro)[1]


def macro_acc(table: ResponseTable) -> Estimate:
    """Mean of the accuracies of the categories; each category has the same weight.

    The accuracy of a category is its `acc_mean`. The standard error is (1/C) sqrt(sum s_c^2 / n_c), where category c of
    C has n_c questions and s_c is the standard deviation (ddof 1) of their means.

    Args:
        table: Answers to N questions.

    Returns:
        A share from 0 to 1; nan without questions. The standard error is nan if a category has only one question.

    Example:
        >>> macro_acc(ResponseTable.from_hits([[1, 1], [0, 1]])).value
        0.75

    Source: SCORE, section 3.4 (category-level macro accuracy of MMLU-Pro).
    """
    means, present = _means_by_question(table, table.correct)
    values = means.sum(axis=1) / present.sum(axis=1)
    members = members_by_category(table)
    if not members:
        return UNDEFINED
    parts = [mean_of(values, inside) for inside in members]
    value = float(np.mean([part.value for part in parts]))
    influences_on = [part.influence for part in parts if part.influence is not None]
    if len(influences_on) < len(parts):
        return Estimate(value, nan)
    error = float(np.sqrt(sum(part.stderr**2 for part in parts))) / len(parts)
    return Estimate(value, error, np.mean(influences_on, axis=0))


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
    right, present = _means_by_question(table, table.correct)
    invalid, _ = _means_by_question(table, table.invalid)
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
        found = influences(table, np.ones(len(right), dtype=np.bool_), positions=True)
        for code, part in enumerate(kinds.values()):
            adjusted = by_influence(
                found.baseline + found.deviations[code], found.on_baseline + found.on_deviations[:, code]
            )
            part["adjusted"] = adjusted if part["questions"] > 1 else Estimate(adjusted.value, nan)
    return kinds


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
    means, present = _means_by_question(table, values)
    return dict(zip(table.kinds, (means.sum(axis=0) / present.sum(axis=0)).tolist(), strict=True))


def _means_by_question(table: ResponseTable, values: Bools) -> tuple[Floats, Floats]:
    """(N, kinds) mean of a value within question and kind, 0 if absent; (N, kinds) 1 if present, else 0."""
    shape = (len(table.sizes), len(table.kinds))
    cell = table.question * shape[1] + table.kind
    counts = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    sums = np.bincount(cell, weights=values, minlength=shape[0] * shape[1]).reshape(shape)
    return sums / np.maximum(counts, 1), (counts > 0).astype(np.float64)


def members_by_category(table: ResponseTable) -> list[Bools]:
    """(N,) for each category, whether a question belongs to it."""
    categories = np.array(table.categories)
    return [categories == category for category in sorted(set(table.categories))]


def group_accuracies(table: ResponseTable, *, positions: bool, macro: bool) -> Callable[[Floats], Floats]:
    """Make the function that computes the accuracies of all kinds from question weights.

    Args:
        table: Answers to N questions with G kinds of variants.
        positions: As in `acc_min`.
        macro: As in `acc_min`.

    Returns:
        A function of (B, N) weights that returns (B, G) accuracies; nan for a kind without a question of positive
        weight.
    """
    means, present = _means_by_question(table, table.correct)
    members = members_by_category(table) if macro else [np.ones(len(table.sizes), dtype=np.bool_)]

    def accuracies(weights: Floats) -> Floats:
        found = [_weighted(weights[:, inside], means[inside], present[inside], positions) for inside in members]
        baseline = _mean_of_defined([part for part, _ in found])
        return baseline[:, None] + _mean_of_defined([part for _, part in found])

    return accuracies


def _mean_of_defined(parts: Sequence[Floats]) -> Floats:
    """Mean over the first axis of the values that are not nan; nan if all are."""
    defined = np.isfinite(parts)
    with np.errstate(invalid="ignore"):
        mean: Floats = np.where(defined, parts, 0).sum(axis=0) / defined.sum(axis=0)
    return mean


def _weighted(weights: Floats, means: Floats, present: Floats, positions: bool) -> tuple[Floats, Floats]:
    """(B,) baseline, and (B, G) deviation of each kind from it, in B samples with (B, N) question weights.

    The deviation is nan for a kind without a question of positive weight.
    """
    baseline, deviations = _baseline_and_deviations(means, present, positions)
    with np.errstate(invalid="ignore"):
        return (weights @ baseline) / weights.sum(axis=1), (weights @ deviations) / (weights @ present)


class Influences(NamedTuple):
    """Accuracies of G kinds on n questions, as baseline + deviation, and the influence of each question on both.

    Attributes:
        baseline: 0, or the mean accuracy for positions.
        deviations: (G,) deviation of each kind from the baseline; nan for a kind without questions.
        on_baseline: (n,) influences on the baseline.
        on_deviations: (n, G) influences on the deviations.
    """

    baseline: float
    deviations: Floats
    on_baseline: Floats
    on_deviations: Floats


def influences(table: ResponseTable, inside: Bools, *, positions: bool) -> Influences:
    """Influence of each question on the accuracies of the kinds, on the questions inside a subset, (N,)."""
    means, present = (columns[inside] for columns in _means_by_question(table, table.correct))
    baseline, deviations = _baseline_and_deviations(means, present, positions)
    total = present.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = deviations.sum(axis=0) / total
        on_shares = (deviations - shares * present) * (len(means) / total)
    return Influences(float(baseline.mean()), shares, baseline - baseline.mean(), on_shares)


def _baseline_and_deviations(means: Floats, present: Floats, positions: bool) -> tuple[Floats, Floats]:
    """Per-question baseline, (N,), 0 or the question's mean, and deviations from it, (N, G)."""
    baseline = means.sum(axis=1) / present.sum(axis=1) if positions else np.zeros(len(means))
    return baseline, (means - baseline[:, None]) * present


def _outliers(values: list[float]) -> list[bool]:
    if not values:
        return []
    low, high = np.percentile(values, [25, 75])
    reach = _WHISKER * (high - low) + _ROUNDING  # a value exactly at the limit is not an outlier
    return [not low - reach <= value <= high + reach for value in values]


@lru_cache(maxsize=1)  # acc_min and acc_max are computed one after the other
def _extremes(table: ResponseTable, positions: bool, macro: bool) -> tuple[Estimate, Estimate]:
    if not len(table.sizes):
        return UNDEFINED, UNDEFINED
    return lowest_and_highest(group_accuracies(table, positions=positions, macro=macro), len(table.sizes))


def lowest_and_highest(accuracies: Callable[[Floats], Floats], questions: int) -> tuple[Estimate, Estimate]:
    """Lowest and highest of several accuracies, bootstrapped over questions.

    Args:
        accuracies: Takes (B, N) weights and returns (B, G) accuracies; see `group_accuracies`.
        questions: N.

    Returns:
        The lowest and the highest. Each bootstrap sample has its own lowest and highest group.
    """

    def extremes(weights: Floats) -> Floats:
        values = accuracies(weights)
        return np.stack([np.nanmin(values, axis=1), np.nanmax(values, axis=1)], axis=1)

    values = extremes(np.ones((1, questions)))[0].tolist()
    if questions < 2:
        return Estimate(values[0], nan), Estimate(values[1], nan)
    replicates = bootstrap(extremes, questions)
    errors = replicates.std(axis=0, ddof=1).tolist()
    lowest, highest = map(Estimate, values, errors)
    return lowest, highest
