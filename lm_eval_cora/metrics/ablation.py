"""CoRA's ablation: what the scores owe to fewer options, and to the choice of variants."""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import NamedTuple

import numpy as np

from lm_eval_cora.metrics.accuracy import bmca, mcqa, mcqa_plus, mv
from lm_eval_cora.metrics.consistency import ci, cora
from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.metrics.paired import Difference, difference
from lm_eval_cora.probes.divergent import SAME_SIZE
from lm_eval_cora.responses import Floats, ResponseTable

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
    """The scores from the variants alone that print as many options as the question has, and what that changes.

    Args:
        table: N questions of the divergent probe.

    Returns:
        For `mcqa_plus`, `mv`, `bmca@1.0`, `ci` and `cora` the score on these variants, 2 + 2(A - 1) of a question with
        A options, and its difference to the score on all, paired by question.

    Example:
        >>> from lm_eval_cora.responses import Record
        >>> kinds = {"original": 0, "with_nota": 0, "decoupled": 1, "decoupled_with_nota": 1}
        >>> records = [Record("q1", 4, i, kind, (0, 1), 0, picked=pick) for i, (kind, pick) in enumerate(kinds.items())]
        >>> score, change = same_size(ResponseTable.from_records(records))["mcqa_plus"]
        >>> score.value, change.value
        (1.0, 0.5)

    Source: CoRA, table 5 and section 6.1.
    """
    part = table.where(table.is_kind(*SAME_SIZE))
    scores = {name: (metric(table), metric(part)) for name, metric in _COMPARED.items()}
    return {name: (after, difference(before, after)) for name, (before, after) in scores.items()}


class Resampled(NamedTuple):
    """A score over many draws of the variants: mean and standard deviation of its values, and mean - full score."""

    mean: float
    sd: float
    change: float


def resampled(table: ResponseTable, *, draws: int = _DRAWS, times: int = _TIMES) -> dict[str, Resampled]:
    """How far the scores depend on which variants were asked: each is computed on many draws of the variants.

    In each draw 100 variants are taken with replacement, the same ones for all questions with as many variants; `cora`
    keeps the benchmark's own `mcqa`. The spread says nothing about other questions: that is the standard error.

    Args:
        table: N questions.
        draws: Number of variants in a draw.
        times: Number of draws.

    Returns:
        For `mcqa_plus`, `mv` and `cora` the mean over the draws, its standard deviation (ddof 1), and the difference
        of that mean to the score on all variants. nan without questions, `cora` also without originals.

    Raises:
        ValueError: If a number is below 1.

    Example:
        >>> resampled(ResponseTable.from_hits([[1, 1], [0, 0]]))["mcqa_plus"]
        Resampled(mean=0.5, sd=0.0, change=0.0)

    Source: CoRA, table 6 and section 6.1.
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
    """(3, times) sums over questions of the share right, of a majority right, and of all right."""
    generator = np.random.default_rng(0)
    starts = np.concatenate([[0], np.cumsum(table.sizes)])
    sums = np.zeros((3, times))
    for size in np.unique(table.sizes).tolist():
        members = np.flatnonzero(table.sizes == size)
        # Counts up to 100 are exact in single precision, and a product of such matrices takes half the time.
        correct = table.correct[starts[members][:, None] + np.arange(size)].astype(np.float32)
        counts = generator.multinomial(draws, np.full(size, 1 / size), size=times).astype(np.float32)
        step = max(1, _CELLS_AT_A_TIME // len(members))
        for start in range(0, times, step):
            part = slice(start, start + step)
            right = counts[part] @ correct.T
            sums[0, part] += right.sum(axis=1, dtype=np.float64) / draws
            sums[1, part] += np.count_nonzero(2 * right > draws, axis=1)
            sums[2, part] += np.count_nonzero(right == draws, axis=1)
    return sums
