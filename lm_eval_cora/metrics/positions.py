"""Letter preference: how often each letter is picked, whether the letters matter, and the spread of their recalls."""

from __future__ import annotations

from math import inf, nan, sqrt
from typing import Any, NamedTuple

import numpy as np

from lm_eval_cora.metrics.estimate import IN_95_PERCENT, UNDEFINED, Estimate, last_by_halving, wilson
from lm_eval_cora.metrics.facts import detail, metric
from lm_eval_cora.metrics.kinds import KindAccuracies, covariance_of, normal_draws, sums_of
from lm_eval_cora.metrics.ranges import FEWEST
from lm_eval_cora.metrics.responses import Bools, Floats, Ints, ResponseTable
from lm_eval_cora.questions.question import LETTERS
from lm_eval_cora.variants.order import POSITIONS

__all__ = ["picks_by_letter", "position_chi_square", "position_cramers_v", "position_p_value"]
__all__ += ["recall_spread", "recall_spread_by_chance"]

QUESTIONS_PER_LETTER = 10  # smallest number for a test
ROTATIONS = 1_999  # random ones of a test; the smallest p-value is 1 / 2,000
_AT_A_TIME = 200_000
_ROUNDING = 1e-9
_LARGEST_SPREAD = 0.5  # largest standard deviation of numbers from 0 to 1
_NO_VARIANCE = 1e-12  # recalls whose variances around their mean sum to less vary only together


@detail("Share of picks of each letter, and the share if letters were picked equally often.")
def picks_by_letter(table: ResponseTable) -> dict[str, dict[str, Any]]:
    """Share of picks of each letter, and the share if letters were picked equally often.

    In `cyclic` or `all` orders, each option is printed at each letter equally often, so a model that prefers no letter
    picks each of n printed letters in 1 / n of the cases. Swapped orders move only the right option, so equal shares
    are not expected: a preferred wrong option raises that of its letter, see `position_chi_square`. Invalid answers
    pick no letter.

    Returns:
        For each letter, up to the last one printed in a variant with a pick, its `share` of all picks, from 0 to 1, the
        `even` share, and the number of its `picks`. Empty without a pick. Source: SCORE, section 3.2 ("a preference for
        certain answer options").

    Example:
        >>> picks_by_letter(ResponseTable.from_hits([[1, 1], [1, 0]]))["A"]["share"].value
        0.75
    """
    valid = table.position >= 0
    observed = _counts(table, valid)
    expected = np.zeros(observed.shape)
    for options in sorted(set(table.options[valid].tolist())):
        picks = table.sum_by_question(valid & (table.options == options))
        expected[:, :options] += picks[:, None] / options
    picks = observed.sum(axis=1)
    even = expected.sum(axis=0) / max(picks.sum(), 1)
    return {
        letter: {"share": table.ratio(column, picks), "even": share, "picks": int(column.sum())}
        for letter, column, share in zip(LETTERS, observed.T, even.tolist(), strict=False)
    }


