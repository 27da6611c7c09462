"""Shares of correct answers: acc, mcqa, mcqa_plus, mcqa_plus_diff, mv, bmca; invalid ones, followed formats, ties."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from lm_eval_cora.metrics.arrays import takes_arrays
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate, mean_of, ratio_of, share_of
from lm_eval_cora.responses import ResponseTable


@takes_arrays
def acc(answers: ResponseTable) -> Estimate:
    """Share of correct answers, the variants of all questions pooled: sum K_i / sum M_i.

    Args:
        answers: Right and wrong answers to N questions: an array of shape (questions, variants), or a list of rows of
            different lengths. NaN is a skipped variant.

    Returns:
        A share from 0 to 1 with the standard error of a pooled share; nan without questions.

    Example:
        >>> acc([[1, 1, 1, 1], [0, 0, 0, 0]]).value
        0.5
    """
    return ratio_of(answers.hits.astype(np.float64), answers.sizes.astype(np.float64))


@takes_arrays
def mcqa(answers: ResponseTable, *, original: int | None = 0) -> Estimate:
    """Share of questions whose original is answered correctly: what a benchmark usually reports.

    Args:
        answers: Right and wrong answers to N questions: an array of shape (questions, variants), or a list of rows of
            different lengths. NaN is a skipped variant.
        original: Place of the original in the rows of an array, from 0. A table marks its originals.

    Returns:
        A share from 0 to 1; nan without questions or if a question has no original.

    Example:
        >>> mcqa([[1, 0], [0, 1], [1, 1], [1, 1]]).value
        0.75

    Source: CoRA, eq. 1.
    """
    if answers.original_correct is None:
        return UNDEFINED
    return share_of(answers.original_correct)


@takes_arrays
def mcqa_plus(answers: ResponseTable) -> Estimate:
    """Mean over questions of RC(i) = K_i / M_i, the share of a question's variants answered correctly.

    With the same M for all questions this is CoRA's eq. 2 and equals `acc`; with different ones every question keeps
    the same weight.

    Args:
        answers: Right and wrong answers to N questions: an array of shape (questions, variants), or a list of rows of
            different lengths. NaN is a skipped variant.

    Returns:
        A share from 0 to 1; nan without questions.

    Example:
        >>> mcqa_plus([[1, 1, 1, 1], [0, 0]]).value
        0.5

    Source: MCQA+; CoRA, eq. 2 and 3.
    """
    return mean_of(answers.hits / answers.sizes)


@takes_arrays
def mcqa_plus_diff(answers: ResponseTable, *, original: int | None = 0) -> Estimate:
    """What the variants take from the score: mcqa_plus - mcqa, paired by question.

    The standard error is that of the mean of RC(i) - x_i, with x_i = original correct: smaller than that of two
    independent numbers, because a question that is hard is hard in all its variants.

    Args:
        answers: Right and wrong answers to N questions: an array of shape (questions, variants), or a list of rows of
            different lengths. NaN is a skipped variant.
        original: Place of the original in the rows of an array, from 0. A table marks its originals.

    Returns:
        A difference from -1 to 1; nan without questions or if a question has no original.

    Example:
        >>> mcqa_plus_diff([[1, 1, 0, 0], [1, 1, 1, 1]]).value
        -0.25

    Source: MCQA+, table 7, in brackets.
    """
    if answers.original_correct is None:
        return UNDEFINED
    return mean_of(answers.hits / answers.sizes - answers.original_correct)


@takes_arrays
def mv(answers: ResponseTable) -> Estimate:
    """Majority voting: share of questions with more than half of their variants answered correctly, RC(i) > 0.5.

    Half is not a majority. Compared in integers, 2 K_i > M_i.

    Args:
        answers: Right and wrong answers to N questions: an array of shape (questions, variants), or a list of rows of
            different lengths. NaN is a skipped variant.

    Returns:
        A share from 0 to 1; nan without questions.

    Example:
        >>> mv([[1, 1, 0, 0], [1, 1, 1, 0]]).value
        0.5

    Source: CoRA, eq. 4.
    """
    return share_of(2 * answers.hits > answers.sizes)


@takes_arrays
def bmca(answers: ResponseTable, level: float) -> Estimate:
    """Bare-minimum-consistency accuracy: share of questions with RC(i) >= level.

    Compared in integers, never in floats: 7 of 10 reach level 0.7.

    Args:
        answers: Right and wrong answers to N questions: an array of shape (questions, variants), or a list of rows of
            different lengths. NaN is a skipped variant.
        level: From 0 to 1, read as the decimal fraction that it prints as.

    Returns:
        A share from 0 to 1, falling with the level; nan without questions.

    Raises:
        ValueError: If the level is not from 0 to 1.

    Example:
        >>> answers = [[1, 1, 1, 1], [1, 1, 1, 0]]
        >>> bmca(answers, level=0.7).value, bmca(answers, level=1.0).value
        (1.0, 0.5)

    Source: CoRA, eq. 5.
    """
    exact = exact_level(level)
    return share_of(answers.hits * exact.denominator >= answers.sizes * exact.numerator)


def exact_level(level: float) -> Fraction:
    """A share as the decimal fraction that it prints as.

    Raises:
        ValueError: If it is not from 0 to 1.

    Example:
        >>> exact_level(0.7)
        Fraction(7, 10)
    """
    exact = Fraction(str(level))
    if not 0 <= exact <= 1:
        raise ValueError(f"level is {level}, expected a share from 0 to 1")
    return exact


def invalid(table: ResponseTable) -> Estimate:
    """Share of responses that say nothing that was asked for, the variants of all questions pooled.

    Args:
        table: N questions.

    Returns:
        A share from 0 to 1 with the standard error of a pooled share; nan without questions.

    Example:
        >>> invalid(ResponseTable.from_hits([[1, 0], [0, 0]])).value
        0.0
    """
    return ratio_of(table.sum_by_question(table.invalid), table.sizes.astype(np.float64))


def followed(table: ResponseTable) -> Estimate:
    """Share of responses that follow the format, the variants of all questions pooled.

    These are the responses that the strict reader can read, whichever reader is used. With a low share the scores
    depend on the reader: `strict` then measures whether a model follows a format rather than what it knows.

    Args:
        table: N questions.

    Returns:
        A share from 0 to 1 with the standard error of a pooled share; nan without questions, and where it is not known
        of every response (answers that were scored, or read without the harness).

    Example:
        >>> from lm_eval_cora.responses import Record
        >>> records = [Record("q1", 2, n, "x", (0, 1), 0, picked=0, followed=n == 0) for n in range(2)]
        >>> followed(ResponseTable.from_records(records)).value
        0.5
    """
    if np.isnan(table.followed).any():
        return UNDEFINED
    return ratio_of(table.sum_by_question(table.followed), table.sizes.astype(np.float64))


def ties(table: ResponseTable) -> Estimate:
    """Share of answers that another one was exactly as likely as, the variants of all questions pooled.

    Of tied letters the first counts as picked, so a share that is not small makes "A" look better than it is.

    Args:
        table: N questions, their letters scored instead of written.

    Returns:
        A share from 0 to 1 with the standard error of a pooled share; nan without questions.

    Example:
        >>> ties(ResponseTable.from_hits([[1, 0], [0, 0]])).value
        0.0
    """
    return ratio_of(table.sum_by_question(table.tied), table.sizes.astype(np.float64))
