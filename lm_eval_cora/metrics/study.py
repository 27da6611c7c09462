"""The REVAS and MCQA+ study: NOTA (None of the above) as the right answer, true or false, select all, replaced options.

Some metrics use a subset of the questions, which depends on the answers; without such questions, a metric is nan:

- always right: answered correctly in all orders of the original (a diamond in the papers, a dagger in parts of REVAS);
- misled: the model picked a wrong option in the original, the misleading one (a dagger in the papers).
"""

from __future__ import annotations

from math import inf
from typing import Any, Literal

import numpy as np

from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.metrics.facts import detail, metric
from lm_eval_cora.metrics.orders import always_right
from lm_eval_cora.metrics.responses import INVALID, Bools, Floats, Ints, ResponseTable, contains
from lm_eval_cora.variants.alterations import (
    NOTA_ANSWER,
    ORIGINAL,
    REPLACED,
    SELECT_ALL,
    TRUE_OR_FALSE_RIGHT,
    TRUE_OR_FALSE_WRONG,
    shuffled,
)

__all__ = ["nota_acc", "nota_acc_diff", "nota_acc_h", "nota_acc_h_diff", "replaced_acc", "subset_sizes"]
__all__ += ["multi_share", "recall_misleading", "recall_right", "tf_right", "tf_wrong"]
__all__ += ["confidence_ratio", "confidence_right", "confidence_wrong", "yes_no_mass"]

Subset = Literal["all", "always_right"]
_NOTA_ORDERS = (NOTA_ANSWER, shuffled(NOTA_ANSWER))
_ONLY_IN_FILE = {("subset", "always_right"): {"in_table": False}}
_OF_SELECTIONS: dict[str, Any] = {"needs": ("selected",), "ranks_models": False, "form": "generate"}
_OF_CONFIDENCE: dict[str, Any] = {"needs": ("yes",), "ranks_models": False, "form": "loglikelihood"}


@metric(
    "Accuracy if NOTA replaces the right option and is printed last.",
    kinds=(NOTA_ANSWER,),
)
def nota_acc(table: ResponseTable, subset: Subset = "all") -> Estimate:
    """Accuracy if NOTA ("None of the above") replaces the right option and is printed last.

    The `subset` is `all` questions, or those `always_right`: answered correctly in all orders of the original.
    Range: 0 to 1; nan if no question of the subset has such a variant. Source: MCQA+, table 3 (Acc).

    Example:
        >>> table = ResponseTable.from_hits([[1, 0]], kinds=("original", "nota_answer"))
        >>> [metric(table).value for metric in (nota_acc, nota_acc_h, nota_acc_diff, nota_acc_h_diff)]
        [0.0, 0.0, -1.0, -1.0]
    """
    return _share(table, table.is_kind(NOTA_ANSWER), table.correct, _members(table, subset))


@metric(
    "Share of questions on which the model picks NOTA, the right option, in all orders.",
    kinds=_NOTA_ORDERS,
    special=_ONLY_IN_FILE,
)
def nota_acc_h(table: ResponseTable, subset: Subset = "all") -> Estimate:
    """Share of questions on which the model picks NOTA ("None of the above"), the right option, in all orders.

    Range: 0 to 1; nan if no question of the subset has such variants. Source: MCQA+, table 3 (Acc-H).
    """
    chosen, right = _nota_orders(table)
    return table.share(right, chosen & _members(table, subset))


@metric(
    "Effect of NOTA on the accuracy: nota_acc - mcqa, paired by question.",
    bounds=(-1.0, 1.0),
    kinds=(NOTA_ANSWER,),
    special=_ONLY_IN_FILE,
)
def nota_acc_diff(table: ResponseTable, subset: Subset = "all") -> Estimate:
    """Effect of NOTA ("None of the above") on the accuracy: nota_acc - mcqa, paired by question.

    The `mcqa` of the questions that are `always_right` is 1.
    Range: -1 to 1; nan if no question of the subset has such a variant. Source: MCQA+, table 3 (Acc, in brackets).
    """
    chosen = table.is_kind(NOTA_ANSWER)
    before, after = (table.sum_by_question(each & table.correct) for each in (table.is_kind(ORIGINAL), chosen))
    inside = table.any_by_question(chosen) & _members(table, subset)
    return table.mean(after - before, inside, between=(-1.0, 1.0))