@metric(
    "Chi-square statistic of the picks by letter (with swapped orders: of the right picks), compared "
    "with equal shares within each question.",
    bounds=(0.0, inf),
    needs=("picked", "balanced"),
    higher_is_better=False,
)
def position_chi_square(table: ResponseTable) -> Estimate:
    """Chi-square statistic of the picks by letter, compared with equal shares within each question.

    For question i with n options, c is the number of its picks of each letter, and d = c - mean(c). The statistic is
    T = D' V^-1 D. D is the sum of d over questions, and V is the sum of the means of d d' over the n rotations of d
    (d moved by 0 to n - 1 letters). If all questions have n options, T = (n - 1) |D|^2 / sum |d|^2.

    With `cyclic` and `all` orders, all picks count. Swapped orders move only the right option, so only the picks of
    the right option count: they are as frequent at each letter if the letters do not matter, whatever wrong option the
    model prefers. T is then Cochran's Q. With two options, swapped orders are all orders.

    The question is the unit, so preferences for options and answers that depend on each other within a question do not
    change T on average. If the letters do not matter, T has about the chi-square distribution with (number of letters -
    1) degrees of freedom, with a 95th percentile of 3.84, 5.99, 7.81, 9.49 and 16.92 for 2, 3, 4, 5 and 10 letters.
    `position_p_value` is exact.

    With swapped orders, n does not count options that refer to others, such as "All of the above": the right option
    stays before them. Letters with fewer than ten questions are counted with the last letter that has ten. A question
    with n options adds 1 / n of a question to each of its letters. All variants of a question must print the same
    options. Questions that share a passage are rotated together, so they must have as many options: else the result is
    nan.
    Range: at least 0, without a standard error; 0 if all questions have d = 0, such as those that always get the same
    option. nan with fewer than ten questions with a pick per letter. Source: Cochran 1950 (Q),
    doi:10.1093/biomet/37.3-4.256; ours for the picks by letter.

    Example:
        >>> table = ResponseTable.from_hits([[1, 1]] * 12 + [[0, 0]] * 4 + [[1, 0]] * 8)
        >>> round(position_chi_square(table).value, 9)  # A is picked by 12 questions, B by 4, and both by 8
        4.0
    """
    if (rotations := _rotations(table)) is None:
        return UNDEFINED
    return Estimate(float(_statistics(rotations.moved[:, 0].sum(axis=0), rotations.inverse)), nan)


