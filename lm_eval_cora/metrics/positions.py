"""Letter preference: how often each letter is picked, and a test of whether the letters matter."""

from __future__ import annotations

from math import inf, nan
from typing import Any, NamedTuple

import numpy as np

from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate, ratio_of
from lm_eval_cora.metrics.facts import metric
from lm_eval_cora.metrics.responses import Bools, Floats, Ints, ResponseTable
from lm_eval_cora.questions.question import LETTERS
from lm_eval_cora.variants.order import POSITIONS

QUESTIONS_PER_LETTER = 10
"""Smallest number of questions per letter for a test."""

ROTATIONS = 1_999
"""Number of random rotations of a test. The smallest p-value is 1 / 2,000."""

_AT_A_TIME = 200_000

_ROUNDING = 1e-9


@metric("Share of picks of each letter, and the share if letters were picked equally often.")
def picks_by_letter(table: ResponseTable) -> dict[str, dict[str, Any]]:
    """Share of picks of each letter, and the share if letters were picked equally often.

    With the options in `cyclic` or `all` orders, each option is printed at each letter equally often. A model that
    prefers no letter then picks each of n printed letters in 1 / n of the cases. Swapped orders move only the right
    option, so a wrong option that the model prefers raises the share of its letter. Equal shares are then not expected
    of a model without a letter preference: see `position_chi_square`. Invalid answers pick no letter.

    Args:
        table: Answers to N questions.

    Returns:
        For each letter: `share`, its share of all picks, from 0 to 1; `even`, the equal share; `picks`, the number of
        its picks. Letters are included up to the last one printed in a variant with a pick. Empty without a pick.

    Example:
        >>> picks_by_letter(ResponseTable.from_hits([[1, 1], [1, 0]]))["A"]["share"].value
        0.75

    Source: SCORE, section 3.2 ("a preference for certain answer options").
    """
    valid = table.position >= 0
    observed = _counts(table, valid)
    expected = np.zeros(observed.shape)
    for options in np.unique(table.options[valid]).tolist():
        picks = table.sum_by_question(valid & (table.options == options))
        expected[:, :options] += picks[:, None] / options
    picks = observed.sum(axis=1)
    if not picks.any():
        return {}
    even = expected.sum(axis=0) / picks.sum()
    return {
        LETTERS[place]: {
            "share": ratio_of(observed[:, place], picks),
            "even": float(even[place]),
            "picks": int(observed[:, place].sum()),
        }
        for place in range(observed.shape[1])
    }


