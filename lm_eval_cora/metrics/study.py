"""The REVAS and MCQA+ study: NOTA as the right answer, true or false, select all, replaced options.

NOTA is the option "None of the above". `confidence.py` has the metrics of the probabilities of yes and no, and
`orders.py` those of the orders of the options.

Some metrics use a subset of the questions, which depends on the answers:

- always right: answered correctly in all orders of the original (a diamond in the papers, a dagger in parts of REVAS);
- misled: the model picked a wrong option in the original (a dagger in the papers). This option is the misleading one. A
  question with an invalid answer to its original is not misled; `subset_sizes` counts it.

A metric on an empty subset is nan.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from lm_eval_cora.metrics.estimate import Estimate, mean_of, ratio_of, share_of
from lm_eval_cora.metrics.facts import metric
from lm_eval_cora.metrics.orders import always_right
from lm_eval_cora.metrics.responses import INVALID, Bools, Ints, ResponseTable, contains
from lm_eval_cora.variants.alterations import (
    NOTA_ANSWER,
    ORIGINAL,
    REPLACED,
    SELECT_ALL,
    TRUE_OR_FALSE_RIGHT,
    TRUE_OR_FALSE_WRONG,
    shuffled,
)

Subset = Literal["all", "always_right"]


@metric("Accuracy if NOTA replaces the right option and is printed last.")
def nota_acc(table: ResponseTable, subset: Subset = "all") -> Estimate:
    """Accuracy if NOTA ("None of the above") replaces the right option and is printed last.

    Args:
        table: Answers to N questions.
        subset: `all` questions, or those `always_right`: answered correctly in all orders of the original.

    Returns:
        A share from 0 to 1; nan if no question of the subset has such a variant.

    Raises:
        ValueError: If `subset` is neither `all` nor `always_right`.

    Example:
        >>> from lm_eval_cora.answers.records import Record
        >>> original = Record("q1", 2, 0, "original", printed=(0, 1), answer=0, picked=0)
        >>> nota = Record("q1", 2, 1, "nota_answer", printed=(1, 26), answer=26, picked=26)
        >>> nota_acc(ResponseTable.from_records([original, nota])).value
        1.0

    Source: MCQA+, table 3 (Acc).
    """
    return _share(table, table.is_kind(NOTA_ANSWER), table.correct, _members(table, subset))


@metric("Share of questions on which the model picks NOTA, the right option, in all orders.")
def nota_acc_h(table: ResponseTable, subset: Subset = "all") -> Estimate:
    """Share of questions on which the model picks NOTA ("None of the above"), the right option, in all orders.

    Args:
        table: Answers to N questions.
        subset: `all` questions, or those `always_right`: answered correctly in all orders of the original.

    Returns:
        A share from 0 to 1; nan if no question of the subset has such variants.

    Raises:
        ValueError: If `subset` is neither `all` nor `always_right`.

    Example:
        >>> from lm_eval_cora.answers.records import Record
        >>> original = Record("q1", 2, 0, "original", printed=(0, 1), answer=0, picked=0)
        >>> nota = Record("q1", 2, 1, "nota_answer", printed=(1, 26), answer=26, picked=1)
        >>> nota_acc_h(ResponseTable.from_records([original, nota])).value
        0.0

    Source: MCQA+, table 3 (Acc-H).
    """
    chosen, right = _nota_orders(table)
    inside = chosen & _members(table, subset)
    return share_of(right, inside)


@metric(
    "Effect of NOTA on the accuracy: nota_acc - mcqa, paired by question.",
    bounds=(-1.0, 1.0),
)
def nota_acc_diff(table: ResponseTable, subset: Subset = "all") -> Estimate:
    """Effect of NOTA ("None of the above") on the accuracy: nota_acc - mcqa, paired by question.

    Args:
        table: Answers to N questions.
        subset: `all` questions, or those `always_right`: answered correctly in all orders of the original. Their `mcqa`
            is 1.

    Returns:
        A difference from -1 to 1; nan if no question of the subset has such a variant.

    Raises:
        ValueError: If `subset` is neither `all` nor `always_right`.

    Example:
        >>> from lm_eval_cora.answers.records import Record
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
    return mean_of(after - before, inside, between=(-1.0, 1.0))


