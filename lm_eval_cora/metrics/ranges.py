"""Accuracy of each kind of variant, their mean, the lowest and the highest, their range, and the range by chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from math import erfc, exp, hypot, inf, lgamma, log, nan, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from lm_eval_cora.metrics.estimate import (
    IN_95_PERCENT,
    UNDEFINED,
    Estimate,
    bootstrap,
    bounded,
    clopper_pearson,
    of_influence,
    standard_error,
    students,
    trials_with_error,
)
from lm_eval_cora.metrics.facts import MACRO_AVERAGE, detail, metric
from lm_eval_cora.metrics.kinds import Contributions, KindAccuracies, critical_value, means_by_question, strata_of
from lm_eval_cora.metrics.responses import Bools, Floats, ResponseTable

__all__ = ["acc_max", "acc_mean", "acc_min", "acc_range", "acc_range_by_chance", "acc_range_p", "macro_acc"]
__all__ += ["accuracy_by_kind", "each_kind", "followed_by_kind", "invalid_by_kind"]

FEWEST = 10  # smallest number of questions for which the range by chance and the test of equal accuracies are computed
_WHISKER = 1.5  # accuracies more than this many interquartile ranges outside the quartiles are outliers
_ROUNDING = 1e-9
_ZERO = 1e-12  # a bootstrapped error below this is 0, and so is this share of a variance
_FEW = 50  # if a kind has fewer questions with different answers, the chi-square distribution may be inaccurate
_EXCHANGES = 1_999
_KEYS_AT_A_TIME = 2_000_000


@metric(
    "Mean of the accuracies of the kinds of variants.",
    needs=("kind",),
    place=8,
    spoken="mean accuracy",
    symbol="Acc. mean",
)
def acc_mean(table: ResponseTable, *, positions: bool = False) -> Estimate:
    """Mean of the accuracies of the kinds of variants: templates, positions or samples in some probes.

    The accuracy of a kind is that of `acc_min`. If the kinds are `positions`, this is the mean over questions of the
    mean within a question, from which the accuracies of the positions deviate. If every question has every kind, the
    two are the same.
    Range: 0 to 1, from `acc_min` to `acc_max`. Source: SCORE, section 3.4.

    Example:
        >>> table = ResponseTable.from_hits([[1, 1, 0], [1, 0, 0]])
        >>> acc_mean(table).value, macro_acc(table).value  # it has one category
        (0.625, 0.625)
    """
    means, present = means_by_question(table, table.correct)
    if not (positions or present.all()):
        return mean_of_kinds(KindAccuracies.of(table))
    return table.mean(means.sum(axis=1) / present.sum(axis=1))


def mean_of_kinds(accuracies: KindAccuracies) -> Estimate:
    """Mean of the accuracies of the kinds."""
    value = float(accuracies.values().mean())
    if accuracies.units < 2:
        return Estimate(value, nan)
    influence = accuracies.influence().mean(axis=1)
    return of_influence(value, influence, questions=float(accuracies.trials().min()), units=accuracies.effective)


@metric(
    "Mean of the accuracies of the categories; each category has the same weight.",
    needs=("category",),
    of_one_answer=True,
    symbol="Macro acc.",
    only=(MACRO_AVERAGE,),
)
def macro_acc(table: ResponseTable, *, positions: bool = False) -> Estimate:
    """Mean of the accuracies of the categories; each category has the same weight.

    The accuracy of a category is its `acc_mean`, so with one category the two are the same. The standard error is
    (1/C) sqrt(sum s_c^2 / n_c), where category c of C has n_c questions and s_c is the standard deviation (ddof 1) of
    their means. Categories with one question have the s_c of the questions of all of them; a single such category is
    pooled with the smallest other one.
    Range: 0 to 1. Source: SCORE, section 3.4 (category-level macro accuracy of MMLU-Pro).

    Example:
        >>> macro_acc(ResponseTable.from_hits([[1, 1], [0, 1]])).value
        0.75
    """
    means, present = means_by_question(table, table.correct)
    values, strata = means.sum(axis=1) / present.sum(axis=1), strata_of(table, macro=True)
    if not len(values):
        return UNDEFINED
    for members in () if positions or present.all() else chain(*strata):
        values[members] = _of_kinds(means[members], present[members])
    kind = Contributions(np.zeros(len(values)), values[:, None], np.ones((len(values), 1)))
    accuracy = KindAccuracies([kind], strata, table.cluster)
    estimate = accuracy.estimates()[0]
    if estimate.influence is None or estimate.ends or estimate.units:
        return estimate
    # The few questions of a small category may be alike, so one further question may be wrong instead of right.
    error = hypot(estimate.stderr, 1 / float(accuracy.trials()[0]))
    return replace(estimate, ends=bounded(estimate.value, error))


def _of_kinds(means: Floats, present: Floats) -> Floats:
    """(N,) numbers whose mean is that of the kinds' accuracies, and whose deviations are the influences on it."""
    counts = np.maximum(present.sum(axis=0), 1)
    shares, kinds = means.sum(axis=0) / counts, present.any(axis=0).sum()
    numbers: Floats = shares.sum() / kinds + (means - shares * present) @ (len(means) / counts / kinds)
    return numbers


