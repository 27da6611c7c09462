"""The study of REVAS and MCQA+ on one table: NOTA as the answer, true or false, select all, replaced options.

What the probabilities of yes and no say is in `confidence.py`, the orders of the options in `orders.py`.

Two subsets of the questions are settled here, after the answers are known:

- always right: answered correctly in all orders of the original (the papers' diamond; a dagger in parts of REVAS);
- misled: answered wrongly in the original, by an option, which is the misleading one (the papers' dagger). A question
  whose original has an invalid answer has no misleading option: it is left out, and `subset_sizes` counts it.

A metric on an empty subset is nan.
"""

from __future__ import annotations

from dataclasses import replace
from math import isnan, nan
from typing import Literal

import numpy as np

from lm_eval_cora.metrics.estimate import Estimate, ratio_of
from lm_eval_cora.metrics.orders import always_right
from lm_eval_cora.probes.alterations import (
    NOTA_ANSWER,
    ORIGINAL,
    REPLACED,
    SELECT_ALL,
    TRUE_OR_FALSE_RIGHT,
    TRUE_OR_FALSE_WRONG,
    shuffled,
)
from lm_eval_cora.responses import INVALID, Bools, Floats, Ints, ResponseTable, contains

Subset = Literal["all", "always_right"]


def nota_acc(table: ResponseTable, subset: Subset = "all") -> Estimate:
    """Accuracy where NOTA replaces the right option and stands last.

    Args:
        table: N questions.
        subset: `all` questions, or the ones `always_right` in the original orders.

    Returns:
        A share from 0 to 1; nan if no question of the subset has such a variant.

    Example:
        >>> from lm_eval_cora.responses import Record
        >>> original = Record("q1", 2, 0, "original", printed=(0, 1), answer=0, picked=0)
        >>> nota = Record("q1", 2, 1, "nota_answer", printed=(1, 26), answer=26, picked=26)
        >>> nota_acc(ResponseTable.from_records([original, nota])).value
        1.0

    Source: MCQA+, table 3 (Acc).
    """
    return _share(table, table.is_kind(NOTA_ANSWER), table.correct, _members(table, subset))


def nota_acc_h(table: ResponseTable, subset: Subset = "all") -> Estimate:
    """Share of questions where NOTA, the right option now, is picked in all orders.

    Args:
        table: N questions.
        subset: `all` questions, or the ones `always_right` in the original orders.

    Returns:
        A share from 0 to 1; nan if no question of the subset has such variants.

    Example:
        >>> from lm_eval_cora.responses import Record
        >>> original = Record("q1", 2, 0, "original", printed=(0, 1), answer=0, picked=0)
        >>> nota = Record("q1", 2, 1, "nota_answer", printed=(1, 26), answer=26, picked=1)
        >>> nota_acc_h(ResponseTable.from_records([original, nota])).value
        0.0

    Source: MCQA+, table 3 (Acc-H).
    """
    chosen, right = _nota_orders(table)
    inside = chosen & _members(table, subset)
    return _pooled((right & inside).astype(np.float64), inside.astype(np.float64))


def nota_acc_diff(table: ResponseTable, subset: Subset = "all") -> Estimate:
    """What NOTA takes from the accuracy: nota_acc - mcqa, paired by question.

    Args:
        table: N questions.
        subset: `all` questions, or the ones `always_right` in the original orders, whose `mcqa` is 1.

    Returns:
        A difference from -1 to 1; nan if no question of the subset has such a variant.

    Example:
        >>> from lm_eval_cora.responses import Record
        >>> original = Record("q1", 2, 0, "original", printed=(0, 1), answer=0, picked=0)
        >>> nota = Record("q1", 2, 1, "nota_answer", printed=(1, 26), answer=26, picked=1)
        >>> nota_acc_diff(ResponseTable.from_records([original, nota])).value
        -1.0

    Source: MCQA+, table 3 (Acc, in brackets).
    """
    chosen = table.is_kind(NOTA_ANSWER)
    before = table.sum_by_question(table.is_kind(ORIGINAL) & table.correct)
    after = table.sum_by_question(chosen & table.correct)
    inside = table.any_by_question(chosen) & _members(table, subset)
    return ratio_of((after - before) * inside, inside.astype(np.float64))


