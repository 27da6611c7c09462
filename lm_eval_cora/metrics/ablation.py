"""CoRA's ablation, and guessing: what fewer options, a choice of variants and random picks do to the scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from math import nan
from typing import NamedTuple

import numpy as np

from lm_eval_cora.metrics.accuracy import ALL_RIGHT, bmca, mcqa, mcqa_plus, mv
from lm_eval_cora.metrics.consistency import ci, cora, pairs_of_picks
from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.metrics.facts import exact_level
from lm_eval_cora.metrics.paired import Difference, difference
from lm_eval_cora.metrics.responses import NO_PICK, Floats, Ints, ResponseTable, Sets, bits_of
from lm_eval_cora.variants.divergent import SAME_SIZE

__all__ = ["Resampled", "at_least", "chance_bmca", "chance_consistency_rate", "msgr", "resampled", "same_size"]

# Probability that counts as certain. Truncated to two digits, it gives the paper's rates for p = 1-5 and 7-9 of 10.
CERTAIN = 0.9996
_QUESTIONS = 5_000
_CELLS_AT_A_TIME = 10_000_000
_COMPARED: dict[str, Callable[[ResponseTable], Estimate]]
_COMPARED = {"mcqa_plus": mcqa_plus, "mv": mv, ALL_RIGHT: partial(bmca, level=1.0), "ci": ci, "cora": cora}


def same_size(table: ResponseTable) -> dict[str, tuple[Estimate, Difference]]:
    """Scores from the variants with as many options as the question, and their difference from the full scores.

    These are 2 + 2(A - 1) of the variants of a question with A options: original, shuffled, and both with NOTA ("None
    of the above") instead of each wrong option.

    Returns:
        For `mcqa_plus`, `mv`, `bmca@1.0`, `ci` and `cora`: the score, and its difference from the score on all
        variants, paired by question. Source: CoRA, table 5 and section 6.1.

    Example:
        >>> kinds = {"kinds": ("original", "shuffled", "decoupled"), "kind": np.array([0, 1, 2, 2])}
        >>> table = ResponseTable.from_hits([[1, 1, 0, 0]], **kinds)
        >>> score, change = same_size(table)["mcqa_plus"]
        >>> score.value, change.value
        (1.0, 0.5)
    """
    part = table.where(table.is_kind(*SAME_SIZE))
    scores = {name: (metric(table), metric(part)) for name, metric in _COMPARED.items()}
    return {name: (after, difference(before, after)) for name, (before, after) in scores.items()}


class Resampled(NamedTuple):
    """A score over many random draws of the variants, as `resampled` returns it.

    Attributes:
        mean: Mean of the score over the draws.
        sd: Standard deviation over the draws (ddof 1).
        change: `mean` - the score on all variants.
    """

    mean: float
    sd: float
    change: float


def resampled(table: ResponseTable, *, draws: int = 100, times: int = 10_000) -> dict[str, Resampled]:
    """Spread of the scores over random draws of the variants: how much they depend on the choice of variants.

    Each draw takes 100 variants with replacement, the same ones for all questions with the same number of variants.
    `cora` keeps the benchmark's `mcqa`. The spread does not include the choice of questions; the standard error of a
    score does.

    Args:
        table: Answers to N questions.
        draws: Number of variants in a draw, at least 1.
        times: Number of draws, at least 1.

    Returns:
        For `mcqa_plus`, `mv` and `cora`: mean and standard deviation over the draws, and the difference of the mean
        from the score on all variants. `cora` is nan if a question has no original. Source: CoRA, table 6 and section
        6.1.

    Example:
        >>> resampled(ResponseTable.from_hits([[1, 1], [0, 0]]))["mcqa_plus"]
        Resampled(mean=0.5, sd=0.0, change=0.0)
    """
    _check(draws=draws, times=times)
    if not len(table.sizes):
        return dict.fromkeys(("mcqa_plus", "mv", "cora"), Resampled(nan, nan, nan))
    shares, majority, full = _drawn(table, draws, times) / len(table.sizes)
    m = mcqa(table).value
    drawn = {"mcqa_plus": shares, "mv": majority, "cora": m * (1 - m + full)}
    return {name: _summed_up(values, _COMPARED[name](table).value) for name, values in drawn.items()}


def _check(**numbers: int) -> None:
    for name, number in numbers.items():
        if number < 1:
            raise ValueError(f"{name} is {number}, expected 1 or more")


def _summed_up(values: Floats, score: float) -> Resampled:
    mean = float(values.mean())
    return Resampled(mean, float(values.std(ddof=1)) if len(values) > 1 else nan, mean - score)


def _drawn(table: ResponseTable, draws: int, times: int) -> Floats:
    """(3, times) sums over questions: share answered correctly, more than half correct, all correct."""
    generator = np.random.default_rng(0)
    sums = np.zeros((3, times))
    for size in np.unique(table.sizes).tolist():
        members = np.flatnonzero(table.sizes == size)
        # Counts up to 100 are exact in single precision, which halves the time of the matrix product.
        correct = table.correct[table.starts[members][:, None] + np.arange(size)].astype(np.float32)
        counts = generator.multinomial(draws, np.full(size, 1 / size), size=times).astype(np.float32)
        step = max(1, _CELLS_AT_A_TIME // len(members))
        for start in range(0, times, step):
            part = slice(start, start + step)
            right = counts[part] @ correct.T
            sums[0, part] += right.sum(axis=1, dtype=np.float64) / draws
            sums[1, part] += np.count_nonzero(2 * right > draws, axis=1)
            sums[2, part] += np.count_nonzero(right == draws, axis=1)
    return sums


def chance_consistency_rate(table: ResponseTable) -> float:
    """Consistency rate of a model that picks a printed option at random each time and never gives an invalid answer.

    Equal options count as one. If all variants print the same A options, the rate is 1 / A. If they print different
    ones, only some pairs are comparable, and the rate is another: about 0.46 on the divergent probe with five options.
    It is then simulated with a fixed seed on 5,000 questions or more (copies of these), which gives two digits.
    Range: 0 to 1; nan for questions without options. Source: ours.

    Example:
        >>> round(chance_consistency_rate(ResponseTable.from_hits([[1, 1], [0, 1]])), 1)
        0.5
    """
    picks_one = table.picked != NO_PICK
    if not picks_one.any():
        return nan
    first = table.printed[table.starts]
    if picks_one.all() and (table.printed == first[table.question]).all():
        several = table.sizes > 1
        return float((1 / bits_of(first[several]).sum(axis=1)).mean()) if several.any() else nan
    copies = -(-_QUESTIONS // len(table.sizes))
    sizes, printed = np.tile(table.sizes, copies), np.tile(table.printed, copies)
    picks = np.where(np.tile(picks_one, copies), _at_random(printed), NO_PICK)
    agreeing, comparable = pairs_of_picks(sizes, picks, printed)
    with np.errstate(invalid="ignore"):
        shares = (agreeing / comparable).reshape(copies, -1)
    defined = [row[row >= 0] for row in shares]  # a question with few variants may have no comparable pair
    rates = [row.mean() for row in defined if len(row)]
    return float(np.mean(rates)) if rates else nan


def chance_bmca(table: ResponseTable, levels: Sequence[float]) -> list[float]:
    """BMCA of a model that picks a printed option at random each time and never gives an invalid answer.

    The number K_i of right answers to question i is a sum of M_i independent picks, each right with probability 1 / A
    for a variant with A options. The BMCA is the mean over questions of P(K_i >= level * M_i); see `bmca`.
    Range: a share from 0 to 1 per level; empty without questions, and if a variant has no options. Source: ours, after
    CoRA, appendix A.

    Example:
        >>> chance_bmca(ResponseTable.from_hits([[1, 1]], options=np.array([2, 4])), [0, 0.5, 1])
        [1.0, 0.625, 0.125]
    """
    if not len(table.sizes) or not table.options.all():
        return []
    options = table.options.tolist()
    rows = zip(table.starts.tolist(), table.sizes.tolist(), strict=True)
    counts = Counter(tuple(sorted(options[start : start + size])) for start, size in rows)
    exact = [exact_level(level) for level in levels]
    chances = np.zeros(len(exact))
    for printed, count in counts.items():
        right = np.ones(1)  # probabilities of 0 to M right answers to M variants with these numbers of options
        for number in printed:
            right = np.convolve(right, [1 - 1 / number, 1 / number])
        needed = [-(-level.numerator * len(printed) // level.denominator) for level in exact]
        chances += count * np.array([right[k:].sum() / right.sum() for k in needed])  # 1 at level 0
    return [float(chance) for chance in chances / len(table.sizes)]


def _at_random(printed: Sets) -> Ints:
    """(R,) identity of a random printed option, with a fixed seed; 0 if none is printed."""
    upto = bits_of(printed).cumsum(axis=1, dtype=np.uint8)
    wanted = np.random.default_rng(0).integers(0, np.maximum(upto[:, -1], 1)) + 1
    picks: Ints = (upto == wanted[:, None]).argmax(axis=1)  # the first column with so many bits has the last of them
    return picks


def at_least(variants: int, rate: float) -> Floats:
    """Probability of at least p right answers to M variants if each is right with probability r.

    P(p) = sum over j from p to M of C(M, j) r^j (1 - r)^(M - j), for p = 0, ..., M. For p > 0 this is the regularised
    incomplete beta function I_r(p, M - p + 1).

    Args:
        variants: M, at least 1.
        rate: r, from 0 to 1. For a guess among k options it is 1 / k.

    Range: (M + 1,) probabilities, falling from 1. Source: CoRA, eq. 10 (its text says r = 1/p, but means r = 1/k).

    Example:
        >>> at_least(2, rate=0.5).round(6).tolist()
        [1.0, 0.75, 0.25]
    """
    _check(variants=variants)
    if not 0 <= rate <= 1:
        raise ValueError(f"rate is {rate}, expected a share from 0 to 1")
    from scipy.special import betainc  # importing scipy takes time; see metrics.estimate

    right = np.arange(1, variants + 1)
    return np.concatenate([[1.0], betainc(right, variants - right + 1, rate)])


def msgr(variants: int, certain: float = CERTAIN) -> Floats:
    """Minimum success guessing rate: the smallest rate r at which at least p of M answers are almost certainly right.

    It solves P(p) = `certain` for r, where P(p) is the probability of at least p right answers; see `at_least`.

    Args:
        variants: M, at least 1.
        certain: The probability that counts as certain, between 0 and 1.

    Range: (M + 1,) rates for p = 0, ..., M, rising from 0. Source: CoRA, appendix A, table 7. For M = 10 the paper
    prints 0.2 for p = 0, where any rate is enough, 0.93 for p = 6 and 0.9999 for p = 10. No single value of `certain`
    gives these together with the other rows.

    Example:
        >>> msgr(1, certain=0.75).round(6).tolist()
        [0.0, 0.75]
    """
    _check(variants=variants)
    if not 0 < certain < 1:
        raise ValueError(f"certain is {certain}, expected a probability between 0 and 1")
    from scipy.special import betaincinv

    right = np.arange(1, variants + 1)
    return np.concatenate([[0.0], betaincinv(right, variants - right + 1, certain)])