@metric(
    "Effect of NOTA on the hard accuracy: nota_acc_h - acc_h, paired by question.",
    bounds=(-1.0, 1.0),
    kinds=_NOTA_ORDERS,
    in_table=False,
)
def nota_acc_h_diff(table: ResponseTable, subset: Subset = "all") -> Estimate:
    """Effect of NOTA ("None of the above") on the hard accuracy: nota_acc_h - acc_h, paired by question.

    The `acc_h` of the questions that are `always_right` is 1.
    Range: -1 to 1; nan if no question of the subset has such variants. Source: MCQA+, table 3 (Acc-H, in brackets).
    """
    chosen, right = _nota_orders(table)
    change = right.astype(np.float64) - always_right(table)
    return table.mean(change, chosen & _members(table, subset), between=(-1.0, 1.0))


@metric(
    "Share of “yes” when asked whether the right option is right, on questions always answered correctly.",
    kinds=(TRUE_OR_FALSE_RIGHT,),
    ranks_models=False,
)
def tf_right(table: ResponseTable) -> Estimate:
    """Share of "yes" when asked whether the right option is right, on questions always answered correctly.

    Range: 0 to 1; nan if there is no such question. Source: MCQA+, table 4 (T/F: right).

    Example:
        >>> kinds = ("original", "true_or_false_right", "true_or_false_wrong")  # "no" is wrong, and right
        >>> table = ResponseTable.from_hits([[1, 0, 1]], kinds=kinds, kind=np.arange(3))
        >>> tf_right(table).value, tf_wrong(table).value
        (0.0, 1.0)
    """
    return _share(table, table.is_kind(TRUE_OR_FALSE_RIGHT), table.correct, always_right(table))


@metric(
    "Share of “no” when asked whether a wrong option is right, on questions always answered correctly.",
    kinds=(TRUE_OR_FALSE_WRONG,),
    ranks_models=False,
)
def tf_wrong(table: ResponseTable) -> Estimate:
    """Share of "no" when asked whether a wrong option is right, on questions always answered correctly.

    All wrong options of the questions are pooled.
    Range: 0 to 1, with the standard error of a pooled share; nan if there is no such question. Source: MCQA+, table 4
    (T/F: wrong).
    """
    return _share(table, table.is_kind(TRUE_OR_FALSE_WRONG), table.correct, always_right(table))


@metric(
    "Share of misled questions on which the model selects several options if asked for all right ones.",
    **_OF_SELECTIONS,
    higher_is_better=None,
)
def multi_share(table: ResponseTable) -> Estimate:
    """Share of misled questions on which the model selects several options if asked for all right ones.

    Range: 0 to 1; nan if no question is misled. Source: MCQA+, table 6 (%multi).

    Example:
        >>> selected = np.array([0b00, 0b10], dtype=np.uint64)  # the wrong option again
        >>> table = ResponseTable.from_hits([[0, 0]], kinds=("original", "select_all"), selected=selected)
        >>> multi_share(table).value, recall_right(table).value, recall_misleading(table).value
        (0.0, 0.0, 1.0)
    """
    return _share(table, table.is_kind(SELECT_ALL), _several(table), _misled(table))


@metric(
    "Share of misled questions whose right option the model selects if asked for all right ones.",
    **_OF_SELECTIONS,
)
def recall_right(table: ResponseTable, *, several: bool = False) -> Estimate:
    """Share of misled questions whose right option the model selects if asked for all right ones.

    Args:
        table: Answers to N questions.
        several: Whether to count only questions with several selected options, as the papers do. Their recalls, 92.5
            and 67.5, sum to 160; with single selections, of one option each, they could not exceed 100 + %multi = 123.

    Range: 0 to 1; nan if there is no such question. Source: MCQA+, table 6 (Recall r).
    """
    return _recall(table, table.answer, several)


@metric(
    "Share of misled questions on which the model selects the misleading option again if asked for all right ones.",
    **_OF_SELECTIONS,
    higher_is_better=False,
)
def recall_misleading(table: ResponseTable, *, several: bool = False) -> Estimate:
    """Share of misled questions on which the model selects the misleading option again if asked for all right ones.

    `several` is that of `recall_right`.
    Range: 0 to 1; nan if there is no such question. Source: MCQA+, table 6 (Recall m).
    """
    return _recall(table, _picked_first(table)[table.question], several)