@metric(
    "Effect of NOTA on the hard accuracy: nota_acc_h - acc_h, paired by question.",
    bounds=(-1.0, 1.0),
)
def nota_acc_h_diff(table: ResponseTable, subset: Subset = "all") -> Estimate:
    """Effect of NOTA ("None of the above") on the hard accuracy: nota_acc_h - acc_h, paired by question.

    Args:
        table: Answers to N questions.
        subset: `all` questions, or those `always_right`: answered correctly in all orders of the original. Their
            `acc_h` is 1.

    Returns:
        A difference from -1 to 1; nan if no question of the subset has such variants.

    Raises:
        ValueError: If `subset` is neither `all` nor `always_right`.

    Example:
        >>> from lm_eval_cora.answers.records import Record
        >>> original = Record("q1", 2, 0, "original", printed=(0, 1), answer=0, picked=0)
        >>> nota = Record("q1", 2, 1, "nota_answer", printed=(1, 26), answer=26, picked=26)
        >>> nota_acc_h_diff(ResponseTable.from_records([original, nota])).value
        0.0

    Source: MCQA+, table 3 (Acc-H, in brackets).
    """
    chosen, right = _nota_orders(table)
    inside = chosen & _members(table, subset)
    change = right.astype(np.float64) - always_right(table)
    return mean_of(change, inside, between=(-1.0, 1.0))


@metric("Share of “yes” when asked whether the right option is right, on questions always answered correctly.")
def tf_right(table: ResponseTable) -> Estimate:
    """Share of "yes" when asked whether the right option is right, on questions always answered correctly.

    The questions are those answered correctly in all orders of the original.

    Args:
        table: Answers to N questions.

    Returns:
        A share from 0 to 1; nan if there is no such question.

    Example:
        >>> from lm_eval_cora.answers.records import Record
        >>> original = Record("q1", 2, 0, "original", printed=(0, 1), answer=0, picked=0)
        >>> no = Record("q1", 2, 1, "true_or_false_right", (0,), 0, picked=None, ask="yes_no", selected=())
        >>> tf_right(ResponseTable.from_records([original, no])).value
        0.0

    Source: MCQA+, table 4 (T/F: right).
    """
    return _share(table, table.is_kind(TRUE_OR_FALSE_RIGHT), table.correct, always_right(table))


@metric("Share of “no” when asked whether a wrong option is right, on questions always answered correctly.")
def tf_wrong(table: ResponseTable) -> Estimate:
    """Share of "no" when asked whether a wrong option is right, on questions always answered correctly.

    The questions are those answered correctly in all orders of the original. All their wrong options are pooled.

    Args:
        table: Answers to N questions.

    Returns:
        A share from 0 to 1 with the standard error of a pooled share; nan if there is no such question.

    Example:
        >>> from lm_eval_cora.answers.records import Record
        >>> original = Record("q1", 2, 0, "original", printed=(0, 1), answer=0, picked=0)
        >>> no = Record("q1", 2, 1, "true_or_false_wrong", (1,), 0, picked=None, ask="yes_no", selected=())
        >>> tf_wrong(ResponseTable.from_records([original, no])).value
        1.0

    Source: MCQA+, table 4 (T/F: wrong).
    """
    return _share(table, table.is_kind(TRUE_OR_FALSE_WRONG), table.correct, always_right(table))


@metric("Share of misled questions on which the model selects several options if asked for all right ones.")
def multi_share(table: ResponseTable) -> Estimate:
    """Share of misled questions on which the model selects several options if asked for all right ones.

    A question is misled if the model picks a wrong option in the original.

    Args:
        table: Answers to N questions.

    Returns:
        A share from 0 to 1; nan if no question is misled.

    Example:
        >>> from lm_eval_cora.answers.records import Record
        >>> original = Record("q1", 2, 0, "original", printed=(0, 1), answer=0, picked=1)
        >>> both = Record("q1", 2, 1, "select_all", (0, 1), 0, picked=None, ask="select_all", selected=(0, 1))
        >>> multi_share(ResponseTable.from_records([original, both])).value
        1.0

    Source: MCQA+, table 6 (%multi).
    """
    return _share(table, table.is_kind(SELECT_ALL), _several(table), _misled(table))


@metric("Share of misled questions whose right option the model selects if asked for all right ones.")
def recall_right(table: ResponseTable, *, several: bool = False) -> Estimate:
    """Share of misled questions whose right option the model selects if asked for all right ones.

    A question is misled if the model picks a wrong option in the original.

    Args:
        table: Answers to N questions.
        several: Whether to count only questions with several selected options, as the papers do. Their recalls, 92.5
            and 67.5, sum to 160. Over all misled questions the sum could not exceed 100 + %multi = 123, because a
            single selection is only one of the two options.

    Returns:
        A share from 0 to 1; nan if there is no such question.

    Example:
        >>> from lm_eval_cora.answers.records import Record
        >>> original = Record("q1", 2, 0, "original", printed=(0, 1), answer=0, picked=1)
        >>> wrong = Record("q1", 2, 1, "select_all", (0, 1), 0, picked=None, ask="select_all", selected=(1,))
        >>> table = ResponseTable.from_records([original, wrong])
        >>> recall_right(table).value, recall_right(table, several=True).value
        (0.0, nan)

    Source: MCQA+, table 6 (Recall r).
    """
    return _recall(table, table.answer, several)