def nota_acc_h_diff(table: ResponseTable, subset: Subset = "all") -> Estimate:
    """What NOTA takes from the accuracy in all orders: nota_acc_h - acc_h, paired by question.

    Args:
        table: N questions.
        subset: `all` questions, or the ones `always_right` in the original orders, whose `acc_h` is 1.

    Returns:
        A difference from -1 to 1; nan if no question of the subset has such variants.

    Example:
        >>> from lm_eval_cora.responses import Record
        >>> original = Record("q1", 2, 0, "original", printed=(0, 1), answer=0, picked=0)
        >>> nota = Record("q1", 2, 1, "nota_answer", printed=(1, 26), answer=26, picked=26)
        >>> nota_acc_h_diff(ResponseTable.from_records([original, nota])).value
        0.0

    Source: MCQA+, table 3 (Acc-H, in brackets).
    """
    chosen, right = _nota_orders(table)
    inside = chosen & _members(table, subset)
    return ratio_of((right.astype(np.float64) - always_right(table)) * inside, inside.astype(np.float64))


def tf_right(table: ResponseTable) -> Estimate:
    """True or false on the right option, of questions always right: share of "yes".

    Args:
        table: N questions.

    Returns:
        A share from 0 to 1; nan if no question is always right.

    Example:
        >>> from lm_eval_cora.responses import Record
        >>> original = Record("q1", 2, 0, "original", printed=(0, 1), answer=0, picked=0)
        >>> no = Record("q1", 2, 1, "true_or_false_right", (0,), 0, picked=None, ask="yes_no", selected=())
        >>> tf_right(ResponseTable.from_records([original, no])).value
        0.0

    Source: MCQA+, table 4 (T/F: right).
    """
    return _share(table, table.is_kind(TRUE_OR_FALSE_RIGHT), table.correct, always_right(table))


def tf_wrong(table: ResponseTable) -> Estimate:
    """True or false on the wrong options, of questions always right: share of "no", the options pooled.

    Args:
        table: N questions.

    Returns:
        A share from 0 to 1; nan if no question is always right.

    Example:
        >>> from lm_eval_cora.responses import Record
        >>> original = Record("q1", 2, 0, "original", printed=(0, 1), answer=0, picked=0)
        >>> no = Record("q1", 2, 1, "true_or_false_wrong", (1,), 0, picked=None, ask="yes_no", selected=())
        >>> tf_wrong(ResponseTable.from_records([original, no])).value
        1.0

    Source: MCQA+, table 4 (T/F: wrong).
    """
    return _share(table, table.is_kind(TRUE_OR_FALSE_WRONG), table.correct, always_right(table))


def multi_share(table: ResponseTable) -> Estimate:
    """Share of the misled questions for which several options are selected when all right ones are asked for.

    Args:
        table: N questions.

    Returns:
        A share from 0 to 1; nan if no question is misled.

    Example:
        >>> from lm_eval_cora.responses import Record
        >>> original = Record("q1", 2, 0, "original", printed=(0, 1), answer=0, picked=1)
        >>> both = Record("q1", 2, 1, "select_all", (0, 1), 0, picked=None, ask="select_all", selected=(0, 1))
        >>> multi_share(ResponseTable.from_records([original, both])).value
        1.0

    Source: MCQA+, table 6 (%multi).
    """
    return _share(table, table.is_kind(SELECT_ALL), _several(table), _misled(table))


def recall_right(table: ResponseTable, *, several: bool = False) -> Estimate:
    """Share of the misled questions whose right option is among those selected when all right ones are asked for.

    Args:
        table: N questions.
        several: Count only the questions for which several options are selected. The papers' recalls are on these: 92.5
            and 67.5 sum to 160, and a single selection adds 1 at most, so over all misled questions the sum could not
            exceed 100 + %multi = 123.

    Returns:
        A share from 0 to 1; nan if there is no such question.

    Example:
        >>> from lm_eval_cora.responses import Record
        >>> original = Record("q1", 2, 0, "original", printed=(0, 1), answer=0, picked=1)
        >>> wrong = Record("q1", 2, 1, "select_all", (0, 1), 0, picked=None, ask="select_all", selected=(1,))
        >>> table = ResponseTable.from_records([original, wrong])
        >>> recall_right(table).value, recall_right(table, several=True).value
        (0.0, nan)

    Source: MCQA+, table 6 (Recall r).
    """
    return _recall(table, table.answer, several)


def recall_misleading(table: ResponseTable, *, several: bool = False) -> Estimate:
    """Share of the misled questions whose misleading option is selected again when all right ones are asked for.

    Args:
        table: N questions.
        several: Count only the questions for which several options are selected, as the papers do; see `recall_right`.

    Returns:
        A share from 0 to 1; nan if there is no such question.

    Example:
        >>> from lm_eval_cora.responses import Record
        >>> original = Record("q1", 2, 0, "original", printed=(0, 1), answer=0, picked=1)
        >>> both = Record("q1", 2, 1, "select_all", (0, 1), 0, picked=None, ask="select_all", selected=(0, 1))
        >>> recall_misleading(ResponseTable.from_records([original, both]), several=True).value
        1.0

    Source: MCQA+, table 6 (Recall m).
    """
    return _recall(table, _picked_first(table)[table.question], several)