@metric(
    "Accuracy on misled questions after a filler has replaced the misleading option.",
    needs=("picked", "printed"),
    kinds=(REPLACED,),
    ranks_models=False,
)
def replaced_acc(table: ResponseTable) -> Estimate:
    """Accuracy on misled questions after a filler has replaced the misleading option.

    Range: 0 to 1; nan if no question is misled. Source: MCQA+, table 6 (Replacement; REVAS, table 7).

    Example:
        >>> printed = np.array([0b011, 0b101], dtype=np.uint64)  # option 2 instead of the wrong one
        >>> table = ResponseTable.from_hits([[0, 1]], kinds=("original", "replaced"), printed=printed)
        >>> replaced_acc(table).value
        1.0
    """
    misleading = _picked_first(table)[table.question]
    without = table.is_kind(REPLACED) & ~contains(table.printed, misleading)
    return _share(table, without, table.correct, _misled(table))


@detail("Number of questions in each part of the study.")
def subset_sizes(table: ResponseTable) -> dict[str, int]:
    """Number of questions in each part of the study.

    Returns:
        `all`; `always_right`, in all orders of the original; `wrong` in the original, the sum of the next two;
        `misled`, with a wrong option picked in the original; `no_misleading_option`, with an invalid answer to it.
        Source: ours.

    Example:
        >>> subset_sizes(ResponseTable.from_hits([[1, 1], [0, 1]]))
        {'all': 2, 'always_right': 1, 'wrong': 1, 'misled': 1, 'no_misleading_option': 0}
    """
    wrong, misled = _wrong_first(table), _misled(table)
    parts = {"always_right": always_right(table), "wrong": wrong, "misled": misled}
    parts["no_misleading_option"] = wrong & ~misled
    return {"all": len(table.sizes), **{name: int(members.sum()) for name, members in parts.items()}}


def _several(table: ResponseTable) -> Bools:
    """(R,) whether more than one option is selected."""
    several: Bools = (table.selected & (table.selected - np.uint64(1))) != 0  # more bits than the lowest one
    return several


def _recall(table: ResponseTable, option: Ints, several: bool) -> Estimate:
    """Share of the misled questions whose selection contains an option, (R,)."""
    chosen = table.is_kind(SELECT_ALL) & (_several(table) | (not several))
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
    return table.ratio(table.sum_by_question(inside & hit), table.sum_by_question(inside))


def _nota_orders(table: ResponseTable) -> tuple[Bools, Bools]:
    """(N,) whether a question has orders with NOTA as the answer; (N,) whether the model picks NOTA in all of them."""
    chosen = table.is_kind(*_NOTA_ORDERS)
    has = table.any_by_question(chosen)
    return has, has & ~table.any_by_question(chosen & ~table.correct)


def _picked_first(table: ResponseTable) -> Ints:
    """(N,) identity picked in the original; INVALID if none."""
    picked = np.full(len(table.sizes), INVALID, dtype=np.int64)
    original = table.is_kind(ORIGINAL)
    picked[table.question[original]] = table.picked[original]
    return picked


def _wrong_first(table: ResponseTable) -> Bools:
    return table.any_by_question(table.is_kind(ORIGINAL) & ~table.correct)


def _misled(table: ResponseTable) -> Bools:
    """(N,) whether the model picked a wrong option in the original."""
    return _wrong_first(table) & (_picked_first(table) >= 0)


@metric(
    "Mean probability of “yes” for the right option, on questions always answered correctly: C_c.",
    **_OF_CONFIDENCE,
)
def confidence_right(table: ResponseTable, *, normalised: bool = False) -> Estimate:
    """Mean probability of "yes" for the right option, on questions always answered correctly: C_c.

    For each question, one true-or-false variant asks whether the right option is right.

    Args:
        table: Answers to N questions, with true-or-false variants scored by likelihood.
        normalised: Whether to use P(yes) / (P(yes) + P(no)) instead of P(yes).

    Range: 0 to 1; nan if no question is always answered correctly. A question with a missing probability is left out.
    Source: MCQA+, table 5.

    Example:
        >>> from lm_eval_cora.answers.records import Record
        >>> ask = dict(variants=3, answer=0)
        >>> scored = dict(**ask, picked=None, ask="yes_no", likelihood_yes=np.log(0.5), likelihood_no=np.log(0.25))
        >>> records = [Record("q1", ordinal=0, kind="original", printed=(0, 1), picked=0, **ask)]
        >>> records += [Record("q1", ordinal=1, kind="true_or_false_right", printed=(0,), selected=(0,), **scored)]
        >>> records += [Record("q1", ordinal=2, kind="true_or_false_wrong", printed=(1,), selected=(1,), **scored)]
        >>> table = ResponseTable.from_records(records)
        >>> round(confidence_right(table).value, 4), round(confidence_right(table, normalised=True).value, 4)
        (0.5, 0.6667)
        >>> [round(metric(table).value, 4) for metric in (confidence_wrong, confidence_ratio, yes_no_mass)]
        [0.5, 1.0, 0.75]
    """
    right, _, inside = _confidences(table, normalised)
    return table.ratio(right, inside)