@metric("Share of misled questions on which the model selects the misleading option again if asked for all right ones.")
def recall_misleading(table: ResponseTable, *, several: bool = False) -> Estimate:
    """Share of misled questions on which the model selects the misleading option again if asked for all right ones.

    A question is misled if the model picks a wrong option in the original. This option is the misleading one.

    Args:
        table: Answers to N questions.
        several: Whether to count only questions with several selected options, as the papers do; see `recall_right`.

    Returns:
        A share from 0 to 1; nan if there is no such question.

    Example:
        >>> from lm_eval_cora.answers.records import Record
        >>> original = Record("q1", 2, 0, "original", printed=(0, 1), answer=0, picked=1)
        >>> both = Record("q1", 2, 1, "select_all", (0, 1), 0, picked=None, ask="select_all", selected=(0, 1))
        >>> recall_misleading(ResponseTable.from_records([original, both]), several=True).value
        1.0

    Source: MCQA+, table 6 (Recall m).
    """
    return _recall(table, _picked_first(table)[table.question], several)


@metric("Accuracy on misled questions after a filler has replaced the misleading option.")
def replaced_acc(table: ResponseTable) -> Estimate:
    """Accuracy on misled questions after a filler has replaced the misleading option.

    A question is misled if the model picks a wrong option in the original. This option is the misleading one.

    Args:
        table: Answers to N questions.

    Returns:
        A share from 0 to 1; nan if no question is misled.

    Example:
        >>> from lm_eval_cora.answers.records import Record
        >>> original = Record("q1", 2, 0, "original", printed=(0, 1), answer=0, picked=1)
        >>> replaced = Record("q1", 2, 1, "replaced", printed=(0, 28), answer=0, picked=0)
        >>> replaced_acc(ResponseTable.from_records([original, replaced])).value
        1.0

    Source: MCQA+, table 6 (Replacement; REVAS, table 7).
    """
    misleading = _picked_first(table)[table.question]
    without = table.is_kind(REPLACED) & ~contains(table.printed, misleading)
    return _share(table, without, table.correct, _misled(table))


@metric("Number of questions in each part of the study.")
def subset_sizes(table: ResponseTable) -> dict[str, int]:
    """Number of questions in each part of the study.

    Args:
        table: Answers to N questions.

    Returns:
        Numbers of questions:

        - `all`;
        - `always_right`: answered correctly in all orders of the original;
        - `wrong`: not answered correctly in the original, the sum of the next two;
        - `misled`: the model picked a wrong option in the original;
        - `no_misleading_option`: the answer to the original was invalid.

    Example:
        >>> subset_sizes(ResponseTable.from_hits([[1, 1], [0, 1]]))
        {'all': 2, 'always_right': 1, 'wrong': 1, 'misled': 1, 'no_misleading_option': 0}

    Source: ours.
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
    """(R,) whether more than one option is selected."""
    several: Bools = (table.selected & (table.selected - np.uint64(1))) != 0  # more bits than the lowest one
    return several


def _recall(table: ResponseTable, option: Ints, several: bool) -> Estimate:
    """Share of the misled questions whose selection contains an option, (R,)."""
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
    """Pooled share of hits among the chosen variants of the member questions."""
    inside = chosen & members[table.question]
    return ratio_of(table.sum_by_question(inside & hit), table.sum_by_question(inside))


def _nota_orders(table: ResponseTable) -> tuple[Bools, Bools]:
    """(N,) whether a question has orders with NOTA as the answer; (N,) whether the model picks NOTA in all of them."""
    chosen = table.is_kind(NOTA_ANSWER, shuffled(NOTA_ANSWER))
    has = table.any_by_question(chosen)
    return has, has & ~table.any_by_question(chosen & ~table.correct)


def _picked_first(table: ResponseTable) -> Ints:
    """(N,) identity picked in the original; INVALID if none."""
    picked = np.full(len(table.sizes), INVALID, dtype=np.int64)
    original = table.is_kind(ORIGINAL)
    picked[table.question[original]] = table.picked[original]
    return picked


def _misled(table: ResponseTable) -> Bools:
    """(N,) whether the model picked a wrong option in the original."""
    wrong = table.any_by_question(table.is_kind(ORIGINAL) & ~table.correct)
    return wrong & (_picked_first(table) >= 0)
