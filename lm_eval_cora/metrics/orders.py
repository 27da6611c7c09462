"""Metrics over the orders of a question's options: first and published order, hard accuracy, consistency score."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate
from lm_eval_cora.metrics.facts import detail, metric
from lm_eval_cora.metrics.responses import Bools, Floats, Ints, ResponseTable
from lm_eval_cora.variants.alterations import COUNTS, ORIGINAL, shuffled, with_options
from lm_eval_cora.variants.label_styles import STYLES
from lm_eval_cora.variants.order import POSITIONS

__all__ = ["acc_at", "acc_h", "order_gap", "sc", "sc_buckets"]
OptionCount = int | Literal["original", "printed"]


@metric(
    "Accuracy with a given number of options in the first order: the source's order, with fillers last.",
    needs=("kind", "printed"),
    in_table=False,
)
def acc_at(table: ResponseTable, options: OptionCount) -> Estimate:
    """Accuracy in the first order of a given number of options: the source's order, with fillers last.

    Args:
        table: Answers to N questions.
        options: Number of printed options, or `original` for each question's own number. The original counts for a
            question that has this number itself. `printed` instead stands for all variants that print the options of
            the original, whatever their kind.

    Range: 0 to 1; nan if no question is printed with this number of options. Source: MCQA+, appendix A ("Accuracy";
    REVAS, figure 3 and table 9).

    Example:
        >>> acc_at(ResponseTable.from_hits([[1, 0], [0, 1]]), options="original").value
        0.5
    """
    first = orders(table, options) & table.is_kind(ORIGINAL, *map(with_options, COUNTS))
    return table.ratio(table.sum_by_question(first & table.correct), table.sum_by_question(first))


@metric(
    "Hard accuracy: share of questions answered correctly in all orders of a given number of options.",
    known_early=True,
    needs=("picked", "original"),
    spoken="hard accuracy (right in all orders)",
    symbol="Acc-H",
    in_table=False,
    special={("options", ORIGINAL): {"in_table": True}},
)
def acc_h(table: ResponseTable, options: OptionCount) -> Estimate:
    """Hard accuracy: share of questions answered correctly in all orders of a given number of options.

    If the orders are the rotations of the options, this is CircularEval's score. `options` is that of `acc_at`.
    Range: 0 to 1; nan if no question is printed with this number of options. Source: MCQA+, appendix A (Acc-H; REVAS,
    section 3.3).

    Example:
        >>> table = ResponseTable.from_hits([[1, 0]], kinds=("original", "shuffled"))
        >>> [metric(table, options="original").value for metric in (acc_at, acc_h, sc)]
        [1.0, 0.0, 0.5]
    """
    return table.share(_all_right(table, options), has_orders(table, options))


@metric(
    "Consistency score: share of the orders, of a given number of options, that get the most frequent pick.",
    needs=("picked", "original"),
    symbol="Sc",
    in_table=False,
    special={("options", ORIGINAL): {"in_table": True}},
)
def sc(table: ResponseTable, options: OptionCount) -> Estimate:
    """Consistency score: share of the orders, of a given number of options, that get the most frequent pick.

    For a question with n orders, Sc = (number of times of its most frequent pick) / n. The score is the mean over
    questions. An invalid answer equals no other answer, so a question with only invalid answers has Sc = 1 / n.
    `options` is that of `acc_at`.
    Range: 1 / n to 1, whether the picks are right or wrong; nan if no question is printed with this number of options.
    Source: MCQA+, eq. 1 and 2 (REVAS, section 3.3).
    """
    modal = modal_picks(table, orders(table, options))
    lowest = 1 / modal.orders.max(initial=1)
    return table.mean(modal.times / np.maximum(modal.orders, 1), modal.orders > 0, between=(lowest, 1.0))


@detail("Questions grouped by how often their most frequent pick occurs in the original orders.")
def sc_buckets(table: ResponseTable) -> dict[str, dict[str, Estimate]]:
    """Questions grouped by how often their most frequent pick occurs in the original orders.

    Returns:
        A bucket "k/n" for each number of orders n and k = n, ..., 1: the questions with n orders that pick one option k
        times. Empty without questions. Each has its `share` of the questions with n orders, from 0 to 1, and its
        `accuracy`, the share of its most frequent picks that are right, from 0 to 1. If t picks are equally frequent
        and one of them is right, they count 1 / t. The accuracy of "1/n" is nan: no pick is the most frequent one.
        Source: REVAS, table 2. Its LLaMA2 column for MMLU sums to 105%, so it cannot be reproduced.

    Example:
        >>> table = ResponseTable.from_hits([[1, 1]], kinds=("original", "shuffled"))
        >>> {key: bucket["share"].value for key, bucket in sc_buckets(table).items()}
        {'2/2': 1.0, '1/2': 0.0}
    """
    modal = modal_picks(table, orders(table, "original"))
    buckets = {}
    for count in sorted(set(modal.orders[modal.orders > 0].tolist())):
        of_size = (modal.orders == count).astype(np.float64)
        for times in range(count, 0, -1):
            inside = of_size * (modal.times == times)
            accuracy = table.ratio(inside * modal.credit, inside) if times > 1 else UNDEFINED
            buckets[f"{times}/{count}"] = {"share": table.ratio(inside, of_size), "accuracy": accuracy}
    return buckets


@metric(
    "Accuracy of the original minus the mean accuracy in other orders, or with other labels; paired by question.",
    higher_is_better=False,
    bounds=(-1.0, 1.0),
    needs=("printed", "original"),
    kinds=(shuffled(ORIGINAL), *POSITIONS),
    special={("metric", "label_gap"): {"kinds": tuple(STYLES)}},
    in_table=False,
    ranks_models=False,
)
def order_gap(table: ResponseTable) -> Estimate:
    """Accuracy in the published order minus the mean accuracy in the other orders, paired by question.

    The formula is the mean of x_i - (share of right answers to the other variants of question i that print the same
    options): other orders, or other labels for the `label_gap` of the labels probe. x_i is 1 if the original is right.

    A gap of orders above 0 is a hint that the benchmark was in the training data, not a proof. Only the rotations of
    the options (`orders: cyclic`) print each option once at each letter. With other orders, a preference for letters
    makes a gap, too, if the right options are not equally often at each letter.
    Range: -1 to 1; nan without such variants, or if a question has no original. Source: ours; arXiv:2505.24263 takes
    the gap of orders as a sign of contamination, and arXiv:2602.17445 compares labels.

    Example:
        >>> order_gap(ResponseTable.from_hits([[1, 0, 1], [0, 0, 0]])).value
        0.25
    """
    others = orders(table, "printed") & ~table.original
    chosen = table.original & table.correct, others & table.correct, others
    original, right, count = map(table.sum_by_question, chosen)
    return table.mean(original - right / np.maximum(count, 1), count > 0, between=(-1.0, 1.0))


def orders(table: ResponseTable, options: OptionCount) -> Bools:
    """(R,) whether a variant is one of the orders of a given number of options."""
    if options == "printed":
        if table.original_correct is None:
            return np.zeros_like(table.original)
        may_be_one: Bools = table.skipped & (table.printed == 0)  # it is unknown what the variant would print
        same: Bools = table.printed == table.printed[table.original][table.question]
        return same | may_be_one
    original = table.is_kind(ORIGINAL, shuffled(ORIGINAL), *POSITIONS)
    if options == "original":
        return original
    if isinstance(options, bool) or not isinstance(options, int):
        raise ValueError(f"options is {options!r}, expected a whole number or 'original'")
    resized = table.is_kind(with_options(options), shuffled(with_options(options)))
    found: Bools = (original | resized) & (table.options == options)
    return found


def has_orders(table: ResponseTable, options: OptionCount) -> Bools:
    """(N,) whether a question is printed with a given number of options."""
    return table.any_by_question(orders(table, options))


def always_right(table: ResponseTable) -> Bools:
    """(N,) whether a question is answered correctly in all orders of its own options: the diamond in the papers."""
    return _all_right(table, "original") & has_orders(table, "original")


def _all_right(table: ResponseTable, options: OptionCount) -> Bools:
    return ~table.any_by_question(orders(table, options) & ~table.correct)


class ModalPicks(NamedTuple):
    """(N,) each: number of records, times of the most frequent pick, and the share of its ties that are right."""

    orders: Ints
    times: Ints
    credit: Floats


def modal_picks(table: ResponseTable, chosen: Bools) -> ModalPicks:
    """The most frequent picks of the questions among some records."""
    equal = np.zeros(len(chosen), dtype=np.int64)
    equal[chosen] = table.where(chosen).equal_answers
    times = np.ones(len(table.sizes), dtype=np.int64)
    np.maximum.at(times, table.question, equal)
    is_modal = equal == times[table.question]
    number, right = table.sum_by_question(is_modal), table.sum_by_question(is_modal & table.correct)
    return ModalPicks(table.sum_by_question(chosen).astype(np.int64), times, right / np.maximum(number, 1))