@detail("Accuracy of each kind of variant.")
def each_kind(table: ResponseTable, *, positions: bool = False) -> dict[str, dict[str, Any]]:
    """Accuracy and share of invalid answers of each kind of variant.

    Args:
        table: Answers to N questions.
        positions: Whether to include the accuracy adjusted for the questions that have the position; see `acc_min`.

    Returns:
        A mapping for each kind; empty without questions. Source: SCORE, figure 3 (box plots) and section 4.1 (the
        outlier). It has

        - `accuracy` and `invalid`: shares from 0 to 1, means over the questions that have the kind;
        - `questions`: the number of these questions;
        - `outlier`: whether the accuracy is more than 1.5 interquartile ranges outside the quartiles of all kinds;
        - `adjusted`: the adjusted accuracy, only with `positions`.

    Example:
        >>> each_kind(ResponseTable.from_hits([[1, 1, 0], [1, 0, 0]]))["variant"]["accuracy"].value
        0.25
    """
    right, present = means_by_question(table, table.correct)
    invalid, _ = means_by_question(table, table.invalid)
    columns = zip(table.kinds, right.T, invalid.T, present.T, strict=True)
    kinds: dict[str, dict[str, Any]] = {
        kind: {"accuracy": table.ratio(hits, has), "invalid": table.ratio(misses, has), "questions": int(has.sum())}
        for kind, hits, misses, has in columns
    }
    low, high = np.percentile([part["accuracy"].value for part in kinds.values()] or [0.0], [25, 75])
    reach = _WHISKER * (high - low) + _ROUNDING  # a value exactly at the limit is not an outlier
    for part in kinds.values():
        part["outlier"] = not low - reach <= part["accuracy"].value <= high + reach
    if positions and kinds:
        if present.all():  # the adjustment is 0
            return {kind: {**part, "adjusted": part["accuracy"]} for kind, part in kinds.items()}
        estimates = KindAccuracies.of(table, positions=True).estimates()
        for part, adjusted in zip(kinds.values(), estimates, strict=True):
            part["adjusted"] = adjusted if part["questions"] > 1 else Estimate(adjusted.value, nan)
    return kinds


def accuracy_by_kind(table: ResponseTable) -> dict[str, float]:
    """Accuracy of each kind of variant: the mean over questions of the mean within the question.

    Range: 0 to 1 for each kind; empty without questions. Source: ours.

    Example:
        >>> table = ResponseTable.from_hits([[1, 1, 0], [1, 0, 0]])
        >>> accuracy_by_kind(table), invalid_by_kind(table), followed_by_kind(table)
        ({'original': 1.0, 'variant': 0.25}, {'original': 0.0, 'variant': 0.0}, {'original': 1.0, 'variant': 1.0})
    """
    return _by_kind(table, table.correct)


def invalid_by_kind(table: ResponseTable) -> dict[str, float]:
    """Share of invalid answers to each kind of variant, computed as in `accuracy_by_kind`.

    Range: 0 to 1 for each kind; empty without questions. Source: ours.
    """
    return _by_kind(table, table.invalid)