@metric(
    "Mean of the largest probability of “yes” among the wrong options, on questions always answered correctly: C_d.",
    **_OF_CONFIDENCE,
    higher_is_better=False,
)
def confidence_wrong(table: ResponseTable, *, normalised: bool = False) -> Estimate:
    """Mean of the largest probability of "yes" among the wrong options, on questions always answered correctly: C_d.

    For each question, one true-or-false variant per wrong option asks whether it is right. `normalised` is that of
    `confidence_right`.
    Range: 0 to 1; nan if no question is always answered correctly. A question with a missing probability is left out.
    Source: MCQA+, table 5.
    """
    _, wrong, inside = _confidences(table, normalised)
    return table.ratio(wrong, inside)


@metric(
    "Confidence in the most likely wrong option relative to the right one: C_d / C_c.",
    bounds=(0.0, inf),
    **_OF_CONFIDENCE,
    higher_is_better=False,
)
def confidence_ratio(table: ResponseTable, *, normalised: bool = False) -> Estimate:
    """Confidence in the most likely wrong option relative to the right one: C_d / C_c, a ratio of two means.

    C_c is `confidence_right` and C_d is `confidence_wrong`; above 1, the model is more confident in a wrong option. The
    interval assumes that no other question is more extreme than those of the sample.
    Range: at least 0; nan if no question is always answered correctly. Source: MCQA+, table 5; 32.48 / 35.04 = 92.69%.
    """
    right, wrong, inside = _confidences(table, normalised)
    least_right, least_wrong = (values[inside > 0].min(initial=1) for values in (right, wrong))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        limits = float(least_wrong / right.max(initial=0)), float(wrong.max(initial=0) / least_right)
    return table.ratio(wrong, right, members=inside, between=limits)


@metric(
    "Mean of P(yes) + P(no) over all true-or-false variants.",
    needs=("yes",),
    form="loglikelihood",
    higher_is_better=None,
)
def yes_no_mass(table: ResponseTable) -> Estimate:
    """Mean of P(yes) + P(no) over all true-or-false variants.

    If it is small, the model prefers other replies, such as "Yes" or "The". The confidence metrics then say little.
    Range: 0 to 1, with the standard error of a pooled share; nan without such variants. Source: ours.
    """
    mass = np.nansum(np.exp(np.minimum([table.yes, table.no], 0.0)), axis=0)
    scored = ~np.isnan(table.yes) | ~np.isnan(table.no)
    return table.ratio(table.sum_by_question(mass), table.sum_by_question(scored))


def _confidences(table: ResponseTable, normalised: bool) -> tuple[Floats, Floats, Floats]:
    """(N,) each: P(yes) of the right option, the largest P(yes) of a wrong one, and 1. All are 0 outside the subset."""
    yes, no = np.minimum(table.yes, 0.0), np.minimum(table.no, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):  # yes and no may both be -inf
        chance = 1 / (1 + np.exp(no - yes)) if normalised else np.exp(yes)
    chance = np.where(np.isnan(chance), np.inf, chance)  # a missing one becomes the maximum, which is not finite
    largest = np.full((2, len(table.sizes)), -inf)
    for row, kind in zip(largest, (TRUE_OR_FALSE_RIGHT, TRUE_OR_FALSE_WRONG), strict=True):
        asked = table.is_kind(kind)
        np.maximum.at(row, table.question[asked], chance[asked])
    inside = always_right(table) & np.isfinite(largest).all(axis=0)
    right, wrong = np.where(inside, largest, 0.0)
    return right, wrong, inside.astype(np.float64)