@detail("Probability of such a position_chi_square if the letters did not matter.", needs=("picked", "balanced"))
def position_p_value(table: ResponseTable) -> Estimate:
    """Probability of a `position_chi_square` at least as large as the observed one if the letters did not matter.

    The picks of each question are moved by a random number of letters, 1,999 times with a fixed seed. If the letters do
    not matter, all rotations of a question's picks are equally likely, so the test is exact: a p-value of at most 0.05
    has a probability of at most 0.05, for any number of questions and any preferences for options.

    The p-value is (1 + number of rotated statistics that are at least as large) / 2,000.
    Range: 0.0005 to 1, without a standard error; nan if `position_chi_square` is nan. Source: randomization test; ours
    for the picks by letter.

    Example:
        >>> position_p_value(ResponseTable.from_hits([[1, 1]] * 20 + [[1, 0]] * 20)).value
        0.0005
    """
    if (rotations := _rotations(table)) is None:
        return UNDEFINED
    moved, options, inverse = rotations
    observed = float(_statistics(moved[:, 0].sum(axis=0), inverse))
    varied = np.abs(moved).max(axis=(1, 2), initial=0) > _ROUNDING
    moved, options = moved[varied], options[varied]
    by_letter = moved.reshape(-1, moved.shape[2]).T.copy()
    unmoved = np.arange(len(options)) * moved.shape[1]
    generator, step, larger = np.random.default_rng(0), max(1, _AT_A_TIME // max(len(options), 1)), 0
    for start in range(0, ROTATIONS, step):
        drawn = generator.random((min(step, ROTATIONS - start), len(options))) * options
        rows = unmoved + drawn.astype(np.int64)
        totals = np.stack([column[rows].sum(axis=1) for column in by_letter], axis=1)
        larger += int((_statistics(totals, inverse) >= observed - _ROUNDING * max(observed, 1.0)).sum())
    return Estimate((1 + larger) / (1 + ROTATIONS), nan)


@detail(
    "Effect size of the letter preference: 0 if letters do not matter, 1 if one letter gets all picks.",
    needs=("picked", "balanced"),
)
def position_cramers_v(table: ResponseTable) -> Estimate:
    """Cramér's V of the picks by letter: how strong a letter preference is, whatever the number of questions.

    V = sqrt(sum over d of (p_d - e_d)^2 / e_d / (1 / min e - 1)), where p_d is the share of the counted picks at letter
    d, and e_d the share if each question's picks were equally frequent at its letters. The last divisor is the largest
    possible sum, letters - 1 if all questions have as many options. Which picks count, and which letters are counted
    together, is as for `position_chi_square`. Chance alone makes V positive: it is about 1 / sqrt(picks) without a
    preference. The shares are about normal with the covariance of the sample over questions. The standard error and the
    95% interval come from 20,000 such draws, as for `recall_spread`: the interval contains 0 unless so large a V is
    rare without a preference.
    Range: 0 to 1; nan if `position_chi_square` is nan, or without a counted pick. Source: Cramér 1946, section 21.9,
    for a comparison with given shares.

    Example:
        >>> table = ResponseTable.from_hits([[1, 1]] * 12 + [[0, 0]] * 4 + [[1, 0]] * 8)
        >>> round(position_cramers_v(table).value, 4)  # A has 32 of 48 picks: |2/3 - 1/2| / (1/2)
        0.3333
    """
    counted = _counted(table)
    if counted is None or counted.letters < 2 or not counted.picks.any():
        return UNDEFINED
    last = counted.letters - 1
    both = np.stack([counted.picks, counted.even])
    both = np.concatenate([both[..., :last], both[..., last:].sum(axis=2, keepdims=True)], axis=2)
    picks, even = both[..., both[1].any(axis=0)]  # without letters that cannot be picked
    total, letters = picks.sum(), picks.shape[1]
    if letters < 2:
        return UNDEFINED
    expected = even.sum(axis=0) / total
    away = picks.sum(axis=0) / total - expected
    scale = np.sqrt(letters / (1 / expected.min() - 1) / expected)  # so that the root of the mean square is V
    value = float(np.sqrt(((away * scale) ** 2).mean()))
    clusters, unit = np.unique(counted.cluster, return_inverse=True)
    units = len(clusters)
    if units < 2:
        return Estimate(value, nan)
    influence = sums_of(unit.reshape(-1), picks - even - away * picks.sum(axis=1, keepdims=True))
    covariance = covariance_of(influence * (units / total))
    if covariance.trace() < _NO_VARIANCE:  # no question's picks vary, but could
        low, high = wilson(0, units)
        covariance = np.diag(np.full(letters, ((high - low) / (2 * IN_95_PERCENT)) ** 2))
    draws = normal_draws(covariance * np.outer(scale, scale))
    error = float(np.sqrt(((away * scale + draws) ** 2).mean(axis=1)).std(ddof=1))
    return Estimate(value, error, ends=_ends(away * scale, draws, 1.0))


def has_swapped_orders(table: ResponseTable) -> bool:
    """Whether a question's variants are its swapped orders, in which only the right option moves."""
    return bool(_is_swapped(table).any())


class _Rotations(NamedTuple):
    """Deviations d of N questions with a pick, `moved` by 0 to R - 1 letters, (N, R, letters - 1); the `inverse` of V.

    The last letter is left out: deviations sum to 0. A question has as many rotations as `options`; the others are 0.
    """

    moved: Floats
    options: Ints
    inverse: Floats


class _Counted(NamedTuple):
    """(N, letters) counted picks of N questions with a pick or of their clusters, and the `even` picks."""

    picks: Floats
    even: Floats
    options: Ints  # (N,)
    cluster: Ints  # (N,) the unit of each row: questions of a cluster with other numbers of options are other rows
    letters: int  # number of letters, of which the last one stands for those with too few questions, too


def _counted(table: ResponseTable) -> _Counted | None:
    """The picks that the test counts; None with fewer than ten questions per letter."""
    most = np.ones(len(table.sizes), dtype=np.int64)
    valid = table.position >= 0
    np.maximum.at(most, table.question[valid], table.options[valid])
    asked = table.any_by_question(valid)
    is_swapped = _is_swapped(table)
    most[is_swapped] = table.sizes[is_swapped]  # the right option stays before "All of the above"
    options = most[asked]
    picks = _counts(table, valid & (table.correct | ~is_swapped[table.question]))[asked]
    cluster = np.arange(len(options))
    if table.cluster is not None:  # the questions of a cluster that have as many options move together
        groups, group = np.unique(np.stack([table.cluster[asked], options]), axis=1, return_inverse=True)
        picks, (cluster, options) = sums_of(group.reshape(-1), picks), groups
    places = np.arange(picks.shape[1])
    printed = places < options[:, None]
    letters = int(((printed / options[:, None]).sum(axis=0) >= QUESTIONS_PER_LETTER - _ROUNDING).sum())
    if not letters:
        return None
    return _Counted(picks, printed * (picks.sum(axis=1) / options)[:, None], options, cluster, letters)


def _rotations(table: ResponseTable) -> _Rotations | None:
    """The rotations of each question with a pick; None with fewer than ten questions per letter."""
    if (counted := _counted(table)) is None or len(set(counted.cluster.tolist())) < len(counted.cluster):
        return None
    picks, even, options, _, letters = counted
    places = np.arange(picks.shape[1])
    printed = places < options[:, None]
    source = (places - places[:, None]) % options[:, None, None]
    moved = np.take_along_axis((picks - even)[:, None, :], source, axis=2) * printed[:, :, None] * printed[:, None, :]
    moved = moved[:, :, : letters - 1]
    covariance = np.einsum("nri,nrj,n->ij", moved, moved, 1 / options)
    return _Rotations(moved, options, np.linalg.pinv(covariance, rcond=_ROUNDING, hermitian=True))


def _statistics(totals: Floats, inverse: Floats) -> Floats:
    """D' V^-1 D for (..., letters - 1) totals D."""
    values: Floats = ((totals @ inverse) * totals).sum(axis=-1)
    return values


def right_letters(table: ResponseTable) -> Ints:
    """(R,) letter of the right option in each variant, from 0; -1 if the kind does not name it."""
    letters = [POSITIONS.index(kind) if kind in POSITIONS else -1 for kind in table.kinds]
    return np.array(letters, dtype=np.int64)[table.kind]


def _is_swapped(table: ResponseTable) -> Bools:
    """(N,) whether the right option is at the first letter, the second, ..., in the variants of a question."""
    variant = np.arange(len(table.question)) - table.starts[table.question]
    is_moved = (right_letters(table) == variant) & (table.sizes[table.question] <= table.options)
    is_all = (table.sizes < 2) | table.any_by_question(~is_moved | (table.options <= 2))  # orders of two options
    return ~is_all


def _counts(table: ResponseTable, counted: Bools) -> Floats:
    """(N, letters) number of picks of each letter, of the counted records, (R,)."""
    letters = int(table.options[table.position >= 0].max(initial=0))
    cell = table.question[counted] * letters + table.position[counted]
    shape = (len(table.sizes), letters)
    return np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)