def followed_by_kind(table: ResponseTable) -> dict[str, float]:
    """Share of responses in the requested format for each kind of variant, computed as in `accuracy_by_kind`.

    Range: 0 to 1 for each kind; empty without questions, or if `followed` is unknown for a response. Source: ours.
    """
    return {} if np.isnan(table.followed).any() else _by_kind(table, table.followed > 0)


def _by_kind(table: ResponseTable, values: Bools) -> dict[str, float]:
    means, present = means_by_question(table, values)
    return dict(zip(table.kinds, (means.sum(axis=0) / present.sum(axis=0)).tolist(), strict=True))


@metric("Lowest accuracy among the kinds of variants.", needs=("kind",), bootstrapped=True, place=9, symbol="Acc. min")
def acc_min(table: ResponseTable, *, positions: bool = False, macro: bool = False) -> Estimate:
    """Lowest accuracy among the kinds of variants.

    The accuracy of a kind is the mean over questions of the mean within the question. The lowest of several equal ones
    is below the true one on average; see `acc_range_by_chance`. The standard error is bootstrapped over questions
    (5,000 samples, each with its own lowest kind). The 95% interval goes from the lowest of the lower ends to the
    lowest of the upper ends of intervals of all kinds that hold together (max-t, Clopper and Pearson).

    Args:
        table: Answers to N questions.
        positions: Whether the kinds are positions of the right option. Only questions with enough options have the last
            positions, and these questions may be harder. The accuracy of a position is therefore acc_mean + the mean,
            over the questions that have it, of (accuracy at the position - the question's mean). If all questions have
            all positions, this is the plain accuracy.
        macro: Whether to average over categories, each with the same weight. The accuracy of a kind is then the mean of
            the categories' accuracies. For positions, acc_mean is averaged over all categories, and the mean difference
            over those that have the position. Questions are resampled within categories, pooled as in `macro_acc`.

    Range: 0 to 1; with `positions` it may be slightly outside because of the adjustment. Source: SCORE, section 3.4
    (accuracy range).

    Example:
        >>> table = ResponseTable.from_hits([[1, 1, 0], [1, 0, 0]])
        >>> acc_min(table).value, acc_max(table).value, acc_range(table).value
        (0.25, 1.0, 0.75)
    """
    return _extremes(table, positions, macro)[0]


@metric(
    "Highest accuracy among the kinds of variants.", needs=("kind",), bootstrapped=True, place=10, symbol="Acc. max"
)
def acc_max(table: ResponseTable, *, positions: bool = False, macro: bool = False) -> Estimate:
    """Highest accuracy among the kinds of variants.

    The arguments, the accuracy of a kind, the error, the interval and the range are those of `acc_min`.
    Range: as for `acc_min`. Source: SCORE, section 3.4 (accuracy range).
    """
    return _extremes(table, positions, macro)[1]


@detail(
    "Difference between the highest and the lowest accuracy of the kinds of variants.",
    needs=("kind",),
    symbol="Acc. range",
)
def acc_range(table: ResponseTable, *, positions: bool = False, macro: bool = False) -> Estimate:
    """Difference between the highest and the lowest accuracy of the kinds: acc_max - acc_min.

    Even equally good kinds differ by chance, so compare it with `acc_range_by_chance`. The arguments are those of
    `acc_min`.
    Range: at least 0, without a standard error. Source: SCORE, section 3.4 (accuracy range).
    """
    lowest, highest = _extremes(table, positions, macro)
    return Estimate(highest.value - lowest.value, nan)


@detail("Expected acc_range if all kinds of variants had the same true accuracy.", needs=("kind",), fewest=FEWEST)
def acc_range_by_chance(table: ResponseTable, *, positions: bool = False, macro: bool = False) -> Estimate:
    """Expected range of the accuracies if all kinds had the same true accuracy.

    This is the mean range of normal variables with the covariance of the accuracies over questions. Answers to the same
    question depend on each other, so it is smaller than for independent samples: ten templates with independent answers
    and an accuracy of 0.8 differ by 0.123 at 100 questions. The arguments are those of `acc_min`.
    Range: at least 0, without a standard error; nan with fewer than ten questions. Source: ours.

    Example:
        >>> table = ResponseTable.from_hits([[1, 0], [0, 1], [1, 1], [0, 0]] * 25)
        >>> round(acc_range_by_chance(table).value, 2)  # the difference of the two has a standard error of 0.071
        0.06
    """
    if table.units < FEWEST:
        return UNDEFINED
    draws = KindAccuracies.of(table, positions=positions, macro=macro).draws()
    return Estimate(float(np.ptp(draws, axis=1).mean()), nan)