@metric(
    "Chi-square statistic of the picks by letter (with swapped orders: of the right picks), compared "
    "with equal shares within each question.",
    bounds=(0.0, inf),
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

    Letters with fewer than ten questions are counted with the last letter that has ten. A question with n options adds
    1 / n of a question to each of its letters.

    Args:
        table: Answers to N questions. All variants of a question print the same options.

    Returns:
        A value of at least 0, without a standard error; 0 if all questions have d = 0, such as those that always get
        the same option. nan with fewer than ten questions with a pick per letter.

    Example:
        >>> table = ResponseTable.from_hits([[1, 1]] * 12 + [[0, 0]] * 4 + [[1, 0]] * 8)
        >>> round(position_chi_square(table).value, 9)  # A is picked by 12 questions, B by 4, and both by 8
        4.0

    Source: Cochran 1950, doi:10.1093/biomet/37.3-4.256 (Q); ours for the picks by letter.
    """
    rotations = _rotations(table)
    if rotations is None:
        return UNDEFINED
    return Estimate(float(_statistics(rotations.moved[:, 0].sum(axis=0), rotations.inverse)), nan)


@metric("Probability of such a position_chi_square if the letters did not matter.")
def position_p_value(table: ResponseTable) -> Estimate:
    """Probability of a `position_chi_square` at least as large as the observed one if the letters did not matter.

    The picks of each question are moved by a random number of letters, 1,999 times with a fixed seed. If the letters do
    not matter, all rotations of a question's picks are equally likely, so the test is exact: a p-value of at most 0.05
    has a probability of at most 0.05, for any number of questions and any preferences for options.

    Args:
        table: Answers to N questions. All variants of a question print the same options.

    Returns:
        (1 + number of rotated statistics that are at least as large) / 2,000: a value from 0.0005 to 1, without a
        standard error. nan if `position_chi_square` is nan.

    Example:
        >>> position_p_value(ResponseTable.from_hits([[1, 1]] * 20 + [[1, 0]] * 20)).value
        0.0005

    Source: randomization test; ours for the picks by letter.
    """
    rotations = _rotations(table)
    if rotations is None:
        return UNDEFINED
    moved, options, inverse = rotations
    observed = float(_statistics(moved[:, 0].sum(axis=0), inverse))
    varied = np.abs(moved).max(axis=(1, 2), initial=0) > _ROUNDING
    moved, options = moved[varied], options[varied]
    by_letter = moved.reshape(-1, moved.shape[2]).T.copy()
    unmoved = np.arange(len(options)) * moved.shape[1]
    generator = np.random.default_rng(0)
    step = max(1, _AT_A_TIME // max(len(options), 1))
    larger = 0
    for start in range(0, ROTATIONS, step):
        drawn = generator.random((min(step, ROTATIONS - start), len(options))) * options
        rows = unmoved + drawn.astype(np.int64)
        totals = np.stack([column[rows].sum(axis=1) for column in by_letter], axis=1)
        larger += int((_statistics(totals, inverse) >= observed - _ROUNDING * max(observed, 1.0)).sum())
    return Estimate((1 + larger) / (1 + ROTATIONS), nan)


def has_swapped_orders(table: ResponseTable) -> bool:
    """Whether a question's variants are its swapped orders, in which only the right option moves."""
    return bool(_is_swapped(table).any())


class _Rotations(NamedTuple):
    """The deviations d of the picks of each letter from equal shares, moved by each number of letters.

    Attributes:
        moved: (N, R, letters - 1) deviations of N questions with a pick, moved by 0 to R - 1 letters. The last letter
            is left out because the deviations of all letters sum to 0.
        options: (N,) number of options, which is the number of rotations of a question. The others are 0.
        inverse: (letters - 1, letters - 1) inverse of V.
    """

    moved: Floats
    options: Ints
    inverse: Floats


def _rotations(table: ResponseTable) -> _Rotations | None:
    """The rotations of each question with a pick; None with fewer than ten questions per letter."""
    most = np.ones(len(table.sizes), dtype=np.int64)
    valid = table.position >= 0
    np.maximum.at(most, table.question[valid], table.options[valid])
    asked = table.any_by_question(valid)
    options = most[asked]
    picks = _counts(table, valid & (table.correct | ~_is_swapped(table)[table.question]))[asked]
    places = np.arange(picks.shape[1])
    printed = places < options[:, None]
    letters = int(((printed / options[:, None]).sum(axis=0) >= QUESTIONS_PER_LETTER - _ROUNDING).sum())
    if not letters:
        return None
    deviations = picks - printed * (picks.sum(axis=1) / options)[:, None]
    source = (places - places[:, None]) % options[:, None, None]
    moved = np.take_along_axis(deviations[:, None, :], source, axis=2) * printed[:, :, None] * printed[:, None, :]
    moved = moved[:, :, : letters - 1]
    covariance = np.einsum("nri,nrj,n->ij", moved, moved, 1 / options)
    return _Rotations(moved, options, np.linalg.pinv(covariance, rcond=_ROUNDING, hermitian=True))


def _statistics(totals: Floats, inverse: Floats) -> Floats:
    """(...) values of D' V^-1 D for (..., letters - 1) totals D."""
    values: Floats = ((totals @ inverse) * totals).sum(axis=-1)
    return values


def _is_swapped(table: ResponseTable) -> Bools:
    """(N,) whether the right option is at the first letter, the second, ..., in the variants of a question.

    Questions with two options do not count: their swapped orders are all orders.
    """
    right = np.array([POSITIONS.index(kind) if kind in POSITIONS else -1 for kind in table.kinds], dtype=np.int64)
    variant = np.arange(len(table.question)) - (np.cumsum(table.sizes) - table.sizes)[table.question]
    moved = (right[table.kind] == variant) & (table.sizes[table.question] == table.options)
    swapped: Bools = ~table.any_by_question(~moved) & (table.sizes > 2)
    return swapped


def _counts(table: ResponseTable, counted: Bools) -> Floats:
    """(N, letters) number of picks of each letter, of the counted records, (R,)."""
    letters = int(table.options[table.position >= 0].max(initial=0))
    cell = table.question[counted] * letters + table.position[counted]
    shape = (len(table.sizes), letters)
    return np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
