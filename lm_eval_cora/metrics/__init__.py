"""Metrics: functions that return an `Estimate`, a value with its standard error.

`acc`, `mcqa`, `mcqa_plus`, `mcqa_plus_diff`, `mv`, `bmca`, `ci`, `cora`, `core` and `pass_hat_k` take right and wrong
answers, as an array of shape (questions, variants) or a list of rows:

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
standard error, or the passage that several questions share (`clusters` of a table). Without questions a value is nan;
with fewer than two units a standard error is nan. Arguments and arrays that are not as described are a ValueError.

Papers: CoRA, MCQA+, REVAS, SCORE and Zheng et al. 2024; docs/metrics.md has the formulas with worked examples.
"""

from __future__ import annotations

# ruff: noqa: F403, I001  # each module names its public functions, and the modules are in the order of the API page
from lm_eval_cora.metrics.accuracy import *
from lm_eval_cora.metrics.consistency import *
from lm_eval_cora.metrics.noise import *
from lm_eval_cora.metrics.ranges import *
from lm_eval_cora.metrics.positions import *
from lm_eval_cora.metrics.letter_bias import *
from lm_eval_cora.metrics.confidence import *
from lm_eval_cora.metrics.orders import *
from lm_eval_cora.metrics.study import *
from lm_eval_cora.metrics.guessing import *
from lm_eval_cora.metrics.aggregated import *
from lm_eval_cora.metrics.ablation import *
from lm_eval_cora.metrics.estimate import *
from lm_eval_cora.metrics.paired import *

__all__ = [name for name, each in globals().items() if getattr(each, "__module__", "").startswith(__name__)]
