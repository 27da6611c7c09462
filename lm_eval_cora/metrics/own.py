"""The score that another program gave the answers, beside ours: the filter of a task, a scorer of Inspect, HELM."""

from __future__ import annotations

import numpy as np

from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.metrics.facts import metric
from lm_eval_cora.metrics.responses import Floats, ResponseTable

__all__ = ["only_own", "own_score", "unrecognised"]


@metric("Mean of the score that the other program gave the answers.", needs=("own",), of_one_answer=True)
def own_score(table: ResponseTable) -> Estimate:
    """Mean of the score that the other program gave the answers.

    The formula is sum s_ij / sum m_i over the m_i answers of question i that have such a score s_ij, as in `acc`.
    Range: 0 to 1; nan if no answer has a score. Source: ours.

    Example:
        >>> table = ResponseTable.from_hits([[1], [1], [0], [0]], own=np.array([1.0, 0.0, 0.0, 1.0]))
        >>> own_score(table).value, unrecognised(table).value, only_own(table).value
        (0.5, 0.25, 0.25)
    """
    return _mean(table, table.own)


@metric(
    "Share of answers that are right, but the other program did not recognise.",
    needs=("own",),
    of_one_answer=True,
    higher_is_better=False,
)
def unrecognised(table: ResponseTable) -> Estimate:
    """Share of answers that are right, but the other program did not recognise.

    The formula is the mean of max(0, x_ij - s_ij), where x_ij is 1 for a right answer and s_ij the other score. If each
    answer has such a score, acc = own_score + unrecognised - only_own.
    Range: 0 to 1; nan if no answer has a score. Source: ours.
    """
    return _mean(table, np.maximum(0.0, table.correct - table.own))


@metric(
    "Share of answers that only the other program counts as right.",
    needs=("own",),
    of_one_answer=True,
    higher_is_better=False,
)
def only_own(table: ResponseTable) -> Estimate:
    """Share of answers that only the other program counts as right: the mean of max(0, s_ij - x_ij).

    Range: 0 to 1; nan if no answer has a score. Source: ours; see `unrecognised`.
    """
    return _mean(table, np.maximum(0.0, table.own - table.correct))


def _mean(table: ResponseTable, values: Floats) -> Estimate:
    """Mean of one value per answer that has a score of the other program, (R,)."""
    known = ~np.isnan(table.own)
    return table.ratio(table.sum_by_question(np.where(known, values, 0.0)), table.sum_by_question(known))
