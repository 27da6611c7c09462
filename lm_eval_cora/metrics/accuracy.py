"""Shares of right and of invalid answers, of formats and ties; and the score that another program gave the answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate
from lm_eval_cora.metrics.facts import exact_level, metric, takes_arrays
from lm_eval_cora.metrics.responses import NO_PICK, Bools, Floats, ResponseTable

__all__ = ["acc", "bmca", "followed", "invalid", "letter_mass", "mcqa", "mcqa_plus"]
__all__ += ["mcqa_plus_diff", "mv", "only_own", "own_score", "ties", "unrecognised"]
ALL_RIGHT = "bmca@1.0"
"""The name of `bmca` at level 1 in tables: the share of questions that are right in all variants."""


@takes_arrays
@metric(
    "Share of correct answers among all variants of all questions.",
    of_one_answer=True,
    spoken="accuracy",
    symbol="Acc.",
    sampled="also",
    special={("metric", "mcqa_plus_sampled"): {"sampled": "only"}},
)
def acc(answers: ResponseTable) -> Estimate:
    """Share of correct answers among all variants of all questions.

    The formula is sum K_i / sum M_i, where K_i of the M_i variants of question i are answered correctly.

    Args:
        answers: Right and wrong answers to N questions: an array of shape (questions, variants), or a list of rows if
            the numbers of variants differ. True or 1 is right, False or 0 is wrong, NaN or None is a skipped variant.

    Returns:
        A share from 0 to 1 with the standard error of a pooled share; nan without questions, or if skipped variants
        could change it. Source: ours.

    Raises:
        ValueError: If an array has another shape or contains another value.

    Example:
        >>> acc([[1, 1, 1, 1], [0, 0, 0, 0]]).value
        0.5
    """
    return _pooled(answers, answers.correct)


@takes_arrays
@metric(
    "Share of questions whose original is answered correctly: the usual accuracy of a benchmark.",
    needs=("original",),
    known_early=True,
    of_one_answer=True,
    place=2,
    spoken="MCQA",
)
def mcqa(answers: ResponseTable, *, original: int | None = 0) -> Estimate:
    """Share of questions whose original is answered correctly: the usual accuracy of a benchmark.

    Args:
        answers: Right and wrong answers to N questions; see `acc`.
        original: Position of the original in each row of an array, from 0; None if there is none. A table marks its
            originals itself.

    Returns:
        A share from 0 to 1; nan without questions, if a question has no original, or if skipped variants could change
        it. Source: CoRA, eq. 1.

    Raises:
        ValueError: If an array is not as in `acc`, or if a row is too short for `original`.

    Example:
        >>> mcqa([[1, 0], [0, 1], [1, 1], [1, 1]], original=0).value
        0.75
    """
    return UNDEFINED if answers.original_correct is None else answers.share(answers.original_correct)


@takes_arrays
@metric("Mean over questions of the share of a question's variants answered correctly.", place=5, spoken="MCQA+")
def mcqa_plus(answers: ResponseTable) -> Estimate:
    """Mean over questions of the share of a question's variants that are answered correctly.

    This share is RC(i) = K_i / M_i, as in `acc`. Every question has the same weight.
    Range: 0 to 1. Source: MCQA+; CoRA, eq. 3, and eq. 2 if all questions have as many variants: then it equals `acc`.

    Example:
        >>> answers = [[1, 1, 0, 0], [1, 1, 1, 1]]
        >>> mcqa_plus(answers).value, mcqa_plus_diff(answers).value, mv(answers).value
        (0.75, -0.25, 0.5)
    """
    return answers.mean(answers.hits / answers.sizes)


@takes_arrays
@metric(
    "Effect of the variants on the score: mcqa_plus - mcqa, paired by question.",
    bounds=(-1.0, 1.0),
    needs=("original",),
    symbol="MCQA+ − MCQA",
)
def mcqa_plus_diff(answers: ResponseTable, *, original: int | None = 0) -> Estimate:
    """Effect of the variants on the score: mcqa_plus - mcqa, paired by question.

    This is the mean of RC(i) - x_i, where RC(i) is the share of the variants of question i answered correctly, and x_i
    is 1 if the original is. A hard question is hard in all variants, so the error is smaller than for separate scores.
    Range: -1 to 1; nan if a question has no original. Source: MCQA+, table 7, in brackets.

    Example:
        >>> mcqa_plus_diff([[1, 1, 0, 0], [1, 1, 1, 1]], original=0).value
        -0.25
    """
    if answers.original_correct is None:
        return UNDEFINED
    change = answers.mean(answers.hits / answers.sizes - answers.original_correct, between=(-1.0, 1.0))
    # Two models differ little in most questions, and much where the original changes. A sample may have no such one.
    return (
        change if change.influence is None else replace(change, largest_deviation=float(np.abs(change.influence).max()))
    )


@takes_arrays
@metric(
    "Majority voting: share of questions with more than half of their variants answered correctly.",
    place=6,
    symbol="MV",
)
def mv(answers: ResponseTable) -> Estimate:
    """Majority voting: share of questions with more than half of their variants answered correctly.

    The comparison uses integers: 2 K_i > M_i for K_i of the M_i variants of question i. Half is not a majority.
    Range: 0 to 1. Source: CoRA, eq. 4.

    Example:
        >>> mv([[1, 1, 0, 0], [1, 1, 1, 0]]).value
        0.5
    """
    return answers.share(2 * answers.hits > answers.sizes)


@takes_arrays
@metric(
    "Bare-minimum-consistency accuracy: share of questions with at least this share of their variants right.",
    special={("level", 1): {"known_early": True, "place": 3}},
    symbol="BMCA",
)
def bmca(answers: ResponseTable, level: float) -> Estimate:
    """Bare-minimum-consistency accuracy: share of questions with at least a given share of variants answered correctly.

    Question i counts if K_i / M_i >= level. The comparison uses integers, never floats: 7 of 10 reach level 0.7. Levels
    outside 0 to 1 are a ValueError.
    Range: 0 to 1; it falls with the level. Source: CoRA, eq. 5. In CAT (arXiv:2512.23711) it is the minimum-consistency
    accuracy, and its values at all levels are the consistency-accuracy relation curve.

    Example:
        >>> answers = [[1, 1, 1, 1], [1, 1, 1, 0]]
        >>> bmca(answers, level=0.7).value, bmca(answers, level=1.0).value
        (1.0, 0.5)
    """
    exact = exact_level(level)
    reached = answers.hits * exact.denominator >= answers.sizes * exact.numerator
    return answers.share(reached, least=float(not exact))


@metric(
    "Share of responses without a valid answer, among all variants of all questions.",
    needs=("picked",),
    of_one_answer=True,
    place=11,
    symbol="Invalid",
    higher_is_better=False,
    sampled="also",
)
def invalid(table: ResponseTable) -> Estimate:
    """Share of responses without a valid answer, among all variants of all questions.

    Range: 0 to 1, with the standard error of a pooled share. Source: ours.

    Example:
        >>> columns = {"invalid": np.array([False, True]), "tied": np.array([True, False])}
        >>> table = ResponseTable.from_hits([[1, 0]], **columns)
        >>> invalid(table).value, followed(table).value, ties(table).value
        (0.5, 1.0, 0.5)
    """
    return _pooled(table, table.invalid)


@metric(
    "Share of responses in the requested format, which the strict reader can read.",
    needs=("followed",),
    of_one_answer=True,
    place=12,
    symbol="Followed",
    form="generate",
    sampled="also",
)
def followed(table: ResponseTable) -> Estimate:
    """Share of responses in the requested format, among all variants of all questions.

    These are the responses that the strict reader can read, whichever reader is in use. If the share is low, the scores
    depend on the reader: with `strict` they measure whether a model follows the format rather than what it knows.
    Range: 0 to 1, with the standard error of a pooled share; nan if it is unknown for a response: for answers scored by
    likelihood, and for a table without the column `followed`. Source: ours.
    """
    return UNDEFINED if np.isnan(table.followed).any() else _pooled(table, table.followed)


@metric(
    "Share of answers for which another answer was exactly as likely, among all variants of all questions.",
    needs=("tied",),
    of_one_answer=True,
    higher_is_better=False,
    form="loglikelihood",
)
def ties(table: ResponseTable) -> Estimate:
    """Share of answers for which another answer was exactly as likely, among all variants of all questions.

    The first of several tied letters counts as picked, so a share that is not small makes "A" look better than it is.
    Range: 0 to 1, with the standard error of a pooled share. Source: ours.
    """
    return _pooled(table, table.tied)


@metric(
    "Mean probability of all printed letters together.",
    needs=("likelihoods",),
    of_one_answer=True,
    form="loglikelihood",
    sampled="also",
)
def letter_mass(table: ResponseTable) -> Estimate:
    """Mean probability of all printed letters together, over the variants of all questions that ask for a letter.

    The formula is sum m_ij / sum n_i, with the sum m_ij of the probabilities of the letters of variant j of question i,
    and n_i such variants. A letter without a score adds 0. If the mass is small, the model prefers to begin with other
    words, such as "The", and its letters say little about what it would write.
    Range: 0 to 1, with the standard error of a pooled share; nan for written answers. Source: ours.

    Example:
        >>> table = ResponseTable.from_hits([[1, 0]], likelihoods=np.log([[0.5, 0.2], [0.1, 0.4]]))
        >>> round(letter_mass(table).value, 2)
        0.6
    """
    if not table.likelihoods.size:
        return UNDEFINED
    mass = np.nansum(np.exp(np.minimum(table.likelihoods, 0.0, dtype=np.float64)), axis=1).clip(max=1.0)
    return table.ratio(table.sum_by_question(mass), table.sum_by_question(table.picked != NO_PICK))


def _pooled(table: ResponseTable, values: Bools | Floats) -> Estimate:
    return table.ratio(table.sum_by_question(values), table.sizes.astype(np.float64))


# ---- the score that another program gave the answers: the filter of a task, a scorer of Inspect, HELM
_OF_OWN: dict[str, Any] = {"needs": ("own",), "of_one_answer": True}


@metric("Mean of the score that the other program gave the answers.", **_OF_OWN)
def own_score(table: ResponseTable) -> Estimate:
    """Mean of the score that the other program gave the answers.

    The formula is sum s_ij / sum m_i over the m_i answers of question i that have such a score s_ij, as in `acc`.
    Range: 0 to 1; nan if no answer has a score. Source: ours.

    Example:
        >>> table = ResponseTable.from_hits([[1], [1], [0], [0]], own=np.array([1.0, 0.0, 0.0, 1.0]))
        >>> own_score(table).value, unrecognised(table).value, only_own(table).value
        (0.5, 0.25, 0.25)
    """
    return _of_own(table, table.own)


@metric(
    "Share of answers that are right, but the other program did not recognise.",
    **_OF_OWN,
    higher_is_better=False,
)
def unrecognised(table: ResponseTable) -> Estimate:
    """Share of answers that are right, but the other program did not recognise.

    The formula is the mean of max(0, x_ij - s_ij), where x_ij is 1 for a right answer and s_ij the other score. If each
    answer has such a score, acc = own_score + unrecognised - only_own.
    Range: 0 to 1; nan if no answer has a score. Source: ours.
    """
    return _of_own(table, np.maximum(0.0, table.correct - table.own))


@metric(
    "Share of answers that only the other program counts as right.",
    **_OF_OWN,
    higher_is_better=False,
)
def only_own(table: ResponseTable) -> Estimate:
    """Share of answers that only the other program counts as right: the mean of max(0, s_ij - x_ij).

    Range: 0 to 1; nan if no answer has a score. Source: ours; see `unrecognised`.
    """
    return _of_own(table, np.maximum(0.0, table.own - table.correct))


def _of_own(table: ResponseTable, values: Floats) -> Estimate:
    """Mean of one value per answer that has a score of the other program, (R,)."""
    known = ~np.isnan(table.own)
    return table.ratio(table.sum_by_question(np.where(known, values, 0.0)), table.sum_by_question(known))
