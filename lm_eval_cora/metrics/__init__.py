"""Metrics: functions of a ResponseTable that return a value and its standard error.

All metrics of one table use the same complete questions. The unit of every standard error is the question. Without
questions a value is nan; with fewer than two a standard error is nan.

N questions; question i has M_i variants, K_i of them were answered correctly, and RC(i) = K_i / M_i (CoRA, eq. 3).
"""

from lm_eval_cora.metrics.accuracy import acc, bmca, invalid, mcqa, mcqa_plus, mv, ties
from lm_eval_cora.metrics.consistency import ci, consistency_rate, cora, core
from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.metrics.ranges import acc_max, acc_min, accuracy_by_kind

__all__ = [
    "Estimate",
    "acc",
    "acc_max",
    "acc_min",
    "accuracy_by_kind",
    "bmca",
    "ci",
    "consistency_rate",
    "cora",
    "core",
    "invalid",
    "mcqa",
    "mcqa_plus",
    "mv",
    "ties",
]
