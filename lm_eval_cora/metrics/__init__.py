"""Metrics: functions that return an `Estimate`, a value with its standard error.

`acc`, `mcqa`, `mcqa_plus`, `mcqa_plus_diff`, `mv`, `bmca`, `ci`, `cora` and `core` take right and wrong answers, as an
array of shape (questions, variants) or a list of rows:

    >>> from lm_eval_cora import metrics
    >>> metrics.cora([[True, True], [True, False]], original=0).value
    0.5

`acc` describes their argument `answers`, and `mcqa` describes `original`. The value is nan if skipped variants could
change it. The other metrics need more than right and wrong, such as the picked options. They take a `ResponseTable` of
the answers to N questions. `lm_eval_cora.score` and `lm_eval_cora.read` compute them from your answers.

Symbols: N is the number of questions. Question i has M_i variants. K_i of them are answered correctly, and
RC(i) = K_i / M_i is its response consistency (CoRA, eq. 3). x_i is 1 if the original of question i is answered
correctly, else 0. y_i is 1 if all its variants are answered correctly, else 0.

All metrics of a table use the same questions: those with all variants present. The question is the unit of every
standard error. Without questions a value is nan; with fewer than two questions a standard error is nan. Arguments and
arrays that are not as described are a ValueError.

Papers: CoRA, MCQA+, REVAS, SCORE and Zheng et al. 2024; docs/metrics.md has the formulas with worked examples.
"""

from lm_eval_cora.metrics.ablation import Resampled, resampled, same_size
from lm_eval_cora.metrics.accuracy import acc, bmca, followed, invalid, mcqa, mcqa_plus, mcqa_plus_diff, mv, ties
from lm_eval_cora.metrics.aggregated import Aggregated, aggregated, by_category
from lm_eval_cora.metrics.chance import at_least, chance_bmca, chance_consistency_rate, msgr
from lm_eval_cora.metrics.consistency import all_equal, ci, consistency_rate, cora, core, equal_at, timeouts
from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.metrics.letter_bias import acc_permuted, acc_pride, letter_prior
from lm_eval_cora.metrics.orders import acc_at, acc_h, sc, sc_buckets
from lm_eval_cora.metrics.paired import Difference, McNemar, difference, mcnemar
from lm_eval_cora.metrics.positions import (
    picks_by_letter,
    position_chi_square,
    position_p_value,
    recall_spread,
    recall_spread_by_chance,
)
from lm_eval_cora.metrics.ranges import (
    acc_max,
    acc_mean,
    acc_min,
    acc_range,
    acc_range_by_chance,
    acc_range_p,
    accuracy_by_kind,
    each_kind,
    followed_by_kind,
    invalid_by_kind,
    macro_acc,
)
from lm_eval_cora.metrics.several import Pair, differences_together, holm, leading, pairwise
from lm_eval_cora.metrics.study import (
    confidence_ratio,
    confidence_right,
    confidence_wrong,
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
    yes_no_mass,
)

# By family: shares, consistency, kinds, letters, orders, the study, several probes, chance, comparisons.
__all__ = ["acc", "bmca", "followed", "invalid", "mcqa", "mcqa_plus", "mcqa_plus_diff", "mv", "ties"]
__all__ += ["all_equal", "ci", "consistency_rate", "cora", "core", "equal_at", "timeouts"]
__all__ += ["acc_max", "acc_mean", "acc_min", "acc_range", "acc_range_by_chance", "acc_range_p", "macro_acc"]
__all__ += ["accuracy_by_kind", "each_kind", "followed_by_kind", "invalid_by_kind"]
__all__ += ["picks_by_letter", "position_chi_square", "position_p_value", "recall_spread", "recall_spread_by_chance"]
__all__ += ["acc_permuted", "acc_pride", "letter_prior"]
__all__ += ["acc_at", "acc_h", "sc", "sc_buckets"]
__all__ += ["nota_acc", "nota_acc_diff", "nota_acc_h", "nota_acc_h_diff", "replaced_acc", "subset_sizes"]
__all__ += ["multi_share", "recall_misleading", "recall_right", "tf_right", "tf_wrong"]
__all__ += ["confidence_ratio", "confidence_right", "confidence_wrong", "yes_no_mass"]
__all__ += ["Aggregated", "Resampled", "aggregated", "by_category", "resampled", "same_size"]
__all__ += ["at_least", "chance_bmca", "chance_consistency_rate", "msgr"]
__all__ += ["Difference", "Estimate", "McNemar", "Pair"]
__all__ += ["difference", "differences_together", "holm", "leading", "mcnemar", "pairwise"]
