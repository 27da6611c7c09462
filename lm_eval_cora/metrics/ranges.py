"""The accuracy range: the accuracies of the kinds that a probe compares, their mean, the lowest and the highest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from math import nan
from typing import Any, NamedTuple

import numpy as np

from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate, bootstrap, by_influence, mean_of, ratio_of
from lm_eval_cora.responses import Bools, Floats, ResponseTable

_WHISKER = 1.5
"""In interquartile ranges: how far from the box of a box plot an accuracy is an outlier."""

_ROUNDING = 1e-9


def acc_mean(table: ResponseTable) -> Estimate:
    """Mean accuracy of the kinds: the mean over questions of the mean over the kinds that the question has.

    Where every question has every kind (templates, samples, positions with the same number of options) this is the
    mean of the kinds' accuracies.

    Args:
        table: N questions.

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
    bootstrapped over questions, the lowest kind chosen anew in every sample.

    Args:
        table: N questions.
        positions: The kinds are positions of the right option, which only questions with enough options have. Then
            the accuracy of a kind is acc_mean + the mean over the questions that have it of (mean in the kind - the
            question's mean), so that harder questions with more options do not make the last positions look worse. It
            is the plain one where all questions have all positions.
        macro: The accuracy of a kind is the mean of the categories' accuracies instead; of a position the mean of the
            categories' acc_mean + the mean of the differences within the categories that have it.

    Returns:
        A share from 0 to 1 (with `positions` it may leave the range by the adjustment); nan without questions.

    Example:
        >>> acc_min(ResponseTable.from_hits([[1, 1, 0], [1, 0, 0]])).value
        0.25

    Source: SCORE, section 3.4 (accuracy range).
    """
    return _extremes(table, positions, macro)[0]


def acc_max(table: ResponseTable, *, positions: bool = False, macro: bool = False) -> Estimate:
    """Highest accuracy among the kinds of variants; see `acc_min`.

    Args:
        table: N questions.
        positions: As there.
        macro: As there.

    Returns:
        A share from 0 to 1; nan without questions.

    Example:
        >>> acc_max(ResponseTable.from_hits([[1, 1, 0], [1, 0, 0]])).value
        1.0

    Source: SCORE, section 3.4 (accuracy range).
    """
    return _extremes(table, positions, macro)[1]


def macro_acc(table: ResponseTable) -> Estimate:
    """Mean over categories of the category's mean accuracy, each category with the same weight.

    The standard error is (1/C) sqrt(sum s_c^2 / n_c) for C categories with n_c questions and a standard deviation
    (ddof 1) of s_c; nan if a category has one question.

    Args:
        table: N questions.

    Returns:
        A share from 0 to 1; nan without questions.

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
    """Each kind by itself.

    Args:
        table: N questions.
        positions: Give the accuracy adjusted for the questions that have the position, too; see `acc_min`.

    Returns:
        For each kind `accuracy` and `invalid`, means over the questions that have it of the mean within the question;
        `questions`, their number; `outlier`, whether its accuracy is outside 1.5 interquartile ranges around those of
        all kinds; and `adjusted`, if asked for. Empty without questions.

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
            adjusted = by_influence(found.level + found.above[code], found.on_level + found.on_above[:, code])
            part["adjusted"] = adjusted if part["questions"] > 1 else Estimate(adjusted.value, nan)
    return kinds


def accuracy_by_kind(table: ResponseTable) -> dict[str, float]:
    """Accuracy of each kind of variant: the mean over questions of the mean within the question.

    Args:
        table: N questions.

    Returns:
        A share from 0 to 1 for each kind; empty without questions.

    Example:
        >>> accuracy_by_kind(ResponseTable.from_hits([[1, 1, 0], [1, 0, 0]]))
        {'original': 1.0, 'variant': 0.25}
    """
    return _by_kind(table, table.correct)


def invalid_by_kind(table: ResponseTable) -> dict[str, float]:
    """Share of invalid answers to each kind of variant: the mean over questions of the mean within the question.

    Args:
        table: N questions.

    Returns:
        A share from 0 to 1 for each kind; empty without questions.

    Example:
        >>> invalid_by_kind(ResponseTable.from_hits([[1, 1, 0], [1, 0, 0]]))
        {'original': 0.0, 'variant': 0.0}
    """
    return _by_kind(table, table.invalid)


def followed_by_kind(table: ResponseTable) -> dict[str, float]:
    """Share of responses that follow the format, for each kind of variant: a mean over questions as `invalid_by_kind`.

    Args:
        table: N questions.

    Returns:
        A share from 0 to 1 for each kind; empty without questions, and where it is not known of every response.

    Example:
        >>> followed_by_kind(ResponseTable.from_hits([[1, 1, 0], [1, 0, 0]]))
        {'original': 1.0, 'variant': 1.0}
    """
    return {} if np.isnan(table.followed).any() else _by_kind(table, table.followed > 0)


def _by_kind(table: ResponseTable, values: Bools) -> dict[str, float]:
    means, present = _means_by_question(table, values)
    return dict(zip(table.kinds, (means.sum(axis=0) / present.sum(axis=0)).tolist(), strict=True))


def _means_by_question(table: ResponseTable, values: Bools) -> tuple[Floats, Floats]:
    """(N, kinds) mean of a value within question and kind, 0 where absent; and 1 where present."""
    shape = (len(table.sizes), len(table.kinds))
    cell = table.question * shape[1] + table.kind
    counts = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    sums = np.bincount(cell, weights=values, minlength=shape[0] * shape[1]).reshape(shape)
    return sums / np.maximum(counts, 1), (counts > 0).astype(np.float64)


def members_by_category(table: ResponseTable) -> list[Bools]:
    """(N,) for each category whether a question is of it."""
    categories = np.array(table.categories)
    return [categories == category for category in sorted(set(table.categories))]


def group_accuracies(table: ResponseTable, *, positions: bool, macro: bool) -> Callable[[Floats], Floats]:
    """The accuracies of all kinds as a function of how often each question counts.

    Args:
        table: N questions with G kinds.
        positions: As in `acc_min`.
        macro: As in `acc_min`.

    Returns:
        A function of (B, N) weights with (B, G) values; nan for a kind that no question has whose weight is not 0.
    """
    means, present = _means_by_question(table, table.correct)
    members = members_by_category(table) if macro else [np.ones(len(table.sizes), dtype=np.bool_)]

    def accuracies(weights: Floats) -> Floats:
        found = [_level_and_above(weights[:, inside], means[inside], present[inside], positions) for inside in members]
        level = _mean_of_defined([level for level, _ in found])
        return level[:, None] + _mean_of_defined([above for _, above in found])

    return accuracies


def _mean_of_defined(parts: Sequence[Floats]) -> Floats:
    """The mean over the first axis of what is not nan; nan where all is."""
    defined = np.isfinite(parts)
    with np.errstate(invalid="ignore"):
        mean: Floats = np.where(defined, parts, 0).sum(axis=0) / defined.sum(axis=0)
    return mean


def _level_and_above(weights: Floats, means: Floats, present: Floats, positions: bool) -> tuple[Floats, Floats]:
    """(B,) what the kinds are measured from in samples that hold each question so many times, (B, N); (B, G) above it.

    A kind that no drawn question has is nan.
    """
    base, above = _around(means, present, positions)
    with np.errstate(invalid="ignore"):
        return (weights @ base) / weights.sum(axis=1), (weights @ above) / (weights @ present)


class Influences(NamedTuple):
    """The accuracies of G kinds among n questions as level + above, and the influence of each question on both.

    Attributes:
        level: What the kinds are measured from: 0, or for positions the mean.
        above: (G,) how far each kind is above it; nan for a kind that no question has.
        on_level: (n,) influences on the level.
        on_above: (n, G) influences on what is above it.
    """

    level: float
    above: Floats
    on_level: Floats
    on_above: Floats


def influences(table: ResponseTable, inside: Bools, *, positions: bool) -> Influences:
    """What each question does to the accuracies of the kinds, among some of the questions, (N,)."""
    means, present = (columns[inside] for columns in _means_by_question(table, table.correct))
    base, above = _around(means, present, positions)
    total = present.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = above.sum(axis=0) / total
        on_shares = (above - shares * present) * (len(means) / total)
    return Influences(float(base.mean()), shares, base - base.mean(), on_shares)


def _around(means: Floats, present: Floats, positions: bool) -> tuple[Floats, Floats]:
    """(N,) what a question's kinds are measured from, 0 or the question's mean, and (N, G) how far they are above."""
    base = means.sum(axis=1) / present.sum(axis=1) if positions else np.zeros(len(means))
    return base, (means - base[:, None]) * present


def _outliers(values: list[float]) -> list[bool]:
    if not values:
        return []
    low, high = np.percentile(values, [25, 75])
    reach = _WHISKER * (high - low) + _ROUNDING  # on the fence is not outside
    return [not low - reach <= value <= high + reach for value in values]


@lru_cache(maxsize=1)  # the lowest and the highest are asked for one after the other
def _extremes(table: ResponseTable, positions: bool, macro: bool) -> tuple[Estimate, Estimate]:
    if not len(table.sizes):
        return UNDEFINED, UNDEFINED
    return lowest_and_highest(group_accuracies(table, positions=positions, macro=macro), len(table.sizes))


def lowest_and_highest(accuracies: Callable[[Floats], Floats], questions: int) -> tuple[Estimate, Estimate]:
    """The lowest and the highest of some accuracies, bootstrapped over questions, chosen anew in every sample.

    Args:
        accuracies: Takes (B, N) weights and returns (B, G) values, as `group_accuracies` makes it.
        questions: N.
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
    return replace(lowest, replicates=replicates[:, 0]), replace(highest, replicates=replicates[:, 1])
