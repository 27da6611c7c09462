"""CoRA's ablation: the effect of fewer options, and of the choice of variants, on the scores."""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import NamedTuple

import numpy as np

from lm_eval_cora.metrics.accuracy import bmca, mcqa, mcqa_plus, mv
from lm_eval_cora.metrics.consistency import ci, cora
from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.metrics.paired import Difference, difference
from lm_eval_cora.metrics.responses import Floats, ResponseTable
from lm_eval_cora.variants.divergent import SAME_SIZE

_TIMES = 10_000
_DRAWS = 100
_CELLS_AT_A_TIME = 10_000_000

_COMPARED: dict[str, Callable[[ResponseTable], Estimate]] = {
    "mcqa_plus": mcqa_plus,
    "mv": mv,
    "bmca@1.0": lambda table: bmca(table, level=1.0),
    "ci": ci,
    "cora": cora,
}


def same_size(table: ResponseTable) -> dict[str, tuple[Estimate, Difference]]:
    """Scores from the variants with as many options as the question, and their difference from the full scores.

    These are 2 + 2(A - 1) of the variants of a question with A options: original, shuffled, and both with NOTA ("None
    of the above") instead of each wrong option.

    Returns:
        For `mcqa_plus`, `mv`, `bmca@1.0`, `ci` and `cora`: the score on these variants, and its difference from the
        score on all variants, paired by question. Source: CoRA, table 5 and section 6.1.

    Example:
        >>> from lm_eval_cora.answers.records import Record
        >>> kinds = {"original": 0, "with_nota": 0, "decoupled": 1, "decoupled_with_nota": 1}
        >>> records = [Record("q1", 4, i, kind, (0, 1), 0, picked=pick) for i, (kind, pick) in enumerate(kinds.items())]
        >>> score, change = same_size(ResponseTable.from_records(records))["mcqa_plus"]
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


def resampled(table: ResponseTable, *, draws: int = _DRAWS, times: int = _TIMES) -> dict[str, Resampled]:
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
    for name, number in (("draws", draws), ("times", times)):
        if number < 1:
            raise ValueError(f"{name} is {number}, expected 1 or more")
    if not len(table.sizes):
        return dict.fromkeys(("mcqa_plus", "mv", "cora"), Resampled(nan, nan, nan))
    shares, majority, full = _drawn(table, draws, times) / len(table.sizes)
    m = mcqa(table).value
    return {
        "mcqa_plus": _summed_up(shares, mcqa_plus(table).value),
        "mv": _summed_up(majority, mv(table).value),
        "cora": _summed_up(m * (1 - m + full), cora(table).value),
    }


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
