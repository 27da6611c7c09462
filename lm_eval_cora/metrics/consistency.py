"""Consistency of the answers to each question: ci, cora, core, consistency_rate, all_equal, equal_at, timeouts."""

from __future__ import annotations

import numpy as np

from lm_eval_cora.metrics.accuracy import ALL_RIGHT, mcqa
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate
from lm_eval_cora.metrics.facts import WRITTEN, exact_level, metric, takes_arrays
from lm_eval_cora.metrics.responses import NO_PICK, Floats, Ints, ResponseTable, Sets, contains
from lm_eval_cora.variants.prompts import SINGLE_LETTER

__all__ = ["all_equal", "ci", "consistency_rate", "cora", "core", "equal_at", "timeouts"]
_PAIRS_AT_A_TIME = 4_000_000


@takes_arrays
@metric(
    f"Consistency index: 1 minus the share of questions that are right, but not in all variants: mcqa - {ALL_RIGHT}.",
    needs=("original",),
    known_early=True,
    place=4,
    ranks_models=False,
    symbol="CI",
)
def ci(answers: ResponseTable, *, original: int | None = 0) -> Estimate:
    """Consistency index: 1 minus the accuracy that is lost if all variants must be right.

    The formula is 1 - (mcqa - bmca@1.0), the mean of 1 - x_i + y_i, where x_i is 1 if the original of question i is
    answered correctly and y_i is 1 if all its variants are. Questions that are right in the original only lower it.
    Range: 0 to 1; nan if a question has no original, or if all have one variant. Source: CoRA, eq. 6.

    Example:
        >>> ci([[1, 1], [1, 1], [1, 0], [0, 1]], original=0).value
        0.75
    """
    if answers.original_correct is None:
        return UNDEFINED
    # 1 - x_i + y_i is 0 or 1, because y_i is 1 only if x_i is.
    return answers.share(~answers.original_correct | (answers.hits == answers.sizes))


def cora_falls(mcqa: float, all_right: float) -> bool:
    """Whether `cora` = m(1 - m + b) falls if m alone grows: m > (1 + b) / 2; False if a value is nan."""
    return mcqa > (1 + all_right) / 2


@takes_arrays
@metric(
    "Consistency-rebalanced accuracy: mcqa * ci, the accuracy times the consistency index.",
    needs=("original",),
    known_early=True,
    means=(mcqa, ci),
    sides=("mcqa", ALL_RIGHT),
    falls=cora_falls,
    place=1,
    spoken="CoRA",
)
def cora(answers: ResponseTable, *, original: int | None = 0) -> Estimate:
    """Consistency-rebalanced accuracy: mcqa * ci, the accuracy times the consistency index.

    With m = mcqa and b = bmca@1.0 it is m(1 - m + b). To first order, question i has the influence
    (1 - 2m + b)(x_i - m) + m(y_i - b), with x_i and y_i of `ci`. This is 0 for all questions if m = 1/2 and b = 0, so
    the standard error also has the terms of second order (see `metrics.estimate.product_of`).
    Range: 0 to 1; nan if a question has no original, or if all have one variant. Source: CoRA, eq. 7.

    Example:
        >>> answers = [[1, 1], [1, 0], [0, 1], [0, 0]]
        >>> ci(answers, original=0).value, cora(answers, original=0).value
        (0.75, 0.375)
    """
    if answers.original_correct is None:
        return UNDEFINED
    right, full = (each.astype(np.float64) for each in (answers.original_correct, answers.hits == answers.sizes))
    m, b = right.mean(), full.mean()
    return answers.product(right, 1 - right + full, value=m * (1 - m + b))


CORA_FALLS = (
    "CoRA m (1 - m + b) falls with the accuracy m where m > (1 + b) / 2. There a higher CoRA does not mean that a "
    "model is more reliable: compare b, the share of questions that are right in all variants."
)
"""The reason for the mark of a value of `cora` where `cora_falls`."""


@takes_arrays
@metric("Area under the BMCA curve times its mean height.")
def core(answers: ResponseTable) -> Estimate:
    """Summary of the BMCA curve: its area times its mean height.

    The area under bmca@c is the trapezoid area for c = 0, 0.1, ... 1.0, and the height is its mean for c = 0.1, ...
    1.0. This is a closed form of the authors' code, which multiplies the area by a result of dynamic time warping.
    Both are means over questions: one whose highest level is L/10 contributes min((L + 0.5) / 10, 1) to the area and
    L / 10 to the height. The standard error has the terms of second order.
    Range: 0 to 1. Source: code of CoRA's authors, who call it the consistency-oriented robustness estimate in CAT
    (arXiv:2512.23711).

    Example:
        >>> core([[1, 1], [1, 1]]).value, core([[0, 0], [0, 0]]).value
        (1.0, 0.0)
    """
    reached = 10 * answers.hits // answers.sizes
    return answers.product(np.minimum((reached + 0.5) / 10, 1.0), reached / 10)


