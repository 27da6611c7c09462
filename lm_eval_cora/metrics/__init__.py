"""Metrics: functions of a ResponseTable that return a value and its standard error.

All metrics of one table use the same complete questions. The unit of every standard error is the question. Without
questions a value is nan; with fewer than two a standard error is nan.

N questions; question i has M_i variants, K_i of them were answered correctly, and RC(i) = K_i / M_i (CoRA, eq. 3).
"""

from lm_eval_cora.metrics.accuracy import acc, bmca, invalid, mcqa, mcqa_plus, mcqa_plus_diff, mv, ties
from lm_eval_cora.metrics.confidence import confidence_ratio, confidence_right, confidence_wrong, yes_no_mass
from lm_eval_cora.metrics.consistency import ci, consistency_rate, cora, core
from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.metrics.orders import acc_at, acc_h, sc, sc_buckets
from lm_eval_cora.metrics.ranges import acc_max, acc_min, accuracy_by_kind, invalid_by_kind
from lm_eval_cora.metrics.study import (
    multi_share,
    nota_acc,
    nota_acc_diff,
    nota_acc_h,
    nota_acc_h_diff,
    recall_misleading,
    recall_right,
    replaced_acc,
    subset_sizes,
    tf_right,
    tf_wrong,
)

__all__ = [
    "Estimate",
    "acc",
    "acc_at",
    "acc_h",
    "acc_max",
    "acc_min",
    "accuracy_by_kind",
    "bmca",
    "ci",
    "confidence_ratio",
    "confidence_right",
    "confidence_wrong",
    "consistency_rate",
    "cora",
    "core",
    "invalid",
    "invalid_by_kind",
    "mcqa",
    "mcqa_plus",
    "mcqa_plus_diff",
    "multi_share",
    "mv",
    "nota_acc",
    "nota_acc_diff",
    "nota_acc_h",
    "nota_acc_h_diff",
    "recall_misleading",
    "recall_right",
    "replaced_acc",
    "sc",
    "sc_buckets",
    "subset_sizes",
    "tf_right",
    "tf_wrong",
    "ties",
    "yes_no_mass",
]