@metric(
    "Standard deviation over letters of the accuracy of the variants whose right option is printed at the letter.",
    bounds=(0.0, 0.5),
    kinds=POSITIONS,
    why_undefined=lambda table: f"expected two or more kinds, each named {POSITIONS[0]}, {POSITIONS[1]}, ...",
    higher_is_better=False,
)
def recall_spread(table: ResponseTable) -> Estimate:
    """Spread of the recalls of the letters: how much the accuracy depends on the letter of the right option.

    The recall r_d is the accuracy of the variants whose right option is printed at letter d. The spread of A letters is
    sqrt((1 / A) sum over d of (r_d - mean of r)^2). All orders count, so with one number of options each question is in
    all recalls, and easy questions at one letter cannot look like a preference. With several numbers of options the
    recalls are adjusted as in `acc_min`. The spread is above 0 even if all letters have the same recall; see
    `recall_spread_by_chance`.

    The recalls are about normal with the covariance of the sample. The standard error is the standard deviation of the
    spread of 20,000 such draws. The 95% interval has the true spreads that give a spread at least as large, and one at
    least as small, with a probability of 2.5% or more. If the spread is below the one expected by chance, the upper end
    is that of the expected one. If no question has different answers at different letters, the recalls are taken to
    vary independently, each by Wilson's interval. The bias differs between models: a difference has no error.
    Range: 0 to 0.5, slightly above at most because of the adjustment; nan for kinds that are not letters of the right
    option. Source: RStd of Zheng et al. 2024 (arXiv:2309.03882), which uses the original order only.

    Example:
        >>> table = ResponseTable.from_hits([[1, 0]], kinds=("answer_at_A", "answer_at_B"))
        >>> recall_spread(table).value  # the recall of A is 1, that of B is 0
        0.5
    """
    if not has_letters_as_kinds(table):
        return UNDEFINED
    accuracies = KindAccuracies.of(table, positions=True)
    recalls = accuracies.values()[0]
    spread = float(recalls.std())
    if table.units < 2:
        return Estimate(spread, nan)
    covariance = covariance_of(accuracies.influence())
    if (covariance - covariance.mean(axis=0)).trace() < _NO_VARIANCE:  # no recall varies against others, but could
        rates = zip(recalls.clip(0, 1).tolist(), accuracies.trials().tolist(), strict=True)
        widths = [high - low for low, high in (wilson(rate * trials, trials) for rate, trials in rates)]
        covariance = np.diag((np.array(widths) / (2 * IN_95_PERCENT)) ** 2)
    draws = normal_draws(covariance)
    error = float((recalls + draws).std(axis=1).std(ddof=1))
    centred, draws = recalls - recalls.mean(), draws - draws.mean(axis=1, keepdims=True)
    return Estimate(spread, error, ends=_ends(centred, draws, _LARGEST_SPREAD))