def replaced_acc(table: ResponseTable) -> Estimate:
    """Accuracy on the misled questions after a filler has replaced the misleading option.

    Args:
        table: N questions.

    Returns:
        A share from 0 to 1; nan if no question is misled.

    Example:
        >>> from lm_eval_cora.responses import Record
        >>> original = Record("q1", 2, 0, "original", printed=(0, 1), answer=0, picked=1)
        >>> replaced = Record("q1", 2, 1, "replaced", printed=(0, 28), answer=0, picked=0)
        >>> replaced_acc(ResponseTable.from_records([original, replaced])).value
        1.0

    Source: MCQA+, table 6 (Replacement; REVAS, table 7).
    """
    misleading = _picked_first(table)[table.question]
    without = table.is_kind(REPLACED) & ~contains(table.printed, misleading)
    return _share(table, without, table.correct, _misled(table))


def subset_sizes(table: ResponseTable) -> dict[str, int]:
    """How many questions each part of the study stands on.

    Args:
        table: N questions.

    Returns:
        `all`; `always_right`; `wrong`, in the original; of these `misled`, by an option, and `no_misleading_option`,
        whose answer was invalid.

    Example:
        >>> subset_sizes(ResponseTable.from_hits([[1, 1], [0, 1]]))
        {'all': 2, 'always_right': 1, 'wrong': 1, 'misled': 1, 'no_misleading_option': 0}
    """
    wrong = table.any_by_question(table.is_kind(ORIGINAL) & ~table.correct)
    misled = _misled(table)
    return {
        "all": len(table.sizes),
        "always_right": int(always_right(table).sum()),
        "wrong": int(wrong.sum()),
        "misled": int(misled.sum()),
        "no_misleading_option": int((wrong & ~misled).sum()),
    }


def _several(table: ResponseTable) -> Bools:
    """(R,) whether more than one option was selected."""
    several: Bools = (table.selected & (table.selected - np.uint64(1))) != 0  # a bit besides the lowest one
    return several


def _recall(table: ResponseTable, option: Ints, several: bool) -> Estimate:
    """Share of the misled questions whose selection holds an option, (R,)."""
    chosen = table.is_kind(SELECT_ALL)
    if several:
        chosen = chosen & _several(table)
    return _share(table, chosen, contains(table.selected, option), _misled(table))


def _members(table: ResponseTable, subset: Subset) -> Bools:
    """(N,) whether a question is in a subset."""
    if subset == "all":
        return np.ones(len(table.sizes), dtype=np.bool_)
    if subset == "always_right":
        return always_right(table)
    raise ValueError(f"subset is {subset!r}, expected 'all' or 'always_right'")


def _share(table: ResponseTable, chosen: Bools, hit: Bools, members: Bools) -> Estimate:
    """Pooled share of hits among the records chosen, on the questions that are members."""
    inside = chosen & members[table.question]
    return _pooled(table.sum_by_question(inside & hit), table.sum_by_question(inside))


def _pooled(hits: Floats, counts: Floats) -> Estimate:
    """Pooled share of hits, (N,); where each question was asked once at most, it is a share of questions."""
    share = ratio_of(hits, counts)
    if isnan(share.value) or (counts > 1).any():
        return share
    return replace(share, outcomes=np.where(counts > 0, hits, nan))


def _nota_orders(table: ResponseTable) -> tuple[Bools, Bools]:
    """(N,) whether a question has orders with NOTA as the answer, and whether NOTA was picked in all of them."""
    chosen = table.is_kind(NOTA_ANSWER, shuffled(NOTA_ANSWER))
    has = table.any_by_question(chosen)
    return has, has & ~table.any_by_question(chosen & ~table.correct)


def _picked_first(table: ResponseTable) -> Ints:
    """(N,) identity picked in the original, or INVALID."""
    picked = np.full(len(table.sizes), INVALID, dtype=np.int64)
    original = table.is_kind(ORIGINAL)
    picked[table.question[original]] = table.picked[original]
    return picked


def _misled(table: ResponseTable) -> Bools:
    """(N,) whether a wrong option was picked in the original."""
    wrong = table.any_by_question(table.is_kind(ORIGINAL) & ~table.correct)
    return wrong & (_picked_first(table) >= 0)