def _why_not_tested(table: ResponseTable) -> str:
    if len(table.kinds) < 2:
        return "there is only one kind of variant"
    several = "a question has several variants of a kind"
    return several if table.cluster is None else f"{several}, or the questions of a passage have different kinds"


@detail(
    "P-value of Cochran's Q test that all kinds of variants have the same true accuracy.",
    needs=("kind",),
    fewest=FEWEST,
    why_undefined=_why_not_tested,
)
def acc_range_p(table: ResponseTable) -> Estimate:
    """P-value of Cochran's Q test: do all kinds have the same true accuracy?

    With x_ig = 1 if question i is answered correctly in kind g, D_g is the sum over questions of x_ig minus the
    question's mean, and V is the sum over questions of s_i^2 (I - J / n_i). Here s_i^2 is the variance (ddof 1) of the
    n_i answers to question i, I is the identity and J has ones for all pairs of kinds that the question has. The
    statistic D' V^-1 D has about a chi-square distribution with (kinds - 1) degrees of freedom. If all questions have
    all kinds, it is Cochran's Q.

    Only questions with different answers contribute. If a kind has fewer than 50 of them, the p-value is that of a
    permutation test: the answers to each question are exchanged between its kinds, 1,999 times at random with a fixed
    seed, and p = (1 + number of times that the statistic is at least as large) / 2,000.

    The test assumes that all pairs of kinds are equally correlated. If ten equally accurate templates form two groups
    that are more alike, it rejects in about 10% of the samples instead of 5%.
    Range: 0 to 1, without a standard error; 1 if no question's answers differ. nan with fewer than ten questions, with
    a single kind, or if a question has several variants of a kind: their means vary less, so kinds of different size
    cannot be exchanged. Source: Cochran 1950 (Q); with missing kinds the statistic of Skillings and Mack 1981.

    Example:
        >>> equal, unequal = [[1, 0], [0, 1]] * 30, [[1, 0]] * 60
        >>> [round(acc_range_p(ResponseTable.from_hits(rows)).value, 16) for rows in (equal, unequal)]
        [1.0, 9.5e-15]
    """
    if table.units < FEWEST or len(table.kinds) < 2:
        return UNDEFINED
    _, right, present = Contributions.of(table)
    if not np.array_equal(present.sum(axis=1), table.sizes):
        return UNDEFINED
    if table.cluster is not None:  # x_g is the number of right answers to the questions of a cluster in each kind
        first = np.unique(table.cluster, return_index=True)[1]
        if not np.array_equal(present, present[first][table.cluster]):
            return UNDEFINED
        right = np.stack([np.bincount(table.cluster, column) for column in right.T], axis=1)
        present = present[first]
    informative = np.where(present > 0, right, inf).min(axis=1) < right.max(axis=1)
    right, present = right[informative], present[informative]
    kinds = present.any(axis=0)
    if not kinds.any():
        return Estimate(1.0, nan)
    return Estimate(_p_value(right[:, kinds], present[:, kinds]), nan)


def _p_value(right: Floats, present: Floats) -> float:
    """P-value from the questions whose answers differ, and the kinds that they have."""
    sizes = present.sum(axis=1)
    means = right.sum(axis=1) / sizes
    squares = (right**2).sum(axis=1) / sizes
    variances = means * (squares / means - means) * sizes / (sizes - 1)
    expected = means @ present
    covariance = np.diag(variances @ present) - (present * (variances / sizes)[:, None]).T @ present
    scales, axes = np.linalg.eigh(covariance)
    used = scales > _ZERO * scales.max()
    root = axes[:, used] / np.sqrt(scales[used])
    statistic = float((((right.sum(axis=0) - expected) @ root) ** 2).sum())
    if present.sum(axis=0).min() < _FEW:
        others = (((_exchanged(right, present) - expected) @ root) ** 2).sum(axis=1)
        return float((1 + (others >= statistic - 1e-9).sum()) / (_EXCHANGES + 1))
    return _chi_square_tail(statistic, int(used.sum()))