@detail("Expected recall_spread if all letters had the same true recall.", kinds=POSITIONS, fewest=FEWEST)
def recall_spread_by_chance(table: ResponseTable) -> Estimate:
    """Expected spread of the recalls if all letters had the same true recall.

    This is the mean spread of normal variables with the covariance of the recalls over questions. Answers to the same
    question depend on each other, so it is smaller than for independent samples.
    Range: at least 0, without a standard error; nan with fewer than ten questions, and for kinds that are not letters.
    Source: ours.

    Example:
        >>> rows = [[1, 1], [1, 0], [0, 1], [0, 0]] * 25
        >>> table = ResponseTable.from_hits(rows, kinds=("answer_at_A", "answer_at_B"))
        >>> round(recall_spread_by_chance(table).value, 2)
        0.03
    """
    if not has_letters_as_kinds(table) or table.units < FEWEST:
        return UNDEFINED
    return Estimate(float(KindAccuracies.of(table, positions=True).draws().std(axis=1).mean()), nan)


def has_letters_as_kinds(table: ResponseTable) -> bool:
    """Whether the kinds of the answers are two or more letters of the right option."""
    return len(table.kinds) > 1 and set(table.kinds) <= set(POSITIONS)


def _ends(centred: Floats, draws: Floats, largest: float) -> tuple[float, float]:
    """The true spreads, on the line from 0 through the observed deviations, with the observed spread in a tail."""
    spread = float(np.sqrt((centred**2).mean()))
    if spread < _NO_VARIANCE:  # no line through the deviations is given
        centred = np.eye(len(centred))[0] - np.eye(len(centred))[-1]
    along = draws @ centred / sqrt(len(centred) * (centred @ centred))
    squares = (draws**2).mean(axis=1)
    least = max(spread, float(np.sqrt(squares).mean()))

    def edge(observed: float, tail: float) -> float:
        """The true spread that is exceeded by the observed one with the probability of the tail."""

        def is_below(true: float) -> bool:
            return bool((true**2 + 2 * true * along + squares >= observed**2).mean() < tail)

        return last_by_halving(is_below, 0.0, 2.0)

    return min(edge(spread, 0.025), spread), max(min(edge(least, 0.975), largest), spread)
