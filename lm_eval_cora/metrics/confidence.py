"""Confidence: is it calibrated, does it tell right answers from wrong ones, and what does answering selectively gain?

The confidence of a scored answer is the probability of the picked letter among the printed ones; variants that ask for
something else do not count. Of written answers, only the original of each question counts. Its confidence is the share
of the question's answers that agree with it: those to its repeats if it has any, else those to its variants. A file may
have a column `confidence`. An invalid answer is wrong with confidence 0.

Symbols: K answers count, of N questions. Answer k has the confidence c_k, and r_k is 1 if it is right, else 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, wraps
from math import ceil, inf, nan, sqrt
from typing import Any

import numpy as np

from lm_eval_cora.metrics.estimate import IN_95_PERCENT, SHARES, UNDEFINED, Estimate, Interval, of_influence, students
from lm_eval_cora.metrics.facts import F, exact_level, metric
from lm_eval_cora.metrics.letter_bias import normalised
from lm_eval_cora.metrics.responses import NO_PICK, Bools, Floats, Ints, ResponseTable

__all__ = ["acc_coverage", "aurc", "auroc", "brier", "ece", "overconfidence", "rms_ece"]


def probabilities(table: ResponseTable) -> Floats:
    """(R, L) probabilities of the printed letters, 0 for others; nan if a printed one has no score."""
    is_printed = np.arange(table.likelihoods.shape[1]) < table.options[:, None]
    scores = np.where(is_printed, table.likelihoods.astype(float), -inf)
    found = np.exp(normalised(scores))
    found[~(scores.max(axis=1) > -inf)] = nan
    return found


def is_known(table: ResponseTable) -> bool:
    """Whether a table has scores of letters, or confidences of a file."""
    return table.likelihoods.size > 0 or not np.isnan(table.confidence).all()


@lru_cache(maxsize=1)  # consecutive metrics share it
def confident(table: ResponseTable, *, by_agreement: bool = False) -> ResponseTable | None:
    """The answers that count, with a confidence; None without any, or if one has none."""
    part = table
    if by_agreement or not is_known(table):
        answers = table.equal_prompts
        answers = answers.where(answers.written | (answers.picked != NO_PICK))
        others = answers.sizes - 1
        if table.original_correct is None or not others.all():
            return None
        share = (answers.equal_answers - 1).clip(0) / others[answers.question]
        part = replace(answers, confidence=share).where(answers.original)
    elif np.isnan(table.confidence).all():
        part = table.where(table.picked != NO_PICK)
        is_pick = np.arange(table.likelihoods.shape[1]) == part.position[:, None]
        # Rounded, because sums in another order of letters differ in the last digit, and equal ones are ties.
        part = replace(part, confidence=(probabilities(part) * is_pick).sum(axis=1).round(12))
    return None if not len(part.sizes) or np.isnan(part.confidence).any() else part


def _why(table: ResponseTable) -> str:
    scores = (~np.isnan(table.likelihoods)).sum(1)
    lacking = (scores < table.options.clip(1)) & np.isnan(np.fmax(table.confidence, table.yes))
    return (
        f"{lacking.sum():,} of {len(lacking):,} answers have no confidence: it needs the scores of all letters, or an "
        "original and other variants of each question"
    )


def _of_answers(meaning: str, **facts: Any) -> Callable[[F], F]:
    """Attach facts to a metric of the answers that count, see `confident`; it is undefined without them."""

    def attached(function: F) -> F:
        @metric(meaning, needs=("confidence",), of_one_answer=True, why_undefined=_why, **facts)
        @wraps(function)
        def of_table(table: ResponseTable, **more: Any) -> Estimate:
            part = confident(table)
            return UNDEFINED if part is None else function(part, **more)

        return of_table  # type: ignore[return-value]

    return attached


def _estimate(table: ResponseTable, each: Floats, value: float | None = None, between: Interval = SHARES) -> Estimate:
    """The mean of a value of each answer, by question; or another value, of which these are the influences."""
    mean = float(each.mean())
    influence = table.sum_by_question(each - mean) * (len(table.sizes) / len(each))
    return table.clustered(of_influence(mean if value is None else value, influence, between, scale=1.0))


@_of_answers(
    "Mean squared error of the probabilities of the printed letters (Brier score).",
    higher_is_better=False,
    bounds=(0.0, 2.0),
    form="loglikelihood",
)
def brier(table: ResponseTable) -> Estimate:
    """Mean over variants of the sum over printed options of (p - right)^2.

    Here p is the probability of an option among the printed ones, and right is 1 for the right option, else 0.
    Range: 0 to 2, lower is better. nan if an option of a variant has no score. Source: Brier 1950.

    Example:
        >>> logs = np.log([[0.8, 0.2], [0.4, 0.6]] * 2)
        >>> own = {"likelihoods": logs, "right_place": np.zeros(4, dtype=int)}
        >>> round(brier(ResponseTable.from_hits([[1, 0]] * 2, **own)).value, 2)  # the mean of 0.08 and 0.72
        0.4
    """
    if not table.likelihoods.size:
        return UNDEFINED
    chances = probabilities(table)
    is_right = np.arange(chances.shape[1]) == table.right_place[:, None]
    return _estimate(table, np.square(chances - is_right).sum(axis=1), between=(0.0, 2.0))


# ---- calibration
def bins_of(table: ResponseTable) -> tuple[Ints, Floats, Floats]:
    """(K,) bins of the answers, the most confident first, (B,) their shares of the answers, and (B,) their gaps.

    The bins have about equal mass. Answers of the same confidence share one.
    """
    count = min(15, table.units // 10 or 1)  # 15 as in Guo et al. 2017, fewer if a bin had fewer than ten questions
    before = np.searchsorted(np.sort(-table.confidence), -table.confidence)
    _, bins, sizes = np.unique(before * count // len(before), return_inverse=True, return_counts=True)
    return bins, sizes / len(bins), np.bincount(bins, weights=table.correct - table.confidence) / sizes


@_of_answers(
    "Calibration error: root of the mean squared gap between confidence and accuracy, without its bias.",
    higher_is_better=False,
    form="loglikelihood",
    ranks_models=False,
)
def rms_ece(table: ResponseTable) -> Estimate:
    """Calibration error: the root of the mean squared gap between confidence and accuracy, without its bias.

    With B bins of equal mass, of K_b answers and the gap g_b = mean r_k - mean c_k in bin b, it is the root of the sum
    over b of K_b / K (g_b^2 - v_b), or 0 if that is negative. v_b is the variance of g_b with questions, or passages,
    as units, because the variants of a question are not independent. B is 15, or N / 10 with fewer than 150 questions.
    The interval is that of the sum, whose error contains the part of second order, because it is not normal near 0.
    Range: 0 to 1, lower is better. nan without confidences. Source: Kumar et al. 2019 (debiased); Guo et al. 2017.
    """
    if table.units < 2:
        return UNDEFINED
    bins, mass, gaps = bins_of(table)
    deviations = np.zeros((len(mass), table.units))
    np.add.at(deviations, (bins, table.unit[table.question]), table.correct - table.confidence - gaps[bins])
    spread = np.atleast_2d(np.cov(deviations)) * table.units / len(bins) ** 2  # of the gaps times the masses
    error = sqrt(4 * gaps @ spread @ gaps + 2 * (spread**2 / mass / mass[:, None]).sum()) or 1.0  # if nothing varies
    z = students(IN_95_PERCENT, table.effective)
    squared = mass @ gaps**2 - spread.diagonal() @ (1 / mass) + error * np.array([-z, 0.0, z])
    low, value, high = np.sqrt(squared.clip(0.0, 1.0)).tolist()
    return Estimate(value, (high - low) / (2 * z), ends=(low, high))


@_of_answers(
    "Expected calibration error: mean absolute gap between confidence and accuracy in bins of equal mass.",
    higher_is_better=False,
    ranks_models=False,
    in_table=None,
)
def ece(table: ResponseTable) -> Estimate:
    """Expected calibration error: the sum over bins of K_b / K |g_b|, with the bins and gaps of `rms_ece`.

    It is the number that is usually printed. It has no error, because it is above 0 for a calibrated model, too, and
    the more so with fewer questions; `rms_ece` has no such bias.
    Range: 0 to 1, lower is better. nan without confidences. Source: Guo et al. 2017, eq. 5, with bins of equal mass.
    """
    _, mass, gaps = bins_of(table)
    return Estimate(float(mass @ np.abs(gaps)), nan)


@_of_answers("Mean confidence minus accuracy.", higher_is_better=None, bounds=(-1.0, 1.0), in_table=None)
def overconfidence(table: ResponseTable) -> Estimate:
    """Mean of c_k - r_k: the mean confidence minus the accuracy of the answers that have one.

    Range: -1 to 1; 0 does not mean that a model is calibrated. nan without confidences. Source: ours.
    """
    return _estimate(table, table.confidence - table.correct, between=(-1.0, 1.0))


# ---- telling right answers from wrong ones
@_of_answers(
    "Probability that a right answer has more confidence than a wrong one; ties count half.",
    ranks_models=False,
    in_table=None,
)
def auroc(table: ResponseTable) -> Estimate:
    """Probability that a right answer has more confidence than a wrong one; ties count half.

    The influence of an answer is its share of such pairs that it wins, minus the mean, and those of a question's
    answers are summed. Range: 0 to 1, 0.5 by chance. nan if all answers are right, or all wrong.
    Source: Hanley and McNeil 1982; Obuchowski 1997 (clusters).
    """
    right, level = table.correct, np.unique(table.confidence, return_inverse=True)[1]
    counts = np.bincount(2 * level + right, minlength=2 * (level.max() + 1)).reshape(-1, 2)  # wrong, right
    total = counts.sum(axis=0)
    if not total.all():
        return UNDEFINED
    below = (counts.cumsum(axis=0) - counts / 2) / total
    won = np.where(right, below[level, 0], 1 - below[level, 1])
    value = float(won @ right / total[1])
    return _estimate(table, (won - value) * len(right) / total[right * 1], value)


@_of_answers(
    "Mean share of wrong answers over all coverages, if the most confident answers are given first (AURC).",
    higher_is_better=False,
    in_table=None,
)
def aurc(table: ResponseTable) -> Estimate:
    """Area under the risk-coverage curve: the mean over k of the share of wrong answers among the k most confident.

    Answers of the same confidence are in random order, on average. The error is as in `acc_coverage`.
    Range: 0 to 1, lower is better. nan without confidences. Source: Geifman, Uziel and El-Yaniv 2019.
    """
    return _most_confident(table, ~table.correct)


@_of_answers("Accuracy of the most confident answers, which are the share after @ of all.", in_table=None)
def acc_coverage(table: ResponseTable, *, level: float = 0.8) -> Estimate:
    """Accuracy of the most confident answers, which are this share of all answers, rounded up.

    Answers of the same confidence are in random order, on average. Among the j most confident, answer k has the
    influence K / j (r_k - p), minus the mean of all, with the accuracy p of the answers near rank j.
    Range: 0 to 1. nan without confidences. Source: Geifman, Uziel and El-Yaniv 2019.

    Args:
        table: The answers.
        level: The share of the answers, above 0 and at most 1.
    """
    return _most_confident(table, table.correct, level)


def _most_confident(table: ResponseTable, hits: Bools, level: float | None = None) -> Estimate:
    """Share of hits among the most confident answers, which are this share of all; without one the mean over all."""
    _, tie, sizes = np.unique(-table.confidence, return_inverse=True, return_counts=True)
    rank, bins = np.arange(1, len(tie) + 1), bins_of(table)[0]
    expected = np.repeat(np.bincount(tie, weights=hits) / sizes, sizes)
    near = (np.bincount(bins, weights=hits) / np.bincount(bins))[np.sort(bins)]
    counts = rank > 0 if level is None else rank == max(1, ceil(exact_level(level) * len(rank)))
    weights = counts / counts.sum() / rank
    later = np.cumsum(np.stack([weights, weights * near])[:, ::-1], axis=1)[:, ::-1]
    own, mean = (np.add.reduceat(later, np.cumsum(sizes) - sizes, axis=1) / sizes)[:, tie]
    return _estimate(table, len(rank) * (own * hits - mean), float(weights @ np.cumsum(expected)))