@metric(
    "Mean over questions of the share of comparable pairs of variants that pick the same option.",
    needs=("picked",),
    why_undefined=lambda table: "no pair of variants is comparable",
    place=7,
    symbol="CR",
)
def consistency_rate(table: ResponseTable) -> Estimate:
    """Mean over questions of the share of comparable pairs of variants that pick the same option.

    A pair of variants is comparable if each pick is printed in the other variant too, or if an answer of the pair is
    invalid. A pair with an invalid answer disagrees. Picks are compared by option, not by letter or text. Variants that
    do not ask for one letter (true or false, select all) are left out. So are questions without a comparable pair.
    Answers to questions without options (MATH) agree if they are equivalent, and every pair is comparable.

    If all variants print the same options, every pair is comparable. The rate is then half of SCORE's eq. 1, which sums
    over ordered pairs. For random picks see `chance_consistency_rate`.
    Range: 0 to 1; nan if no question has a comparable pair. Source: SCORE, eq. 1, restricted to comparable pairs for
    CoRA's variants.

    Example:
        >>> round(consistency_rate(ResponseTable.from_hits([[0, 0, 1]])).value, 4)
        0.3333
    """
    shares = agreement(table)
    return table.mean(shares, np.isfinite(shares))


def agreement(table: ResponseTable) -> Floats:
    """(N,) share of the comparable pairs of each question that agree; nan for a question without a comparable pair."""
    agreeing, comparable = pairs_of_picks(table.sizes, table.picked, table.printed)
    written = table.sum_by_question(table.written)
    equivalent = np.bincount(table.question[table.pairs[:, 0]], minlength=len(table.sizes))
    with np.errstate(invalid="ignore"):
        shares: Floats = (agreeing + equivalent) / (comparable + written * (written - 1) / 2)
    return shares


@metric(
    "Share of questions whose variants all get the same answer, right or wrong.",
    needs=("picked",),
    special={("without", SINGLE_LETTER): {"in_table": False}},
)
def all_equal(table: ResponseTable) -> Estimate:
    """Share of questions whose variants all get the same answer, right or wrong.

    An invalid answer equals no other one. Range: 0 to 1. Source: SCORE, section 4.3 ("identical predictions").

    Example:
        >>> table = ResponseTable.from_hits([[1, 1, 1, 0], [0, 0, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1]])
        >>> all_equal(table).value, equal_at(table, level=0.75).value
        (0.5, 0.75)
    """
    return table.share(~table.any_by_question(table.equal_answers < table.sizes[table.question]))


@metric(
    "Share of questions with at least a given share of variants that get the same answer, right or wrong.",
    needs=("picked",),
)
def equal_at(table: ResponseTable, level: float) -> Estimate:
    """Share of questions with at least a given share of variants that get the same answer, right or wrong.

    An invalid answer equals no other one. Equivalence of written answers (MATH) may not be transitive; then the answer
    with the most equivalent answers counts. The level is that of `bmca`: 8 of 10 reach level 0.8.
    Range: 0 to 1. Source: SCORE, section 4.1 ("at least eight equivalent predictions" of ten).
    """
    exact = exact_level(level)
    enough = table.equal_answers * exact.denominator >= table.sizes[table.question] * exact.numerator
    return table.share(table.any_by_question(enough), least=float(not exact))


@metric(
    "Share of comparisons of answers that ran out of time or memory; they count as not equivalent.",
    needs=("ran_out",),
    of_one_answer=True,
    higher_is_better=False,
    only=(WRITTEN,),
)
def timeouts(table: ResponseTable) -> Estimate:
    """Share of equivalence checks of written answers that ran out of time or memory; they count as not equivalent.

    A question with v valid answers needs v checks against the reference and v(v - 1) / 2 checks between answers.
    Range: 0 to 1, with the standard error of a pooled share; nan without a check. Source: ours.

    Example:
        >>> timeouts(ResponseTable.from_records(()))
        Estimate(value=nan, stderr=nan)
    """
    valid = table.sum_by_question(table.written & ~table.invalid)
    ran_out = np.bincount(table.question[table.ran_out[:, 0]], minlength=len(table.sizes))
    return table.ratio(ran_out.astype(np.float64), valid * (valid + 1) / 2)


def pairs_of_picks(sizes: Ints, picks: Ints, sets: Sets) -> tuple[Ints, Ints]:
    """(N,) number of unordered pairs of variants that agree, and (N,) number of comparable pairs."""
    starts = np.cumsum(sizes) - sizes
    agreeing, comparable = np.zeros((2, len(sizes)), dtype=np.int64)
    for size in set(sizes.tolist()):
        members = np.flatnonzero(sizes == size)  # processed together, in chunks that bound the memory
        step = max(1, _PAIRS_AT_A_TIME // max(1, int(size)) ** 2)
        for chunk in np.split(members, range(step, len(members), step)):
            rows = starts[chunk][:, None] + np.arange(size)
            picked, printed = picks[rows], sets[rows]
            picks_one, valid = picked != NO_PICK, picked >= 0
            seen = contains(printed[:, None, :], picked[:, :, None])  # [.., a, b]: variant b prints the pick of a
            both_valid = valid[:, :, None] & valid[:, None, :]
            can_agree = seen & seen.transpose(0, 2, 1)
            agrees = (picked[:, :, None] == picked[:, None, :]) & both_valid
            pairs = np.triu(np.ones((size, size), dtype=np.bool_), k=1) & picks_one[:, :, None] & picks_one[:, None, :]
            agreeing[chunk] = (agrees & pairs).sum(axis=(1, 2))
            comparable[chunk] = ((can_agree | ~both_valid) & pairs).sum(axis=(1, 2))
    return agreeing, comparable