def _chi_square_tail(statistic: float, degrees: int) -> float:
    """Probability of at least such a chi-square: a finite sum; importing scipy takes longer than the command."""
    if statistic <= 0:
        return 1.0
    half = statistic / 2
    first, start = (erfc(sqrt(half)), 0.5) if degrees % 2 else (exp(-half), 1.0)
    return first + sum(exp(k * log(half) - half - lgamma(k + 1)) for k in np.arange(start, degrees / 2).tolist())


def _exchanged(right: Floats, present: Floats) -> Floats:
    """(1999, G) number of right answers in each kind after exchanges within questions."""
    generator = np.random.default_rng(0)
    values, kinds = -np.sort(-right, axis=1), right.shape[1]  # the kinds that a question lacks come last
    step = max(1, _KEYS_AT_A_TIME // right.size)
    found = []
    for start in range(0, _EXCHANGES, step):
        keys = generator.random((min(step, _EXCHANGES - start), *right.shape), dtype=np.float32)
        keys[:, present == 0] = 2
        cell = np.argsort(keys, axis=2) + kinds * np.arange(len(keys))[:, None, None]
        weights = np.broadcast_to(values, keys.shape).ravel()
        found.append(np.bincount(cell.ravel(), weights, minlength=kinds * len(keys)).reshape(-1, kinds))
    return np.concatenate(found)


def _extremes(table: ResponseTable, positions: bool, macro: bool) -> tuple[Estimate, Estimate]:
    if not len(table.sizes):
        return UNDEFINED, UNDEFINED
    key = ("extremes", positions, macro)
    if key not in table.shared:
        table.shared[key] = lowest_and_highest(KindAccuracies.of(table, positions=positions, macro=macro))
    lowest, highest = table.shared[key]
    return lowest, highest


def lowest_and_highest(accuracies: KindAccuracies) -> tuple[Estimate, Estimate]:
    """Lowest and highest of the accuracies of the kinds."""
    values = accuracies.values()[0]
    ends = float(np.nanmin(values)), float(np.nanmax(values))
    if accuracies.units < 2:
        return Estimate(ends[0], nan), Estimate(ends[1], nan)
    unit, is_clustered = accuracies.unit, accuracies.cluster is not None

    def extremes(weights: Sequence[Floats]) -> Floats:
        if is_clustered:  # each question has the weight of its cluster
            weights = [weight[:, each] for weight, each in zip(weights, unit, strict=True)]
        drawn = accuracies.values(weights)
        return np.stack([np.nanmin(drawn, axis=1), np.nanmax(drawn, axis=1)], axis=1)

    errors = bootstrap(extremes, [int(each.max()) + 1 for each in unit]).std(axis=0, ddof=1).tolist()
    units = accuracies.effective
    intervals = _together(values, accuracies.influence(), accuracies.trials(), units)
    found = []
    for value, error, end in zip(ends, errors, (np.min, np.max), strict=True):
        low, high = (float(end(side)) for side in zip(*intervals, strict=True))
        spread = (high - low) / (2 * students(IN_95_PERCENT, units))  # if no question differs
        found.append(Estimate(value, error if error > _ZERO else spread, ends=(min(low, value), max(high, value))))
    return found[0], found[1]


def _together(values: Floats, influence: Floats, questions: Floats, units: float) -> list[tuple[float, float]]:
    """95% intervals of the accuracies that hold for all kinds together.

    Wilson's would be too short for such small tails: that of the lowest of 27 accuracies of 0.95 would hold in 87%.
    """
    tail = NormalDist().cdf(-students(critical_value(influence), units))
    found = []
    for value, own, count in zip(values.clip(0, 1).tolist(), influence.T, questions.tolist(), strict=True):
        error = (
            Estimate(value, standard_error(own), own).cautious_stderr if count > 1 else 0.0
        )  # with one, it is unknown
        # A mean of numbers from 0 to 1 varies at most as much as a share.
        trials = max(count, trials_with_error(value, error)) if error > _ZERO and 0 < value < 1 else count
        if np.isfinite(value):
            found.append(clopper_pearson(value * trials, trials, tail))
    return found
